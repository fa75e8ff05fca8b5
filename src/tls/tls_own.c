/* tls_own.c - an authority of our own and the one certificate that it signs
 *
 * Keys are ECDSA on P-256, which every client has.  A key is written before what is made from it,
 * so that a crash in between leaves a key that nobody trusts yet, never a certificate without one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "sys/fs.h"
#include "tls/tls.h"

enum {
    DAY_S = 24 * 3600,
    AUTHORITY_DAYS = 3650,
    CERTIFICATE_DAYS = 365,
    RENEW_DAYS = 30,
    BACKDATE_S = 3600, /* clients' clocks may be behind ours */
    SERIAL_BYTES = 16,
};

struct pair { /* a certificate and its key */
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
};

static int failed(int r, const char *what, struct err *e)
{
    return err_set(e, ERR_INTERNAL, "cannot %s: %s", what, gnutls_strerror(r));
}

static void pair_done(struct pair *p)
{
    if (p->crt)
        gnutls_x509_crt_deinit(p->crt);
    if (p->key)
        gnutls_x509_privkey_deinit(p->key);
    *p = (struct pair){0};
}

static int pair_init(struct pair *p, struct err *e)
{
    *p = (struct pair){0};
    int r = gnutls_x509_crt_init(&p->crt);
    if (r >= 0)
        r = gnutls_x509_privkey_init(&p->key);
    return r < 0 ? failed(r, "make a certificate", e) : 0;
}

/* --- files --- */

static int read_pem(const char *dir, const char *name, struct buf *b, struct err *e)
{
    char *path = fs_join(dir, name);
    int r = fs_read(path, TLS_PEM_MAX, b, e);
    free(path);
    return r;
}

static int write_pem(const char *dir, const char *name, const gnutls_datum_t *pem, mode_t mode,
                     struct err *e)
{
    char *path = fs_join(dir, name);
    int r = fs_write_atomic(path, pem->data, pem->size, mode, e);
    free(path);
    return r;
}

static bool have(const char *dir, const char *name)
{
    char *path = fs_join(dir, name);
    bool there = fs_exists(path);
    free(path);
    return there;
}

static int read_key(const char *dir, const char *name, gnutls_x509_privkey_t key, struct err *e)
{
    SCOPED_BUF(b);
    int r = read_pem(dir, name, &b, e);
    if (r < 0)
        return r;
    gnutls_datum_t pem = {(unsigned char *)b.data, (unsigned)b.len};
    r = gnutls_x509_privkey_import(key, &pem, GNUTLS_X509_FMT_PEM);
    explicit_bzero(b.data, b.len);
    return r < 0 ? failed(r, name, e) : 0;
}

static int read_crt(const char *dir, const char *name, gnutls_x509_crt_t crt, struct err *e)
{
    SCOPED_BUF(b);
    int r = read_pem(dir, name, &b, e);
    if (r < 0)
        return r;
    gnutls_datum_t pem = {(unsigned char *)b.data, (unsigned)b.len};
    r = gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM);
    return r < 0 ? failed(r, name, e) : 0;
}

static int make_key(const char *dir, const char *name, gnutls_x509_privkey_t key, struct err *e)
{
    gnutls_datum_t pem;
    int r = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                         GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (r >= 0)
        r = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem);
    if (r < 0)
        return failed(r, "make a key", e);
    r = write_pem(dir, name, &pem, 0600, e);
    explicit_bzero(pem.data, pem.size);
    gnutls_free(pem.data);
    return r;
}

/* --- certificates --- */

static int fill_common(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const char *name,
                       uint64_t now_s, uint64_t until_s)
{
    unsigned char serial[SERIAL_BYTES], id[64];
    size_t id_n = sizeof id;
    const char *wrong;
    int r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] &= 0x7f; /* positive */
    if (r >= 0)
        r = gnutls_x509_crt_set_version(crt, 3);
    if (r >= 0)
        r = gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    if (r >= 0)
        r = gnutls_x509_crt_set_activation_time(crt, (time_t)(now_s - BACKDATE_S));
    if (r >= 0)
        r = gnutls_x509_crt_set_expiration_time(crt, (time_t)until_s);
    SCOPED_BUF(dn);
    buf_printf(&dn, "CN=%s", name);
    if (r >= 0)
        r = gnutls_x509_crt_set_dn(crt, dn.data, &wrong);
    if (r >= 0)
        r = gnutls_x509_crt_set_key(crt, key);
    if (r >= 0)
        r = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA1, id, &id_n);
    return r >= 0 ? gnutls_x509_crt_set_subject_key_id(crt, id, id_n) : r;
}

static int add_names(gnutls_x509_crt_t crt, const struct tls_names *names)
{
    int r = 0;
    for (size_t i = 0; i < names->n && r >= 0; i++) {
        unsigned char address[16];
        const char *name = names->at[i];
        bool four = inet_pton(AF_INET, name, address) == 1;
        if (four || inet_pton(AF_INET6, name, address) == 1)
            r = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address,
                                                     four ? 4 : 16, GNUTLS_FSAN_APPEND);
        else
            r = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name,
                                                     (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
    }
    return r;
}

static int sign_and_write(const char *dir, const char *file, gnutls_x509_crt_t crt,
                          const struct pair *by, struct err *e)
{
    gnutls_datum_t pem;
    unsigned char id[64];
    size_t id_n = sizeof id;
    int r = gnutls_x509_crt_get_subject_key_id(by->crt, id, &id_n, NULL);
    if (r >= 0)
        r = gnutls_x509_crt_set_authority_key_id(crt, id, id_n);
    if (r >= 0)
        r = gnutls_x509_crt_sign2(crt, by->crt, by->key, GNUTLS_DIG_SHA256, 0);
    if (r >= 0)
        r = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem);
    if (r < 0)
        return failed(r, "sign a certificate", e);
    r = write_pem(dir, file, &pem, 0644, e);
    gnutls_free(pem.data);
    return r;
}

static int make_authority(const char *dir, struct pair *ca, uint64_t now_s, struct err *e)
{
    int r = make_key(dir, "ca.key", ca->key, e);
    if (r < 0)
        return r;
    r = fill_common(ca->crt, ca->key, "Anneal authority", now_s,
                    now_s + (uint64_t)AUTHORITY_DAYS * DAY_S);
    if (r >= 0)
        r = gnutls_x509_crt_set_basic_constraints(ca->crt, 1, 0);
    if (r >= 0)
        r = gnutls_x509_crt_set_key_usage(ca->crt, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
    return r < 0 ? failed(r, "make an authority", e)
                 : sign_and_write(dir, "ca.pem", ca->crt, ca, e);
}

static int load_authority(const char *dir, struct pair *ca, uint64_t now_s, bool *ret_made,
                          struct err *e)
{
    *ret_made = !have(dir, "ca.pem");
    if (*ret_made)
        return make_authority(dir, ca, now_s, e);
    if (!have(dir, "ca.key")) {
        err_set(e, ERR_INVALID, "%s has the authority's certificate but not its key ca.key", dir);
        return err_hint(e, "put ca.key back; or remove ca.pem, then every worker must join again");
    }
    int r = read_crt(dir, "ca.pem", ca->crt, e);
    return r < 0 ? r : read_key(dir, "ca.key", ca->key, e);
}

static int make_certificate(const char *dir, const struct pair *ca, const struct tls_names *names,
                            uint64_t now_s, struct err *e)
{
    struct pair own;
    uint64_t until = now_s + (uint64_t)CERTIFICATE_DAYS * DAY_S;
    time_t last = gnutls_x509_crt_get_expiration_time(ca->crt);
    if (last > 0 && (uint64_t)last < until)
        until = (uint64_t)last;
    int r = pair_init(&own, e);
    if (r >= 0) /* the same key, as long as there is one: who pinned it need not care */
        r = have(dir, "server.key") ? read_key(dir, "server.key", own.key, e)
                                    : make_key(dir, "server.key", own.key, e);
    if (r >= 0) {
        r = fill_common(own.crt, own.key, "Anneal server", now_s, until);
        if (r >= 0)
            r = gnutls_x509_crt_set_basic_constraints(own.crt, 0, -1);
        if (r >= 0)
            r = gnutls_x509_crt_set_key_usage(own.crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
        if (r >= 0)
            r = gnutls_x509_crt_set_key_purpose_oid(own.crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
        if (r >= 0)
            r = add_names(own.crt, names);
        r = r < 0 ? failed(r, "make a certificate", e)
                  : sign_and_write(dir, "server.pem", own.crt, ca, e);
    }
    pair_done(&own);
    return r;
}

static bool names_have(const struct tls_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return false;
}

static bool made_out_to(gnutls_x509_crt_t crt, const struct tls_names *names)
{
    for (unsigned i = 0;; i++) {
        unsigned char raw[256] = "";
        char text[INET6_ADDRSTRLEN];
        size_t n = sizeof raw - 1;
        int type = gnutls_x509_crt_get_subject_alt_name(crt, i, raw, &n, NULL);
        if (type < 0)
            return type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE && i == names->n;
        if (type == GNUTLS_SAN_IPADDRESS && (n == 4 || n == 16)) {
            if (!inet_ntop(n == 4 ? AF_INET : AF_INET6, raw, text, sizeof text) ||
                !names_have(names, text))
                return false;
        } else if (!names_have(names, (const char *)raw)) {
            return false;
        }
    }
}

/* Is the certificate that is there still good? */
static bool certificate_serves(const char *dir, const struct pair *ca,
                               const struct tls_names *names, uint64_t now_s)
{
    gnutls_x509_crt_t crt;
    struct err e;
    unsigned verdict = 0;
    if (!have(dir, "server.key") || gnutls_x509_crt_init(&crt) < 0)
        return false;
    bool good = read_crt(dir, "server.pem", crt, &e) >= 0;
    time_t until = good ? gnutls_x509_crt_get_expiration_time(crt) : 0;
    good = good && until > 0 && (uint64_t)until >= now_s + (uint64_t)RENEW_DAYS * DAY_S &&
           made_out_to(crt, names) &&
           gnutls_x509_crt_verify(crt, &ca->crt, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &verdict) >=
               0 &&
           verdict == 0;
    gnutls_x509_crt_deinit(crt);
    return good;
}

int tls_own_prepare(const char *dir, const struct tls_names *names, uint64_t now_s, bool *ret_made,
                    struct err *e)
{
    struct pair ca;
    bool new_authority = false;
    int r = pair_init(&ca, e);
    if (r >= 0)
        r = load_authority(dir, &ca, now_s, &new_authority, e);
    bool make = r >= 0 && (new_authority || !certificate_serves(dir, &ca, names, now_s));
    if (make)
        r = make_certificate(dir, &ca, names, now_s, e);
    pair_done(&ca);
    if (r < 0)
        return err_wrap(e, "TLS");
    *ret_made = make;
    return 0;
}

int tls_fingerprint(struct str pem, char ret_hex[TLS_FINGERPRINT_HEX], struct err *e)
{
    gnutls_x509_crt_t crt;
    unsigned char id[32];
    size_t n = sizeof id;
    gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.s, (unsigned)pem.n};
    int r = gnutls_x509_crt_init(&crt);
    if (r < 0)
        return failed(r, "read a certificate", e);
    r = gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM);
    if (r >= 0)
        r = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, id, &n);
    gnutls_x509_crt_deinit(crt);
    if (r < 0)
        return err_set(e, ERR_INVALID, "this is no certificate in PEM: %s", gnutls_strerror(r));
    text_hex(id, sizeof id, ret_hex);
    return 0;
}
