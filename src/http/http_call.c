/* http_call.c - a question and its answer, asked again where that is harmless
 *
 * What is repeated, and when:
 *   nothing arrived (refused, no route)   any method, as long as the client's patience lasts
 *   the connection broke midway           GET, HEAD, and POST, whose key makes a second one
 * harmless 502, 503, 504                         the same no answer in time nothing: the caller has
 * waited long enough The pause doubles from one repetition to the next, up to 2 s.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "base/text.h"

enum { PAUSE_MOST_MS = 2000 };

static void key_new(char ret_key[33])
{
    unsigned char raw[16];
    ssize_t n = getrandom(raw, sizeof raw, 0); /* up to 256 bytes are never short */
    assert(n == (ssize_t)sizeof raw);
    text_hex(raw, sizeof raw, ret_key);
}

static int answer_take(struct arena *mem, const struct http_exchange *x, struct http_reply *ret_r,
                       struct err *e)
{
    struct http_reply r = {.status = x->status};
    r.text = (struct str){arena_strndup(mem, buf_str(&x->got).s, x->got.len), x->got.len};
    r.etag = x->etag.len ? arena_strdup(mem, x->etag.data) : NULL;
    if (r.text.n && exchange_is_json(x)) {
        struct value *v;
        int rc = json_parse(mem, r.text.s, r.text.n, NULL, &v, e);
        if (rc)
            return err_wrap(e, "the answer of %s is not JSON", x->h->base);
        r.value = v;
    }
    *ret_r = r;
    return 0;
}

enum verdict { CALL_FINAL, CALL_REFUSED, CALL_LOST }; /* how far a failed attempt came */

static int call_judge(struct arena *mem, const struct http_exchange *x, struct http_reply *ret_r,
                      enum verdict *ret_v, struct err *e)
{
    if (x->result != CURLE_OK) {
        if (x->result == CURLE_COULDNT_CONNECT)
            *ret_v = CALL_REFUSED;
        else if (x->result == CURLE_GOT_NOTHING || x->result == CURLE_RECV_ERROR ||
                 x->result == CURLE_SEND_ERROR || x->result == CURLE_PARTIAL_FILE)
            *ret_v = CALL_LOST;
        return http_transport_error(x, e);
    }
    if (x->status < 300)
        return answer_take(mem, x, ret_r, e);
    if (x->status >= 502 && x->status <= 504)
        *ret_v = CALL_LOST;
    return http_answer_error(mem, x, e);
}

static int call_once(struct http *h, struct arena *mem, const struct http_request *q,
                     const char *key, struct http_reply *ret_r, enum verdict *ret_v, struct err *e)
{
    struct http_exchange x = {0};
    *ret_v = CALL_FINAL;
    int rc = exchange_begin(&x, h, q, key, NULL, false, e);
    while (!rc && !x.over)
        rc = exchange_work(h, 1000, e);
    if (!rc)
        rc = call_judge(mem, &x, ret_r, ret_v, e);
    exchange_end(&x);
    return rc;
}

int http_call(struct http *h, struct arena *mem, const struct http_request *q,
              struct http_reply *ret_r, struct err *e)
{
    char key[33] = "";
    bool post = !strcmp(q->method, "POST") && !q->once;
    bool harmless = post || !strcmp(q->method, "GET") || !strcmp(q->method, "HEAD");
    uint64_t began = http_clock_ms();
    uint32_t pause = h->o.pause_ms;
    if (post)
        key_new(key);
    for (uint32_t n = 1;; n++) {
        enum verdict v;
        int rc = call_once(h, mem, q, post ? key : NULL, ret_r, &v, e);
        if (!rc)
            return 0;
        bool patient = v == CALL_REFUSED && http_clock_ms() - began < h->o.patience_ms;
        bool again = v == CALL_LOST || (v == CALL_REFUSED && n > 1); /* it may be restarting */
        if (!patient && !(again && harmless && n < h->o.tries))
            return rc;
        http_pause(pause);
        pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
    }
}
