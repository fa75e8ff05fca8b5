/* test_revise.c - differences become plans: added, changed, redefined, removed (RFC 06, section 5)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fake_world.h"

#define BASE                                                                                       \
    "barclamp: t\n"                                                                                \
    "roles:\n"                                                                                     \
    "  - {name: base}\n"

static const char *const before = BASE
    "  - name: db\n"
    "    jig: shell\n"
    "    requires: [base]\n"
    "    attributes: {port: {schema: {type: integer}, default: 1}}\n"
    "    actions:\n"
    "      converge: [{name: one, params: {command: a}}, {name: two, params: {command: b}}]\n"
    "      stop: [{name: halt, params: {command: h}}]\n"
    "      remove: [{name: drop, params: {command: d}}, {name: wipe, requires: [],\n"
    "               params: {command: w}}]\n"
    "  - {name: other, requires: [base]}\n"
    "  - {name: rival, conflicts: [db]}\n";

static const char *const other_command = BASE
    "  - name: db\n"
    "    jig: shell\n"
    "    requires: [base]\n"
    "    attributes: {port: {schema: {type: integer}, default: 1}}\n"
    "    actions:\n"
    "      converge: [{name: one, params: {command: a}}, {name: two, params: {command: c}}]\n"
    "  - {name: other, requires: [base]}\n";

static const char *const other_default = BASE
    "  - name: db\n"
    "    jig: shell\n"
    "    requires: [base]\n"
    "    attributes: {port: {schema: {type: integer}, default: 2}}\n"
    "    actions:\n"
    "      converge: [{name: one, params: {command: a}}, {name: two, params: {command: b}}]\n"
    "  - {name: other, requires: [base]}\n";

static const char *const more_steps = BASE
    "  - name: db\n"
    "    jig: shell\n"
    "    attributes: {port: {schema: {type: integer}, default: 1}}\n"
    "    actions:\n"
    "      converge: [{name: one, params: {command: a}}, {name: two, params: {command: b}},\n"
    "                 {name: three, params: {command: c}}]\n";

struct bed {
    struct catalog *c;
    struct fake_world w;
    uint32_t base, db;
};

static void bed_init(struct bed *d)
{
    struct bind_item items[] = {{str_of("base"), 1, NULL}, {str_of("db"), 2, NULL}};
    struct bind_request req = {.deployment = 1, .items = items, .n_items = 2};
    struct plan *p;
    struct err e;
    d->c = fake_catalog(before);
    fake_init(&d->w, d->c, 3);
    if (planner_bind(d->c, &d->w.face, &req, &p, NULL, &e) < 0)
        ok(false, "bound: %s", e.text);
    fake_apply(&d->w, p);
    plan_free(p);
    d->base = 1;
    d->db = 2;
}

static void bed_done(struct bed *d)
{
    fake_done(&d->w);
    catalog_unref(d->c);
}

static struct plan *revise(struct bed *d, const char *text, const struct revise_request *req,
                           struct err *e)
{
    struct catalog *c = text ? fake_catalog(text) : catalog_ref(d->c);
    struct plan *p = NULL;
    (void)planner_revise(c, &d->w.face, req, &p, e);
    catalog_unref(c);
    return p;
}

static struct plan *revise_one(struct bed *d, const char *text, struct revise_change change)
{
    struct revise_request req = {.deployment = 1, .changed = &change, .n_changed = 1};
    struct err e;
    struct plan *p = revise(d, text, &req, &e);
    if (!p)
        ok(false, "revised: %s", e.text);
    return p;
}

static void nothing_changed(void)
{
    struct bed d;
    bed_init(&d);
    struct plan *p = revise_one(&d, NULL, (struct revise_change){.noderole = d.db});
    is_int(p->n_changes, 0, "the same generation and the same data are no change");
    plan_free(p);
    d.w.noderoles.at[d.db - 1].removed = true;
    p = revise_one(&d, NULL, (struct revise_change){.noderole = d.db, .back = true});
    is_int(p->changes[0].what, PLAN_C_TASKS, "who was on its way out gets its tasks anew");
    plan_free(p);
    bed_done(&d);
}

static void data_changed(void)
{
    struct bed d;
    struct err e;
    SCOPED_ARENA(mem);
    struct value *user = value_map(&mem), *bad = value_map(&mem);
    bed_init(&d);
    value_put_int(&mem, user, "port", 7);
    value_put_text(&mem, bad, "port", "x");
    struct plan *p = revise_one(&d, NULL, (struct revise_change){.noderole = d.db, .user = user});
    is_int(p->n_changes, 1, "one noderole is changed");
    is_int(p->changes[0].what, PLAN_C_DATA, "in its data only");
    is_text(p->changes[0].user.s, "{\"port\":7}", "which are kept as given");
    is_int(p->n_tasks, 0, "no task is made");
    fake_apply(&d.w, p);
    plan_free(p);
    struct revise_change wrong = {.noderole = d.db, .user = bad};
    struct revise_request req = {.deployment = 1, .changed = &wrong, .n_changed = 1};
    ok(!revise(&d, NULL, &req, &e), "data that break the role are refused");
    has_text(e.text, "db@n2", "naming the noderole");
    bed_done(&d);
}

static void other_generation(void)
{
    struct bed d;
    bed_init(&d);
    struct plan *p = revise_one(&d, other_command, (struct revise_change){.noderole = d.db});
    is_int(p->changes[0].what, PLAN_C_DEFS, "another command is another definition, in place");
    is_int(p->changes[0].n_defs, 2, "one for each task");
    is_int(p->n_defs, 1, "and only what differs is new");
    ok(p->changes[0].defs[0] < PLAN_NEW && p->changes[0].defs[1] == (PLAN_NEW | 0),
       "the first is as it was");
    plan_free(p);
    p = revise_one(&d, more_steps, (struct revise_change){.noderole = d.db});
    is_int(p->changes[0].what, PLAN_C_TASKS, "other steps replace the tasks");
    is_int(p->changes[0].n_tasks, 3, "all of them");
    is_int(p->tasks[0].weight, 3, "with their weights");
    plan_free(p);
    struct revise_change gone = {.noderole = d.base};
    struct revise_request req = {.deployment = 1, .changed = &gone, .n_changed = 1};
    struct err e;
    ok(!revise(&d, "barclamp: t\nroles: [{name: db}]\n", &req, &e),
       "a role that the generation does not have");
    has_text(e.text, "has no role base", "is named");
    gone.removed = true;
    p = revise(&d, "barclamp: t\nroles: [{name: db}]\n", &req, &e);
    ok(p && p->changes[0].what == PLAN_C_REMOVE && p->changes[0].n_tasks == 0,
       "but can be removed, with nothing to run");
    plan_free(p);
    bed_done(&d);
}

/* One of db as it lives and as it is by a catalog with this strategy. */
static struct plan *with_strategy(struct bed *d, const char *strategy)
{
    SCOPED_BUF(text);
    buf_printf(&text,
               BASE "  - name: db\n"
                    "    jig: shell\n"
                    "    requires: [base]\n"
                    "    strategy: %s\n"
                    "    attributes: {port: {schema: {type: integer}, default: 1}}\n"
                    "    actions:\n"
                    "      converge: [{name: one, params: {command: a}},\n"
                    "                 {name: two, params: {command: b}}]\n",
               strategy);
    return revise_one(d, text.data, (struct revise_change){.noderole = d->db});
}

static void other_strategy(void)
{
    struct bed d;
    bed_init(&d);
    struct plan *p = with_strategy(&d, "{type: rolling, max: 2}");
    is_int(p->changes[0].what, PLAN_C_TASKS | PLAN_C_GROUP,
           "a strategy puts who lives into its pool, and counts it");
    ok(p->changes[0].keeps, "what was done stays done");
    is_int(p->n_defs, 0, "by definitions that are known");
    is_int(p->tasks[0].span, 1, "a span");
    is_text(p->pools[0].name.s, "role:1/db", "of the pool");
    is_int(p->pools[0].size, 2, "which has room for two");
    fake_apply(&d.w, p);
    plan_free(p);
    p = with_strategy(&d, "{type: rolling, max: 2}");
    is_int(p->n_changes + p->n_sizes, 0, "the same one again changes nothing");
    plan_free(p);
    p = with_strategy(&d, "{type: one_by_one}");
    is_int(p->n_changes, 0, "another size concerns nobody");
    is_int(p->n_sizes, 1, "but the pool");
    is_int(p->sizes[0].size, 1, "which has room for one");
    fake_apply(&d.w, p);
    plan_free(p);
    p = with_strategy(&d, "{type: parallel}");
    is_int(p->changes[0].what, PLAN_C_TASKS, "without one it leaves the pool");
    is_int(p->tasks[0].span, 0, "and is in no span");
    plan_free(p);
    bed_done(&d);
}

static void other_sight(void)
{
    struct bed d;
    SCOPED_ARENA(mem);
    struct value *user = value_map(&mem);
    bed_init(&d);
    value_put_int(&mem, user, "port", 7);
    struct plan *p = revise_one(&d, other_default,
                                (struct revise_change){.noderole = d.db, .user = user});
    is_int(p->changes[0].what, PLAN_C_DATA | PLAN_C_LENS, "another default is another lens");
    ok(p->changes[0].lens && p->changes[0].lens != d.w.noderoles.at[d.db - 1].lens, "its id");
    plan_free(p);
    struct revise_change kept = {.noderole = d.db, .keep = true};
    p = revise_one(&d, more_steps, kept);
    is_int(p->n_changes, 0, "who keeps what it has is not redefined");
    plan_free(p);
    kept.losses = &d.base;
    kept.n_losses = 1;
    p = revise_one(&d, "barclamp: t\nroles: [{name: base}]\n", kept);
    is_int(p->changes[0].what, PLAN_C_PARENTS, "even where the catalog has forgotten its role");
    plan_free(p);
    bed_done(&d);
}

static void removed(void)
{
    struct bed d;
    bed_init(&d);
    struct plan *p = revise_one(&d, NULL,
                                (struct revise_change){.noderole = d.db, .removed = true});
    is_int(p->changes[0].what, PLAN_C_REMOVE, "removal");
    is_int(p->changes[0].n_tasks, 3, "stop and remove");
    is_int(p->tasks[0].n_deps, 0, "stop begins");
    ok(p->tasks[1].n_deps == 1 && p->tasks[1].deps[0] == PLAN_NEW, "remove waits for it");
    ok(p->tasks[2].n_deps == 1 && p->tasks[2].deps[0] == PLAN_NEW, "all of its first tasks do");
    is_int(p->tasks[0].weight, 2, "weights");
    fake_apply(&d.w, p);
    plan_free(p);
    bed_done(&d);
}

static void added(void)
{
    struct bed d;
    struct err e;
    bed_init(&d);
    uint32_t parents[] = {d.base}, chosen[] = {PLAN_NEW | 0, d.base};
    struct revise_entry entries[] = {{str_of("db"), 3, NULL, parents, 1},
                                     {str_of("other"), 3, NULL, chosen, 2}};
    struct revise_change change = {.noderole = d.db, .losses = parents, .n_losses = 1};
    struct revise_request req = {1, entries, 2, &change, 1};
    uint32_t gains[] = {PLAN_NEW | 0};
    change.gains = gains;
    change.n_gains = 1;
    struct plan *p = revise(&d, NULL, &req, &e);
    ok(p, "added and changed in one plan");
    is_int(p->n_noderoles, 2, "two new ones");
    is_int(p->noderoles[0].cohort, 1, "above what was chosen for them");
    ok(p->noderoles[1].n_parents == 2 && p->noderoles[1].parents[0] == (PLAN_NEW | 0),
       "as chosen, without looking for it again");
    is_int(p->changes[0].what, PLAN_C_PARENTS, "other needs");
    ok(p->changes[0].gains[0] == (PLAN_NEW | 0) && p->changes[0].losses[0] == d.base,
       "by their places in the plan");
    plan_free(p);
    struct revise_entry rival = {str_of("rival"), 2, NULL, NULL, 0};
    req = (struct revise_request){1, &rival, 1, NULL, 0};
    ok(!revise(&d, NULL, &req, &e), "what conflicts is refused");
    change = (struct revise_change){.noderole = d.db, .removed = true};
    req.changed = &change;
    req.n_changed = 1;
    p = revise(&d, NULL, &req, &e);
    ok(p, "unless the other goes with the same commit");
    plan_free(p);
    bed_done(&d);
}

/* While one was on its way out, another may have come to its node. */
static void back_beside_another(void)
{
    struct bed d;
    struct err e;
    bed_init(&d);
    d.w.noderoles.at[d.db - 1].removed = true;
    struct revise_change change = {.noderole = d.db, .back = true};
    struct revise_entry rival = {str_of("rival"), 2, NULL, NULL, 0};
    struct revise_request req = {1, &rival, 1, &change, 1};
    ok(!revise(&d, NULL, &req, &e), "one comes back and one that conflicts with it comes");
    has_text(e.text, "rival, which is on n2", "who is in the way is named");
    req = (struct revise_request){1, &rival, 1, NULL, 0};
    struct plan *p = revise(&d, NULL, &req, &e);
    ok(p, "who goes is in nobody's way");
    fake_apply(&d.w, p);
    plan_free(p);
    req = (struct revise_request){1, NULL, 0, &change, 1};
    ok(!revise(&d, NULL, &req, &e), "but then cannot come back");
    has_text(e.text, "db@n2: db is in conflict with rival", "and is told why");
    bed_done(&d);
}

/* Who needs a cluster gets each new member once; who turns away from it in the same request, none.
 */
static void peers_and_changes(void)
{
    struct bind_item items[] = {{str_of("store"), 1, NULL}, {str_of("web"), 2, NULL}};
    struct bind_request bind = {.deployment = 1, .items = items, .n_items = 2};
    struct catalog *c = fake_catalog("barclamp: t\nroles: [{name: store, flags: [cluster]}, "
                                     "{name: web, requires: [store]}]\n");
    struct fake_world w;
    struct plan *p = NULL;
    struct err e;
    uint32_t store[] = {1}, fresh[] = {PLAN_NEW | 0};
    fake_init(&w, c, 3);
    ok(!planner_bind(c, &w.face, &bind, &p, NULL, &e), "a member and who needs it");
    fake_apply(&w, p);
    plan_free(p);
    struct revise_entry more = {str_of("store"), 3, NULL, NULL, 0};
    struct revise_change web = {.noderole = 2};
    struct revise_request req = {1, &more, 1, &web, 1};
    ok(!planner_revise(c, &w.face, &req, &p, &e) && p->n_needs == 1, "one more member is needed");
    plan_free(p);
    web.gains = fresh;
    web.n_gains = 1;
    ok(!planner_revise(c, &w.face, &req, &p, &e) && p->n_needs == 0 && p->changes[0].n_gains == 1,
       "once, if the request says so itself");
    plan_free(p);
    web = (struct revise_change){.noderole = 2, .losses = store, .n_losses = 1};
    ok(!planner_revise(c, &w.face, &req, &p, &e) && p->n_needs == 0,
       "not at all by who needs the cluster no more");
    plan_free(p);
    fake_done(&w);
    catalog_unref(c);
}

/* --- members that come back --- */

enum { STORE1 = 1, STORE2, WEB, PROXY };

struct cluster {
    struct catalog *c;
    struct fake_world w;
    struct plan *p;
    struct err e;
};

/* Two members on n1 and n2; on n3 who needs them, on n4 who needs that. */
static void cluster_init(struct cluster *d)
{
    struct bind_item items[] = {{str_of("store"), 1, NULL},
                                {str_of("store"), 2, NULL},
                                {str_of("web"), 3, NULL},
                                {str_of("proxy"), 4, NULL}};
    struct bind_request bind = {.deployment = 1, .items = items, .n_items = 4};
    *d = (struct cluster){0};
    d->c = fake_catalog("barclamp: t\nroles: [{name: store, flags: [cluster]}, "
                        "{name: web, requires: [store]}, {name: proxy, requires: [web]}]\n");
    fake_init(&d->w, d->c, 6);
    ok(!planner_bind(d->c, &d->w.face, &bind, &d->p, NULL, &d->e),
       "two members and who needs them");
    fake_apply(&d->w, d->p);
    plan_free(d->p);
    d->p = NULL;
}

static void cluster_done(struct cluster *d)
{
    plan_free(d->p);
    fake_done(&d->w);
    catalog_unref(d->c);
}

static int cluster_revise(struct cluster *d, const struct revise_entry *added, uint32_t n_added,
                          const struct revise_change *changed, uint32_t n_changed)
{
    struct revise_request req = {1, added, n_added, changed, n_changed};
    plan_free(d->p);
    d->p = NULL;
    return planner_revise(d->c, &d->w.face, &req, &d->p, &d->e);
}

/* The second member is on its way out, and who needed it has lost it. */
static void second_goes(struct cluster *d)
{
    const uint32_t second[] = {STORE2};
    const struct revise_change out[] = {{.noderole = STORE2, .removed = true},
                                        {.noderole = WEB, .losses = second, .n_losses = 1}};
    is_int(cluster_revise(d, NULL, 0, out, 2), 0, "a member goes");
    fake_apply(&d->w, d->p);
}

static void member_comes_back(void)
{
    struct cluster d;
    const uint32_t first[] = {STORE1}, second[] = {STORE2}, web[] = {WEB};
    cluster_init(&d);
    second_goes(&d);
    struct revise_change back[] = {{.noderole = STORE2, .back = true}, {.noderole = WEB}};
    is_int(cluster_revise(&d, NULL, 0, back, 1), 0, "it comes back");
    ok(d.p->n_needs == 1 && d.p->needs[0].child == WEB && d.p->needs[0].parent == STORE2 &&
           d.p->needs[0].like == STORE1,
       "who needs its peer needs it again, beside that");
    back[1].gains = second;
    back[1].n_gains = 1;
    ok(!cluster_revise(&d, NULL, 0, back, 2) && d.p->n_needs == 0 && d.p->changes[1].n_gains == 1,
       "once, if the request says so itself");
    back[1] = (struct revise_change){.noderole = WEB, .losses = first, .n_losses = 1};
    ok(!cluster_revise(&d, NULL, 0, back, 2) && d.p->n_needs == 0,
       "not at all by who needs the cluster no more");
    struct revise_entry more[] = {{str_of("web"), 5, NULL, first, 1},
                                  {str_of("store"), 6, NULL, NULL, 0}};
    ok(!cluster_revise(&d, more, 2, back, 1) && d.p->n_needs == 2,
       "it and a new member are gained together");
    ok(d.p->n_noderoles == 2 && d.p->noderoles[1].n_parents == 3,
       "and who is new needs all three of them");
    back[0].gains = web;
    back[0].n_gains = 1;
    is_int(cluster_revise(&d, NULL, 0, back, 1), -ERR_CYCLE, "a circle is refused");
    has_text(d.e.text, "store@n2 would become a peer that web@n3 needs, but it needs web@n3",
             "and named");
    cluster_done(&d);
}

static void child_comes_back(void)
{
    struct cluster d;
    const uint32_t second[] = {STORE2};
    cluster_init(&d);
    const struct revise_change out[] = {{.noderole = WEB, .removed = true},
                                        {.noderole = PROXY, .removed = true}};
    is_int(cluster_revise(&d, NULL, 0, out, 2), 0, "who needs the members goes");
    fake_apply(&d.w, d.p);
    struct revise_entry more = {str_of("store"), 5, NULL, NULL, 0};
    struct revise_change back[] = {{.noderole = WEB, .back = true},
                                   {.noderole = STORE2, .removed = true}};
    ok(!cluster_revise(&d, &more, 1, back, 1) && d.p->changes[0].n_gains == 1 &&
           d.p->changes[0].gains[0] == (PLAN_NEW | 0),
       "and comes back with a new member: it gains that");
    ok(d.p->n_needs == 0 && d.p->changes[0].n_losses == 0, "once, and keeps those that it has");
    back[0].losses = second;
    back[0].n_losses = 1;
    ok(!cluster_revise(&d, NULL, 0, back, 2) && d.p->changes[1].n_losses == 1,
       "it does not keep one that goes");
    is_int(cluster_revise(&d, NULL, 0, &back[1], 1), 0, "that one goes first");
    fake_apply(&d.w, d.p);
    back[1] = (struct revise_change){.noderole = STORE2, .back = true};
    ok(!cluster_revise(&d, NULL, 0, back, 2) && d.p->changes[1].n_losses == 0 &&
           d.p->changes[1].n_gains == 0 && d.p->n_needs == 0,
       "both come back: they never lost each other");
    cluster_done(&d);
}

int main(void)
{
    nothing_changed();
    peers_and_changes();
    back_beside_another();
    member_comes_back();
    child_comes_back();
    data_changed();
    other_generation();
    other_strategy();
    other_sight();
    removed();
    added();
    return tap_done();
}
