/* fake_worker.c - workers of the fake server: joining, and lines on which every word is an echo
 *
 * A message that comes by one request waits for the next poll of the same worker.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

int server_worker_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    int rc = fake_begin(s, c, "worker_patch", e);
    return rc < 0 ? rc : fake_patch(s, c, FAKE_WORKERS, "worker", "worker.changed", r, e);
}

int server_worker_token(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    struct value *v = value_map(c->mem);
    int rc = fake_begin(s, c, "worker_token", e);
    if (rc < 0)
        return rc;
    value_put_text(c->mem, v, "secret", "anj_fake");
    value_set(c->mem, v, "fingerprint", value_null(c->mem));
    value_put_text(c->mem, v, "name", value_as_text(value_get(c->body, "name"), NULL));
    value_put_text(c->mem, v, "expires_at", FAKE_NOW);
    r->body = v;
    r->group = fake_write(s, "worker.changed");
    return 0;
}

int server_worker_join(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    struct value *v = value_map(c->mem);
    struct fake_token *t;
    int rc = fake_begin(s, c, "worker_join", e);
    if (rc < 0)
        return rc;
    t = vec_add(&s->tokens);
    snprintf(t->secret, sizeof t->secret, "anw_made_%u", ++s->next_secret);
    t->who = (struct caller){(uint32_t)s->tokens.n, 1, SCOPE_WORKER, ""};
    snprintf(t->who.name, sizeof t->who.name, "%s", name);
    if (!fake_row_find(s, FAKE_WORKERS, name)) {
        struct value *row = fake_row_add(
            s, FAKE_WORKERS,
            "{\"name\":\"\",\"state\":\"silent\",\"capacity\":0,\"running\":0,\"labels\":{},"
            "\"jigs\":[],\"last_seen_ms\":null,\"draining\":false,\"created_at\":\"" FAKE_NOW
            "\",\"rev\":1}");
        value_put_text(&s->mem, row, "name", name);
    }
    value_put_text(c->mem, v, "name", name);
    value_put_text(c->mem, v, "credential", t->secret);
    value_set(c->mem, v, "ca", value_null(c->mem));
    value_put_bool(c->mem, v, "own_ca", false);
    r->body = v;
    r->group = fake_write(s, "worker.changed");
    return 0;
}

static int own_line(const struct server_call *c, struct err *e)
{
    if (strcmp(c->who->name, c->id[0]) == 0)
        return 0;
    return err_set(e, ERR_FORBIDDEN, "this is the line of %s", c->id[0]);
}

int server_worker_poll(struct server *s, const struct server_call *c, bool again, loop_call_f *fn,
                       void *arg, struct buf *ret_json, struct err *e)
{
    int rc = own_line(c, e);
    if (rc < 0)
        return rc;
    s->polls++;
    if (!s->echo.len && !again && value_as_int(value_get(c->body, "wait_ms"), 30000) > 0) {
        s->poll_fn = fn;
        s->poll_arg = arg;
        return 1;
    }
    buf_printf(ret_json, "{\"first\":%" PRId64 ",\"messages\":[",
               value_as_int(value_get(c->body, "after"), 0) + 1);
    if (s->echo.len)
        json_write_string(ret_json, buf_str(&s->echo));
    buf_puts(ret_json, "]}");
    buf_clear(&s->echo);
    return 0;
}

void server_worker_poll_cancel(struct server *s, loop_call_f *fn, void *arg)
{
    if (s->poll_fn == fn && s->poll_arg == arg)
        s->poll_fn = NULL;
}

int server_worker_messages(struct server *s, const struct server_call *c, struct buf *ret_json,
                           struct err *e)
{
    const struct value *messages = value_get(c->body, "messages");
    int64_t first = value_as_int(value_get(c->body, "first"), 0);
    loop_call_f *fn = s->poll_fn;
    int rc = own_line(c, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < messages->n; i++) {
        struct str m = value_as_str(&messages->items[i]);
        buf_put(&s->echo, m.s, m.n);
    }
    buf_printf(ret_json, "{\"taken\":%" PRId64 "}", first - 1 + (int64_t)messages->n);
    s->poll_fn = NULL;
    if (fn && s->echo.len)
        fn(s->poll_arg);
    return 0;
}
