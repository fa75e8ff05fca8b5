/* test_tls.c - a server is believed only if the named authority signed it */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <time.h>
#include <unistd.h>

#include "fake_server.h"
#include "http/http.h"
#include "tap.h"
#include "workdir.h"

struct pems {
    gnutls_datum_t key, cert;
};

/* A self-signed certificate for 127.0.0.1, which is its own authority. */
static void pems_make(struct pems *p)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    struct in_addr ip = {.s_addr = htonl(INADDR_LOOPBACK)};
    const char serial = 1;
    gnutls_x509_privkey_init(&key);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    gnutls_x509_crt_init(&crt);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, &serial, 1);
    gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "anneal test", 11);
    gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, &ip, sizeof ip,
                                         GNUTLS_FSAN_SET);
    gnutls_x509_crt_set_activation_time(crt, time(NULL) - 3600);
    gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600);
    gnutls_x509_crt_set_basic_constraints(crt, 1, -1);
    gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE | GNUTLS_KEY_KEY_CERT_SIGN);
    gnutls_x509_crt_set_key(crt, key);
    gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
    gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &p->key);
    gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &p->cert);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

static void pem_file(const char *path, const gnutls_datum_t *d)
{
    FILE *f = fopen(path, "w");
    if (!f || fwrite(d->data, 1, d->size, f) != d->size || fclose(f))
        printf("Bail out! cannot write %s\n", path);
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    static char body[] = "{\"ok\":true}";
    (void)arg, (void)url, (void)method, (void)version, (void)data, (void)size, (void)state;
    struct MHD_Response *r = MHD_create_response_from_buffer(sizeof body - 1, body,
                                                             MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result rc = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return rc;
}

static int ask(const char *base, const char *cacert, struct err *e)
{
    SCOPED_ARENA(mem);
    struct http *h = NULL;
    struct http_reply r;
    const struct http_options o = {
        .base = base, .cacert = cacert, .token = {"anl_t"}, .tries = 1, .pause_ms = 1};
    const struct http_request q = {.method = "GET", .path = "/v1/x"};
    err_clear(e);
    int rc = http_new(&o, &h, e);
    if (!rc)
        rc = http_call(h, &mem, &q, &r, e);
    http_free(h);
    return rc;
}

int main(void)
{
    struct pems mine, other;
    struct err e;
    char ca[600], wrong[600], junk[600], url[64], *dir = workdir_new("tls");
    static unsigned char text[] = "this is no certificate";
    snprintf(ca, sizeof ca, "%s/ca", dir);
    snprintf(wrong, sizeof wrong, "%s/wrong", dir);
    snprintf(junk, sizeof junk, "%s/junk", dir);
    pems_make(&mine);
    pems_make(&other);
    pem_file(ca, &mine.cert);
    pem_file(wrong, &other.cert);
    pem_file(junk, &(gnutls_datum_t){text, sizeof text - 1});
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_TLS | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, answer, NULL,
        MHD_OPTION_HTTPS_MEM_KEY, (char *)mine.key.data, MHD_OPTION_HTTPS_MEM_CERT,
        (char *)mine.cert.data, MHD_OPTION_END);
    if (!d)
        printf("Bail out! no TLS server\n");
    int port = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
    snprintf(url, sizeof url, "https://127.0.0.1:%d", port);

    is_int(ask(url, ca, &e), 0, "the authority that signed is named: answered");
    is_int(ask(url, NULL, &e), -ERR_UNREACHABLE, "the system does not know it: refused");
    has_text(e.text, "not trusted", "and the text says why");
    has_text(e.hint, "--cacert", "and what to do");
    is_int(ask(url, wrong, &e), -ERR_UNREACHABLE, "another authority: refused");
    is_int(ask(url, junk, &e), -ERR_INVALID, "a file that holds no certificate");
    has_text(e.text, junk, "is named");
    snprintf(url, sizeof url, "https://localhost:%d", port);
    is_int(ask(url, ca, &e), -ERR_UNREACHABLE, "the right authority for another name: refused");
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    is_int(ask(url, NULL, &e), -ERR_UNREACHABLE, "plain HTTP to a TLS port fails");
    MHD_stop_daemon(d);

    struct fake *f = fake_new();
    snprintf(url, sizeof url, "https%s", fake_url(f) + 4);
    is_int(ask(url, ca, &e), -ERR_UNREACHABLE, "TLS to a plain port fails");
    fake_free(f);
    free(dir);
    gnutls_free(mine.key.data);
    gnutls_free(mine.cert.data);
    gnutls_free(other.key.data);
    gnutls_free(other.cert.data);
    return tap_done();
}
