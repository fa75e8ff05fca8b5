/* crowbar_facts.h - a server for each fact that the study of Crowbar lists, and short ways to ask
 *
 * A fact has its number in every label, so that a failure names it.  Three nodes n1 to n3, room
 * for nine at once on each, a worker that is given everything, and a deployment "shop".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CROWBAR_FACTS_H
#define TESTS_CROWBAR_FACTS_H

#include <stdarg.h>

#include "server_rig.h"

struct fact {
    struct rig g;     /* first: the worker's callback gets the rig */
    const char *name; /* "S1", "S6 (excepted)" */
    char *data;       /* what the last task was sent */
};

/* Crowbar runs everything below again after an error: so does what says `rerun: always`. */
#define FACTS_CATALOG                                                                              \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: local, implementation: test, active: true, reach: node}]\n"                     \
    "roles:\n"                                                                                     \
    "  - {name: a, jig: local, attributes: {size: {schema: {type: integer}, default: 1}},\n"       \
    "     actions: {converge: [{name: a-up, params: {}}]}}\n"                                      \
    "  - {name: b, jig: local, requires: [a], rerun: always,\n"                                    \
    "     actions: {converge: [{name: b-up, params: {}}]}}\n"                                      \
    "  - {name: c, jig: local, requires: [b], rerun: always,\n"                                    \
    "     actions: {converge: [{name: c-up, params: {}}]}}\n"                                      \
    "  - {name: left, jig: local, requires: [a],\n"                                                \
    "     actions: {converge: [{name: left-up, params: {}}]}}\n"                                   \
    "  - {name: right, jig: local, requires: [a],\n"                                               \
    "     actions: {converge: [{name: right-up, params: {}}]}}\n"                                  \
    "  - {name: top, jig: local, requires: [left, right], rerun: always,\n"                        \
    "     actions: {converge: [{name: top-up, params: {}}]}}\n"                                    \
    "  - {name: steps, jig: local, requires: [a],\n"                                               \
    "     actions: {converge: [{name: one, params: {}}, {name: two, params: {}}]}}\n"              \
    "  - {name: wipe, jig: local, flags: [destructive], requires: [a],\n"                          \
    "     actions: {converge: [{name: wipe-disk, params: {}}]}}\n"                                 \
    "  - {name: alone, jig: local, actions: {converge: [{name: alone-up, params: {}}]}}\n"         \
    "  - {name: other, jig: local, actions: {converge: [{name: other-up, params: {}}]}}\n"         \
    "  - name: guarded\n"                                                                          \
    "    jig: local\n"                                                                             \
    "    actions: {converge: [{name: guarded-up, params: {}}]}\n"                                  \
    "    hooks:\n"                                                                                 \
    "      on_commit:\n"                                                                           \
    "        - {store: seen/(node.name), to: true}\n"                                              \
    "        - {when: \"node.labels.veto is defined\", refuse: \"'not on ' ~ node.name\"}\n"

#define ASK(...)                                                                                   \
    (struct rig_ask)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

__attribute__((format(printf, 3, 4))) static bool fact_ok(const struct fact *f, bool good,
                                                          const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ok(good, "%s: %s", f->name, text);
}

static void fact_is(const struct fact *f, const char *got, const char *want, const char *what)
{
    is_text(got, want, "%s: %s", f->name, what);
}

static void fact_int(const struct fact *f, int64_t got, int64_t want, const char *what)
{
    is_int(got, want, "%s: %s", f->name, what);
}

/* A request that is granted. */
static void fact_do(struct fact *f, server_op_f *op, const char *what, struct rig_ask ask)
{
    if (!fact_ok(f, rig_call(&f->g, op, ask) >= 0, "%s", what))
        printf("#   %s at \"%s\"\n", f->g.err.text, f->g.err.at);
    rig_settle(&f->g);
}

/* A request that is refused in these words. */
static void fact_refuse(struct fact *f, server_op_f *op, const char *words, const char *what,
                        struct rig_ask ask)
{
    bool refused = rig_call(&f->g, op, ask) < 0;
    if (!fact_ok(f, refused && strstr(f->g.err.text, words), "%s is refused: %s", what, words))
        printf("#   %s\n", refused ? f->g.err.text : "it was granted");
    rig_settle(&f->g);
}

static void fact_message(struct rig *g, const struct taskmsg *m)
{
    struct fact *f = (struct fact *)g;
    if (m->kind != TASKMSG_TASK)
        return;
    free(f->data);
    f->data = xstrndup(m->data.n ? m->data.s : "", m->data.n);
}

static void fact_begin(struct fact *f, const char *name)
{
    rig_open(&f->g);
    f->name = name;
    f->data = NULL;
    f->g.message = fact_message;
    rig_catalog_of(&f->g, FACTS_CATALOG);
    rig_worker(&f->g, 32);
    for (int i = 1; i <= 3; i++)
        rig_node(&f->g, arena_printf(&f->g.mem, "n%d", i), ", 'slots': 9");
    fact_do(f, server_deployment_create, "a deployment is made", ASK(.body = "{'name': 'shop'}"));
}

static void fact_end(struct fact *f)
{
    rig_close(&f->g);
    free(f->data);
}

/* The id of "role@node", 0 if it does not live. */
static uint32_t fact_id(struct fact *f, const char *name)
{
    const char *at = strchr(name, '@');
    return rig_noderole(&f->g, arena_strndup(&f->g.mem, name, (size_t)(at - name)), at + 1);
}

/* "a@n1 b@n2" -> "ACTIVE BLOCKED", "-" for what does not live. */
static const char *fact_states(struct fact *f, const char *names)
{
    SCOPED_BUF(b);
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        uint32_t id = fact_id(f, arena_strndup(&f->g.mem, at, n));
        const char *state = "-";
        if (id && rig_call(&f->g, server_noderole_get, ASK(.id = rig_id(&f->g, id))) >= 0)
            state = rig_text(&f->g, "state");
        buf_printf(&b, "%s%s", b.len ? " " : "", state);
        at += n;
    }
    return arena_strdup(&f->g.mem, b.data);
}

/* One number of a noderole: "run_count", "generation". */
static int64_t fact_number(struct fact *f, const char *name, const char *field)
{
    if (rig_call(&f->g, server_noderole_get, ASK(.id = rig_id(&f->g, fact_id(f, name)))) < 0)
        return -1;
    return rig_int(&f->g, field);
}

/* In one operation: "a@n1 b@n2". */
static void fact_bind(struct fact *f, const char *names)
{
    SCOPED_BUF(b);
    buf_puts(&b, "{'bindings': [");
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " "), role = strcspn(at, "@");
        buf_printf(&b, "%s{'role': '%.*s', 'nodes': '%.*s'}", at == names ? "" : ", ", (int)role,
                   at, (int)(n - role - 1), at + role + 1);
        at += n;
    }
    buf_puts(&b, "]}");
    fact_do(f, server_deployment_bind, arena_printf(&f->g.mem, "%s are bound", names),
            ASK(.id = "shop", .body = b.data));
}

/* What the worker has to say of an attempt, whoever still cares. */
static void fact_late(struct fact *f, struct rig_task t, enum outcome outcome)
{
    rig_send(&f->g, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                      .task = t.task,
                                      .attempt = t.attempt,
                                      .ask = t.ask,
                                      .seq = ++f->g.seq,
                                      .outcome = outcome,
                                      .exit_code = outcome == OUTCOME_OK ? 0 : 1});
}

/* Not if it was only sent ahead. */
static bool fact_runs(const struct rig *g, struct rig_task t)
{
    struct task_view v;
    return anneal_attempt_open(g->server->engine, t.task, t.attempt) &&
           anneal_task(g->server->engine, t.task, &v) && !v.behind;
}

/* The worker's answer to what runs of this noderole; how many attempts that were. */
static int fact_answer(struct fact *f, const char *name, enum outcome outcome)
{
    struct rig *g = &f->g;
    struct noderole_view v = {0};
    int n = 0;
    VEC(struct rig_task) run = {0};
    (void)anneal_noderole(g->server->engine, fact_id(f, name), &v);
    for (size_t i = 0; i < g->sent.n; i++)
        if (g->sent.at[i].task - v.first_task < v.n_tasks && fact_runs(g, g->sent.at[i]))
            vec_push(&run, g->sent.at[i]);
    for (; (size_t)n < run.n; n++)
        fact_late(f, run.at[n], outcome);
    vec_done(&run);
    return n;
}

static void fact_pass(struct fact *f, const char *name)
{
    fact_ok(f, fact_answer(f, name, OUTCOME_OK) == 1, "%s runs once, and passes", name);
}

static void fact_fail(struct fact *f, const char *name)
{
    fact_ok(f, fact_answer(f, name, OUTCOME_FAILED) == 1, "%s runs once, and fails", name);
}

static void fact_rerun(struct fact *f, const char *name)
{
    fact_do(f, server_noderole_rerun, arena_printf(&f->g.mem, "%s is to run again", name),
            ASK(.id = rig_id(&f->g, fact_id(f, name))));
}

static void fact_retry(struct fact *f, const char *name)
{
    fact_do(f, server_noderole_retry, arena_printf(&f->g.mem, "%s is retried", name),
            ASK(.id = rig_id(&f->g, fact_id(f, name))));
}

static void fact_available(struct fact *f, const char *node, bool yes)
{
    fact_do(f, server_node_patch,
            arena_printf(&f->g.mem, "%s is made %savailable", node, yes ? "" : "un"),
            ASK(.id = node, .body = yes ? "{'available': true}" : "{'available': false}"));
}

static void fact_propose(struct fact *f)
{
    fact_do(f, server_deployment_propose, "a proposal is opened", ASK(.id = "shop"));
}

static void fact_edit(struct fact *f, const char *edits)
{
    fact_do(f, server_deployment_edit, arena_printf(&f->g.mem, "the proposal takes %s", edits),
            ASK(.id = "shop", .body = arena_printf(&f->g.mem, "{'edits': [%s]}", edits)));
}

static void fact_commit(struct fact *f)
{
    fact_do(f, server_deployment_commit, "it is committed", ASK(.id = "shop"));
}

/* The numbers of the snapshots of shop, newest first: "3 2 1". */
static const char *fact_history(struct fact *f)
{
    SCOPED_BUF(b);
    (void)rig_call(&f->g, server_deployment_snapshots, ASK(.id = "shop"));
    const struct value *items = rig_at(&f->g, "items");
    for (uint32_t i = 0; items && i < items->n; i++)
        buf_printf(&b, "%s%d:%s", i ? " " : "",
                   (int)value_as_int(value_get(&items->items[i], "number"), -1),
                   value_as_text(value_get(&items->items[i], "state"), "?"));
    return arena_strdup(&f->g.mem, b.data ? b.data : "");
}

/* User data of a@n1, in one request. */
static void fact_size(struct fact *f, int size)
{
    fact_do(f, server_noderole_data, arena_printf(&f->g.mem, "its size becomes %d", size),
            ASK(.id = rig_id(&f->g, fact_id(f, "a@n1")),
                .body = arena_printf(&f->g.mem, "{'size': %d}", size)));
}

/* The word for all of it. */
static const char *fact_all_told(struct fact *f)
{
    fact_ok(f, rig_call(&f->g, server_status, ASK(.id = NULL)) >= 0, "the status is read");
    fact_ok(f, rig_shape(&f->g, "Status", f->g.reply.body), "it has its shape");
    return rig_text(&f->g, "state");
}

#endif
