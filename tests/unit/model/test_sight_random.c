/* test_sight_random.c - sight in random worlds, against the same rules written the obvious way
 *
 * The reference below marks ancestors by repeated passes, sorts by choosing the smallest, merges
 * pair by pair and reads inputs off the merged document.  Worlds are small, so that keys,
 * deployments and needs meet often; a failure names the seed of its world.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sight_world.h"

enum { WORLDS = 400, CHANGES = 12, MOST = 128 };

struct dice {
    uint64_t state;
};
static uint32_t roll(struct dice *d, uint32_t n)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (uint32_t)((d->state >> 16) % n);
}

/* --- random worlds --- */

static const char *const keys[] = {"a", "b", "c", "d", "node", "peers"};

static struct str random_key(struct dice *d, bool top)
{
    return str_of(keys[top && roll(d, 8) == 0 ? 4 + roll(d, 2) : roll(d, 4)]);
}

static const struct value *random_leaf(struct dice *d, struct arena *a)
{
    struct value *list = value_list(a);
    switch (roll(d, 6)) {
    case 0: return value_null(a);
    case 1: return value_map(a);
    case 2: value_add(a, list, value_int(a, roll(d, 3))); return list;
    case 3: return value_text(a, "text");
    default: return value_int(a, roll(d, 4));
    }
}

static const struct value *random_doc(struct dice *d, struct arena *a, int depth)
{
    struct value *map = value_map(a);
    for (uint32_t n = roll(d, 4); n > 0; n--)
        value_set_str(a, map, random_key(d, depth == 3),
                      depth > 1 && roll(d, 3) ? random_doc(d, a, depth - 1) : random_leaf(d, a));
    return map;
}

static const struct value *maybe_doc(struct dice *d, struct arena *a)
{
    return roll(d, 4) ? random_doc(d, a, 3) : NULL;
}

static struct sight_path random_path(struct dice *d, struct arena *a, uint32_t least)
{
    struct str *at = arena_new(a, struct str, 4);
    uint32_t n = least + roll(d, 3);
    for (uint32_t i = 0; i < n; i++)
        at[i] = random_key(d, i == 0);
    if (n > 1 && str_is(at[0], "peers"))
        at[1] = str_of(roll(d, 2) ? "r1" : "r2");
    return (struct sight_path){at, n};
}

static void random_role(struct dice *d, struct small_world *s)
{
    struct arena *a = &s->mem;
    struct sight_attribute *at = arena_new(a, struct sight_attribute, 3);
    struct sight_path *wants = arena_new(a, struct sight_path, 3);
    struct value *defaults = value_map(a);
    struct str name = str_of(arena_printf(a, "r%zu", s->roles.n + 1));
    struct sight_lens r = {.attributes = at,
                           .n_attributes = roll(d, 4),
                           .wants = {wants, roll(d, 4)},
                           .defaults = defaults};
    for (uint32_t i = 0; i < r.n_attributes; i++) {
        at[i].name = str_of(keys[i]);
        at[i].path = roll(d, 3) ? random_path(d, a, 1) : (struct sight_path){0};
        if (roll(d, 3))
            value_set_str(a, defaults, at[i].name,
                          roll(d, 2) ? random_doc(d, a, 2) : random_leaf(d, a));
    }
    for (uint32_t i = 0; i < r.wants.n; i++)
        wants[i] = random_path(d, a, roll(d, 10) ? 1 : 0);
    vec_push(&s->roles, ((struct small_role){name, r}));
}

static void random_world(struct dice *d, struct small_world *s)
{
    uint32_t roles = 1 + roll(d, 4), nodes = 1 + roll(d, 3), deployments = 1 + roll(d, 4),
             noderoles = 2 + roll(d, 11);
    for (uint32_t i = 0; i < roles; i++)
        random_role(d, s);
    for (uint32_t i = 0; i < nodes; i++) {
        add_node(s, arena_printf(&s->mem, "n%u", i + 1), NULL);
        s->nodes.at[i].facts = roll(d, 2) ? random_doc(d, &s->mem, 2) : NULL;
    }
    for (uint32_t i = 0; i < deployments; i++) {
        add_deployment(s, i ? roll(d, i + 1) : 0);
        for (uint32_t r = 1; r <= roles; r++)
            if (roll(d, 2))
                vec_push(&s->shared, ((struct small_shared){i + 1, r, maybe_doc(d, &s->mem)}));
    }
    for (uint32_t i = 0; i < noderoles; i++) {
        uint32_t id = add_noderole(s, 1 + roll(d, roles), 1 + roll(d, nodes),
                                   1 + roll(d, deployments), roll(d, 4), NULL, NULL, NULL);
        struct sight_noderole *nr = &s->nrs.at[i].nr;
        nr->wall = maybe_doc(d, &s->mem);
        nr->system = maybe_doc(d, &s->mem);
        nr->user = maybe_doc(d, &s->mem);
        nr->active = roll(d, 3);
        nr->member = roll(d, 3) == 0;
        for (uint32_t n = i ? roll(d, 4) : 0; n > 0; n--)
            vec_push(&s->nrs.at[id - 1].needs,
                     ((struct sight_need){1 + roll(d, i), roll(d, 3) == 0}));
    }
}

/* --- the reference --- */

enum as { NOBODY, ANCESTOR = 1, PEER = 2, SELF = 4, NEIGHBOUR = 8 };

static bool plain_peer(const struct small_world *s, struct sight_need need)
{
    return need.peer && s->nrs.at[need.id - 1].nr.member;
}

/* as[id] for every noderole; n + 1 bytes. */
static void plain_reach(const struct small_world *s, uint32_t self, uint8_t *as)
{
    memset(as, 0, s->nrs.n + 1);
    as[self] = SELF;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t id = 1; id <= s->nrs.n; id++)
            for (size_t k = 0; (as[id] & (SELF | ANCESTOR)) && k < s->nrs.at[id - 1].needs.n; k++) {
                struct sight_need need = s->nrs.at[id - 1].needs.at[k];
                uint8_t is = !plain_peer(s, need) ? ANCESTOR : id == self ? PEER : NOBODY;
                changed |= (as[need.id] | is) != as[need.id];
                as[need.id] |= is;
            }
    }
    for (uint32_t id = 1; id <= s->nrs.n; id++)
        if (!as[id] && s->nrs.at[id - 1].nr.active &&
            s->nrs.at[id - 1].nr.node == s->nrs.at[self - 1].nr.node)
            as[id] = NEIGHBOUR;
}

/* Of those marked, the smallest by (cohort, id) beyond `after`; 0: none. */
static uint32_t plain_next(const struct small_world *s, const uint8_t *as, uint8_t which,
                           uint32_t after)
{
    uint32_t best = 0;
#define RANK(id) ((uint64_t)s->nrs.at[(id)-1].nr.cohort << 32 | (id))
    for (uint32_t id = 1; id <= s->nrs.n; id++)
        if ((as[id] & which) && (!after || RANK(id) > RANK(after)) &&
            (!best || RANK(id) < RANK(best)))
            best = id;
    return best;
}

static const struct value *plain_shared(struct small_world *s, const struct value *under,
                                        uint32_t deployment, uint32_t role)
{
    if (!deployment)
        return under;
    under = plain_shared(s, under, s->parents.at[deployment - 1], role);
    return value_merge(&s->mem, under, small_shared_doc(s, deployment, role));
}

static const struct value *plain_block(struct small_world *s, const struct value *under,
                                       uint32_t id)
{
    const struct sight_noderole *nr = &s->nrs.at[id - 1].nr;
    under = plain_shared(s, under, nr->deployment, nr->role);
    under = value_merge(&s->mem, under, nr->wall);
    under = value_merge(&s->mem, under, nr->system);
    return value_merge(&s->mem, under, nr->user);
}

static const struct value *plain_wrap(struct arena *a, struct str key, const struct value *v)
{
    struct value *map = value_map(a);
    value_set_str(a, map, key, v);
    return map;
}

static const struct value *plain_data(struct small_world *s, uint32_t self, bool ambient)
{
    struct arena *a = &s->mem;
    const struct sight_noderole *nr = &s->nrs.at[self - 1].nr;
    const struct sight_lens *role = &s->roles.at[nr->role - 1].lens;
    const struct value *v = value_map(a);
    uint8_t as[64];
    plain_reach(s, self, as);
    for (uint32_t i = 0; i < role->n_attributes; i++) {
        const struct sight_attribute *at = &role->attributes[i];
        const struct value *one = value_get_str(role->defaults, at->name);
        for (uint32_t k = at->path.n; one && k > 0; k--)
            one = plain_wrap(a, at->path.keys[k - 1], one);
        v = value_merge(a, v, one && !at->path.n ? plain_wrap(a, at->name, one) : one);
    }
    for (uint32_t id = 0; ambient && (id = plain_next(s, as, NEIGHBOUR, id));)
        v = plain_block(s, v, id);
    for (uint32_t id = 0; (id = plain_next(s, as, ANCESTOR, id));)
        v = plain_block(s, v, id);
    v = plain_block(s, v, self);
    if (s->nodes.at[nr->node - 1].facts && s->nodes.at[nr->node - 1].facts->n)
        v = value_merge(a, v, plain_wrap(a, str_of("node"), s->nodes.at[nr->node - 1].facts));
    const struct value *peers = NULL;
    for (uint32_t id = 0; (id = plain_next(s, as, PEER, id));) {
        const struct sight_noderole *p = &s->nrs.at[id - 1].nr;
        struct str r = s->roles.at[p->role - 1].name, n = s->nodes.at[p->node - 1].name;
        struct value *nodes = value_copy(a, value_get_str(peers, r)), *all = value_copy(a, peers);
        nodes = nodes ? nodes : value_map(a);
        all = all ? all : value_map(a);
        value_set_str(a, nodes, n, plain_block(s, value_map(a), id));
        value_set_str(a, all, r, nodes);
        peers = all;
    }
    return value_merge(a, v, peers ? plain_wrap(a, str_of("peers"), peers) : NULL);
}

/* What the inputs are, as text: equal texts must give equal digests and no others. */
static char *plain_inputs(struct small_world *s, uint32_t id)
{
    SCOPED_BUF(b);
    const struct sight_lens *role = &s->roles.at[s->nrs.at[id - 1].nr.role - 1].lens;
    const struct value *doc = plain_data(s, id, false);
    for (uint32_t i = 0; i < role->n_attributes + role->wants.n; i++) {
        struct sight_path path = i >= role->n_attributes ? role->wants.at[i - role->n_attributes]
                                 : role->attributes[i].path.n
                                     ? role->attributes[i].path
                                     : (struct sight_path){&role->attributes[i].name, 1};
        const struct value *v = doc;
        for (uint32_t k = 0; k < path.n; k++)
            v = value_get_str(v, path.keys[k]);
        if (v)
            json_write_canonical(&b, v);
        buf_puts(&b, v ? "\n" : "absent\n");
    }
    return arena_strndup(&s->mem, buf_str(&b).s, b.len);
}

/* --- properties --- */

#define PROPERTIES(X)                                                                              \
    X(DATA, "visible data are those of the reference")                                             \
    X(LEAF, "each visible leaf has one winner, whose value it is")                                 \
    X(ORIGIN, "origins name the same layer as the explanation of the leaf")                        \
    X(PATH, "an explained path shows what the data have there")                                    \
    X(UNION, "a map's winners are those of the leaves below it")                                   \
    X(INPUTS, "inputs equal those of the merged document without ambient data")                    \
    X(CACHED, "the cache changes no digest")                                                       \
    X(AMBIENT, "ambient data never change inputs")                                                 \
    X(WANTED, "a wanted value that changes always changes inputs")                                 \
    X(UNWANTED, "an unwanted value that changes never does")                                       \
    X(EXACT, "any change changes the digest just if it changes a value at a path")                 \
    X(TOUCH, "who is not touched by what changed has the same inputs")
enum property {
#define X(id, text) P_##id,
    PROPERTIES(X)
#undef X
        P_COUNT
};
struct tally {
    uint64_t seed;
    uint32_t checks[P_COUNT], failed[P_COUNT];
    uint64_t first[P_COUNT]; /* the seed of the first failure */
};
static void check(struct tally *t, enum property p, bool good)
{
    t->checks[p]++;
    if (!good && !t->failed[p]++)
        t->first[p] = t->seed;
}

static const struct sight_layer *only_winner(struct sight_explanation x)
{
    const struct sight_layer *who = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.n; i++)
        if (x.rows[i].wins && ++n)
            who = x.rows[i].layer;
    return n == 1 ? who : NULL;
}

/* Recursion is over documents of this file's making, at most eight deep.  Marks in `won` the layers
 * that have a leaf below the path. */
static void check_leaves(struct tally *t, const struct sight_layers *l, const struct value *v,
                         const struct value *origin, struct str *path, uint32_t n, bool *won,
                         struct arena *a)
{
    bool below[MOST] = {0};
    struct sight_path at = {path, n};
    struct sight_explanation x = sight_explain(l, at, a);
    check(t, P_PATH, value_equal(x.visible, v));
    if (v->kind == VALUE_MAP && v->n) {
        for (uint32_t i = 0; i < v->n; i++) {
            struct str key = {v->members[i].key, v->members[i].key_n};
            path[n] = key;
            check_leaves(t, l, &v->members[i].v,
                         value_is(origin, VALUE_MAP) ? value_get_str(origin, key) : origin, path,
                         n + 1, below, a);
        }
        for (uint32_t i = 0; i < x.n; i++) {
            bool has = below[x.rows[i].layer - l->at];
            check(t, P_UNION, x.rows[i].wins == has);
        }
        for (uint32_t i = 0; i < l->n; i++)
            won[i] |= below[i];
        return;
    }
    const struct sight_layer *who = only_winner(x);
    check(t, P_LEAF, who && value_equal(sight_at(who->doc, at), v));
    check(t, P_ORIGIN, who && value_is(origin, VALUE_INT) && origin->i == who - l->at);
    if (who)
        won[who - l->at] = true;
}

static void check_sight(struct tally *t, struct small_world *s, uint32_t id, struct sight_cache *c,
                        struct dice *d)
{
    struct arena *a = &s->mem;
    struct sight_layers l = {0};
    struct err e;
    const struct value *want = plain_data(s, id, true);
    bool made = sight_layers(&s->w, c, id, a, &l, &e) == 0 && l.n <= MOST;
    check(t, P_DATA, made);
    if (!made)
        return;
    const struct value *got = sight_data(&l, a);
    check(t, P_DATA, value_equal(got, want));
    if (l.n) {
        struct str path[16];
        bool won[MOST] = {0};
        check_leaves(t, &l, got, sight_origins(&l, a), path, 0, won, a);
    }
    for (int i = 0; i < 6; i++) {
        struct sight_path p = random_path(d, a, 1);
        struct sight_explanation x = sight_explain(&l, p, a);
        check(t, P_PATH, value_equal(x.visible, sight_at(want, p)));
        for (uint32_t k = 0; k < x.n; k++)
            check(t, P_PATH,
                  x.rows[k].cuts || x.rows[k].value == sight_at(x.rows[k].layer->doc, p));
    }
    const struct sight_lens *role = &s->roles.at[s->nrs.at[id - 1].nr.role - 1].lens;
    SCOPED_ARENA(scratch); /* as in use: the next call finds other values at the same addresses */
    uint64_t kept = 0, plain = inputs(s, id);
    check(t, P_INPUTS, plain && plain == sight_inputs_of(role, plain_data(s, id, false), a));
    check(t, P_CACHED, sight_inputs(&s->w, c, id, &scratch, &kept, &e) == 0 && kept == plain);
}

/* The document with another value at the path; what lies in the way is replaced. */
static const struct value *doc_with(struct arena *a, const struct value *doc,
                                    struct sight_path path, const struct value *v)
{
    if (path.n == 0)
        return v;
    struct value *map = value_is(doc, VALUE_MAP) ? value_copy(a, doc) : value_map(a);
    struct sight_path rest = {path.keys + 1, path.n - 1};
    value_set_str(a, map, path.keys[0], doc_with(a, value_get_str(map, path.keys[0]), rest, v));
    return map;
}

static bool is_own_key(struct str key)
{
    return str_is(key, "node") || str_is(key, "peers");
}

static void check_wants(struct tally *t, struct small_world *s, uint32_t id, struct dice *d)
{
    struct arena *a = &s->mem;
    struct sight_noderole *nr = &s->nrs.at[id - 1].nr;
    const struct sight_lens *role = &s->roles.at[nr->role - 1].lens;
    const struct value *user = nr->user;
    uint64_t before = inputs(s, id);
    if (role->wants.n) {
        struct sight_path want = role->wants.at[roll(d, role->wants.n)];
        if (want.n && !is_own_key(want.keys[0])) {
            nr->user = doc_with(a, user, want, value_text(a, "fresh"));
            check(t, P_WANTED, inputs(s, id) != before);
            nr->user = doc_with(a, user, want, value_null(a));
            uint64_t null = inputs(s, id);
            nr->user = doc_with(a, user, want, value_int(a, 77));
            check(t, P_WANTED, inputs(s, id) != null);
        }
    }
    struct sight_path other = random_path(d, a, 1);
    bool wanted = is_own_key(other.keys[0]); /* said of what it is */
    for (uint32_t i = 0; i < role->n_attributes + role->wants.n; i++) {
        struct sight_path p = i < role->wants.n ? role->wants.at[i]
                                                : role->attributes[i - role->wants.n].path;
        if (i >= role->wants.n && !p.n)
            p = (struct sight_path){&role->attributes[i - role->wants.n].name, 1};
        wanted |= p.n == 0 || str_eq(p.keys[0], other.keys[0]);
    }
    if (!wanted) {
        nr->user = doc_with(a, user, other, value_text(a, "fresh"));
        check(t, P_UNWANTED, inputs(s, id) == before);
    }
    nr->user = user;
}

/* One document of the world becomes another; all inputs are compared with what they were. */
static void check_change(struct tally *t, struct small_world *s, struct dice *d)
{
    uint64_t before[64];
    char *text[64];
    const struct value *doc[64];
    uint32_t n = (uint32_t)s->nrs.n, who = roll(d, n);
    for (uint32_t i = 0; i < n; i++) {
        before[i] = inputs(s, i + 1);
        text[i] = plain_inputs(s, i + 1);
        doc[i] = plain_data(s, i + 1, false);
    }
    struct sight_noderole *nr = &s->nrs.at[who].nr;
    const struct value **layer[] = {&nr->wall, &nr->system, &nr->user};
    const struct value **one = layer[roll(d, 3)];
    *one = roll(d, 4) ? doc_with(&s->mem, *one, random_path(d, &s->mem, 1), random_leaf(d, &s->mem))
                      : maybe_doc(d, &s->mem);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t as[64];
        uint64_t now = inputs(s, i + 1);
        plain_reach(s, i + 1, as);
        if (!(as[who + 1] & (SELF | ANCESTOR | PEER)))
            check(t, P_AMBIENT, now == before[i]);
        check(t, P_EXACT, (now == before[i]) == !strcmp(text[i], plain_inputs(s, i + 1)));
        struct sight_paths changed = sight_changed_paths(doc[i], plain_data(s, i + 1, false),
                                                         &s->mem);
        if (!sight_lens_touched(&s->roles.at[s->nrs.at[i].nr.role - 1].lens, changed))
            check(t, P_TOUCH, now == before[i]);
    }
}

static void test_world(struct tally *t)
{
    SCOPED(small_world) s;
    SCOPED(sight_cache) *c = sight_cache_new();
    struct dice d = {t->seed * 0x9e3779b97f4a7c15ull + 1};
    small_init(&s);
    random_world(&d, &s);
    for (uint32_t id = 1; id <= s.nrs.n; id++) {
        check_sight(t, &s, id, c, &d);
        check_wants(t, &s, id, &d);
    }
    for (int i = 0; i < CHANGES; i++)
        check_change(t, &s, &d);
}

int main(void)
{
    static const char *const texts[P_COUNT] = {
#define X(id, text) [P_##id] = text,
        PROPERTIES(X)
#undef X
    };
    struct tally t = {0};
    for (t.seed = 1; t.seed <= WORLDS; t.seed++)
        test_world(&t);
    for (int p = 0; p < P_COUNT; p++) {
        if (!ok(t.checks[p] > WORLDS && !t.failed[p], "%s", texts[p]))
            note("%u of %u failed, first with seed %llu", t.failed[p], t.checks[p],
                 (unsigned long long)t.first[p]);
        note("%u checks", t.checks[p]);
    }
    return tap_done();
}
