/* Proposals and commits: what stands in the way, what goes along, what comes back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

/* A disc on its node, a cluster of stores that needs it, a client of the whole cluster, a watcher
 * that does without, and a role that stands in for another. */
#define CATALOG(version, more)                                                                     \
    "barclamp: t\n"                                                                                \
    "version: " version "\n"                                                                       \
    "jigs: [{name: local, implementation: test, active: true, reach: node}]\n"                     \
    "roles:\n"                                                                                     \
    "  - {name: disc, jig: local, flags: [implicit],\n"                                            \
    "     actions: {converge: [{name: mount, params: {v: \"" version "\"}}]}}\n"                   \
    "  - {name: store, jig: local, flags: [cluster], requires: [disc],\n"                          \
    "     actions: {converge: [{name: store-up, params: {}}],\n"                                   \
    "               remove: [{name: store-down, params: {}}]}}\n"                                  \
    "  - {name: client, jig: local, requires: [store],\n"                                          \
    "     attributes: {size: {schema: {type: integer, minimum: 1}, default: 3}},\n"                \
    "     actions: {converge: [{name: client-up, params: {}}]}}\n"                                 \
    "  - {name: watcher, jig: local, uses: [client],\n"                                            \
    "     actions: {converge: [{name: watch, params: {}}]}}\n" more

#define ASK(...)                                                                                   \
    (struct rig_ask)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void edit(struct rig *g, const char *deployment, const char *edits)
{
    rig_do(g, server_deployment_edit, "Snapshot",
           ASK(.id = deployment, .body = arena_printf(&g->mem, "{'edits': [%s]}", edits)));
}

static void edit_refused(struct rig *g, enum errcode code, const char *words, const char *edits)
{
    rig_refuse(g, server_deployment_edit, code, words,
               ASK(.id = "shop", .body = arena_printf(&g->mem, "{'edits': [%s]}", edits)));
}

static void propose(struct rig *g, const char *deployment)
{
    rig_do(g, server_deployment_propose, "Snapshot", ASK(.id = deployment));
}

static void commit(struct rig *g, const char *deployment)
{
    rig_do(g, server_deployment_commit, "CommitResult", ASK(.id = deployment));
    rig_settle(g);
}

static void bind(struct rig *g, const char *deployment, const char *role, const char *nodes)
{
    const char *body = arena_printf(&g->mem, "{'bindings': [{'role': '%s', 'nodes': '%s'}]}", role,
                                    nodes);
    rig_do(g, server_deployment_bind, "BindResult", ASK(.id = deployment, .body = body));
    rig_settle(g);
}

/* "+store@n2 ~client@n1", in the order of the diff. */
static const char *changes(struct rig *g, const char *deployment, const char *query)
{
    SCOPED_BUF(b);
    rig_do(g, server_deployment_diff, "Diff", ASK(.id = deployment, .query = query));
    const struct value *list = rig_at(g, "changes");
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *c = &list->items[i];
        const char *what = value_as_text(value_get(c, "change"), "");
        const char *node = value_as_text(value_get(c, "node"), NULL);
        buf_printf(&b, "%s%s%s%s%s", i ? " " : "",
                   *what == 'a'   ? "+"
                   : *what == 'r' ? "-"
                                  : "~",
                   value_as_text(value_get(c, "role"), "?"), node ? "@" : "", node ? node : "");
    }
    return arena_strdup(&g->mem, buf_str(&b).s ? buf_str(&b).s : "");
}

static const char *states(struct rig *g, const char *deployment)
{
    SCOPED_BUF(b);
    const char *query = arena_printf(&g->mem, "{'deployment': '%s'}", deployment);
    (void)rig_call(g, server_noderole_list, ASK(.query = query));
    const struct value *items = rig_at(g, "items");
    for (uint32_t i = 0; i < items->n; i++)
        buf_printf(&b, "%s%s@%s:%s", i ? " " : "",
                   value_as_text(value_get(&items->items[i], "role"), "?"),
                   value_as_text(value_get(&items->items[i], "node"), "?"),
                   value_as_text(value_get(&items->items[i], "state"), "?"));
    return arena_strdup(&g->mem, buf_str(&b).s ? buf_str(&b).s : "");
}

/* Everything that is sent succeeds until nothing is left to send. */
static void run_all(struct rig *g)
{
    for (size_t done = 0; done < g->sent.n; done++) {
        struct rig_task t = g->sent.at[done];
        if (!anneal_attempt_open(g->server->engine, t.task, t.attempt))
            continue;
        rig_send(g, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                      .task = t.task,
                                      .attempt = t.attempt,
                                      .ask = t.ask,
                                      .seq = ++g->seq,
                                      .outcome = OUTCOME_OK});
    }
}

static void begin(struct rig *g)
{
    rig_open(g);
    rig_catalog_of(g, CATALOG("1.0.0", ""));
    rig_worker(g, 16);
    for (int i = 1; i <= 4; i++)
        rig_node(g, arena_printf(&g->mem, "n%d", i), "");
    rig_do(g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'shop'}"));
    rig_do(g, server_deployment_create, "Deployment",
           ASK(.body = "{'name': 'shop-front', 'parent': 'shop'}"));
    rig_settle(g);
}

static void one_at_a_time(struct rig *g)
{
    rig_refuse(g, server_deployment_propose, ERR_REFUSED, "never proposed", ASK(.id = "system"));
    rig_refuse(g, server_deployment_propose, ERR_NOT_FOUND, "shopp", ASK(.id = "shopp"));
    rig_refuse(g, server_deployment_proposal, ERR_NOT_FOUND, "anneal deployment propose shop",
               ASK(.id = "shop"));
    rig_refuse(g, server_deployment_commit, ERR_NOT_FOUND, "nothing is proposed",
               ASK(.id = "shop"));
    propose(g, "shop");
    rig_refuse(g, server_deployment_propose, ERR_CONFLICT, "admin has proposal 1 open",
               ASK(.id = "shop"));
    g->if_match = "99";
    rig_refuse(g, server_deployment_recall, ERR_STALE, "revision", ASK(.id = "shop"));
    g->if_match = "*";
    rig_do(g, server_deployment_recall, NULL, ASK(.id = "shop"));
    rig_refuse(g, server_deployment_diff, ERR_INVALID, "?to",
               ASK(.id = "shop", .query = "{'to': 'yesterday'}"));
    rig_refuse(g, server_deployment_diff, ERR_NOT_FOUND, "no snapshot 1",
               ASK(.id = "shop", .query = "{'from': '1'}"));
}

static void nothing_by_halves(struct rig *g)
{
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'bind', 'role': 'client', 'nodes': 'n1,n2'}");
    is_text(changes(g, "shop", NULL), "+client@n1 +client@n2 +disc@n1 +store@n1",
            "what it needs comes along");
    edit_refused(g, ERR_UNKNOWN_NAME, "no role clint",
                 "{'edit': 'bind', 'role': 'watcher', 'nodes': 'n1'},"
                 "{'edit': 'bind', 'role': 'clint', 'nodes': 'n1'}");
    has_text(g->err.at, "/edits/1", "the edit that failed is named");
    edit_refused(g, ERR_INVALID, "size",
                 "{'edit': 'set-data', 'role': 'client', 'nodes': 'n1', 'data': {'size': 0}}");
    edit_refused(g, ERR_NOT_FOUND, "not bound to n3",
                 "{'edit': 'set-data', 'role': 'client', 'nodes': 'n3', 'data': {'size': 2}}");
    edit_refused(g, ERR_INVALID, "which nodes", "{'edit': 'bind', 'role': 'client'}");
    edit_refused(g, ERR_INVALID, "which data",
                 "{'edit': 'set-data', 'role': 'client', 'nodes': 'n1'}");
    edit_refused(g, ERR_NOT_FOUND, "not bound to n4",
                 "{'edit': 'unbind', 'role': 'client', 'nodes': 'n4'}");
    is_text(changes(g, "shop", NULL), "+client@n1 +client@n2 +disc@n1 +store@n1",
            "none of which left anything");
    is_text(states(g, "shop"), "", "and nothing lives yet");
    rig_do(g, server_deployment_commit, "CommitResult",
           ASK(.id = "shop", .body = "{'dry_run': true}"));
    is_int(rig_int(g, "added"), 4, "a dry run counts");
    is_text(states(g, "shop"), "", "and changes nothing");
    commit(g, "shop");
    run_all(g);
    is_text(states(g, "shop"), "disc@n1:ACTIVE store@n1:ACTIVE client@n1:ACTIVE client@n2:ACTIVE",
            "committed");
    is_text(changes(g, "shop", "{'to': 'head'}"), "", "the head is what was proposed");
}

/* A member joins: who needs the cluster needs it too, in the map as in the engine. */
static void cluster_grows_and_shrinks(struct rig *g)
{
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'bind', 'role': 'store', 'nodes': 'n2'}");
    commit(g, "shop");
    run_all(g);
    uint32_t n;
    (void)anneal_parents(g->server->engine, rig_noderole(g, "client", "n1"), &n);
    is_int(n, 3, "a client needs both, and its machine");
    propose(g, "shop");
    is_text(changes(g, "shop", NULL), "", "and the head knows");
    edit_refused(g, ERR_REFUSED, "store@n2 needs disc@n2",
                 "{'edit': 'unbind', 'role': 'disc', 'nodes': 'n2'}");
    edit(g, "shop", "{'edit': 'unbind', 'role': 'store', 'nodes': 'n1'}");
    is_text(changes(g, "shop", NULL), "~client@n1 ~client@n2 -store@n1",
            "one of two goes alone, and they lose it");
    edit_refused(g, ERR_REFUSED, "client@n1 needs store@n2",
                 "{'edit': 'unbind', 'role': 'store', 'nodes': 'n2'}");
    commit(g, "shop");
    run_all(g);
    is_text(states(g, "shop"),
            "disc@n1:ACTIVE client@n1:ACTIVE client@n2:ACTIVE disc@n2:ACTIVE store@n2:ACTIVE",
            "gone");
    (void)anneal_parents(g->server->engine, rig_noderole(g, "client", "n1"), &n);
    is_int(n, 2, "a client needs the other");
}

/* What another deployment needs is not taken away from under it; a member of many is. */
static void foreign_children(struct rig *g)
{
    bind(g, "shop-front", "client", "n3");
    run_all(g);
    is_text(states(g, "shop-front"), "client@n3:ACTIVE", "it found the store in the one above");
    propose(g, "shop");
    edit_refused(g, ERR_REFUSED, "client@n3 in deployment shop-front needs store@n2",
                 "{'edit': 'unbind', 'role': 'store', 'nodes': 'n2', 'cascade': true}");
    edit(g, "shop", "{'edit': 'bind', 'role': 'store', 'nodes': 'n4'}");
    commit(g, "shop");
    run_all(g);
    uint32_t n, id = rig_noderole(g, "client", "n3");
    (void)anneal_parents(g->server->engine, id, &n);
    is_int(n, 3, "it needs the new one too");
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'store', 'nodes': 'n2'}]}"));
    is_int(rig_int(g, "changed"), 3, "all who needed it lose it");
    rig_settle(g);
    run_all(g);
    (void)anneal_parents(g->server->engine, id, &n);
    is_int(n, 2, "the foreign one as well");
    propose(g, "shop-front");
    is_text(changes(g, "shop-front", NULL), "", "and its own head knows");
    g->if_match = "*";
    rig_do(g, server_deployment_recall, NULL, ASK(.id = "shop-front"));
}

/* What only uses it stays; what is only proposed goes without being asked about. */
static void who_goes_along(struct rig *g)
{
    bind(g, "shop-front", "watcher", "n3");
    run_all(g);
    propose(g, "shop-front");
    edit(g, "shop-front", "{'edit': 'unbind', 'role': 'client', 'nodes': 'n3'}");
    is_text(changes(g, "shop-front", NULL), "-client@n3 ~watcher@n3",
            "a use is lost, not the user");
    commit(g, "shop-front");
    run_all(g);
    is_text(states(g, "shop-front"), "watcher@n3:ACTIVE", "it stays in service");
    propose(g, "shop-front");
    edit(g, "shop-front",
         "{'edit': 'bind', 'role': 'store', 'nodes': 'n3'},"
         "{'edit': 'bind', 'role': 'client', 'nodes': 'n3'}");
    is_text(changes(g, "shop-front", NULL), "+client@n3 +disc@n3 +store@n3", "proposed");
    edit(g, "shop-front", "{'edit': 'unbind', 'role': 'disc', 'nodes': 'n3'}");
    is_text(changes(g, "shop-front", NULL), "", "what does not live goes with what it needs");
    g->if_match = "*";
    rig_do(g, server_deployment_recall, NULL, ASK(.id = "shop-front"));
    rig_refuse(g, server_deployment_unbind, ERR_REFUSED, "--cascade",
               ASK(.id = "shop", .body = "{'bindings': [{'role': 'store', 'nodes': 'n4'}]}"));
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'store', 'nodes': 'n4'}],"
                                     " 'cascade': true, 'dry_run': true}"));
    is_int(rig_int(g, "removed"), 3, "all who need it go");
}

/* A map of long ago: a node is gone, a role has other tasks, one is back. */
static void going_back(struct rig *g)
{
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'client', 'nodes': 'n2'}]}"));
    rig_settle(g);
    run_all(g);
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'disc', 'nodes': 'n2'}]}"));
    rig_settle(g);
    run_all(g);
    rig_do(g, server_node_delete, NULL, ASK(.id = "n2"));
    rig_catalog_of(g, CATALOG("2.0.0", "  - {name: extra, jig: local, actions: {converge: "
                                       "[{name: extra-up, params: {}}]}}\n"));
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'bind', 'role': 'extra', 'nodes': 'n1'}");
    commit(g, "shop");
    is_int(rig_int(g, "changed"), 2, "two discs have another definition");
    run_all(g);
    rig_do(g, server_deployment_propose, "Snapshot", ASK(.id = "shop", .body = "{'rollback': 2}"));
    is_int(rig_int(g, "catalog"), 1, "with the catalog of that time");
    is_int(rig_int(g, "source"), 2, "and whence it came");
    is_text(changes(g, "shop", NULL), "~client@n1 -disc@n4 -extra@n1 +store@n1 -store@n4",
            "what goes and what comes back");
    is_text(rig_text(g, "lost.0.text"), "its node is gone", "what does not is told");
    commit(g, "shop");
    is_int(rig_int(g, "added"), 1, "one is made anew");
    run_all(g);
    is_text(states(g, "shop"), "disc@n1:ACTIVE client@n1:ACTIVE store@n1:ACTIVE", "as it was");
    rig_refuse(g, server_deployment_propose, ERR_NOT_FOUND, "no snapshot 99",
               ASK(.id = "shop", .body = "{'rollback': 99}"));
}

/* The second commit takes over what the first has not done. */
static void commit_over_commit(struct rig *g)
{
    propose(g, "shop");
    edit(g, "shop",
         "{'edit': 'bind', 'role': 'client', 'nodes': 'n4'},"
         "{'edit': 'bind', 'role': 'watcher', 'nodes': 'n1'}");
    commit(g, "shop");
    int64_t first = rig_int(g, "operation.id");
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'set-data', 'role': 'client', 'nodes': 'n1', 'data': {'size': 9}}");
    commit(g, "shop");
    int64_t second = rig_int(g, "operation.id");
    rig_do(g, server_operation_get, "Operation", ASK(.id = rig_id(g, (uint32_t)first)));
    is_text(rig_text(g, "state"), "superseded", "the first is superseded");
    run_all(g);
    rig_do(g, server_operation_get, "Operation", ASK(.id = rig_id(g, (uint32_t)second)));
    is_text(rig_text(g, "state"), "succeeded", "and the second does the work of both");
    rig_do(g, server_noderole_get, "Noderole",
           ASK(.id = rig_id(g, rig_noderole(g, "client", "n1"))));
    is_int(rig_int(g, "data.size"), 9, "with its data");
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'replace-data', 'role': 'client', 'nodes': 'n1', 'data': {}}");
    commit(g, "shop");
    run_all(g);
    rig_do(g, server_noderole_get, "Noderole",
           ASK(.id = rig_id(g, rig_noderole(g, "client", "n1"))));
    ok(!rig_at(g, "data.size"), "replaced, they are gone");
}

/* The operation of the head was cancelled, and what ran ended well all the same: it is held, and
 * nothing of it is left.  To take its place must not end the next one before its plan is there. */
static void commit_over_nothing_left(struct rig *g)
{
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'bind', 'role': 'watcher', 'nodes': 'n4'}");
    commit(g, "shop");
    int64_t first = rig_int(g, "operation.id");
    rig_do(g, server_operation_cancel, "Operation",
           ASK(.id = rig_id(g, (uint32_t)first), .body = "{}"));
    run_all(g);
    rig_do(g, server_operation_get, "Operation", ASK(.id = rig_id(g, (uint32_t)first)));
    is_text(rig_text(g, "state"), "succeeded", "cancelled too late");
    propose(g, "shop");
    edit(g, "shop", "{'edit': 'unbind', 'role': 'watcher', 'nodes': 'n4'}");
    commit(g, "shop");
    int64_t second = rig_int(g, "operation.id");
    is_int(rig_int(g, "removed"), 1, "the next commit is taken whole");
    run_all(g);
    rig_do(g, server_operation_get, "Operation", ASK(.id = rig_id(g, (uint32_t)second)));
    is_text(rig_text(g, "state"), "succeeded", "and done");
}

/* Wanted again while it is on its way out. */
static void second_thoughts(struct rig *g)
{
    uint32_t id = rig_noderole(g, "store", "n1");
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'store', 'nodes': 'n1'}],"
                                     " 'cascade': true}"));
    rig_settle(g);
    has_text(states(g, "shop"), "store@n1:REMOVING", "it waits for who needs it");
    rig_do(g, server_deployment_propose, "Snapshot", ASK(.id = "shop", .body = "{'rollback': 2}"));
    commit(g, "shop");
    run_all(g);
    has_text(states(g, "shop"), "store@n1:ACTIVE", "and is back");
    is_int(rig_noderole(g, "store", "n1"), id, "as itself");
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'store', 'nodes': 'n1'}],"
                                     " 'cascade': true}"));
    bind(g, "shop", "store", "n1");
    bind(g, "shop", "client", "n1");
    run_all(g);
    is_int(rig_noderole(g, "store", "n1"), id, "bound at once it comes back as itself, too");
    has_text(states(g, "shop"), "client@n1:ACTIVE", "with who needs it");
    rig_settle(g);
    const char *before = states(g, "shop");
    rig_restart(g);
    is_text(states(g, "shop"), before, "a restart knows the same");
    propose(g, "shop");
    is_text(changes(g, "shop", NULL), "", "and wants it");
    rig_refuse(g, server_deployment_delete, ERR_CONFLICT, "shop-front", ASK(.id = "shop"));
}

/* What never ran goes along with its node; what did stays and is named. */
static void moved(struct rig *g)
{
    rig_do(g, server_deployment_create, "Deployment", ASK(.body = "{'name': 'annex'}"));
    rig_do(g, server_node_patch, "Node", ASK(.id = "n1", .body = "{'deployment': 'shop'}"));
    ok(!rig_at(g, "left_behind") && rig_noderole(g, "machine", "n1"),
       "its machine is the system's");
    rig_do(g, server_noderole_get, "Noderole",
           ASK(.id = rig_id(g, rig_noderole(g, "machine", "n1"))));
    is_text(rig_text(g, "deployment"), "system", "and stays there");
    g->if_match = "*";
    rig_do(g, server_deployment_recall, NULL, ASK(.id = "shop"));
    rig_node(g, "n9", ", 'deployment': 'shop'");
    rig_do(g, server_node_patch, "Node", ASK(.id = "n9", .body = "{'available': false}"));
    bind(g, "shop", "watcher", "n9");
    bind(g, "shop", "client", "n9");
    uint32_t id = rig_noderole(g, "client", "n9");
    rig_do(g, server_node_patch, "Node", ASK(.id = "n9", .body = "{'deployment': 'annex'}"));
    ok(!rig_at(g, "left_behind"), "nothing of it has run");
    rig_do(g, server_noderole_get, "Noderole", ASK(.id = rig_id(g, id)));
    is_text(rig_text(g, "deployment"), "annex", "so all of it goes along");
    rig_do(g, server_node_patch, "Node", ASK(.id = "n1", .body = "{'deployment': 'annex'}"));
    is_text(value_as_text(rig_at(g, "left_behind.0"), ""), "disc@n1", "what has run stays");
    rig_settle(g);
    rig_restart(g);
    rig_do(g, server_noderole_get, "Noderole", ASK(.id = rig_id(g, id)));
    is_text(rig_text(g, "deployment"), "annex", "a restart knows where it is");
    propose(g, "annex");
    is_text(changes(g, "annex", NULL), "", "and the new home wants it");
    edit(g, "annex", "{'edit': 'unbind', 'role': 'client', 'nodes': 'n9'}");
    is_text(changes(g, "annex", NULL), "-client@n9", "which can be changed there");
}

/* "client@n2(shop-front) parents +store@n3 -store@n1; ..." of the last answer. */
static const char *touched(struct rig *g)
{
    SCOPED_BUF(b);
    const struct value *list = rig_at(g, "touched");
    for (uint32_t i = 0; i < list->n; i++) {
        static const char *const keys[] = {"why", "gains", "losses"}, *const marks[] = {"", "+",
                                                                                        "-"};
        const struct value *t = &list->items[i];
        buf_printf(&b, "%s%s@%s(%s)", i ? "; " : "", value_as_text(value_get(t, "role"), "?"),
                   value_as_text(value_get(t, "node"), "?"),
                   value_as_text(value_get(t, "deployment"), "?"));
        for (int k = 0; k < 3; k++)
            for (uint32_t n = 0; n < value_get(t, keys[k])->n; n++)
                buf_printf(&b, " %s%s", marks[k],
                           value_as_text(&value_get(t, keys[k])->items[n], "?"));
    }
    return arena_strdup(&g->mem, buf_str(&b).s);
}

static void cluster_of_two(struct rig *g)
{
    bind(g, "shop", "store", "n2");
    bind(g, "shop", "client", "n1");
    rig_node(g, "n10", "");
    bind(g, "shop", "client", "n10");
    bind(g, "shop-front", "client", "n2");
    run_all(g);
}

/* Who gains a member of a cluster, here and elsewhere, is told before it happens. */
static void told_who_gains(struct rig *g)
{
    propose(g, "shop");
    edit(g, "shop",
         "{'edit': 'bind', 'role': 'store', 'nodes': 'n3'},"
         "{'edit': 'set-data', 'role': 'client', 'nodes': 'n1', 'data': {'size': 7}}");
    is_text(changes(g, "shop", NULL), "~client@n1 +disc@n3 +store@n3", "what was asked for");
    is_text(value_as_text(rig_at(g, "changes.0.gains.0"), ""), "store@n3",
            "who is changed is told what it gains besides");
    is_text(touched(g),
            "client@n2(shop-front) parents +store@n3; client@n10(shop) parents +store@n3",
            "and so is everybody else, in the order in which people count");
    rig_do(g, server_deployment_commit, "CommitResult",
           ASK(.id = "shop", .body = "{'dry_run': true}"));
    is_int(rig_int(g, "changed"), 3, "they count as changed");
    is_int(rig_int(g, "tasks"), 5, "and their tasks run again, with those that are new");
    is_text(touched(g),
            "client@n1(shop) parents data +store@n3; client@n2(shop-front) parents +store@n3; "
            "client@n10(shop) parents +store@n3",
            "a dry run names them all");
    commit(g, "shop");
    int64_t op = rig_int(g, "operation.id");
    is_int(rig_int(g, "tasks"), 5, "the commit says the same");
    run_all(g);
    rig_do(g, server_operation_get, "Operation", ASK(.id = rig_id(g, (uint32_t)op)));
    is_int(rig_int(g, "progress.total"), 5, "all of it belongs to the operation");
    is_text(rig_text(g, "state"), "succeeded", "which ended with the last of it");
}

static void told_what_goes(struct rig *g)
{
    rig_do(g, server_deployment_unbind, "CommitResult",
           ASK(.id = "shop", .body = "{'bindings': [{'role': 'disc', 'nodes': 'n3'}],"
                                     " 'cascade': true, 'dry_run': true}"));
    is_int(rig_int(g, "removed"), 2, "two would go");
    is_text(rig_text(g, "going.0.role"), "store", "the child first");
    is_text(rig_text(g, "going.1.role"), "disc", "then its parent");
    has_text(touched(g), "client@n2(shop-front) parents -store@n3", "and who loses it is named");
    rig_refuse(g, server_deployment_unbind, ERR_NOT_FOUND, "did you mean \"store\"",
               ASK(.id = "shop", .body = "{'bindings': [{'role': 'stoer', 'nodes': 'n3'}]}"));
    rig_refuse(g, server_deployment_unbind, ERR_NOT_FOUND, "anneal noderole list --deployment shop",
               ASK(.id = "shop", .body = "{'bindings': [{'role': 'store', 'nodes': 'n4'}]}"));
    is_text(g->err.at, "/bindings/0", "and points at the binding");
}

/* The same entry changed by two: the rest is told against what is committed now. */
static void told_both_sides(struct rig *g)
{
    propose(g, "shop");
    edit(g, "shop",
         "{'edit': 'set-data', 'role': 'client', 'nodes': 'n1', 'data': {'size': 4}},"
         "{'edit': 'set-data', 'role': 'client', 'nodes': 'n10', 'data': {'size': 6}},"
         "{'edit': 'bind', 'role': 'watcher', 'nodes': 'n4'}");
    g->if_match = "*";
    rig_do(g, server_noderole_data, "Noderole",
           ASK(.id = rig_id(g, rig_noderole(g, "client", "n1")), .body = "{'size': 5}"));
    g->if_match = "*";
    rig_do(g, server_noderole_data, "Noderole",
           ASK(.id = rig_id(g, rig_noderole(g, "client", "n10")), .body = "{'size': 6}"));
    is_text(changes(g, "shop", NULL), "+watcher@n4", "neither what collides nor what is so by now");
    is_text(rig_text(g, "conflicts.0.node"), "n1", "what collides is told");
    is_int(rig_int(g, "conflicts.0.base.data.size"), 7, "as it was");
    is_int(rig_int(g, "conflicts.0.head.data.size"), 5, "as it is");
    is_int(rig_int(g, "conflicts.0.proposal.data.size"), 4, "as it is proposed");
    ok(rig_at(g, "conflicts.0.head.needs")->n == rig_at(g, "conflicts.0.base.needs")->n,
       "with what it needs");
    is_int(rig_at(g, "conflicts")->n, 1, "and nothing else");
    rig_refuse(g, server_deployment_commit, ERR_CONFLICT, "client@n1", ASK(.id = "shop"));
    edit(g, "shop", "{'edit': 'unbind', 'role': 'client', 'nodes': 'n1'}");
    (void)changes(g, "shop", NULL);
    is_int(rig_at(g, "conflicts.0.proposal")->kind, VALUE_NULL, "not bound on one side");
    g->if_match = "*";
    rig_do(g, server_deployment_recall, NULL, ASK(.id = "shop"));
    rig_settle(g);
    run_all(g);
}

static void told_of_the_catalog(struct rig *g)
{
    rig_catalog_of(g, CATALOG("2.0.0", ""));
    propose(g, "shop");
    is_text(changes(g, "shop", NULL), "", "nothing was asked for");
    is_text(touched(g), "disc@n2(shop) definition; disc@n3(shop) definition",
            "another catalog changes what it defines otherwise");
    edit(g, "shop", "{'edit': 'bind', 'role': 'watcher', 'nodes': 'n4'}");
    bind(g, "shop-front", "watcher", "n4");
    is_text(changes(g, "shop", NULL), "+watcher@n4", "a proposal that was overtaken");
    has_text(rig_text(g, "refused.text"), "bound in deployment shop-front already",
             "is said to be refused");
    has_text(rig_text(g, "refused.hint"), "unbind it there", "with the remedy");
    is_int(rig_at(g, "touched")->n, 0, "and touches nobody");
    rig_do(g, server_deployment_snapshots, NULL, ASK(.id = "shop", .query = "{'limit': '2'}"));
    int64_t newest = rig_int(g, "items.0.number");
    is_text(rig_text(g, "items.0.state"), "proposed", "the newest comes first");
    is_int(rig_int(g, "items.1.number"), newest - 1, "then the one before");
    const char *query = arena_printf(&g->mem, "{'limit': '2', 'after': '%s'}", rig_text(g, "next"));
    rig_do(g, server_deployment_snapshots, NULL, ASK(.id = "shop", .query = query));
    is_int(rig_int(g, "items.0.number"), newest - 2, "and so on with the next page");
}

static void told_beforehand(void)
{
    struct rig g;
    begin(&g);
    cluster_of_two(&g);
    told_who_gains(&g);
    told_what_goes(&g);
    told_both_sides(&g);
    told_of_the_catalog(&g);
    rig_close(&g);
}

int main(void)
{
    struct rig g;
    told_beforehand();
    begin(&g);
    one_at_a_time(&g);
    nothing_by_halves(&g);
    cluster_grows_and_shrinks(&g);
    foreign_children(&g);
    who_goes_along(&g);
    going_back(&g);
    commit_over_commit(&g);
    commit_over_nothing_left(&g);
    second_thoughts(&g);
    moved(&g);
    rig_close(&g);
    return tap_done();
}
