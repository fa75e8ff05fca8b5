/* test_wants.c - the plain copy of desired state: what it holds, how it merges, what it tells apart
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"
#include "tap.h"

enum { DEPLOYMENT = SIM_DEPLOYMENT_FIRST, BASED = 1, HEAD = 2 };

static struct want entry(uint32_t snapshot, bool base, uint32_t place, uint32_t user)
{
    return (struct want){.snapshot = snapshot, .place = place, .user = user, .base = base};
}

static void put(struct wants *w, uint32_t snapshot, bool base, uint32_t place, uint32_t user)
{
    struct want t = entry(snapshot, base, place, user);
    sim_wants_put(w, &t);
}

static uint32_t user_of(const struct wants *w, uint32_t snapshot, bool base, uint32_t place)
{
    const struct want *t = sim_wants_find(w, snapshot, base, place);
    return t ? t->user : 0;
}

static void test_list(void)
{
    struct wants w = {0}, other = {0};
    put(&w, 1, false, 7, 10);
    put(&w, 1, true, 7, 11);
    put(&w, 2, false, 7, 12);
    put(&w, 1, false, 7, 13);
    is_int(w.entries.n, 3, "a place is there once for each map");
    is_int(user_of(&w, 1, false, 7), 13, "the last word counts");
    is_int(user_of(&w, 1, true, 7), 11, "a base is another map");
    sim_wants_clone(&w, 1, 3, true);
    is_int(user_of(&w, 3, true, 7), 13, "cloned from the map, not from its base");
    sim_wants_copy(&other, &w);
    sim_wants_clear(&w, 1, false);
    is_int(user_of(&w, 1, false, 7), 0, "cleared");
    is_int(user_of(&other, 1, false, 7), 13, "which a copy does not see");
    sim_wants_remove(&w, 3, true, 7);
    sim_wants_remove(&w, 3, true, 7);
    is_int(w.entries.n, 2, "removed, once");
    sim_wants_done(&w);
    sim_wants_done(&other);
}

/* base, head and proposal have these data at one place, 0: no entry. */
static void merged(uint32_t base, uint32_t head, uint32_t proposal, uint32_t conflicts,
                   uint32_t user)
{
    struct wants w = {0};
    if (base)
        put(&w, BASED, true, 5, base);
    if (proposal)
        put(&w, BASED, false, 5, proposal);
    if (head)
        put(&w, HEAD, false, 5, head);
    put(&w, 9, false, 5, 99);
    is_int(sim_wants_merge(&w, BASED, HEAD), conflicts, "from %u to %u and %u: conflicts", base,
           head, proposal);
    if (!conflicts)
        is_int(user_of(&w, WANT_DRAFT, false, 5), user, "from %u to %u and %u: it is %u", base,
               head, proposal, user);
    sim_wants_done(&w);
}

static void test_merge(void)
{
    for (uint32_t base = 0; base < 3; base++)
        for (uint32_t one = 0; one < 3; one++) {
            merged(base, base, one, 0, one); /* changed on one side at most */
            merged(base, one, base, 0, one);
            merged(base, one, one, 0, one); /* on both in the same way */
        }
    merged(1, 2, 3, 1, 0);
    merged(1, 0, 2, 1, 0);
    merged(1, 2, 0, 1, 0);
    merged(0, 1, 2, 1, 0);
}

static void test_names(void)
{
    char name[32];
    sim_wants_role_name(name, sizeof name, 3, 12);
    struct sim_seat seat = sim_wants_seat(str_of(name), 4);
    ok(seat.deployment == 3 && sim_place_role(seat.place) == 12 && sim_place_node(seat.place) == 4,
       "%s is role 12 of deployment 3", name);
    is_int(sim_wants_seat(str_of("role"), 4).deployment, 0, "other names are nobody's");
}

/* ---- told apart ---- */

static void ignore_row(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    (void)arg;
    (void)t;
    (void)verb;
    (void)row;
}

static void told(struct sim *s, const struct wants *w, const char *what, const char *label)
{
    s->report->failed = false;
    s->report->what[0] = 0;
    sim_wants_compare(s, w, s->server.desire, "here");
    if (what)
        has_text(s->report->what, what, "%s", label);
    else
        is_text(s->report->what, "", "%s", label);
}

static void edit(struct sim *s, uint32_t id, const struct want *t)
{
    SCOPED_ARENA(mem);
    struct err e;
    uint64_t key = sim_draft_key(s, DEPLOYMENT, t->place);
    struct snapshot_entry real = sim_draft_entry(s, DEPLOYMENT, t, &mem);
    struct pmap *draft = desire_draft(desire_snapshot(s->server.desire, id));
    ok(desire_draft_put(s->server.desire, &draft, key, &real, &e) == 1 &&
           desire_redraft(s->server.desire, id, draft, &e) >= 0,
       "an entry for role %u", sim_place_role(t->place));
}

static void test_compare(void)
{
    struct sim_report report = {0};
    struct sim s = {.report = &report, .server.desire = desire_new(ignore_row, NULL)};
    struct wants w = {0};
    struct want child = {.snapshot = 1, .place = sim_place(2, 1), .user = 3, .n_parents = 2};
    struct want parent = entry(1, false, sim_place(1, 1), 0);
    uint32_t id;
    struct err e;
    (void)vec_add(&w.snapshots);
    vec_push(&w.snapshots, ((struct want_snapshot){
                               .deployment = DEPLOYMENT, .number = 1, .catalog = 4, .oldest = 4}));
    child.parents[0] = sim_place(1, 1);
    child.parents[1] = sim_place(1, 2);
    told(&s, &w, "there are 0 snapshots, not 1", "a snapshot that is missing");
    struct desire_author by = {.name = str_of("ada"), .message = str_of(""), .catalog = 4};
    (void)desire_propose(s.server.desire, DEPLOYMENT, NULL, &by, &id, &e);
    told(&s, &w, NULL, "an empty proposal");
    edit(&s, id, &child);
    told(&s, &w, "another entry for role 2 on node 1", "an entry too many");
    sim_wants_put(&w, &child);
    told(&s, &w, NULL, "the same entry");
    sim_wants_put(&w, &parent);
    told(&s, &w, "lacks an entry", "an entry that is missing");
    edit(&s, id, &parent);
    told(&s, &w, NULL, "both");
    w.entries.at[0].user++;
    told(&s, &w, "another entry for role 2", "other data");
    w.entries.at[0].user--;
    w.entries.at[0].parents[1] = sim_place(1, 3);
    told(&s, &w, "another entry for role 2", "another parent");
    w.entries.at[0].parents[1] = sim_place(1, 2);
    put(&w, 1, true, sim_place(1, 1), 0);
    told(&s, &w, "in its base, lacks an entry", "another base");
    sim_wants_clear(&w, 1, true);
    w.snapshots.at[1].state = SNAPSHOT_COMMITTED;
    told(&s, &w, "snapshot 1 is proposed, not committed", "another state");
    w.snapshots.at[1].state = SNAPSHOT_PROPOSED;
    w.snapshots.at[1].source = 1;
    told(&s, &w, "another source, operation or catalog", "another source");
    w.snapshots.at[1].source = 0;
    told(&s, &w, NULL, "and the same again");
    sim_wants_done(&w);
    desire_free(s.server.desire);
}

int main(void)
{
    test_list();
    test_merge();
    test_names();
    test_compare();
    return tap_done();
}
