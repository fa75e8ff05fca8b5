/* desired_steps.c - what is done to both sides at once
 *
 * Every step draws from its own dice, so that a failing seed can be tried again without some of its
 * steps: the others do what they can with what is there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "desired_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "edit_entry.h"

static int any_of(struct run *x, int n)
{
    return (int)roll(&x->d, (uint32_t)n);
}

static const struct value *parsed(struct run *x, const char *text)
{
    return naive_parse(&x->r.mem, text);
}

/* A noderole that lives; 0: none. */
static int any_living(struct run *x)
{
    for (int i = 0; i < 20 && x->v->end > 1; i++) {
        int id = 1 + any_of(x, x->v->end - 1);
        if (x->v->beings[id].exists && !x->v->beings[id].leaving)
            return id;
    }
    return 0;
}

/* --- binding --- */

struct bind_try {
    int deployment, n;
    struct naive_item items[3];
    uint64_t requested[3];
    struct naive_plan want;
    struct plan *got;
};

/* Plans on both sides; true if both bind, and then equally. */
static bool bind_try(struct run *x, struct bind_try *b)
{
    struct bind_item items[3];
    struct err e = {0};
    b->deployment = 1 + any_of(x, x->v->n_deployments);
    b->n = 1 + any_of(x, 3);
    b->got = NULL;
    for (int i = 0; i < b->n; i++) {
        int role = any_of(x, x->v->truth.n), node = 1 + any_of(x, x->v->n_nodes);
        const char *user = one_in(&x->d, 2) ? random_user(&x->d, &x->v->mem, &x->v->truth, role)
                                            : "";
        b->items[i] = (struct naive_item){role, node, user};
        b->requested[i] = snapshot_key((uint32_t)role + 1, (uint32_t)node);
        items[i] = (struct bind_item){x->r.cat->roles[role].name, (uint32_t)node, parsed(x, user)};
        run_log(x, " r%d@%d%s", role, node, user);
    }
    run_log(x, " in %d", b->deployment);
    naive_bind(x->v, b->deployment, b->items, b->n, &b->want);
    const struct bind_request req = {
        .deployment = (uint32_t)b->deployment, .items = items, .n_items = (uint32_t)b->n};
    int rc = real_bind(&x->r, &req, &b->got, &e);
    if (rc >= 0 && b->want.refused)
        rc = real_check(&x->r, b->got, &e); /* what the planner cannot see the engine must */
    if ((rc < 0) != b->want.refused)
        run_wrong(x, "the planner %s%s, the model %s", rc < 0 ? "refuses: " : "binds",
                  rc < 0 ? e.text : "", b->want.refused ? "refuses" : "binds");
    if (rc < 0 || *x->wrong) {
        x->counts.bind_refusals++;
        run_log(x, ": refused");
        return false;
    }
    run_compare_plan(x, &b->want, b->got);
    x->counts.binds += b->want.n_fresh > 0;
    x->counts.peers += (unsigned)b->want.n_peers;
    return !*x->wrong;
}

static void naive_entries(struct naive *v, const struct naive_plan *p, struct naive_map *m)
{
    for (int i = 0; i < p->n_fresh; i++) {
        const struct naive_new *f = &p->fresh[i];
        struct naive_entry t = {
            .role = f->role, .node = f->node, .requested = f->requested, .user = f->user};
        for (int k = 0; k < f->n_parents; k++) {
            int ref = f->parents[k];
            naive_entry_parent(&t, ref < 0 ? p->fresh[-1 - ref].role : v->beings[ref].role,
                               ref < 0 ? p->fresh[-1 - ref].node : v->beings[ref].node);
        }
        naive_map_set(m, &t);
    }
}

/* New needs of those who live, in the map that is given or else in the head of each. */
void run_note_peers(struct naive *v, const struct naive_plan *p, struct naive_snapshot *in)
{
    for (int i = 0; i < p->n_peers; i++) {
        const struct being *b = &v->beings[p->peers[i].child];
        struct naive_snapshot *s = in ? in : naive_head(v, b->deployment);
        const struct naive_entry *t = s && s->deployment == b->deployment
                                          ? naive_entry(&s->map, b->role, b->node)
                                          : NULL;
        if (!t)
            continue;
        int parent = p->peers[i].parent;
        struct naive_entry more = *t;
        if (parent < 0)
            naive_entry_parent(&more, p->fresh[-1 - parent].role, p->fresh[-1 - parent].node);
        else
            naive_entry_parent(&more, v->beings[parent].role, v->beings[parent].node);
        naive_map_set(&s->map, &more);
    }
}

static void step_bind(struct run *x)
{
    static struct bind_try b;
    struct err e = {0};
    run_log(x, "bind");
    if (bind_try(x, &b) && b.want.n_fresh) {
        struct desire_author by = real_author(&x->r);
        if (real_apply(&x->r, b.got, &e) < 0)
            run_wrong(x, "the engine refuses what is bound: %s", e.text);
        desire_advance(x->r.d, (uint32_t)b.deployment, &by, x->r.op);
        if (!*x->wrong && real_note(&x->r, b.got, 0, b.requested, (uint32_t)b.n, &e) < 0)
            run_wrong(x, "the head does not take it: %s", e.text);
        struct naive_snapshot *head = naive_advance(x->v, b.deployment);
        naive_entries(x->v, &b.want, &head->map);
        naive_apply(x->v, &b.want);
        run_note_peers(x->v, &b.want, NULL);
    }
    plan_free(b.got);
}

static void step_edit_bind(struct run *x)
{
    static struct bind_try b;
    struct err e = {0};
    run_log(x, "bind in the proposal");
    bool good = bind_try(x, &b);
    struct naive_snapshot *s = naive_proposal(x->v, b.deployment);
    if (good && s) {
        uint32_t id = (uint32_t)naive_snapshot_id(x->v, s);
        if (real_note(&x->r, b.got, id, b.requested, (uint32_t)b.n, &e) < 0)
            run_wrong(x, "the proposal does not take it: %s", e.text);
        naive_entries(x->v, &b.want, &s->map);
        run_note_peers(x->v, &b.want, s);
    }
    plan_free(b.got);
}

/* --- proposals --- */

static void step_propose(struct run *x)
{
    int deployment = 1 + any_of(x, x->v->n_deployments), from = 0;
    uint32_t id = 0;
    struct err e = {0};
    struct desire_author by = real_author(&x->r);
    if (one_in(&x->d, 3) && x->v->n_snapshots) { /* a rollback, if that one is history */
        from = 1 + any_of(x, x->v->n_snapshots);
        deployment = x->v->snapshots[from - 1]->deployment;
        from = x->v->snapshots[from - 1]->state == NAIVE_ARCHIVED ? from : 0;
    }
    run_log(x, "propose in %d from snapshot id %d", deployment, from);
    struct naive_snapshot *s = naive_propose(x->v, deployment,
                                             from ? x->v->snapshots[from - 1] : NULL);
    int rc = desire_propose(x->r.d, (uint32_t)deployment,
                            from ? desire_snapshot(x->r.d, (uint32_t)from) : NULL, &by, &id, &e);
    if ((rc < 0) != !s || (s && id != (uint32_t)naive_snapshot_id(x->v, s)))
        run_wrong(x, "proposing: %s", rc < 0 ? e.text : "accepted");
    x->counts.rollbacks += s && from;
}

/* A proposal that is open; NULL: none. */
struct naive_snapshot *run_any_proposal(struct run *x)
{
    int first = any_of(x, x->v->n_deployments);
    for (int i = 0; i < x->v->n_deployments; i++) {
        struct naive_snapshot *s = naive_proposal(x->v, 1 + (first + i) % x->v->n_deployments);
        if (s)
            return s;
    }
    return NULL;
}

/* The entry as both sides shall have it; user NULL: it goes. */
static void entry_put(struct run *x, struct naive_snapshot *s, const struct naive_entry *t,
                      bool gone)
{
    struct naive_entry copy = *t;
    struct err e = {0};
    uint64_t parents[PARENTS_MOST];
    uint8_t used[PARENTS_MOST / 8 + 1] = {0};
    struct snapshot_entry out = {.flags = copy.requested ? SNAPSHOT_F_REQUESTED : 0,
                                 .parents = parents,
                                 .n_parents = (uint32_t)copy.n_parents,
                                 .used = used};
    for (int i = 0; i < copy.n_parents; i++) { /* ascending */
        int at = 0;
        for (int k = 0; k < copy.n_parents; k++)
            at += copy.parents[k].role < copy.parents[i].role ||
                  (copy.parents[k].role == copy.parents[i].role &&
                   copy.parents[k].node < copy.parents[i].node);
        parents[at] = snapshot_key((uint32_t)copy.parents[i].role + 1,
                                   (uint32_t)copy.parents[i].node);
        used[at / 8] |= (uint8_t)((uint32_t)copy.parents[i].used << at % 8);
    }
    int rc = desire_doc(x->r.d, str_of(copy.user), &out.user, &e);
    if (rc >= 0)
        rc = desire_edit(x->r.d, (uint32_t)naive_snapshot_id(x->v, s), (uint32_t)copy.role + 1,
                         (uint32_t)copy.node, gone ? NULL : &out, &e);
    if (rc < 0)
        run_wrong(x, "an edit is refused: %s", e.text);
    if (gone)
        naive_map_remove(&s->map, copy.role, copy.node);
    else
        naive_map_set(&s->map, &copy);
}

static void cascade(struct run *x, struct naive_snapshot *s, int role, int node)
{
    for (bool again = true; again && !*x->wrong;) {
        again = false;
        for (int i = 0; i < s->map.n && !again; i++) {
            struct naive_entry t = s->map.at[i];
            bool goes = t.role == role && t.node == node;
            for (int k = 0; k < t.n_parents; k++)
                goes |= t.parents[k].node &&
                        !naive_entry(&s->map, t.parents[k].role, t.parents[k].node) &&
                        naive_living(x->v, t.parents[k].role, t.parents[k].node, s->deployment);
            if (goes) {
                entry_put(x, s, &t, true);
                again = true;
            }
        }
    }
}

static void edit_parents(struct run *x, struct naive_entry *t)
{
    int id = any_living(x);
    if (t->n_parents && one_in(&x->d, 2)) {
        t->parents[any_of(x, t->n_parents)] = t->parents[t->n_parents - 1];
        t->n_parents--;
    } else if (t->n_parents && one_in(&x->d, 3)) {
        t->parents[any_of(x, t->n_parents)].used ^= true;
    } else if (id && !(x->v->beings[id].role == t->role && x->v->beings[id].node == t->node) &&
               t->n_parents < PARENTS_MOST) {
        naive_entry_parent(t, x->v->beings[id].role, x->v->beings[id].node);
    }
}

/* Something that was wanted once and is not in the proposal: first of all what is on its way out.
 */
static void edit_again(struct run *x, struct naive_snapshot *s, bool leaver)
{
    const struct naive_snapshot *old = x->v->snapshots[any_of(x, x->v->n_snapshots)];
    if (old->deployment != s->deployment || old->state != NAIVE_ARCHIVED)
        return;
    for (int i = 0; i < old->map.n; i++) {
        const struct naive_entry *t = &old->map.at[i];
        if (naive_entry(&s->map, t->role, t->node) ||
            (leaver ? !naive_leaver(x->v, t->role, t->node, s->deployment) : one_in(&x->d, 2)))
            continue;
        run_log(x, "again r%d@%d in %d; ", t->role, t->node, s->deployment);
        entry_put(x, s, t, false);
    }
}

static void step_edit(struct run *x)
{
    struct naive_snapshot *s = run_any_proposal(x);
    if (!s) {
        step_propose(x);
        return;
    }
    if (one_in(&x->d, 3)) {
        bool leaver = !one_in(&x->d, 3);
        for (int i = 0; i < 6; i++)
            edit_again(x, s, leaver);
        return;
    }
    if (one_in(&x->d, 5) || !s->map.n) { /* deployment role */
        struct naive_entry t = {.role = any_of(x, x->v->truth.n),
                                .user = random_document(&x->d, &x->v->mem)};
        run_log(x, "edit deployment role r%d in %d: %s", t.role, s->deployment, t.user);
        entry_put(x, s, &t, naive_entry(&s->map, t.role, 0) && one_in(&x->d, 3));
        return;
    }
    struct naive_entry t = s->map.at[any_of(x, s->map.n)];
    if (!t.node)
        return;
    switch (any_of(x, 5)) {
    case 0:
        if (!one_in(&x->d, 3))
            return;
        run_log(x, "unbind only r%d@%d in %d", t.role, t.node, s->deployment);
        entry_put(x, s, &t, true);
        break;
    case 1:
        run_log(x, "unbind r%d@%d in %d with all that need it", t.role, t.node, s->deployment);
        cascade(x, s, t.role, t.node);
        break;
    case 2:
    case 3:
        t.user = random_user(&x->d, &x->v->mem, &x->v->truth, t.role);
        t.requested ^= one_in(&x->d, 4);
        run_log(x, "edit r%d@%d in %d: %s", t.role, t.node, s->deployment, t.user);
        entry_put(x, s, &t, false);
        break;
    default:
        edit_parents(x, &t);
        run_log(x, "edit parents of r%d@%d in %d:", t.role, t.node, s->deployment);
        for (int i = 0; i < t.n_parents; i++)
            run_log(x, " r%d@%d", t.parents[i].role, t.parents[i].node);
        entry_put(x, s, &t, false);
    }
}

/* --- what happens to noderoles --- */

static void step_data(struct run *x)
{
    int id = any_living(x);
    const struct value *data;
    uint64_t digest;
    struct err e = {0};
    if (!id)
        return;
    struct being *b = &x->v->beings[id];
    const char *user = random_user(&x->d, &x->v->mem, &x->v->truth, b->role);
    run_log(x, "configure %d (r%d@%d): %s", id, b->role, b->node, user);
    int rc = planner_data(&x->r.mem, &x->r.cat->roles[b->role], parsed(x, user), &data, &digest,
                          &e);
    if ((rc < 0) == truth_accepts(&x->v->truth, b->role, naive_parse(&x->v->mem, user)))
        run_wrong(x, "data %s: %s", user, rc < 0 ? e.text : "accepted");
    if (rc < 0)
        return;
    struct event ev = {.kind = EVENT_DATA_SET, .id = (uint32_t)id, .a = digest};
    ev.op = real_operation(&x->r);
    struct desire_author by = real_author(&x->r);
    struct snapshot_entry t = {0};
    uint64_t key = real_key(&x->r, (uint32_t)id);
    desire_advance(x->r.d, (uint32_t)b->deployment, &by, ev.op);
    const struct snapshot *head = desire_head(x->r.d, (uint32_t)b->deployment);
    if (real_step(&x->r, ev, &e) < 0 ||
        snapshot_find_key(&x->r.mem, head->root, key, &t, &e) <= 0 ||
        desire_doc(x->r.d, str_of(user), &t.user, &e) < 0 ||
        desire_amend(x->r.d, (uint32_t)b->deployment, &by, snapshot_key_role(key),
                     snapshot_key_node(key), &t, &e) < 0)
        run_wrong(x, "configuring: %s", e.text);
    x->r.beings.at[id].user = user;
    naive_configure(x->v, id, user, false);
    struct naive_snapshot *s = naive_advance(x->v, b->deployment);
    struct naive_entry entry = *naive_entry(&s->map, b->role, b->node);
    entry.user = user;
    naive_map_set(&s->map, &entry);
}

static void step_layers(struct run *x)
{
    int id = any_living(x);
    if (!id)
        return;
    const char *text = random_document(&x->d, &x->v->mem);
    bool wall = one_in(&x->d, 2);
    run_log(x, "%s of %d: %s", wall ? "wall" : "system data", id, text);
    *(wall ? &x->r.beings.at[id].wall : &x->r.beings.at[id].system) = text;
    *(wall ? &x->v->beings[id].wall : &x->v->beings[id].system) = text;
}

static void fate_roll(struct run *x, int id)
{
    struct being *b = &x->v->beings[id];
    b->fated = true;
    b->bad = one_in(&x->d, 5);
    b->bad_down = one_in(&x->d, 2);
    run_log(x, "; %d is %s%s", id, b->bad ? "bad" : "good", b->bad_down ? ", bad to remove" : "");
}

static void step_fate(struct run *x)
{
    for (int n = 3; n > 0 && x->v->end > 1; n--) {
        int id = 1 + any_of(x, x->v->end - 1);
        if (x->exact && x->v->beings[id].exists)
            fate_roll(x, id);
    }
}

static void step_repair(struct run *x)
{
    for (int id = 1; id < x->v->end && x->exact; id++) {
        struct being *b = &x->v->beings[id];
        struct err e = {0};
        if (!b->exists || !b->failed || one_in(&x->d, 3))
            continue;
        bool abandon = b->leaving && one_in(&x->d, 3);
        if (!abandon && one_in(&x->d, 2))
            b->bad = b->bad_down = false;
        run_log(x, "%s %d; ", abandon ? "abandon" : "retry", id);
        bool in_vain = !b->leaving && !naive_parents_in(x->v, id); /* nothing would run */
        struct event ev = {.kind = abandon ? EVENT_ABANDON : EVENT_RETRY_NODEROLE,
                           .id = (uint32_t)id};
        int rc = real_step(&x->r, ev, &e);
        if (rc != (in_vain ? -ERR_CONFLICT : 0))
            run_wrong(x, "retry: %s", rc < 0 ? e.text : "it was not refused");
        if (in_vain)
            continue;
        if (abandon)
            b->bad_down = false;
        naive_retry(x->v, id);
    }
}

static bool being_fails(void *ctx, uint32_t noderole, bool removal)
{
    const struct being *b = &((struct run *)ctx)->v->beings[noderole];
    return removal ? b->bad_down : b->bad;
}

/* A need that wakes refreshes a child while others run: which of them fails first is chance. */
static bool any_sleeps(const struct naive *v)
{
    for (int id = 1; id < v->end; id++)
        for (int i = 0; v->beings[id].exists && i < v->beings[id].n_needs; i++)
            if (v->beings[id].needs[i].sleeps)
                return true;
    return false;
}

/* Mostly until all is quiet; sometimes only a little, and the next step comes in between. */
static void work(struct run *x)
{
    bool little = one_in(&x->d, 5), more = true, possible = true;
    for (int id = 1; id < x->v->end; id++)
        if (!x->v->beings[id].fated)
            fate_roll(x, id);
    for (int left = little ? any_of(x, 4) : 4000; left > 0 && more; left--)
        more = real_work(&x->r, &x->d, being_fails, x);
    if (!little && more)
        run_wrong(x, "work does not end");
    bool quiet = !little || !more;
    if (quiet && x->exact && !any_sleeps(x->v))
        naive_settle(x->v, run_word, x);
    else
        possible = naive_catch_up(x->v, run_word, x, quiet);
    if (!possible)
        run_wrong(x, "something failed or vanished that could not");
    run_log(x, quiet ? "\n" : " ...\n");
    x->counts.quiet += quiet;
    run_compare(x, quiet);
    x->exact = quiet;
    x->v->open = !quiet;
}

void run_step(struct run *x)
{
    static void (*const steps[])(struct run *) = {
        step_bind,      step_bind,      step_bind,      step_bind,   step_propose,
        step_edit_bind, step_edit_bind, step_edit_bind, step_edit,   step_edit,
        step_edit,      step_edit,      step_edit,      step_edit,   step_edit,
        step_edit,      run_commit,     run_commit,     run_commit,  step_data,
        step_layers,    step_layers,    step_fate,      step_repair, step_repair,
    };
    steps[roll(&x->d, sizeof steps / sizeof *steps)](x);
    if (!*x->wrong)
        work(x);
}
