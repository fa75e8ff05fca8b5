/* face_operation.c - what operators may do to work under way
 *
 * Thin: each verb is one event.  The engine decides whether it is legal; its refusal, with names
 * put to numbers, is the answer.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server/server_i.h"

int face_operation_add(struct server *s, const struct server_call *c, const char *kind,
                       const char *title, enum start_class class, uint32_t *ret_op, struct err *e)
{
    uint32_t id = anneal_operation_end(s->engine);
    struct row_operation fixed = {.id = id,
                                  .kind = str_of(kind),
                                  .title = str_of(title),
                                  .actor = str_of(c->who->name),
                                  .created_ms = server_wall_ms()};
    struct event ev = {
        .kind = EVENT_OPERATION_ADD, .id = id, .n = c->who->tenant, .flag = (uint8_t) class};
    struct commit_note note = server_note(c, &fixed);
    int r = server_apply(s, &ev, &note, NULL, e);
    if (r < 0)
        return r;
    inventory_add_operation(&s->inv, &fixed);
    *ret_op = id;
    return 0;
}

enum subject { OPERATION, NODEROLE, TASK };

static int command(struct server *s, const struct server_call *c, struct server_reply *r,
                   enum subject subject, struct event ev, struct err *e)
{
    static const char *const names[] = {"operation", "noderole", "task"};
    struct operation_view op;
    struct noderole_view nr;
    struct task_view task;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = face_u32(c->id[0], names[subject], &ev.id, e)) < 0)
        return rc;
    bool there = subject == OPERATION  ? anneal_operation(s->engine, ev.id, &op)
                 : subject == NODEROLE ? anneal_noderole(s->engine, ev.id, &nr)
                                       : anneal_task(s->engine, ev.id, &task);
    if (!there)
        return face_not_found(e, names[subject], c->id[0]);
    struct commit_note note = server_note(c, NULL);
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    r->body = subject == OPERATION  ? view_operation(s, c->mem, ev.id)
              : subject == NODEROLE ? view_noderole(s, c->mem, ev.id, true)
                                    : view_task(s, c->mem, ev.id, true);
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_operation_cancel(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    bool abort = value_as_bool(value_get(c->body, "abort"), false);
    return command(s, c, r, OPERATION, (struct event){.kind = EVENT_CANCEL, .flag = abort}, e);
}

int server_operation_retry(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    return command(s, c, r, OPERATION, (struct event){.kind = EVENT_RETRY_OPERATION}, e);
}

int server_operation_resume(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    int64_t failures = value_as_int(value_get(c->body, "failures"), -1);
    return command(s, c, r, OPERATION,
                   (struct event){.kind = EVENT_RESUME,
                                  .n = (uint32_t)(failures + 1),
                                  .now = value_as_bool(value_get(c->body, "now"), false)},
                   e);
}

int server_noderole_retry(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    return command(s, c, r, NODEROLE, (struct event){.kind = EVENT_RETRY_NODEROLE}, e);
}

/* What may remain on the node: the tasks of its removal that did not pass, by name. */
static struct value *undone(struct server *s, struct arena *mem, const struct noderole_view *nr)
{
    struct value *list = value_list(mem);
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        struct task_view v;
        if (anneal_task(s->engine, t, &v) && !task_state_passed(v.state))
            value_add(mem, list, value_text(mem, view_task_name(s, t)));
    }
    return list;
}

int server_noderole_abandon(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    struct event ev = {.kind = EVENT_ABANDON};
    struct commit_note note = server_note(c, NULL);
    struct value *v = value_map(c->mem);
    struct noderole_view nr;
    SCOPED_BUF(more);
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = face_u32(c->id[0], "noderole", &ev.id, e)) < 0)
        return rc;
    if (!anneal_noderole(s->engine, ev.id, &nr))
        return face_not_found(e, "noderole", c->id[0]);
    value_put_int(c->mem, v, "noderole", ev.id);
    value_put_text(c->mem, v, "name", view_noderole_name(s, c->mem, ev.id));
    value_put_text(c->mem, v, "reason", value_as_text(value_get(c->body, "reason"), ""));
    value_set(c->mem, v, "undone", undone(s, c->mem, &nr));
    json_write(&more, v, 0);
    note.more = buf_str(&more);
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    r->body = v;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_task_retry(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    return command(s, c, r, TASK, (struct event){.kind = EVENT_RETRY_TASK}, e);
}

int server_task_poke(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    return command(s, c, r, TASK, (struct event){.kind = EVENT_POKE}, e);
}

/* Somebody's word that it is done ends a run as a result would. */
static void resolved_done(struct server *s, const char *id)
{
    struct task_view t;
    struct err e;
    uint32_t task;
    if (server_writable(s, &e) >= 0 && face_u32(id, "task", &task, &e) >= 0 &&
        anneal_task(s->engine, task, &t) && t.noderole)
        data_completes(s, t.noderole, task);
}

int server_task_resolve(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    static const char *const words[] = {
        [RESOLVE_DONE] = "done", [RESOLVE_FAILED] = "failed", [RESOLVE_AGAIN] = "again"};
    const char *word = value_as_text(value_get(c->body, "outcome"), "");
    if (strcmp(word, words[RESOLVE_DONE]) == 0)
        resolved_done(s, c->id[0]);
    for (uint8_t i = 0; i < 3; i++)
        if (strcmp(word, words[i]) == 0)
            return command(s, c, r, TASK, (struct event){.kind = EVENT_RESOLVE, .flag = i}, e);
    err_set(e, ERR_INVALID, "an outcome is done, failed or again, not \"%s\"", word);
    return err_at(e, "/outcome");
}
