/* tls.h - the certificates that a server shows: somebody's, or of an authority of its own
 *
 * A server that is to be reached from other machines and was given no certificate makes its own: an
 * authority (ca.pem, ca.key) that signs this server's certificate (server.pem, server.key) and
 * nothing else.  The authority lives ten years, the certificate one; it is made anew at a start
 * that finds it old or finds that the machine has other names, with the same key.
 *
 * A fingerprint is the SHA-256 of a certificate's public key (SubjectPublicKeyInfo) in hex: it
 * stays as it is when a certificate is renewed, and clients can hold a server to it before they
 * trust anybody (http.h).  GnuTLS stays hidden.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { TLS_FINGERPRINT_HEX = 65, TLS_PEM_MAX = 1024 * 1024 };

/* Names and addresses in text, none twice. */
struct tls_names {
    char **at;
    size_t n, cap;
};
void tls_names_done(struct tls_names *names);
void tls_names_add(struct tls_names *names, const char *name);
/* Those that this machine is reached by if it listens on `host`: its name, loopback, `host` itself;
 * every address that it has if `host` stands for all. */
void tls_names_of_machine(struct tls_names *names, const char *host);

/* Certificate and key in dir, made or renewed as needed at the time now_s (seconds since 1970).
 * *ret_made tells whether the certificate is new.  ERR_INVALID if the authority's key is gone. */
int tls_own_prepare(const char *dir, const struct tls_names *names, uint64_t now_s, bool *ret_made,
                    struct err *e);

/* What is served, and what others are told of it. */
enum tls_mode { TLS_AUTO, TLS_ON, TLS_OFF };
struct tls_wish {
    enum tls_mode mode;
    const char *dir;        /* of certificates of our own */
    const char *cert, *key; /* somebody's; "": none */
    const char *host;       /* that is listened on */
    bool loopback;          /* that reaches this machine only */
};
struct tls_serving {
    char *cert, *key;                      /* files; NULL: no TLS */
    char *ca;                              /* PEM to trust: of the authority; NULL: none */
    bool own;                              /* by our own authority */
    char fingerprint[TLS_FINGERPRINT_HEX]; /* "": no TLS */
};
int tls_serving_init(struct tls_serving *t, const struct tls_wish *w, struct err *e);
void tls_serving_done(struct tls_serving *t);

/* Of the first certificate in a PEM text. */
int tls_fingerprint(struct str pem, char ret_hex[TLS_FINGERPRINT_HEX], struct err *e);

#endif
