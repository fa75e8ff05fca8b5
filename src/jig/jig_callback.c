/* jig_callback.c - somebody elsewhere is told what happened: the jig callback
 *
 *   url        http or https, without a user or password
 *   event      what happened, in lower-case letters and hyphens
 *   body       the text to bring there, JSON
 *   signature  HMAC-SHA256 of the body in hex: the worker never has the key
 *   skip       true: nobody wants to know; a success at once
 *
 * One POST with the headers Anneal-Event, Anneal-Signature (sha256=HEX) and Anneal-Delivery, the
 * task's key, which is the same in all attempts: who gets the same delivery twice can tell.  A
 * status of 2xx is a success.  One of 4xx that does not ask for patience says that this will never
 * be taken: refused, and not tried again.  All else, no answer included, fails the attempt, and
 * whether it is tried again is the engine's business.  What they say goes to the log.
 *
 * A server far away may be slow, and looking up its name may block: each delivery has a thread of
 * its own while it lasts.  There are few of them, and a pool that they share would let one dead
 * address hold up all others.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "http/http.h"
#include "jig/jig_i.h"
#include "sys/pool.h"

enum { CALLBACK_MS = 10 * 1000, CALLBACK_BODY = 64 << 20, EVENT_CHARS = 32, SIGNATURE_CHARS = 64 };

struct jig_run {
    const struct jig_env *env;
    struct pool *pool; /* of one thread */
    atomic_bool stop;
    /* The thread's until it is through: */
    struct http_delivery what;
    struct http_header headers[4];
    char *signature, *key;
    struct http_receipt receipt;
    struct err err;
    int rc;
};

/* --- parameters --- */

static bool is_made_of(struct str s, const char *letters, size_t least, size_t most)
{
    bool good = s.n >= least && s.n <= most;
    for (size_t i = 0; good && i < s.n; i++)
        good = s.s[i] && strchr(letters, s.s[i]);
    return good;
}

static int callback_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"url", PARAM_STRING},
                                             {"event", PARAM_STRING},
                                             {"body", PARAM_STRING},
                                             {"signature", PARAM_STRING},
                                             {"skip", PARAM_BOOL}};
    int rc = jig_params_check(params, table, sizeof table / sizeof table[0], true, e);
    if (rc < 0 || value_as_bool(value_get(params, "skip"), false))
        return rc;
    for (size_t i = 0; i < 4; i++)
        if (!value_get(params, table[i].name))
            return err_set(e, ERR_INVALID, "a callback needs %s", table[i].name);
    rc = http_url_check(value_as_text(value_get(params, "url"), ""), e);
    if (rc < 0) {
        err_at(e, "/url");
        return rc;
    }
    if (!is_made_of(value_as_str(value_get(params, "event")), "abcdefghijklmnopqrstuvwxyz-", 1,
                    EVENT_CHARS))
        return jig_param_refuse(e, "event", "must be a word of lower-case letters and hyphens");
    if (!is_made_of(value_as_str(value_get(params, "signature")), "0123456789abcdef",
                    SIGNATURE_CHARS, SIGNATURE_CHARS))
        return jig_param_refuse(e, "signature", "must be 64 hexadecimal digits");
    if (value_as_str(value_get(params, "body")).n > CALLBACK_BODY) {
        rc = err_set(e, ERR_TOO_LARGE, "body is larger than %d bytes", (int)CALLBACK_BODY);
        err_at(e, "/body");
    }
    return rc;
}

/* --- on its thread --- */

static bool is_stopped(void *arg)
{
    struct jig_run *run = arg;
    return atomic_load(&run->stop);
}

static void callback_work(void *arg)
{
    struct jig_run *run = arg;
    run->rc = is_stopped(run) ? -ERR_FAILED : http_deliver(&run->what, &run->receipt, &run->err);
}

/* --- on the loop --- */

static void log_refusal(const struct jig_run *run)
{
    const struct http_receipt *r = &run->receipt;
    if (!r->n_said)
        return;
    run->env->log(run->env->ctx, 2, r->said, r->n_said);
    if (r->said[r->n_said - 1] != '\n')
        run->env->log(run->env->ctx, 2, "\n", 1);
}

static enum outcome outcome_of(uint32_t status)
{
    bool patience = status == 408 || status == 425 || status == 429; /* late, early, too often */
    if (status >= 200 && status < 300)
        return OUTCOME_OK;
    return status >= 400 && status < 500 && !patience ? OUTCOME_REFUSED : OUTCOME_FAILED;
}

static void callback_ended(void *arg)
{
    struct jig_run *run = arg;
    struct jig_result r = {.exit_code = -1};
    if (run->rc < 0) {
        r.outcome = atomic_load(&run->stop) ? OUTCOME_CANCELLED : OUTCOME_FAILED;
        snprintf(r.text, sizeof r.text, "%.250s", run->err.text);
    } else {
        SCOPED_BUF(server);
        http_url_server(&server, run->what.url);
        r.outcome = outcome_of(run->receipt.status);
        r.exit_code = r.outcome == OUTCOME_OK ? 0 : -1;
        snprintf(r.text, sizeof r.text, "%.200s answered %u", server.data, run->receipt.status);
        if (r.outcome != OUTCOME_OK)
            log_refusal(run);
    }
    run->env->finish(run->env->ctx, &r);
}

static struct jig_run *run_make(const struct jig_env *env, const struct task_request *req)
{
    struct jig_run *run = xcalloc(1, sizeof *run);
    uint64_t limit = req->msg->timeout_ms;
    SCOPED_BUF(signature);
    buf_printf(&signature, "sha256=%s", value_as_text(value_get(req->params, "signature"), ""));
    run->env = env;
    run->signature = xstrndup(signature.data, signature.len);
    run->key = xstrndup(req->msg->key.s, req->msg->key.n);
    run->headers[0] = (struct http_header){"Content-Type", "application/json"};
    run->headers[1] = (struct http_header){"Anneal-Event",
                                           value_as_text(value_get(req->params, "event"), "")};
    run->headers[2] = (struct http_header){"Anneal-Signature", run->signature};
    run->headers[3] = (struct http_header){"Anneal-Delivery", run->key};
    run->what = (struct http_delivery){.url = value_as_text(value_get(req->params, "url"), ""),
                                       .body = value_as_str(value_get(req->params, "body")),
                                       .headers = run->headers,
                                       .n_headers = sizeof run->headers / sizeof run->headers[0],
                                       .timeout_ms = limit && limit < CALLBACK_MS ? (uint32_t)limit
                                                                                  : CALLBACK_MS,
                                       .stopped = is_stopped,
                                       .arg = run};
    return run;
}

static int callback_start(const struct jig_env *env, const struct task_request *req,
                          struct jig_run **ret_run, struct err *e)
{
    (void)e;
    *ret_run = NULL;
    if (value_as_bool(value_get(req->params, "skip"), false)) {
        env->finish(env->ctx, &(struct jig_result){.outcome = OUTCOME_OK, .text = "not wanted"});
        return 0;
    }
    struct jig_run *run = run_make(env, req);
    run->pool = pool_new(env->loop, 1, "anneal-callback");
    pool_submit(run->pool, callback_work, callback_ended, run);
    *ret_run = run;
    return 0;
}

static void callback_cancel(struct jig_run *run, uint64_t grace_ms)
{
    (void)grace_ms;
    atomic_store(&run->stop, true);
}

static void callback_free(struct jig_run *run)
{
    pool_free(run->pool);
    free(run->signature);
    free(run->key);
    free(run);
}

static void callback_preview(const struct jig_env *env, const struct task_request *req,
                             struct jig_result *r)
{
    SCOPED_BUF(b);
    SCOPED_BUF(server);
    if (value_as_bool(value_get(req->params, "skip"), false)) {
        snprintf(r->text, sizeof r->text, "no-op: not wanted");
        return;
    }
    http_url_server(&server, value_as_text(value_get(req->params, "url"), ""));
    buf_printf(&b, "would tell %s of %s: %zu bytes\n", server.data,
               value_as_text(value_get(req->params, "event"), ""),
               value_as_str(value_get(req->params, "body")).n);
    env->log(env->ctx, 1, b.data, b.len);
    snprintf(r->text, sizeof r->text, "no-op: not told");
}

const struct jig jig_callback = {
    .name = "callback",
    .help = "tells params.url what happened: a signed POST of params.body",
    .check = callback_check,
    .start = callback_start,
    .cancel = callback_cancel,
    .free = callback_free,
    .preview = callback_preview,
};
