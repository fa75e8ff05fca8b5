/* test_listen.c - addresses, loopback, and TLS with a certificate made on the spot */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>
#include <unistd.h>

#include "api/api_i.h"
#include "base/log.h"
#include "rig.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

static void test_addresses(void)
{
    static const struct {
        const char *address;
        bool tls;
        enum errcode code;
        const char *text;
    } cases[] = {
        {"127.0.0.1:0", false, ERR_NONE, ""},
        {"127.9.9.9:0", false, ERR_NONE, ""},
        {"localhost:0", false, ERR_NONE, ""},
        {"0.0.0.0:0", true, ERR_NONE, ""},
        {"0.0.0.0:0", false, ERR_INVALID, "without TLS"},
        {"[::]:0", false, ERR_INVALID, "without TLS"},
        {"[::ffff:8.8.8.8]:0", false, ERR_INVALID, "without TLS"},
        {"127.0.0.1", false, ERR_INVALID, "host:port"},
        {"127.0.0.1:", false, ERR_INVALID, "host:port"},
        {"127.0.0.1:x", false, ERR_INVALID, "host:port"},
        {"127.0.0.1:65536", false, ERR_INVALID, "host:port"},
        {":80", false, ERR_INVALID, "host:port"},
        {"::1:80", false, ERR_INVALID, "host:port"},
        {"[]:80", false, ERR_INVALID, "host:port"},
        {"", false, ERR_INVALID, "host:port"},
        {"no such host.invalid:80", false, ERR_INVALID, "cannot listen"},
        {"192.0.2.1:0", true, ERR_IO, "cannot listen"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t port = 0;
        struct err e;
        int fd = -1;
        int r = listen_open(cases[i].address, cases[i].tls, &fd, &port, &e);
        is_int(r, -(int)cases[i].code, "\"%s\" %s TLS", cases[i].address,
               cases[i].tls ? "with" : "without");
        if (r == 0) {
            ok(port > 0, "  has a port: %u", port);
            close(fd);
        } else {
            has_text(e.text, cases[i].text, "  says why");
        }
    }
    uint16_t port, again;
    char address[64];
    struct err e;
    int fd, second;
    if (!ok(listen_open("127.0.0.1:0", false, &fd, &port, &e) == 0, "a port"))
        return;
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    is_int(listen_open(address, false, &second, &again, &e), -ERR_IO, "the same port again");
    has_text(e.hint, "another", "is hinted at");
    close(fd);
    if (listen_open("[::1]:0", false, &fd, &port, &e) == 0) {
        ok(port > 0, "IPv6 loopback");
        close(fd);
    } else {
        skip("no IPv6 here");
    }
}

/* --- a certificate --- */

static void pem_write(const char *path, const gnutls_datum_t *pem)
{
    struct err e;
    if (fs_write_atomic(path, pem->data, pem->size, 0600, &e) < 0)
        abort();
}

static void certificate_make(const char *cert_path, const char *key_path)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t pem;
    unsigned char serial = 1;
    gnutls_x509_privkey_init(&key);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    gnutls_x509_crt_init(&crt);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, &serial, 1);
    gnutls_x509_crt_set_activation_time(crt, time(NULL) - 60);
    gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600);
    gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "localhost", 9);
    gnutls_x509_crt_set_key(crt, key);
    gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
    if (gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem) < 0)
        abort();
    pem_write(cert_path, &pem);
    gnutls_free(pem.data);
    if (gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem) < 0)
        abort();
    pem_write(key_path, &pem);
    gnutls_free(pem.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

/* --- a client --- */

struct tls_client {
    struct client plain;
    gnutls_session_t session;
    gnutls_certificate_credentials_t cred;
};

/* Runs until the handshake is done; its result. */
static int tls_open(struct rig *r, struct tls_client *c, const char *priority)
{
    int n = GNUTLS_E_AGAIN;
    client_open(r, &c->plain);
    fcntl(c->plain.fd, F_SETFL, O_NONBLOCK);
    gnutls_certificate_allocate_credentials(&c->cred);
    gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
    gnutls_priority_set_direct(c->session, priority, NULL);
    gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->cred);
    gnutls_transport_set_int(c->session, c->plain.fd);
    for (int i = 0; i < 100000 && (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED); i++) {
        rig_pump(r);
        n = gnutls_handshake(c->session);
    }
    return n;
}

static void tls_close(struct tls_client *c)
{
    gnutls_deinit(c->session);
    gnutls_certificate_free_credentials(c->cred);
    client_close(&c->plain);
}

/* Sends, then reads until the text is there. */
static bool tls_talk(struct rig *r, struct tls_client *c, const char *send, const char *wait)
{
    char part[4096];
    SCOPED_BUF(got);
    if (*send)
        gnutls_record_send(c->session, send, strlen(send));
    for (int i = 0; i < 100000; i++) {
        rig_pump(r);
        ssize_t n = gnutls_record_recv(c->session, part, sizeof part);
        if (n > 0)
            buf_put(&got, part, (size_t)n);
        else if (n != GNUTLS_E_AGAIN && n != GNUTLS_E_INTERRUPTED)
            return false;
        if (got.data && strstr(got.data, wait))
            return true;
    }
    return false;
}

static void test_tls(const char *dir)
{
    char cert[256], key[256];
    struct tls_client c;
    struct rig r;
    snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    snprintf(key, sizeof key, "%s/key.pem", dir);
    certificate_make(cert, key);
    rig_open(&r, &(struct api_options){.listen = "0.0.0.0:0", .tls_cert = cert, .tls_key = key});
    is_int(tls_open(&r, &c, "NORMAL"), 0, "a TLS handshake");
    ok(tls_talk(&r, &c, "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n", "{\"status\":\"ok\"}"),
       "and an answer");
    fake_hold_groups(r.server, true);
    const char *post = "POST /v1/tasks/1/poke HTTP/1.1\r\nHost: x\r\n"
                       "Authorization: Bearer " FAKE_ADMIN "\r\n\r\n";
    gnutls_record_send(c.session, post, strlen(post));
    for (int i = 0; i < 20; i++)
        rig_pump(&r);
    is_int(fake_waiting(r.server), 1, "a write waits");
    fake_commit(r.server);
    ok(tls_talk(&r, &c, "", "202 Accepted"), "and is answered");
    ok(tls_talk(&r, &c,
                "GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
                "Authorization: Bearer " FAKE_READ "\r\n\r\n",
                "retry: 2000"),
       "a stream");
    fake_hold_groups(r.server, false);
    fake_commit(r.server);
    loop_fake_advance(r.loop, 100);
    fake_event(r.server, 1, "tick");
    loop_fake_advance(r.loop, 100);
    ok(tls_talk(&r, &c, "", "tick"), "and its events");
    tls_close(&c);
    ok(tls_open(&r, &c, "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT") < 0, "TLS 1.1 is refused");
    tls_close(&c);
    struct reply rep = rig_call(&r, "GET", "/v1/health", NULL, NULL, NULL);
    is_int(rep.status, 0, "plain HTTP is not answered");
    reply_done(&rep);
    rig_close(&r);
}

static void test_refusals(const char *dir)
{
    char cert[256], junk[256];
    struct loop *loop = loop_new_fake(1);
    struct server *server = fake_new(loop);
    struct api *api = NULL;
    struct err e;
    snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    snprintf(junk, sizeof junk, "%s/junk.pem", dir);
    fs_write_atomic(junk, "junk\n", 5, 0600, NULL);
    struct api_options o = {.listen = "127.0.0.1:0", .tls_cert = cert};
    is_int(api_new(loop, server, &o, &api, &e), -ERR_INVALID, "a certificate without a key");
    o = (struct api_options){.listen = "127.0.0.1:0", .tls_cert = "", .tls_key = cert};
    is_int(api_new(loop, server, &o, &api, &e), -ERR_INVALID, "a key without a certificate");
    o = (struct api_options){.listen = "127.0.0.1:0", .tls_cert = cert, .tls_key = "/nonexistent"};
    is_int(api_new(loop, server, &o, &api, &e), -ERR_NOT_FOUND, "a key that is not there");
    has_text(e.text, "TLS", "is named");
    o = (struct api_options){.listen = "127.0.0.1:0", .tls_cert = "/nonexistent", .tls_key = cert};
    is_int(api_new(loop, server, &o, &api, &e), -ERR_NOT_FOUND, "a certificate that is not there");
    o = (struct api_options){.listen = "127.0.0.1:0", .tls_cert = junk, .tls_key = junk};
    is_int(api_new(loop, server, &o, &api, &e), -ERR_IO, "a certificate that is none");
    has_text(e.text, "cannot start", "is told");
    o = (struct api_options){.listen = "10.1.2.3"};
    is_int(api_new(loop, server, &o, &api, &e), -ERR_INVALID, "an address that is none");
    o = (struct api_options){.listen = "127.0.0.1:0", .tls_cert = "", .tls_key = ""};
    is_int(api_new(loop, server, &o, &api, &e), 0, "empty names are none");
    ok(api_port(api) > 0, "and it listens");
    api_stop(api);
    api_stop(NULL);
    fake_free(server);
    loop_free(loop);
}

int main(void)
{
    char *dir = workdir_new("listen");
    log_set_level(LOG_ERROR);
    test_addresses();
    test_tls(dir);
    test_refusals(dir);
    free(dir);
    return tap_done();
}
