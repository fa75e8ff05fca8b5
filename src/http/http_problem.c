/* http_problem.c - what went wrong between two programs, as one struct err
 *
 * Two sources: libcurl (nothing or half an answer came) and the server (an answer that is a
 * refusal).  A problem+json keeps its name, pointer, source line and hint; anything else is most
 * likely not our server, and the text says who answered and how.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"

static const char problem_prefix[] = "urn:anneal:error:";

bool exchange_is_json(const struct http_exchange *x)
{
    struct str t = buf_str(&x->type);
    const char *end = memchr(t.s, ';', t.n);
    if (end)
        t.n = (size_t)(end - t.s);
    return str_is(t, "application/json") || (t.n > 5 && !memcmp(t.s + t.n - 5, "+json", 5));
}

static int unreachable(const struct http_exchange *x, struct err *e)
{
    long sys = 0;
    curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &sys);
    if (sys)
        err_sys(e, ERR_UNREACHABLE, (int)sys, "cannot reach %s", x->h->base);
    else
        err_set(e, ERR_UNREACHABLE, "cannot reach %s: %s", x->h->base,
                x->why[0] ? x->why : curl_easy_strerror(x->result));
    if (x->h->if_down)
        err_hint(e, "%s", x->h->if_down);
    return -ERR_UNREACHABLE;
}

static int timed_out(const struct http_exchange *x, struct err *e)
{
    char took[16];
    text_duration_show(http_clock_ms() - x->began_ms, took);
    if (x->fn) {
        text_duration_show(x->h->o.idle_ms, took);
        err_set(e, ERR_TIMEOUT, "%s said nothing for %s", x->h->base, took);
        return -ERR_TIMEOUT;
    }
    err_set(e, ERR_TIMEOUT, "no answer from %s within %s", x->h->base, took);
    return err_hint(e, "a longer --timeout may help; the request may have been carried out");
}

int http_transport_error(const struct http_exchange *x, struct err *e)
{
    const char *base = x->h->base;
    if (x->fn_err.code) { /* our own function ended it */
        if (e)
            *e = x->fn_err;
        return -x->fn_err.code;
    }
    switch ((int)x->result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        err_set(e, ERR_UNREACHABLE, "cannot reach %s: there is no host of that name", base);
        return err_hint(e, "check --server or ANNEAL_SERVER");
    case CURLE_COULDNT_CONNECT: return unreachable(x, e);
    case CURLE_OPERATION_TIMEDOUT: return timed_out(x, e);
    case CURLE_PEER_FAILED_VERIFICATION:
        err_set(e, ERR_UNREACHABLE, "the certificate of %s is not trusted: %s", base, x->why);
        return err_hint(e, "name the authority that signed it with --cacert FILE");
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        err_set(e, ERR_UNREACHABLE, "%s is not the server of that fingerprint", base);
        return err_hint(e, "somebody else answers there, or its key was made anew: ask for "
                           "another fingerprint");
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(e, ERR_INVALID, "the CA certificate %s cannot be used: %s", x->h->cacert,
                       x->why);
    case CURLE_SSL_CONNECT_ERROR:
        err_set(e, ERR_UNREACHABLE, "no TLS with %s: %s", base, x->why);
        return err_hint(e, "does it speak plain http:// ?");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        err_set(e, ERR_UNREACHABLE, "%s does not answer in HTTP", base);
        return err_hint(e, x->h->tls ? "is it another service?" : "does it speak https:// ?");
    default:
        err_set(e, ERR_UNREACHABLE, "the connection to %s broke: %s", base,
                x->why[0] ? x->why : curl_easy_strerror(x->result));
        if (x->h->if_down)
            err_hint(e, "%s", x->h->if_down);
        return -ERR_UNREACHABLE;
    }
}

static enum errcode code_of_name(const char *name)
{
    for (int c = ERR_NONE + 1; c < ERR_COUNT; c++)
        if (!strcmp(err_name((enum errcode)c), name))
            return (enum errcode)c;
    return ERR_NONE;
}

static enum errcode code_of_status(uint32_t status)
{
    for (int c = ERR_NONE + 1; c < ERR_COUNT; c++)
        if (err_http((enum errcode)c) == (int)status)
            return (enum errcode)c;
    return status >= 500 ? ERR_INTERNAL : ERR_INVALID;
}

/* Not in the form of our server, or not its own words: its HTTP library answers a request that it
 * cannot even read. */
static int foreign_answer(const struct http_exchange *x, struct err *e)
{
    enum { URI_TOO_LONG = 414, HEAD_TOO_LARGE = 431 };
    enum errcode code = code_of_status(x->status);
    if (x->status == URI_TOO_LONG || x->status == HEAD_TOO_LARGE) {
        err_set(e, ERR_TOO_LARGE, "%s answered %u: the request is too long", x->h->base, x->status);
        return err_hint(e, "a selector may be shorter with globs, labels or @groups");
    }
    if (x->status < 400)
        err_set(e, ERR_UNREACHABLE, "%s answered %u, a redirection to \"%s\"", x->h->base,
                x->status, buf_str(&x->location).s);
    else
        err_set(e, code, "%s answered %u (%s)", x->h->base, x->status,
                x->type.len ? x->type.data : "without a body");
    return err_hint(e, "is this the address of anneald?");
}

int http_answer_error(struct arena *mem, const struct http_exchange *x, struct err *e)
{
    struct value *p = NULL;
    struct err ignored;
    if (x->status < 400 || !exchange_is_json(x) ||
        json_parse(mem, buf_str(&x->got).s, x->got.len, NULL, &p, &ignored) ||
        !value_is(p, VALUE_MAP))
        return foreign_answer(x, e);
    const char *type = value_as_text(value_get(p, "type"), "");
    size_t skip = sizeof problem_prefix - 1;
    enum errcode code = ERR_NONE;
    if (!strncmp(type, problem_prefix, skip))
        code = code_of_name(type + skip);
    if (code == ERR_NONE)
        code = code_of_status(x->status);
    const char *title = value_as_text(value_get(p, "title"), err_name(code));
    err_set(e, code, "%s", value_as_text(value_get(p, "detail"), title));
    err_at(e, "%s", value_as_text(value_get(p, "pointer"), ""));
    err_hint(e, "%s", value_as_text(value_get(p, "hint"), ""));
    struct str line = value_as_str(value_get(p, "line"));
    if (line.n)
        err_line(e, line.s, line.n);
    return -code;
}
