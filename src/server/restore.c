/* restore.c - reading the engine back, and replaying the journal to prove the rows
 *
 * A restart reads rows, never the journal.  The replay exists to check that the two agree: it is
 * what the crash tests, the simulator and `anneald --verify` run.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/restore.h"

#include <inttypes.h>

#include "server/commit_i.h"

struct loading {
    struct anneal *engine;
    struct commit *commit;
    struct aside_rows newer;
};

static int load_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct loading *l = arg;
    union row_any room;
    int r = aside_over(&l->newer, t, row, &room, &row, e);
    if (r >= 0 && t == ROWS_NODEROLE &&
        ((const struct row_noderole *)row)->state == NODEROLE_REMOVED)
        return 0; /* put aside as gone; its row goes with the sweep */
    if (r >= 0)
        r = anneal_load(l->engine, t, row, e);
    if (r >= 0 && t == ROWS_TASK) {
        const struct row_task *task = row;
        if (task->last)
            commit_attempt_at(l->commit, task->id, task->last);
    }
    return r;
}

static int load_attempt(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct loading *l = arg;
    struct row_attempt a = *(const struct row_attempt *)row;
    uint64_t id = a.id;
    a.id = (uint64_t)a.task << ATTEMPT_BITS | a.number;
    int r = anneal_load(l->engine, t, &a, e);
    if (r >= 0) /* now its task is known to exist */
        commit_attempt_at(l->commit, a.task, id);
    return r;
}

static int load_meta(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    *(struct row_meta *)arg = *(const struct row_meta *)row;
    ((struct row_meta *)arg)->engine = (struct str){"", 0};
    return 0;
}

static int load_all(struct store *s, struct loading *l, struct err *e)
{
    /* As in ROW_TABLES: what was put aside comes in that order. */
    static const enum row_table order[] = {ROWS_META,     ROWS_TENANT, ROWS_JIG,  ROWS_POOL,
                                           ROWS_GROUP,    ROWS_NODE,   ROWS_DEF,  ROWS_OPERATION,
                                           ROWS_NODEROLE, ROWS_SPAN,   ROWS_TASK, ROWS_SETTINGS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int r = store_each(s, order[i], load_row, l, e);
        if (r < 0)
            return r;
    }
    int r = aside_end(&l->newer, e);
    return r < 0 ? r : store_each_open_attempt(s, load_attempt, l, e);
}

int restore_engine(struct store *s, struct anneal **ret_a, struct commit **ret_c,
                   struct row_meta *ret_meta, struct err *e)
{
    struct row_meta meta = {0};
    int r = store_each(s, ROWS_META, load_meta, &meta, e);
    if (r < 0)
        return r;
    struct anneal *a = anneal_new();
    struct commit *c = commit_new(a, meta.group_no, meta.journal_seq);
    struct loading l = {.engine = a, .commit = c};
    r = aside_read(s, meta.group_no, &c->aside, &l.newer, e);
    if (r >= 0)
        r = load_all(s, &l, e);
    if (r >= 0)
        r = anneal_load_end(a, e);
    aside_rows_done(&l.newer);
    if (r < 0) {
        commit_free(c);
        anneal_free(a);
        return r;
    }
    *commit_meta(c) = (struct commit_meta){meta.next_deployment, meta.next_token, meta.catalog,
                                           meta.run_no,          meta.attempts,   meta.fence};
    *ret_a = a;
    *ret_c = c;
    *ret_meta = meta;
    return 0;
}

struct replay {
    struct store *store;
    struct anneal *engine;
    struct effects fx;
};

static int decode_plan(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    return plan_decode(((const struct row_plan *)row)->body, arg, e);
}

static int replay_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct replay *rp = arg;
    const struct row_journal *j = row;
    SCOPED_ARENA(mem);
    SCOPED(plan) *plan = NULL;
    struct event ev;
    (void)t;
    int r = commit_event_parse(&mem, j, &ev, e);
    if (r < 0 || ev.kind >= EVENT_ENGINE_COUNT)
        return r < 0 ? r : 0;
    if (ev.kind == EVENT_PLAN_APPLY) {
        r = store_range(rp->store, ROWS_PLAN, j->id, j->id, false, 1, decode_plan, &plan, e);
        if (r < 0)
            return r;
        if (!plan)
            return err_set(e, ERR_CORRUPT, "journal %" PRIu64 ": its plan is missing", j->id);
        ev.plan = plan;
    }
    if (anneal_step(rp->engine, &ev, &rp->fx, e) < 0)
        return err_wrap(e, "replay of journal %" PRIu64 " (%s)", j->id, event_kind_name(ev.kind));
    return 0;
}

int restore_replay_engine(struct store *s, struct str checkpoint, uint64_t from_seq,
                          struct anneal **ret_a, struct err *e)
{
    struct replay rp = {.store = s, .engine = anneal_new()};
    int r = anneal_restore(rp.engine, checkpoint, e);
    if (r >= 0)
        r = store_range(s, ROWS_JOURNAL, from_seq + 1, UINT64_MAX >> 1, false, 0, replay_row, &rp,
                        e);
    effects_done(&rp.fx);
    if (r < 0) {
        anneal_free(rp.engine);
        return r;
    }
    *ret_a = rp.engine;
    return 0;
}

int restore_replay(struct store *s, struct str checkpoint, uint64_t from_seq, uint64_t *ret_digest,
                   struct err *e)
{
    struct anneal *a;
    int r = restore_replay_engine(s, checkpoint, from_seq, &a, e);
    if (r < 0)
        return r;
    *ret_digest = anneal_digest(a);
    anneal_free(a);
    return 0;
}
