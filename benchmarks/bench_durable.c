/* bench_durable.c - what durability costs: the commit step on SQLite against a bare SQLite program
 *
 * A: the engine, the commit step and the store with its writer thread anneal N no-op tasks; results
 * come back at once. B: a program that only writes the same rows in the same groups, with prepared
 * statements of its own. Both with synchronous=FULL, in one run, so that the disk is the same disk.
 * The figure is B's time over A's. Then a loss of 100,000 descendants, until it is durable.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annealer/annealer.h"
#include "figures.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "server/commit.h"
#include "store/store.h"

enum { NODES = 2000, GROUP_EVENTS = 1000 };

static void fail(const struct err *e)
{
    char text[1024];
    fprintf(stderr, "bench: %s\n", err_format(e, text, sizeof text));
    exit(2);
}

/* ---- the writer thread: one group at a time ---- */

struct writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct store *store;
    struct group *group;
    bool busy, stop;
};

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct err e;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->busy && !w->stop)
            pthread_cond_wait(&w->wake, &w->lock);
        if (w->stop)
            break;
        struct group *g = w->group;
        pthread_mutex_unlock(&w->lock);
        size_t from = 0;
        for (size_t i = 0; i < g->slices.n; i++) {
            if (store_commit(w->store, g->ops.at + from, g->slices.at[i] - from, &e) < 0)
                fail(&e);
            from = g->slices.at[i];
        }
        pthread_mutex_lock(&w->lock);
        w->busy = false;
        pthread_cond_broadcast(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void writer_give(struct writer *w, struct group *g)
{
    pthread_mutex_lock(&w->lock);
    w->group = g;
    w->busy = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

static void writer_wait(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->busy)
        pthread_cond_wait(&w->wake, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static bool writer_is_busy(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool busy = w->busy;
    pthread_mutex_unlock(&w->lock);
    return busy;
}

/* ---- A ---- */

struct run {
    struct anneal *engine;
    struct commit *commit;
    struct writer writer;
    VEC(struct group *) groups; /* kept for B */
    VEC(struct dispatch) ready; /* durable starts, to be answered */
    size_t head;
};

static void event(struct run *r, struct event ev, const void *fixed)
{
    struct err e;
    struct commit_note note = {.fixed = fixed, .wall_ms = 1700000000000ull};
    if (commit_event(r->commit, &ev, &note, NULL, &e) < 0)
        fail(&e);
}

static void land(struct run *r, struct group *g)
{
    commit_durable(r->commit, g->number);
    for (size_t i = 0; i < g->sends.n; i++)
        vec_push(&r->ready, g->sends.at[i]);
}

static void setup(struct run *r, const char *path)
{
    struct store_options o = {.path = path};
    struct err e;
    memset(r, 0, sizeof *r);
    if (store_open(&o, &r->writer.store, &e) < 0)
        fail(&e);
    pthread_mutex_init(&r->writer.lock, NULL);
    pthread_cond_init(&r->writer.wake, NULL);
    pthread_create(&r->writer.thread, NULL, writer_main, &r->writer);
    r->engine = anneal_new();
    r->commit = commit_new(r->engine, 0, 0);
    struct row_tenant tenant = {.name = str_of("default")};
    struct row_operation op = {
        .kind = str_of("bench"), .title = str_of("bench"), .actor = str_of("")};
    struct row_jig jig = {.name = str_of("noop")};
    event(r, (struct event){.kind = EVENT_TENANT_ADD, .id = 1, .at_ms = 1}, &tenant);
    for (uint32_t i = 1; i <= 4; i++)
        event(r, (struct event){.kind = EVENT_OPERATION_ADD, .id = i, .n = 1, .flag = 1}, &op);
    event(r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 4000}, &jig);
    event(r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 2000}, NULL);
    for (uint32_t n = 1; n <= NODES; n++) {
        char name[32];
        snprintf(name, sizeof name, "n%u.bench", n);
        struct row_node node = {.name = str_of(name)};
        event(r,
              (struct event){
                  .kind = EVENT_NODE_ADD, .id = n, .n = 1, .flag = 1, .extra = ALIVE_ALIVE},
              &node);
    }
}

/* Chains of ten tasks a noderole, or a tree of single ones. */
static void add_plan(struct run *r, uint32_t noderoles, uint32_t tasks, bool tree)
{
    struct plan *p = plan_new();
    p->n_noderoles = noderoles;
    p->n_tasks = noderoles * tasks;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, noderoles);
    p->tasks = arena_new(&p->mem, struct plan_task, p->n_tasks);
    p->defs = arena_new(&p->mem, struct plan_def, 1);
    p->defs[0] = (struct plan_def){.name = str_of("noop"),
                                   .role = str_of("r"),
                                   .jig = 1,
                                   .digest = 5,
                                   .timeout_ms = 60000,
                                   .body = str_of("{}")};
    p->n_defs = 1;
    for (uint32_t i = 0; i < noderoles; i++) {
        uint32_t parent = tree && i ? 1 + (i - 1) / 10 : 0;
        uint32_t *up = arena_new(&p->mem, uint32_t, 1);
        *up = parent;
        p->noderoles[i] = (struct plan_noderole){
            .role = str_of("r"),
            .node = i % NODES + 1,
            .deployment = 1,
            .n_tasks = tasks,
            .first_task = i * tasks,
            .parents = up,
            .n_parents = parent > 0,
            .cohort = parent ? p->noderoles[parent - 1].cohort + 1 : 0,
            .user = str_of("")};
        for (uint32_t k = 0; k < tasks; k++) {
            uint32_t *dep = arena_new(&p->mem, uint32_t, 1);
            *dep = k ? i * tasks + k : parent;
            p->tasks[i * tasks + k] = (struct plan_task){
                .noderole = 1 + i, .def = 1, .weight = tasks - k, .deps = dep, .n_deps = *dep > 0};
        }
    }
    p->base_noderole = p->base_task = p->base_def = p->base_span = p->base_pool = 1;
    p->rebased = true;
    event(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 2, .plan = p}, NULL);
    plan_free(p);
}

/* Answers every durable start until nothing is left; groups as the server makes them. */
static void anneal_all(struct run *r, bool keep)
{
    struct group *flying = NULL;
    for (;;) {
        uint32_t fed = 0;
        while (r->head < r->ready.n && commit_pending(r->commit) < GROUP_EVENTS) {
            struct dispatch d = r->ready.at[r->head++];
            event(r,
                  (struct event){
                      .kind = EVENT_RESULT, .id = d.task, .attempt = d.attempt, .flag = OUTCOME_OK},
                  NULL);
            fed++;
            if (flying && fed % 64 == 0 && !writer_is_busy(&r->writer))
                break;
        }
        if (flying && (!writer_is_busy(&r->writer) || fed == 0 ||
                       commit_pending(r->commit) >= GROUP_EVENTS)) {
            writer_wait(&r->writer);
            land(r, flying);
            if (keep)
                vec_push(&r->groups, flying);
            else
                group_free(flying);
            flying = NULL;
        }
        if (!flying) {
            flying = commit_close(r->commit);
            if (flying)
                writer_give(&r->writer, flying);
            else if (r->head == r->ready.n)
                return;
        }
    }
}

static void finish(struct run *r)
{
    pthread_mutex_lock(&r->writer.lock);
    r->writer.stop = true;
    pthread_cond_broadcast(&r->writer.wake);
    pthread_mutex_unlock(&r->writer.lock);
    pthread_join(r->writer.thread, NULL);
    store_close(r->writer.store);
    for (size_t i = 0; i < r->groups.n; i++)
        group_free(r->groups.at[i]);
    vec_done(&r->groups);
    vec_done(&r->ready);
    commit_free(r->commit);
    anneal_free(r->engine);
}

/* ---- B ---- */

static void append(char *to, size_t room, const char *more)
{
    size_t n = strlen(to);
    snprintf(to + n, room - n, "%s", more);
}

static sqlite3_stmt *prepare(sqlite3 *db, enum row_table t, enum row_verb verb)
{
    char sql[2048], sets[1024] = "", names[1024] = "", marks[512] = "";
    const struct row_layout *l = &row_layouts[t];
    for (uint16_t i = 0; i < l->n_columns; i++) {
        char one[64];
        snprintf(one, sizeof one, "%s%s", *names ? "," : "", l->columns[i].name);
        append(names, sizeof names, one);
        snprintf(one, sizeof one, "%s?%d", *marks ? "," : "", i + 1);
        append(marks, sizeof marks, one);
        if (l->columns[i].role != ROW_DYN)
            continue;
        snprintf(one, sizeof one, "%s%s=?%d", *sets ? "," : "", l->columns[i].name, i + 1);
        append(sets, sizeof sets, one);
    }
    if (verb == ROW_UPDATE)
        snprintf(sql, sizeof sql, "UPDATE %s SET %s WHERE id=?1", l->name, sets);
    else if (verb == ROW_DELETE)
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE id=?1", l->name);
    else
        snprintf(sql, sizeof sql, "INSERT %s INTO %s(%s) VALUES(%s)",
                 verb == ROW_PUT ? "OR REPLACE" : "", l->name, names, marks);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK) {
        fprintf(stderr, "bench: %s: %s\n", sql, sqlite3_errmsg(db));
        exit(2);
    }
    return st;
}

static void bind_row(sqlite3_stmt *st, enum row_table t, enum row_verb verb, const void *row)
{
    const struct row_layout *l = &row_layouts[t];
    for (uint16_t i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        const char *at = (const char *)row + c->offset;
        if ((verb == ROW_UPDATE && c->role == ROW_FIX) ||
            (verb == ROW_DELETE && c->role != ROW_KEY))
            continue;
        switch ((enum row_type)c->type) {
        case ROW_U8: sqlite3_bind_int(st, i + 1, *(const uint8_t *)at); break;
        case ROW_U32: sqlite3_bind_int64(st, i + 1, *(const uint32_t *)at); break;
        case ROW_U64:
        case ROW_I64: sqlite3_bind_int64(st, i + 1, *(const int64_t *)at); break;
        case ROW_TEXT: {
            const struct str *s = (const struct str *)at;
            sqlite3_bind_text(st, i + 1, s->n ? s->s : "", (int)s->n, SQLITE_STATIC);
            break;
        }
        case ROW_BLOB: {
            const struct str *s = (const struct str *)at;
            sqlite3_bind_blob(st, i + 1, s->n ? s->s : "", (int)s->n, SQLITE_STATIC);
            break;
        }
        }
    }
}

static double bare(const char *path, struct group **groups, size_t n)
{
    struct store_options o = {.path = path};
    struct store *s;
    struct err e;
    sqlite3 *db;
    sqlite3_stmt *st[ROWS_COUNT][4] = {{0}};
    if (store_open(&o, &s, &e) < 0) /* makes the schema */
        fail(&e);
    store_close(s);
    sqlite3_open(path, &db);
    sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536",
                 NULL, NULL, NULL);
    double t0 = now_s();
    for (size_t g = 0; g < n; g++) {
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        for (size_t i = 0; i < groups[g]->ops.n; i++) {
            const struct row_op *op = &groups[g]->ops.at[i];
            sqlite3_stmt **stmt = &st[op->table][op->verb];
            if (!*stmt)
                *stmt = prepare(db, (enum row_table)op->table, (enum row_verb)op->verb);
            bind_row(*stmt, (enum row_table)op->table, (enum row_verb)op->verb, op->row);
            if (sqlite3_step(*stmt) != SQLITE_DONE) {
                fprintf(stderr, "bench: %s\n", sqlite3_errmsg(db));
                exit(2);
            }
            sqlite3_reset(*stmt);
        }
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    double t1 = now_s();
    for (int t = 0; t < ROWS_COUNT; t++)
        for (int v = 0; v < 4; v++)
            sqlite3_finalize(st[t][v]);
    sqlite3_close(db);
    return t1 - t0;
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    uint32_t noderoles = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20000;
    struct figures f = {0};
    struct run r;
    char path_a[512], path_b[512], path_c[512];
    snprintf(path_a, sizeof path_a, "%s/a.db", dir);
    snprintf(path_b, sizeof path_b, "%s/b.db", dir);
    snprintf(path_c, sizeof path_c, "%s/c.db", dir);

    setup(&r, path_a);
    double t0 = now_s();
    add_plan(&r, noderoles, 10, false);
    anneal_all(&r, true);
    double a = now_s() - t0;
    double b = bare(path_b, r.groups.at, r.groups.n);
    struct operation_view v;
    anneal_operation(r.engine, 2, &v);
    if (v.state != OPERATION_SUCCEEDED)
        exit(2);
    figure_seen("durable.groups", (double)r.groups.n, "groups");
    figure_seen("durable.tasks", noderoles * 10 / a, "tasks/s");
    figure(&f, "durable.against_bare_sqlite", b / a, AT_LEAST, 0.7, "of its speed",
           "a bare SQLite program");
    finish(&r);

    setup(&r, path_c);
    add_plan(&r, 100001, 1, true);
    anneal_all(&r, false);
    static const uint32_t root[1] = {1};
    event(&r, (struct event){.kind = EVENT_RERUN, .op = 3, .ids = root, .n_ids = 1}, NULL);
    struct group *g = commit_close(r.commit);
    writer_give(&r.writer, g);
    writer_wait(&r.writer);
    struct dispatch d = g->sends.at[0];
    commit_durable(r.commit, g->number);
    group_free(g);
    t0 = now_s();
    event(&r,
          (struct event){
              .kind = EVENT_RESULT, .id = d.task, .attempt = d.attempt, .flag = OUTCOME_FAILED},
          NULL);
    g = commit_close(r.commit);
    writer_give(&r.writer, g);
    writer_wait(&r.writer);
    figure(&f, "durable.loss", now_s() - t0, AT_MOST, 1.0, "s for 100,000", NULL);
    figure_seen("durable.loss.transactions", (double)g->slices.n, "transactions");
    group_free(g);
    finish(&r);
    return f.missed ? 1 : 0;
}
