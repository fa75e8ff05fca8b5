/* What runs see in a server that lives: sent, returned, told on, and the same after a restart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

#include "edit_entry.h"
#include "server/data_i.h"

/* What one reads of another is in `wants`; `quiet` needs the same and reads nothing. */
#define DATA_CATALOG                                                                               \
    "barclamp: t\n"                                                                                \
    "version: 1.0.0\n"                                                                             \
    "jigs:\n"                                                                                      \
    "  - {name: local, implementation: test, active: true, reach: node}\n"                         \
    "roles:\n"                                                                                     \
    "  - name: dns\n"                                                                              \
    "    jig: local\n"                                                                             \
    "    attributes:\n"                                                                            \
    "      domain: {schema: {type: string}, default: example.org, path: net/domain}\n"             \
    "      address: {schema: {type: string}}\n"                                                    \
    "      blob: {schema: {type: string}}\n"                                                       \
    "    actions: {converge: [{name: serve-dns, params: {}}]}\n"                                   \
    "  - name: web\n"                                                                              \
    "    jig: local\n"                                                                             \
    "    wants: [dns.address]\n"                                                                   \
    "    attributes: {port: {schema: {type: integer, minimum: 1}, default: 80}}\n"                 \
    "    actions: {converge: [{name: run-web, params: {}}]}\n"                                     \
    "  - name: quiet\n"                                                                            \
    "    jig: local\n"                                                                             \
    "    requires: [dns]\n"                                                                        \
    "    actions: {converge: [{name: run-quiet, params: {}}]}\n"                                   \
    "  - name: leaf\n"                                                                             \
    "    jig: local\n"                                                                             \
    "    requires: [web]\n"                                                                        \
    "    wants: [/net/domain]\n"                                                                   \
    "    actions: {converge: [{name: run-leaf, params: {}}]}\n"                                    \
    "  - name: db\n"                                                                               \
    "    jig: local\n"                                                                             \
    "    flags: [cluster]\n"                                                                       \
    "    attributes: {address: {schema: {type: string}}}\n"                                        \
    "    actions: {converge: [{name: run-db, params: {}}]}\n"                                      \
    "  - name: app\n"                                                                              \
    "    jig: local\n"                                                                             \
    "    wants: [db.address]\n"                                                                    \
    "    actions: {converge: [{name: run-app, params: {}}]}\n"                                     \
    "  - name: racked\n"                                                                           \
    "    jig: local\n"                                                                             \
    "    wants: [/node/labels/rack]\n"                                                             \
    "    actions: {converge: [{name: run-racked, params: {}}]}\n"                                  \
    "  - name: early\n"                                                                            \
    "    jig: local\n"                                                                             \
    "    attributes: {mark: {schema: {type: string}}}\n"                                           \
    "    hooks: {on_active: [{set: mark, to: \"'run ' ~ noderole.name\"}]}\n"                      \
    "    actions: {converge: [{name: run-early, params: {}}]}\n"                                   \
    "  - name: late\n"                                                                             \
    "    jig: local\n"                                                                             \
    "    wants: [early.mark]\n"                                                                    \
    "    actions: {converge: [{name: run-late, params: {}}]}\n"

/* --- the worker's memory of the last messages --- */

enum { TASKS_MAX = 64 };
static struct {
    char *data[TASKS_MAX], *under[TASKS_MAX], *over[TASKS_MAX]; /* by task */
    char *document;                                             /* the last one fetched */
    bool missing;
} last; /* of one test program: a callback of the rig has nothing else to write to */

static void keep(char **at, struct str s)
{
    free(*at);
    *at = xstrndup(s.n ? s.s : "", s.n);
}

static void on_message(struct rig *g, const struct taskmsg *m)
{
    (void)g;
    if (m->kind == TASKMSG_TASK && m->task < TASKS_MAX) {
        char digest[DIGEST_HEX];
        taskmsg_digest(m, digest);
        if (!str_is(m->digest, digest))
            ok(false, "task %u has the digest of what it is sent", m->task);
        keep(&last.data[m->task], m->data);
        keep(&last.under[m->task], m->under);
        keep(&last.over[m->task], m->over);
    } else if (m->kind == TASKMSG_DOCUMENT) {
        keep(&last.document, m->content);
        last.missing = m->missing;
    }
}

static void forget_messages(void)
{
    for (size_t i = 0; i < TASKS_MAX; i++) {
        free(last.data[i]);
        free(last.under[i]);
        free(last.over[i]);
    }
    free(last.document);
    memset(&last, 0, sizeof last);
}

/* --- asking --- */

static struct noderole_view state_of(struct rig *g, const char *role, const char *node)
{
    struct noderole_view v = {0};
    ok(anneal_noderole(g->server->engine, rig_noderole(g, role, node), &v), "%s@%s is there", role,
       node);
    return v;
}

static uint32_t runs_of(struct rig *g, const char *role, const char *node)
{
    return state_of(g, role, node).run_count;
}

/* What the last task of a role on a node was sent. */
static const char *sent_to(struct rig *g, const char *role, const char *node)
{
    uint32_t task = rig_task_of(g, role, node, 0);
    return task < TASKS_MAX && last.data[task] ? last.data[task] : "(nothing)";
}

static void answer(struct rig *g, const char *role, const char *node, const char *returns,
                   const char *gone)
{
    uint32_t task = rig_task_of(g, role, node, 0);
    struct rig_task t = {0};
    ok(rig_sent(g, task, &t), "%s@%s was sent", role, node);
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                  .task = task,
                                  .attempt = t.attempt,
                                  .ask = t.ask,
                                  .seq = ++g->seq,
                                  .outcome = OUTCOME_OK,
                                  .returns = str_of(returns),
                                  .gone = str_of(gone)});
}

static void is_state(struct rig *g, const char *role, const char *node, enum noderole_state want)
{
    is_text(noderole_state_name((enum noderole_state)state_of(g, role, node).state),
            noderole_state_name(want), "%s@%s is %s", role, node, noderole_state_name(want));
}

static void rerun(struct rig *g, const char *role, const char *node)
{
    rig_do(g, server_noderole_rerun, NULL,
           (struct rig_ask){.id = rig_id(g, rig_noderole(g, role, node))});
    rig_settle(g);
}

/* The engine has the inputs that everybody has: nobody would be told anything. */
static void is_settled(struct rig *g, const char *when)
{
    struct server *s = g->server;
    uint32_t differ = 0;
    for (uint32_t id = 1; id < anneal_noderole_end(s->engine); id++) {
        struct noderole_view v;
        uint64_t digest = 0;
        if (!anneal_noderole(s->engine, id, &v))
            continue;
        if (v.run_count == 0 && v.state == NODEROLE_BLOCKED && v.gate > 0)
            continue; /* told when the last it waits for is done */
        SCOPED(data_look) l;
        data_look_begin(&l, s);
        if (data_look_inputs(&l, id, &digest, &g->err) < 0 || digest != v.data) {
            printf("# %s@%s differs\n", view_role_name(s, id), view_node_name(s, v.node));
            differ++;
        }
    }
    is_int(differ, 0, "the engine knows the inputs of all: %s", when);
}

/* --- tests --- */

static void test_first_run(struct rig *g)
{
    for (int i = 1; i <= 6; i++)
        rig_node(g, arena_printf(&g->mem, "n%d.t", i), "");
    rig_worker(g, 20);
    rig_bind(g, "dns", "n1.t");
    rig_bind(g, "quiet", "n2.t");
    rig_bind(g, "leaf", "n3.t");
    is_text(sent_to(g, "dns", "n1.t"),
            "{\"net\":{\"domain\":\"example.org\"},\"node\":{\"name\":\"n1.t\"}}",
            "a task is sent defaults at their paths, and its node");
    uint64_t before = state_of(g, "web", "n3.t").data;
    answer(g, "dns", "n1.t", "{\"address\":\"10.0.0.1\"}", "");
    ok(state_of(g, "web", "n3.t").data != before, "who reads what a run returned has other inputs");
    has_text(sent_to(g, "web", "n3.t"), "\"address\":\"10.0.0.1\"", "and is sent it");
    has_text(sent_to(g, "web", "n3.t"), "\"port\":80", "with its own defaults");
    ok(!strstr(sent_to(g, "web", "n3.t"), "domain"), "but not those of others");
    answer(g, "quiet", "n2.t", "", "");
    answer(g, "web", "n3.t", "", "");
    answer(g, "leaf", "n3.t", "", "");
    is_state(g, "leaf", "n3.t", NODEROLE_ACTIVE);
    is_int(runs_of(g, "web", "n3.t"), 1, "it ran once");
    is_settled(g, "after the first run");
}

static void test_rerun(struct rig *g)
{
    rerun(g, "dns", "n1.t");
    answer(g, "dns", "n1.t", "{\"address\":\"10.0.0.1\"}", "");
    is_state(g, "web", "n3.t", NODEROLE_ACTIVE);
    is_int(runs_of(g, "web", "n3.t"), 1, "what is returned again is nothing new");
    rerun(g, "dns", "n1.t");
    answer(g, "dns", "n1.t", "{\"address\":\"10.0.0.2\",\"noise\":1}", "");
    is_state(g, "web", "n3.t", NODEROLE_STALE);
    is_state(g, "quiet", "n2.t", NODEROLE_ACTIVE);
    is_state(g, "leaf", "n3.t", NODEROLE_ACTIVE);
    has_text(sent_to(g, "web", "n3.t"), "10.0.0.2", "who reads it runs with it");
    answer(g, "web", "n3.t", "", "");
    is_int(runs_of(g, "web", "n3.t"), 2, "once");
    is_int(runs_of(g, "quiet", "n2.t"), 1, "who does not read it does not run");
    is_int(runs_of(g, "leaf", "n3.t"), 1, "nor who reads something else");
    is_int(runs_of(g, "dns", "n1.t"), 3,
           "nor who returned it, though it is an attribute of its own");
    is_settled(g, "after a re-run");
}

static void test_gone(struct rig *g)
{
    rerun(g, "dns", "n1.t");
    answer(g, "dns", "n1.t", "{\"deep\":{\"a\":{\"b\":1},\"c\":2}}",
           "[[\"noise\"],[\"no\",\"such\"]]");
    is_text(g->server->inv.noderoles.at[rig_noderole(g, "dns", "n1.t")].wall,
            "{\"address\":\"10.0.0.2\",\"deep\":{\"a\":{\"b\":1},\"c\":2}}",
            "what is gone leaves the wall, what is new joins it");
    rerun(g, "dns", "n1.t");
    answer(g, "dns", "n1.t", "", "[[\"deep\",\"a\",\"b\"],[\"deep\",\"c\"]]");
    is_text(g->server->inv.noderoles.at[rig_noderole(g, "dns", "n1.t")].wall,
            "{\"address\":\"10.0.0.2\",\"deep\":{\"a\":{}}}", "in the depth as well");
    rerun(g, "dns", "n1.t");
    answer(g, "dns", "n1.t", "[1]", "");
    is_state(g, "dns", "n1.t", NODEROLE_ERROR);
    struct rig_task t = {0};
    rig_do(g, server_noderole_retry, NULL,
           (struct rig_ask){.id = rig_id(g, rig_noderole(g, "dns", "n1.t"))});
    rig_settle(g);
    ok(rig_sent(g, rig_task_of(g, "dns", "n1.t", 0), &t), "a run that returned nonsense failed");
    answer(g, "dns", "n1.t", "", "");
    for (int i = 0; i < 2; i++) { /* its children were lost with it */
        if (state_of(g, "quiet", "n2.t").state != NODEROLE_ACTIVE)
            answer(g, "quiet", "n2.t", "", "");
        if (state_of(g, "web", "n3.t").state != NODEROLE_ACTIVE)
            answer(g, "web", "n3.t", "", "");
    }
    is_state(g, "leaf", "n3.t", NODEROLE_ACTIVE);
    is_settled(g, "after losses");
}

static void test_user_and_system(struct rig *g)
{
    uint32_t dns = rig_noderole(g, "dns", "n1.t"), leaf = runs_of(g, "leaf", "n3.t");
    uint32_t web = runs_of(g, "web", "n3.t");
    struct err e;
    rig_do(g, server_noderole_data, NULL,
           (struct rig_ask){.id = rig_id(g, dns), .body = "{'net': {'domain': 'a.test'}}"});
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "");
    has_text(sent_to(g, "dns", "n1.t"), "a.test", "user data are sent");
    has_text(sent_to(g, "leaf", "n3.t"), "a.test", "to those below, however far");
    answer(g, "leaf", "n3.t", "", "");
    is_int(runs_of(g, "leaf", "n3.t"), leaf + 1, "who reads them runs");
    is_int(runs_of(g, "web", "n3.t"), web, "nobody else does");
    is_settled(g, "after user data");
    struct data_edit edit = {str_of("net/domain"), value_text(&g->mem, "b.test")};
    is_int(data_system_edit(g->server, dns, &edit, 1, &e), 1, "system data change");
    rig_settle(g);
    is_state(g, "leaf", "n3.t", NODEROLE_ACTIVE);
    edit = (struct data_edit){str_of("address"), value_text(&g->mem, "10.9.9.9")};
    is_int(data_system_edit(g->server, dns, &edit, 1, &e), 1, "and once more");
    is_state(g, "dns", "n1.t", NODEROLE_STALE);
    is_state(g, "web", "n3.t", NODEROLE_STALE);
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "");
    answer(g, "web", "n3.t", "", "");
    has_text(sent_to(g, "web", "n3.t"), "10.9.9.9", "system data hide what was returned");
    is_settled(g, "after system data");
    rig_refuse(g, server_noderole_data, ERR_INVALID, "/net/domain",
               (struct rig_ask){.id = rig_id(g, dns), .body = "{'net': {'domain': 7}}"});
    is_int(data_check_role(g->server->catalog, str_of("dns"), rig_json(g, "{'net': {'domain': 7}}"),
                           &e),
           -ERR_INVALID, "data of a deployment role are checked");
    is_text(e.at, "/net/domain", "at the path of the attribute");
    is_int(data_check_role(g->server->catalog, str_of("dns"),
                           rig_json(g, "{'net': {'domain': 'x'}}"), &e),
           0, "good ones pass");
    is_int(data_check_role(g->server->catalog, str_of("dn"), NULL, &e), -ERR_UNKNOWN_NAME,
           "of some role");
    has_text(e.hint, "dns", "or the one that was meant");
}

static struct sight_paths address_path(void)
{
    static const struct str key = {"address", 7};
    static const struct sight_path path = {&key, 1};
    return (struct sight_paths){&path, 1};
}

static void put_shared(struct rig *g, uint32_t deployment, const char *text)
{
    struct server *s = g->server;
    struct desire_author by = {.name = str_of("test"), .message = str_of("shared")};
    struct snapshot_entry t = {0};
    struct err e;
    ok(desire_doc(s->desire, str_of(text), &t.user, &e) == 0 &&
           desire_amend(s->desire, deployment, &by, desire_role(s->desire, str_of("dns")), 0,
                        *text ? &t : NULL, &e) >= 0,
       "data of a deployment role: %s", text);
}

static void test_shared(struct rig *g)
{
    uint32_t dns = rig_noderole(g, "dns", "n1.t");
    struct err e;
    struct data_edit edit = {str_of("address"), NULL};
    is_int(data_system_edit(g->server, dns, &edit, 1, &e), 1, "system data go");
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "[[\"address\"]]");
    answer(g, "web", "n3.t", "", "");
    ok(!strstr(sent_to(g, "web", "n3.t"), "address\":\"1"), "nobody gives an address any more");
    put_shared(g, 1, "{\"address\":\"192.0.2.1\"}");
    data_shared_changed(g->server, 1, str_of("dns"), address_path());
    is_state(g, "web", "n3.t", NODEROLE_STALE);
    is_state(g, "leaf", "n3.t", NODEROLE_ACTIVE);
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "");
    answer(g, "web", "n3.t", "", "");
    has_text(sent_to(g, "web", "n3.t"), "192.0.2.1", "a deployment role's data reach those below");
    has_text(sent_to(g, "dns", "n1.t"), "192.0.2.1", "and its own noderoles");
    is_settled(g, "after data of a deployment role");
    rig_restart(g);
    g->message = on_message;
    is_settled(g, "after a restart");
    rig_worker(g, 20);
    put_shared(g, 1, "");
    data_shared_changed(g->server, 1, str_of("dns"), address_path());
    is_state(g, "web", "n3.t", NODEROLE_STALE);
    data_shared_changed(g->server, 1, str_of("nobody"), address_path());
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "");
    answer(g, "web", "n3.t", "", "");
    is_settled(g, "when they are gone");
}

static void test_explain(struct rig *g)
{
    const char *web = rig_id(g, rig_noderole(g, "web", "n3.t"));
    const char *leaf = rig_id(g, rig_noderole(g, "leaf", "n3.t"));
    rig_do(g, server_noderole_visible, "NoderoleData", (struct rig_ask){.id = leaf});
    is_text(rig_text(g, "data.net.domain"), "a.test", "all that is seen");
    is_text(rig_text(g, "data.node.name"), "n3.t", "with the node");
    rig_do(g, server_noderole_visible, "NoderoleData",
           (struct rig_ask){.id = leaf, .query = "{'explain': 'net.domain'}"});
    ok(value_as_bool(rig_at(g, "found"), false), "a path is found");
    is_text(rig_text(g, "visible"), "a.test", "what is seen there");
    is_int(rig_at(g, "layers")->n, 2, "who gave it");
    is_text(rig_text(g, "layers.0.layer"), "system", "the weaker first");
    is_text(rig_text(g, "layers.1.layer"), "user", "then the stronger");
    is_text(rig_text(g, "layers.1.role"), "dns", "of whom");
    is_text(rig_text(g, "layers.1.node"), "n1.t", "and where");
    ok(value_as_bool(rig_at(g, "layers.1.wins"), false), "the last wins");
    ok(!value_as_bool(rig_at(g, "layers.0.wins"), true), "the first does not");
    rig_do(g, server_noderole_visible, "NoderoleData",
           (struct rig_ask){.id = web, .query = "{'explain': 'port'}"});
    is_text(rig_text(g, "layers.0.layer"), "default", "a default is the role's");
    ok(value_is(rig_at(g, "layers.0.noderole"), VALUE_NULL), "and no noderole's");
    rig_do(g, server_noderole_visible, "NoderoleData",
           (struct rig_ask){.id = web, .query = "{'explain': 'net/no'}"});
    ok(!value_as_bool(rig_at(g, "found"), true), "nothing is there");
    rig_refuse(g, server_noderole_visible, ERR_NOT_FOUND, "noderole", (struct rig_ask){.id = "99"});
    rig_refuse(g, server_noderole_visible, ERR_NOT_FOUND, "noderole", (struct rig_ask){.id = "x"});
}

/* --- plans --- */

static struct plan *plan_now(struct rig *g)
{
    const struct anneal *a = g->server->engine;
    struct plan *p = plan_new();
    plan_rebase(p, anneal_def_end(a), anneal_noderole_end(a), anneal_task_end(a),
                anneal_span_end(a), anneal_pool_end(a));
    return p;
}

static const struct plan_change *changed_in(struct rig *g, const struct plan *p, const char *role,
                                            const char *node)
{
    uint32_t id = rig_noderole(g, role, node);
    for (uint32_t i = 0; i < p->n_changes; i++)
        if (p->changes[i].noderole == id)
            return &p->changes[i];
    return NULL;
}

static void apply(struct rig *g, const struct plan *p)
{
    struct event add = {.kind = EVENT_OPERATION_ADD,
                        .id = anneal_operation_end(g->server->engine),
                        .n = 1,
                        .flag = CLASS_NORMAL};
    struct row_operation row = {.kind = str_of("test"), .title = str_of("t"), .actor = str_of("t")};
    struct commit_note note = server_note(NULL, &row);
    struct event ev = {.kind = EVENT_PLAN_APPLY, .op = add.id, .plan = p};
    ok(server_apply(g->server, &add, &note, NULL, &g->err) >= 0, "an operation for it");
    row.id = add.id;
    inventory_add_operation(&g->server->inv, &row);
    note.fixed = NULL;
    if (!ok(server_apply(g->server, &ev, &note, NULL, &g->err) >= 0, "the plan is applied"))
        printf("#   %s\n", g->err.text);
}

/* A commit that changes nothing but data of a deployment role. */
static void test_plan_of_shared(struct rig *g)
{
    struct server *s = g->server;
    struct desire_author by = {.name = str_of("test"), .message = str_of("shared")};
    struct snapshot_entry t = {0};
    SCOPED(plan) *p = plan_now(g);
    SCOPED_ARENA(mem);
    struct snapshot_conflicts none;
    struct pmap *root = NULL;
    uint32_t id = 0;
    struct err e;
    ok(desire_doc(s->desire, str_of("{\"address\":\"192.0.2.9\"}"), &t.user, &e) == 0 &&
           desire_propose(s->desire, 1, NULL, &by, &id, &e) >= 0 &&
           desire_edit(s->desire, id, desire_role(s->desire, str_of("dns")), 0, &t, &e) == 1 &&
           desire_merge(s->desire, id, &mem, &root, &none, &e) == 0,
       "a proposal");
    is_int(data_plan_digests(s, p, 1, root, &e), 0, "what it means for those who live");
    is_int(p->n_changes, 2, "two see something else");
    const struct plan_change *web = changed_in(g, p, "web", "n3.t");
    ok(web && web->what == PLAN_C_DATA && web->data != state_of(g, "web", "n3.t").data,
       "who reads it gets a change");
    ok(changed_in(g, p, "dns", "n1.t") != NULL, "so does the role itself");
    apply(g, p);
    desire_commit(s->desire, id, root, 1, 0, 1);
    is_state(g, "web", "n3.t", NODEROLE_STALE);
    is_settled(g, "as soon as it is committed");
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "");
    answer(g, "web", "n3.t", "", "");
    has_text(sent_to(g, "web", "n3.t"), "192.0.2.9", "and it is what they run with");
}

static void test_plan_of_changes(struct rig *g)
{
    struct server *s = g->server;
    uint32_t dns = rig_noderole(g, "dns", "n1.t"), web = rig_noderole(g, "web", "n3.t");
    struct err e;
    SCOPED(plan) *data = plan_now(g);
    data->changes = arena_new(&data->mem, struct plan_change, 1);
    data->changes[data->n_changes++] = (struct plan_change){
        .noderole = dns, .what = PLAN_C_DATA, .user = str_of("{\"net\":{\"domain\":\"c.test\"}}")};
    is_int(data_plan_digests(s, data, 0, NULL, &e), 0, "a plan with other user data");
    const struct plan_change *leaf = changed_in(g, data, "leaf", "n3.t");
    is_int(data->n_changes, 2, "concerns one more");
    ok(leaf && leaf->what == PLAN_C_DATA && leaf->user.n == 0, "who reads them, with its own data");
    is_text(changed_in(g, data, "dns", "n1.t")->user.s, "{\"net\":{\"domain\":\"c.test\"}}",
            "what the plan says stays");
    SCOPED(plan) *loss = plan_now(g);
    loss->changes = arena_new(&loss->mem, struct plan_change, 1);
    loss->changes[loss->n_changes++] = (struct plan_change){
        .noderole = web, .what = PLAN_C_PARENTS, .losses = &dns, .n_losses = 1};
    is_int(data_plan_digests(s, loss, 0, NULL, &e), 0, "a plan that takes a parent away");
    is_int(loss->n_changes, 2, "concerns who read of it, and those below");
    ok(changed_in(g, loss, "web", "n3.t")->what == (PLAN_C_PARENTS | PLAN_C_DATA),
       "what it does has other inputs as well");
    ok(changed_in(g, loss, "leaf", "n3.t") != NULL, "so has who is below it");
    SCOPED(plan) *none = plan_now(g);
    none->changes = arena_new(&none->mem, struct plan_change, 1);
    none->changes[none->n_changes++] = (struct plan_change){.noderole = dns, .what = PLAN_C_REMOVE};
    is_int(data_plan_digests(s, none, 0, NULL, &e), 0, "a plan that removes");
    is_int(none->n_changes, 1, "concerns nobody's data");
}

static void test_plan_of_binding(struct rig *g)
{
    rig_bind(g, "web", "n4.t");
    is_settled(g, "bound below somebody with data");
    has_text(sent_to(g, "web", "n4.t"), "192.0.2.9", "who is sent what is there");
    answer(g, "web", "n4.t", "", "");
    rig_do(g, server_deployment_bind, NULL,
           (struct rig_ask){
               .id = "system",
               .body = "{'dry_run': true, 'bindings': [{'role': 'web', 'nodes': 'n4.t'}]}"});
    ok(!value_as_bool(rig_at(g, "steps.0.other_data"), false), "bound again it has the same data");
    rig_do(g, server_deployment_bind, NULL,
           (struct rig_ask){.id = "system",
                            .body = "{'dry_run': true, 'bindings': "
                                    "[{'role': 'web', 'nodes': 'n4.t', 'data': {'port': 81}}]}"});
    ok(value_as_bool(rig_at(g, "steps.0.other_data"), false), "or others, if others are asked for");
}

/* --- peers --- */

static void test_peers(struct rig *g)
{
    rig_bind(g, "db", "n4.t");
    rig_bind(g, "db", "n5.t");
    rig_bind(g, "app", "n6.t");
    is_settled(g, "with peers");
    uint64_t before = state_of(g, "app", "n6.t").data;
    answer(g, "db", "n4.t", "{\"address\":\"10.1.0.4\"}", "");
    ok(state_of(g, "app", "n6.t").data == before, "who waits for others too is told later");
    answer(g, "db", "n5.t", "{\"address\":\"10.1.0.5\"}", "");
    has_text(sent_to(g, "app", "n6.t"),
             "\"peers\":{\"db\":{\"n4.t\":{\"address\":\"10.1.0.4\"},"
             "\"n5.t\":{\"address\":\"10.1.0.5\"}}}",
             "members of a cluster are seen beside each other");
    answer(g, "app", "n6.t", "", "");
    is_int(runs_of(g, "app", "n6.t"), 1, "who needs them runs once");
    rerun(g, "db", "n5.t");
    answer(g, "db", "n5.t", "{\"address\":\"10.1.0.55\"}", "");
    is_state(g, "app", "n6.t", NODEROLE_STALE);
    answer(g, "app", "n6.t", "", "");
    is_settled(g, "after a peer returned something else");
    uint32_t runs = runs_of(g, "app", "n6.t");
    rig_bind(g, "db", "n1.t");
    is_state(g, "app", "n6.t", NODEROLE_ACTIVE);
    is_settled(g, "while a new peer is made");
    answer(g, "db", "n1.t", "{\"address\":\"10.1.0.1\"}", "");
    is_settled(g, "when it has joined");
    while (state_of(g, "app", "n6.t").state == NODEROLE_STALE)
        answer(g, "app", "n6.t", "", "");
    ok(runs_of(g, "app", "n6.t") > runs, "who needs it ran");
    has_text(sent_to(g, "app", "n6.t"), "10.1.0.1", "with it");
}

/* --- nodes --- */

static void test_node(struct rig *g)
{
    rig_bind(g, "racked", "n2.t");
    answer(g, "racked", "n2.t", "", "");
    rig_do(g, server_node_patch, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'labels': {'rack': 'r7'}, 'note': 'hidden'}"});
    rig_settle(g);
    is_state(g, "racked", "n2.t", NODEROLE_STALE);
    has_text(sent_to(g, "racked", "n2.t"), "\"rack\":\"r7\"",
             "it is sent what is said of its node");
    ok(!strstr(sent_to(g, "racked", "n2.t"), "hidden"), "but no notes");
    answer(g, "racked", "n2.t", "", "");
    is_settled(g, "after a node was labelled");
}

/* --- hooks --- */

static void test_hook(struct rig *g)
{
    rig_bind(g, "early", "n5.t");
    rig_bind(g, "late", "n6.t");
    answer(g, "early", "n5.t", "", "");
    is_settled(g, "a hook has set something");
    while (state_of(g, "late", "n6.t").state != NODEROLE_ACTIVE ||
           state_of(g, "early", "n5.t").state != NODEROLE_ACTIVE) {
        bool first = state_of(g, "early", "n5.t").state != NODEROLE_ACTIVE;
        answer(g, first ? "early" : "late", first ? "n5.t" : "n6.t", "", "");
        if (!ok(runs_of(g, "late", "n6.t") < 10, "it ends"))
            break;
    }
    has_text(sent_to(g, "late", "n6.t"), "\"mark\":\"run ", "who reads it runs with it");
    is_settled(g, "all hooks have run");
}

/* --- documents by digest --- */

static void fetch(struct rig *g, uint32_t task, const char *digest)
{
    struct rig_task t = {0};
    (void)rig_sent(g, task, &t);
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_FETCH,
                                  .task = task,
                                  .attempt = t.attempt,
                                  .document = str_of(digest)});
}

static void test_documents(struct rig *g)
{
    char big[5001], hex[DIGEST_HEX];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    rig_do(g, server_noderole_data, NULL,
           (struct rig_ask){.id = rig_id(g, rig_noderole(g, "dns", "n1.t")),
                            .body = arena_printf(&g->mem, "{'blob': '%s'}", big)});
    rig_settle(g);
    answer(g, "dns", "n1.t", "", "");
    while (state_of(g, "leaf", "n3.t").state == NODEROLE_STALE) /* it has the node */
        answer(g, "leaf", "n3.t", "", "");
    rerun(g, "web", "n3.t");
    uint32_t task = rig_task_of(g, "web", "n3.t", 0);
    is_int(strlen(last.under[task]), DIGEST_HEX - 1, "what is large is named by digest");
    ok(!strstr(last.data[task], "xxx"), "and not sent");
    has_text(last.data[task], "\"name\":\"n3.t\"", "what is small is");
    fetch(g, task, last.under[task]);
    ok(strstr(last.document, big) != NULL, "the document can be asked for");
    struct digest sum = digest_of(last.document, strlen(last.document));
    digest_hex(&sum, hex);
    is_text(hex, last.under[task], "it has that digest");
    struct data *d = g->server->data;
    data_sent_done(&d->young);
    data_sent_done(&d->old);
    keep(&last.document, str_of(""));
    fetch(g, task, last.under[task]);
    ok(strstr(last.document, big) != NULL, "one that is not kept any more is made again");
    fetch(g, task, "00112233445566778899aabbccddeeff");
    ok(last.missing, "one that never was is missing");
    const char *was = arena_strdup(&g->mem, last.under[task]);
    answer(g, "web", "n3.t", "", "");
    rig_do(g, server_noderole_data, NULL,
           (struct rig_ask){.id = rig_id(g, rig_noderole(g, "dns", "n1.t")), .body = "{}"});
    rig_settle(g);
    data_sent_done(&d->young);
    data_sent_done(&d->old);
    fetch(g, task, was);
    ok(last.missing, "one whose parts have changed is missing");
    answer(g, "dns", "n1.t", "", "");
    while (state_of(g, "leaf", "n3.t").state == NODEROLE_STALE)
        answer(g, "leaf", "n3.t", "", "");
    is_settled(g, "after large data");
}

/* Something in the middle hides a map and something stronger brings one back: laid over each other
 * in another order the parts would give more than is seen. */
static void test_cut(struct rig *g)
{
    struct err e;
    uint32_t dns = rig_noderole(g, "dns", "n1.t"), web = rig_noderole(g, "web", "n3.t");
    struct data_edit above = {str_of("big"), rig_json(g, "{'a': {'from-dns': 1}, 'b': 2}")};
    struct data_edit own = {str_of("big"), rig_json(g, "{'a': {'own': 1}}")};
    SCOPED_BUF(pad);
    for (int i = 0; i < 500; i++)
        buf_puts(&pad, "0123456789");
    struct data_edit more = {str_of("pad"), value_str(&g->mem, buf_str(&pad))};
    struct value *wall = value_map(&g->mem);
    SCOPED_BUF(text);
    value_set(&g->mem, wall, "big", rig_json(g, "{'a': 7}"));
    json_write_canonical(&text, wall);
    is_int(data_system_edit(g->server, dns, &above, 1, &e), 1, "a map above");
    is_int(data_system_edit(g->server, dns, &more, 1, &e), 1, "and much besides");
    is_int(data_layer_put(g->server, web, DATA_WALL, buf_str(&text)), 1, "no map in the middle");
    is_int(data_system_edit(g->server, web, &own, 1, &e), 1, "a map again");
    rig_settle(g);
    rerun(g, "web", "n3.t");
    uint32_t task = rig_task_of(g, "web", "n3.t", 0);
    fetch(g, task, last.under[task]);
    struct value *under = rig_json(g, last.document), *over = rig_json(g, last.data[task]);
    const struct value *seen = value_merge(&g->mem, under, over);
    SCOPED_BUF(a);
    json_write_canonical(&a, value_at(seen, "big"));
    is_text(a.data, "{\"a\":{\"own\":1},\"b\":2}", "the task sees what is to be seen");
    rig_do(g, server_noderole_visible, "NoderoleData", (struct rig_ask){.id = rig_id(g, web)});
    ok(value_equal(seen, rig_at(g, "data")), "and nothing else");
    answer(g, "web", "n3.t", "", "");
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    g.message = on_message;
    rig_catalog_of(&g, DATA_CATALOG);
    test_first_run(&g);
    test_rerun(&g);
    test_gone(&g);
    test_user_and_system(&g);
    test_shared(&g);
    test_explain(&g);
    test_plan_of_shared(&g);
    test_plan_of_changes(&g);
    test_plan_of_binding(&g);
    test_peers(&g);
    test_node(&g);
    test_hook(&g);
    test_documents(&g);
    test_cut(&g);
    rig_close(&g);
    forget_messages();
    return tap_done();
}
