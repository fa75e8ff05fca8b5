/* face_admin.c - what an administrator asks of the server itself: check, "they are dead indeed"
 *
 * Checking a large store takes minutes, so it runs on the background thread; the answer says that
 * it has begun, and status.store tells how it goes.  The record is the background thread's from
 * submitting to completion.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "server/server_i.h"

/* ---- check ---- */

static void check_work(void *arg)
{
    struct server *s = arg;
    if (store_check_full(s->db_path, &s->check.failure) >= 0)
        err_clear(&s->check.failure);
}

static void check_done(void *arg)
{
    struct server *s = arg;
    struct admin_job *j = &s->check;
    bool good = j->failure.code == ERR_NONE;
    j->running = false;
    j->ended = true;
    j->ended_ms = server_wall_ms();
    s->check_state = good ? 2 : 3;
    snprintf(s->check_text, sizeof s->check_text, "%.*s", (int)sizeof s->check_text - 1,
             good ? "" : j->failure.text);
    if (good)
        log_line(LOG_INFO, "store.check", LOGT("result", "good"));
    else
        log_err(LOG_ERROR, "store.check", &j->failure);
}

void admin_check_start(struct server *s)
{
    if (s->check.running)
        return;
    s->check.running = true;
    err_clear(&s->check.failure);
    pool_submit(s->background, check_work, check_done, s);
}

/* The state in memory is checked at once, the file in the background: ok says that nothing is known
 * to be wrong. */
int server_admin_check(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct arena *a = c->mem;
    struct value *v = value_map(a), *findings = value_list(a);
    struct err found;
    (void)e;
    if (anneal_check(s->engine, &found) < 0) {
        log_err(LOG_ERROR, "engine.check", &found);
        value_add(a, findings, value_text(a, found.text));
    }
    if (s->check_state == 3)
        value_add(a, findings, value_text(a, s->check_text));
    admin_check_start(s);
    value_put_bool(a, v, "ok", findings->n == 0);
    value_set(a, v, "findings", findings);
    value_put_text(a, v, "state", "running");
    r->body = v;
    return 0;
}

/* ---- aliveness ---- */

int server_admin_confirm_dead(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    struct event ev = {.kind = EVENT_DEAD_CONFIRM};
    struct commit_note note = server_note(c, NULL);
    struct value *v = value_map(c->mem);
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    value_put_bool(c->mem, v, "suspect", anneal_suspect(s->engine));
    r->body = v;
    r->group = commit_open_group(s->commit);
    return 0;
}
