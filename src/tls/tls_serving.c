/* tls_serving.c - which certificate is served, if any */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "sys/fs.h"
#include "tls/tls.h"

void tls_serving_done(struct tls_serving *t)
{
    free(t->cert);
    free(t->key);
    free(t->ca);
    *t = (struct tls_serving){0};
}

/* The certificate nearest to the root that a chain holds: who trusts it trusts the first one. */
static char *last_of_chain(const char *pem)
{
    static const char head[] = "-----BEGIN CERTIFICATE-----";
    const char *last = strstr(pem, head);
    for (const char *at = last; at; at = strstr(at + 1, head))
        last = at;
    return last ? xstrdup(last) : NULL;
}

/* What others are told: of the certificate in t->cert, and of whom to trust. */
static int tell(struct tls_serving *t, const char *ca_file, struct err *e)
{
    SCOPED_BUF(cert);
    SCOPED_BUF(ca);
    int r = fs_read(t->cert, TLS_PEM_MAX, &cert, e);
    if (r >= 0)
        r = tls_fingerprint(buf_str(&cert), t->fingerprint, e);
    if (r >= 0 && ca_file)
        r = fs_read(ca_file, TLS_PEM_MAX, &ca, e);
    if (r < 0)
        return err_wrap(e, "TLS");
    t->ca = ca_file ? xstrdup(ca.data) : last_of_chain(cert.data);
    return 0;
}

static int serve_own(struct tls_serving *t, const struct tls_wish *w, struct err *e)
{
    struct tls_names names = {0};
    bool made = false;
    int r = fs_mkdirs(w->dir, 0700, e);
    tls_names_of_machine(&names, w->host);
    if (r >= 0)
        r = tls_own_prepare(w->dir, &names, (uint64_t)time(NULL), &made, e);
    tls_names_done(&names);
    if (r < 0)
        return r;
    char *ca = fs_join(w->dir, "ca.pem");
    t->cert = fs_join(w->dir, "server.pem");
    t->key = fs_join(w->dir, "server.key");
    t->own = true;
    r = tell(t, ca, e);
    if (r >= 0 && made)
        log_line(LOG_INFO, "tls.certificate", LOGT("file", t->cert), LOGT("authority", ca),
                 LOGT("fingerprint", t->fingerprint));
    free(ca);
    return r;
}

int tls_serving_init(struct tls_serving *t, const struct tls_wish *w, struct err *e)
{
    *t = (struct tls_serving){0};
    int r = 0;
    if (*w->cert) {
        t->cert = xstrdup(w->cert);
        t->key = xstrdup(w->key);
        r = tell(t, NULL, e);
    } else if (w->mode == TLS_ON || (w->mode == TLS_AUTO && !w->loopback)) {
        r = serve_own(t, w, e);
    }
    if (r < 0)
        tls_serving_done(t);
    return r;
}
