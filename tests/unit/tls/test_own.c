/* test_own.c - an authority of our own: made once, renewed when it is time, never without its key
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sys/fs.h"
#include "tap.h"
#include "tls/tls.h"
#include "workdir.h"

enum { DAY = 24 * 3600, NOW = 1800000000 };

static char *read_all(const char *dir, const char *name)
{
    struct buf b = {0};
    struct err e;
    char *path = fs_join(dir, name);
    (void)fs_read(path, TLS_PEM_MAX, &b, &e);
    free(path);
    return buf_take(&b, NULL);
}

static unsigned mode_of(const char *dir, const char *name)
{
    struct stat st = {0};
    char *path = fs_join(dir, name);
    (void)stat(path, &st);
    free(path);
    return st.st_mode & 0777;
}

/* Prepares; is the certificate new, the authority, the key? */
static void prepare(const char *dir, const struct tls_names *names, uint64_t now, bool certificate,
                    bool authority, const char *label)
{
    struct err e = {0};
    bool made = false;
    char *ca = read_all(dir, "ca.pem"), *cert = read_all(dir, "server.pem"),
         *key = read_all(dir, "server.key");
    is_int(tls_own_prepare(dir, names, now, &made, &e), 0, "%s: prepared %s", label, e.text);
    char *ca2 = read_all(dir, "ca.pem"), *cert2 = read_all(dir, "server.pem"),
         *key2 = read_all(dir, "server.key");
    is_int(made, certificate, "%s: a new certificate, or not", label);
    is_int(strcmp(cert, cert2) != 0, certificate, "%s: and so it is on disk", label);
    is_int(strcmp(ca, ca2) != 0, authority, "%s: the authority likewise", label);
    ok(!*key || strcmp(key, key2) == 0, "%s: a key stays", label);
    free(ca);
    free(cert);
    free(key);
    free(ca2);
    free(cert2);
    free(key2);
}

static void test_life(void)
{
    char *dir = workdir_new("tls");
    struct tls_names names = {0};
    char before[TLS_FINGERPRINT_HEX], after[TLS_FINGERPRINT_HEX];
    struct err e;
    bool made;
    tls_names_add(&names, "localhost");
    tls_names_add(&names, "127.0.0.1");
    tls_names_add(&names, "::1");
    tls_names_add(&names, "localhost");
    is_int(names.n, 3, "no name twice");
    prepare(dir, &names, NOW, true, true, "the first start");
    is_int(mode_of(dir, "ca.key"), 0600, "the authority's key is nobody else's");
    is_int(mode_of(dir, "server.key"), 0600, "nor is the server's");
    char *pem = read_all(dir, "server.pem");
    is_int(tls_fingerprint(str_of(pem), before, &e), 0, "it has a fingerprint");
    is_int(strlen(before), 64, "of 64 digits");
    free(pem);
    prepare(dir, &names, NOW + 300 * DAY, false, false, "later");
    prepare(dir, &names, NOW + 340 * DAY, true, false, "when it grows old");
    tls_names_add(&names, "db.example.org");
    prepare(dir, &names, NOW + 341 * DAY, true, false, "with another name");
    names.n--;
    prepare(dir, &names, NOW + 342 * DAY, true, false, "with a name less");
    pem = read_all(dir, "server.pem");
    is_int(tls_fingerprint(str_of(pem), after, &e), 0, "it still has one");
    is_text(after, before, "the same: it is of the key");
    free(pem);
    prepare(dir, &names, NOW + 3640 * DAY, true, false, "near the end of the authority");

    char *path = fs_join(dir, "ca.key");
    ok(unlink(path) == 0, "the authority's key is lost");
    is_int(tls_own_prepare(dir, &names, NOW, &made, &e), -ERR_INVALID, "nobody can sign any more");
    has_text(e.hint, "join again", "the remedy is told");
    free(path);
    path = fs_join(dir, "ca.pem");
    ok(unlink(path) == 0, "without its certificate");
    free(path);
    prepare(dir, &names, NOW, true, true, "there is a new one");
    free(names.at[names.n]);
    tls_names_done(&names);
    free(dir);
}

static void test_serving(void)
{
    char *dir = workdir_new("serving");
    struct tls_wish w = {.dir = dir, .cert = "", .key = "", .host = "127.0.0.1", .loopback = true};
    struct tls_serving t;
    struct err e;
    is_int(tls_serving_init(&t, &w, &e), 0, "on loopback");
    ok(!t.cert && !t.ca && !t.fingerprint[0], "nothing is needed");
    w.mode = TLS_ON;
    is_int(tls_serving_init(&t, &w, &e), 0, "unless it is wanted");
    ok(t.cert && t.key && t.own && t.ca && strlen(t.fingerprint) == 64, "then it is there");
    char *cert = xstrdup(t.cert), *key = xstrdup(t.key);
    tls_serving_done(&t);
    w = (struct tls_wish){.dir = dir, .cert = "", .key = "", .host = "0.0.0.0"};
    is_int(tls_serving_init(&t, &w, &e), 0, "beyond loopback");
    ok(t.own && t.cert, "it is there by itself");
    tls_serving_done(&t);
    w.mode = TLS_OFF;
    is_int(tls_serving_init(&t, &w, &e), 0, "switched off");
    ok(!t.cert, "it is not");
    w = (struct tls_wish){.dir = dir, .cert = cert, .key = key, .host = "::", .mode = TLS_AUTO};
    is_int(tls_serving_init(&t, &w, &e), 0, "somebody's certificate");
    ok(!t.own && t.ca, "is shown instead, and the end of its chain trusted");
    tls_serving_done(&t);
    w.cert = "/nonexistent";
    ok(tls_serving_init(&t, &w, &e) < 0, "one that is not there is an error");
    has_text(e.text, "TLS", "of TLS");
    is_int(tls_fingerprint(str_of("hello"), (char[TLS_FINGERPRINT_HEX]){0}, &e), -ERR_INVALID,
           "a text has no fingerprint");
    free(cert);
    free(key);
    free(dir);
}

static void test_names(void)
{
    struct tls_names names = {0};
    tls_names_of_machine(&names, "192.0.2.7");
    bool loopback = false, told = false;
    for (size_t i = 0; i < names.n; i++) {
        loopback |= strcmp(names.at[i], "::1") == 0;
        told |= strcmp(names.at[i], "192.0.2.7") == 0;
    }
    ok(loopback && told, "loopback and what is listened on");
    tls_names_done(&names);
    tls_names_of_machine(&names, "0.0.0.0");
    for (size_t i = 0; i < names.n; i++)
        ok(strcmp(names.at[i], "0.0.0.0") != 0, "%s is an address", names.at[i]);
    tls_names_done(&names);
}

int main(void)
{
    test_life();
    test_serving();
    test_names();
    return tap_done();
}
