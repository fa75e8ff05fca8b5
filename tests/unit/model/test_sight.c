/* test_sight.c - the order in which a run sees data, a sentence of sight.h at a time */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sight_world.h"

#define WORLD(s)                                                                                   \
    SCOPED(small_world) s;                                                                         \
    small_init(&s)

/* --- defaults --- */

static void test_defaults(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "port=net/tcp/port name none", "{'port':80,'name':'x','z':1}",
                          "");
    uint32_t id = add_noderole(&s, r, 0, 0, 0, NULL, NULL, NULL);
    is_doc(see(&s, id), "{'net':{'tcp':{'port':80}},'name':'x'}",
           "defaults lie at their attributes' paths; what is no attribute is not seen");

    uint32_t two = add_role(&s, "two", "a=x b=x/y c=x/z", "{'a':{'y':1,'w':2},'b':3,'c':null}", "");
    uint32_t other = add_noderole(&s, two, 0, 0, 0, NULL, NULL, NULL);
    is_doc(see(&s, other), "{'x':{'y':3,'w':2,'z':null}}",
           "of attributes within each other the later wins, null is a default");

    uint32_t bare = add_role(&s, "bare", "a b", NULL, "");
    is_doc(see(&s, add_noderole(&s, bare, 0, 0, 0, NULL, NULL, NULL)), "{}",
           "nothing said, nothing seen: an empty map");
    s.nrs.at[id - 1].nr.wall = doc_of(&s.mem, "{'name':'w'}");
    is_doc(value_get(see(&s, id), "name"), "'w'", "a default is weaker than the wall");

    uint32_t child = add_noderole(&s, bare, 0, 0, 1, NULL, NULL, NULL);
    add_need(&s, child, id);
    is_doc(see(&s, child), "{'name':'w'}", "defaults of an ancestor's role are not seen");
}

/* --- own layers --- */

static void test_own(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "", NULL, "");
    uint32_t root = add_deployment(&s, 0), mid = add_deployment(&s, root),
             low = add_deployment(&s, mid);
    uint32_t id = add_noderole(&s, r, 0, low, 0, "{'a':1,'b':1,'c':1}", "{'b':2,'c':2}", "{'c':3}");
    is_doc(see(&s, id), "{'a':1,'b':2,'c':3}", "wall, then system, then user");
    add_shared(&s, root, r, "{'a':'root','d':'root','e':'root','f':'root'}");
    add_shared(&s, mid, r, "{'e':'mid','f':'mid'}");
    add_shared(&s, low, r, "{'f':'low'}");
    is_doc(see(&s, id), "{'a':1,'b':2,'c':3,'d':'root','e':'mid','f':'low'}",
           "deployment-role data below them, from the root down");
    s.nrs.at[id - 1].nr.user = doc_of(&s.mem, "{'a':null,'b':[1],'c':{'x':1},'d':{}}");
    is_doc(see(&s, id), "{'a':null,'b':[1],'c':{'x':1},'d':{},'e':'mid','f':'low'}",
           "null, lists and maps replace what is no map");
    s.nrs.at[id - 1].nr.wall = doc_of(&s.mem, "{'m':{'k':{'x':1,'y':[1]},'l':1}}");
    s.nrs.at[id - 1].nr.user = doc_of(&s.mem, "{'m':{'k':{'y':[2]}}}");
    is_doc(value_get(see(&s, id), "m"), "{'k':{'x':1,'y':[2]},'l':1}",
           "maps merge at every depth, lists do not");
    s.nrs.at[id - 1].nr.user = doc_of(&s.mem, "[1]");
    is_doc(value_at(see(&s, id), "m.k.y"), "[1]", "a document that is no map counts as absent");
}

/* --- ancestors --- */

static void test_ancestors(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "", NULL, "");
    uint32_t far = add_noderole(&s, r, 0, 0, 0, "{'v':'far','far':1}", NULL, NULL);
    uint32_t left = add_noderole(&s, r, 0, 0, 2, "{'v':'left','left':1}", NULL, NULL);
    uint32_t right = add_noderole(&s, r, 0, 0, 1, "{'v':'right','right':1}", NULL, NULL);
    uint32_t id = add_noderole(&s, r, 0, 0, 3, NULL, NULL, NULL);
    uint32_t stranger = add_noderole(&s, r, 0, 0, 0, "{'stranger':1}", NULL, NULL);
    add_need(&s, id, left);
    add_need(&s, id, right);
    add_need(&s, left, far);
    add_need(&s, right, far);
    is_doc(see(&s, id), "{'v':'left','far':1,'left':1,'right':1}",
           "ancestors are seen through each other, the higher cohort over the lower");
    s.nrs.at[right - 1].nr.cohort = 2;
    is_doc(value_get(see(&s, id), "v"), "'right'", "within a cohort the higher id is stronger");
    s.nrs.at[left - 1].nr.user = doc_of(&s.mem, "{'v':'left user'}");
    is_doc(value_get(see(&s, id), "v"), "'right'",
           "a weak layer of a later ancestor beats a strong one of an earlier");
    s.nrs.at[id - 1].nr.wall = doc_of(&s.mem, "{'v':'own'}");
    is_doc(value_get(see(&s, id), "v"), "'own'", "the own wall beats every ancestor");
    s.nrs.at[far - 1].nr.active = false;
    is_doc(value_get(see(&s, id), "far"), "1", "an ancestor counts whatever its state");
    add_need(&s, far, id);
    is_doc(value_get(see(&s, id), "v"), "'own'", "a ring ends");

    struct sight_layers l;
    struct err e;
    int met = 0;
    is_int(sight_layers(&s.w, NULL, id, &s.mem, &l, &e), 0, "layers of %u", id);
    for (uint32_t i = 0; i < l.n; i++)
        met += l.at[i].noderole == far;
    is_int(met, 1, "each ancestor once");
    ok(value_get(see(&s, id), "stranger") == NULL && stranger, "nobody else is seen");
}

static void test_ancestor_block(void)
{
    WORLD(s);
    uint32_t db = add_role(&s, "db", "", NULL, ""), web = add_role(&s, "web", "", NULL, "");
    uint32_t root = add_deployment(&s, 0), ours = add_deployment(&s, root),
             theirs = add_deployment(&s, root);
    uint32_t p = add_noderole(&s, db, 0, theirs, 0, "{'c':'wall'}", NULL, NULL);
    uint32_t id = add_noderole(&s, web, 0, ours, 1, NULL, NULL, NULL);
    add_need(&s, id, p);
    add_shared(&s, root, db, "{'a':'root db','b':'root db','c':'root db'}");
    add_shared(&s, theirs, db, "{'b':'theirs db','c':'theirs db'}");
    add_shared(&s, ours, db, "{'wrong':1}");
    add_shared(&s, theirs, web, "{'wrong':1}");
    is_doc(see(&s, id), "{'a':'root db','b':'theirs db','c':'wall'}",
           "an ancestor brings its own role's data of its own deployments below its layers");
    add_shared(&s, root, web, "{'c':'root web'}");
    is_doc(value_get(see(&s, id), "c"), "'root web'",
           "own deployment-role data, even of the root, beats every ancestor");

    uint32_t q = add_noderole(&s, db, 0, theirs, 0, NULL, NULL, NULL);
    add_need(&s, id, q);
    s.shared.n--;
    is_doc(value_get(see(&s, id), "c"), "'theirs db'",
           "deployment-role data come with each ancestor anew, over the ancestor before");
}

/* --- ambient --- */

static void test_ambient(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "v=v", "{'v':'default'}", "");
    uint32_t n1 = add_node(&s, "n1", NULL), n2 = add_node(&s, "n2", NULL);
    uint32_t root = add_deployment(&s, 0);
    uint32_t anc = add_noderole(&s, r, n1, 0, 0, "{'anc':1}", NULL, NULL);
    uint32_t id = add_noderole(&s, r, n1, 0, 5, NULL, NULL, NULL);
    uint32_t near = add_noderole(&s, r, n1, root, 9, "{'v':'near','u':1,'anc':'near'}", NULL, NULL);
    uint32_t idle = add_noderole(&s, r, n1, 0, 9, "{'idle':1}", NULL, NULL);
    uint32_t away = add_noderole(&s, r, n2, 0, 0, "{'away':1}", NULL, NULL);
    s.nrs.at[idle - 1].nr.active = false;
    add_need(&s, id, anc);
    (void)away;
    is_doc(see(&s, id), "{'v':'near','u':1,'anc':1}",
           "ACTIVE noderoles of the node are over defaults and under ancestors, others not seen");
    uint32_t later = add_noderole(&s, r, n1, 0, 8, NULL, NULL, "{'v':'later','u':2}");
    is_doc(see(&s, id), "{'v':'near','u':1,'anc':1}", "the higher cohort is stronger, not the id");
    s.nrs.at[later - 1].nr.cohort = 9;
    is_doc(see(&s, id), "{'v':'later','u':2,'anc':1}", "within a cohort the higher id");
    add_shared(&s, root, r, "{'shared':1,'u':9}");
    is_doc(see(&s, id), "{'v':'later','u':2,'anc':1,'shared':1}",
           "a neighbour brings its deployment-role data");
    add_need(&s, near, id);
    is_doc(value_get(see(&s, id), "shared"), "1", "who needs it is a neighbour as well");

    struct sight_layers l;
    struct err e;
    is_int(sight_layers(&s.w, NULL, id, &s.mem, &l, &e), 0, "layers of %u", id);
    is_int(l.n, 5, "layers: default, two and one of neighbours, one of the ancestor");
    is_text(sight_kind_name(l.at[1].kind), "ambient", "a neighbour's layer says so");
    is_text(sight_kind_name(l.at[1].part), "deployment-role", "and which document it is");
    is_int(l.at[1].deployment, root, "of which deployment");
    is_int(l.at[1].noderole, near, "and of whom");
    is_text(sight_kind_name(l.at[4].kind), "wall", "the ancestor's is no ambient one");
    is_int(l.at[4].noderole, anc, "though it is on the same node");

    s.nrs.at[id - 1].nr.node = 0;
    is_doc(see(&s, id), "{'v':'default','anc':1}", "without a node there are no neighbours");
}

/* --- node --- */

static void test_node(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "", NULL, "");
    uint32_t n1 = add_node(&s, "n1", "{'memory':64,'cpu':{'n':4}}");
    uint32_t n2 = add_node(&s, "n2", "{'disk':1}"), n3 = add_node(&s, "n3", "{}");
    uint32_t p = add_noderole(&s, r, n2, 0, 0, NULL, NULL, NULL);
    uint32_t id = add_noderole(&s, r, n1, 0, 1, NULL, NULL, "{'node':{'memory':1,'note':'x'}}");
    add_need(&s, id, p);
    is_doc(see(&s, id), "{'node':{'memory':64,'cpu':{'n':4},'note':'x'}}",
           "facts of its own node are under node, and no document contradicts them");
    s.nrs.at[id - 1].nr.node = n3;
    is_doc(see(&s, id), "{'node':{'memory':1,'note':'x'}}", "no facts, no layer");
}

/* --- peers --- */

static uint32_t add_member(struct small_world *s, uint32_t role, uint32_t node, uint32_t child,
                           const char *user)
{
    uint32_t id = add_noderole(s, role, node, 0, 1, NULL, NULL, user);
    add_peer(s, child, id);
    return id;
}

static void test_peers(void)
{
    WORLD(s);
    uint32_t web = add_role(&s, "web", "", NULL, ""), db = add_role(&s, "db", "", NULL, ""),
             ntp = add_role(&s, "ntp", "", NULL, "");
    uint32_t n1 = add_node(&s, "n1", NULL), n2 = add_node(&s, "n2", NULL);
    uint32_t root = add_deployment(&s, 0);
    uint32_t id = add_noderole(&s, web, n1, 0, 5, NULL, NULL, "{'own':1}");
    uint32_t a = add_member(&s, db, n1, id, "{'ip':1}"), b = add_member(&s, db, n2, id, NULL);
    is_doc(see(&s, id), "{'own':1,'peers':{'db':{'n1':{'ip':1},'n2':{}}}}",
           "members are not merged, not ambient either, but under peers by role and node");
    s.nrs.at[b - 1].nr.deployment = root;
    s.nrs.at[b - 1].nr.wall = doc_of(&s.mem, "{'w':1}");
    s.nrs.at[b - 1].nr.user = doc_of(&s.mem, "{'w':3}");
    add_shared(&s, root, db, "{'w':0,'d':0}");
    uint32_t clock = add_member(&s, ntp, n2, id, "{'t':1}");
    is_doc(value_get(see(&s, id), "peers"),
           "{'db':{'n1':{'ip':1},'n2':{'w':3,'d':0}},'ntp':{'n2':{'t':1}}}",
           "a member shows its block; every role has its own");

    uint32_t below = add_noderole(&s, web, 0, 0, 0, "{'below':1}", NULL, NULL);
    add_need(&s, a, below);
    ok(!value_get(see(&s, id), "below"), "ancestors of peers are not seen");
    uint32_t child = add_noderole(&s, web, 0, 0, 6, NULL, NULL, NULL);
    add_need(&s, child, id);
    is_doc(see(&s, child), "{'own':1}", "peers of an ancestor are neither shown nor followed");

    add_need(&s, id, child - 1);
    add_need(&s, child - 1, a);
    is_doc(value_get(see(&s, id), "ip"), "1", "who is a peer and an ancestor is merged");
    is_doc(value_at(see(&s, id), "peers.db.n1.ip"), "1", "and shown");
    s.nrs.at[clock - 1].nr.member = false;
    is_doc(value_at(see(&s, id), "t"), "1", "a peer that is no cluster member is an ancestor");
    ok(!value_at(see(&s, id), "peers.ntp"), "and not shown");

    uint32_t again = add_member(&s, db, n1, id, "{'ip':2}");
    is_doc(value_at(see(&s, id), "peers.db.n1"), "{'ip':2}",
           "one role, one node: the later is shown");
    s.nrs.at[again - 1].nr.cohort = 0;
    is_doc(value_at(see(&s, id), "peers.db.n1"), "{'ip':1}", "by (cohort, id)");
    s.nrs.at[id - 1].nr.user = doc_of(&s.mem, "{'peers':{'db':{'n1':{'ip':7}},'x':1}}");
    is_doc(value_at(see(&s, id), "peers.db.n1.ip"), "1", "no document contradicts peers");
    is_doc(value_at(see(&s, id), "peers.x"), "1", "what it has besides is seen");
    add_peer(&s, id, a);
    add_need(&s, id, a);
    is_doc(value_at(see(&s, id), "peers.db.n1.ip"), "1", "needed twice over is the same");
}

/* --- the cache --- */

static void test_cache(void)
{
    WORLD(s);
    SCOPED(sight_cache) *c = sight_cache_new();
    uint32_t web = add_role(&s, "web", "p=p", "{'p':1}", "peers/db");
    uint32_t db = add_role(&s, "db", "", NULL, ""), n = add_node(&s, "n1", NULL);
    uint32_t x = add_noderole(&s, web, 0, 0, 5, NULL, NULL, NULL),
             y = add_noderole(&s, web, 0, 0, 5, NULL, NULL, NULL),
             z = add_noderole(&s, web, 0, 0, 5, NULL, NULL, NULL);
    uint32_t m1 = add_member(&s, db, n, x, "{'ip':1}");
    add_peer(&s, y, m1);
    uint32_t m2 = add_member(&s, db, add_node(&s, "n2", NULL), z, "{'ip':2}");
    add_peer(&s, z, m1);
    struct sight_layers l[4];
    const uint32_t ids[] = {x, y, z, x};
    struct err e;
    for (int i = 0; i < 4; i++)
        is_int(sight_layers(&s.w, c, ids[i], &s.mem, &l[i], &e), 0, "layers of %u", ids[i]);
#define PEERS(i) value_get(sight_data(&l[i], &s.mem), "peers")
    ok(PEERS(0)->members == PEERS(1)->members, "the same set of members is one shared document");
    ok(PEERS(0)->members != PEERS(2)->members, "another set is another");
    is_doc(PEERS(2), "{'db':{'n1':{'ip':1},'n2':{'ip':2}}}", "with its own members");
    ok(l[0].at[0].doc == l[3].at[0].doc, "defaults of a role are one document");

    uint64_t plain = inputs(&s, x), kept = 0, again = 0;
    ok(sight_inputs(&s.w, c, x, &s.mem, &kept, &e) == 0 && kept == plain,
       "inputs are the same with the cache");
    ok(sight_inputs(&s.w, c, y, &s.mem, &again, &e) == 0 && again == plain,
       "and for another who sees the same");
    s.nrs.at[m1 - 1].nr.user = doc_of(&s.mem, "{'ip':9}");
    sight_cache_reset(c);
    ok(sight_inputs(&s.w, c, x, &s.mem, &again, &e) == 0 && again == inputs(&s, x) &&
           again != plain,
       "a reset cache sees what changed");
    sight_cache_reset(c);
    is_int(sight_layers(&s.w, c, z, &s.mem, &l[2], &e), 0, "layers of %u", z);
    is_doc(PEERS(2), "{'db':{'n1':{'ip':9},'n2':{'ip':2}}}", "so do layers");
    s.nrs.at[m2 - 1].nr.node = 99;
    sight_cache_reset(c);
    is_int(sight_layers(&s.w, c, z, &s.mem, &l[2], &e), -ERR_CORRUPT, "what failed is not kept");
    is_int(sight_layers(&s.w, c, z, &s.mem, &l[2], &e), -ERR_CORRUPT, "twice");
    sight_cache_free(NULL);
}

/* --- refusals --- */

static void refused(struct small_world *s, uint32_t id, enum errcode code, const char *text,
                    const char *label)
{
    struct sight_layers l = {.n = 77};
    struct err e = {0};
    is_int(sight_layers(&s->w, NULL, id, &s->mem, &l, &e), -(int)code, "%s: %s", label,
           err_name(code));
    has_text(e.text, text, "%s: says \"%s\"", label, text);
    is_int(l.n, 77, "%s: nothing is written", label);
}

static void test_refusals(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "", NULL, "peers");
    uint32_t n = add_node(&s, "n1", NULL), root = add_deployment(&s, 0);
    uint32_t id = add_noderole(&s, r, n, root, 5, NULL, NULL, NULL);
    uint32_t p = add_noderole(&s, r, n, root, 5, NULL, NULL, NULL);
    uint64_t digest = 77;
    struct err e;
    refused(&s, 99, ERR_NOT_FOUND, "no noderole 99", "a noderole that is not there");
    is_int(sight_inputs(&s.w, NULL, 99, &s.mem, &digest, &e), -ERR_NOT_FOUND, "inputs of it");
    s.nrs.at[id - 1].nr.role = 9;
    refused(&s, id, ERR_CORRUPT, "lens 9", "a lens that is not there");
    is_int(sight_inputs(&s.w, NULL, id, &s.mem, &digest, &e), -ERR_CORRUPT, "inputs of it");
    s.nrs.at[id - 1].nr.role = r;
    s.nrs.at[id - 1].nr.node = 9;
    refused(&s, id, ERR_CORRUPT, "node 9", "a node that is not there");
    s.nrs.at[id - 1].nr.node = n;
    s.nrs.at[p - 1].missing = true;
    refused(&s, id, ERR_CORRUPT, "of node 1", "a neighbour that is not there");
    add_need(&s, id, p);
    refused(&s, id, ERR_CORRUPT, "needs noderole 2", "a parent that is not there");
    s.nrs.at[p - 1].missing = false;
    s.nrs.at[p - 1].nr.member = true;
    s.nrs.at[id - 1].needs.at[0].peer = true;
    s.nrs.at[p - 1].nr.role = 9;
    refused(&s, id, ERR_CORRUPT, "noderole 2 is of role 9", "a peer's role that is not there");
    s.nrs.at[p - 1].nr.role = r;
    s.nrs.at[p - 1].nr.node = 9;
    refused(&s, id, ERR_CORRUPT, "noderole 2 is on node 9", "a peer's node that is not there");
    is_int(sight_inputs(&s.w, NULL, id, &s.mem, &digest, &e), -ERR_CORRUPT, "inputs of it");
    s.nrs.at[p - 1].nr.node = n;
    uint32_t ring = add_deployment(&s, 2);
    s.nrs.at[p - 1].nr.deployment = ring;
    refused(&s, id, ERR_LIMIT, "deployment 2", "a peer below a ring of deployments");
    s.nrs.at[id - 1].needs.at[0].peer = false;
    refused(&s, id, ERR_LIMIT, "deployment 2", "an ancestor there");
    s.nrs.at[id - 1].needs.n = 0;
    refused(&s, id, ERR_LIMIT, "deployment 2", "a neighbour there");
    s.nrs.at[p - 1].nr.active = false;
    s.nrs.at[id - 1].nr.deployment = ring;
    refused(&s, id, ERR_LIMIT, "deployment 2", "oneself there");
    is_int(digest, 77, "no digest was written");

    uint32_t above = root;
    for (int i = 0; i < SIGHT_MAX_DEPTH; i++)
        above = add_deployment(&s, above);
    s.nrs.at[id - 1].nr.deployment = above;
    is_doc(see(&s, id), "{}", "%d deployments above are not too many", SIGHT_MAX_DEPTH);
    s.nrs.at[id - 1].nr.deployment = add_deployment(&s, above);
    refused(&s, id, ERR_LIMIT, "more than 1000", "one more");
    is_text(sight_kind_name(SIGHT_KIND_COUNT), "unknown", "a kind that is none");
}

/* A chain with `n` ancestors; every one also needs the first, and half of them lie on the node. */
static void test_limit(void)
{
    WORLD(s);
    uint32_t r = add_role(&s, "web", "", NULL, ""), n = add_node(&s, "n1", NULL);
    uint32_t first = add_noderole(&s, r, 0, 0, 0, "{'a':1}", NULL, NULL), last = first;
    for (int i = 1; i < SIGHT_MAX_NODEROLES; i++) {
        uint32_t next = add_noderole(&s, r, 0, 0, (uint32_t)i, NULL, NULL, NULL);
        add_need(&s, next, last);
        last = next;
    }
    uint32_t id = add_noderole(&s, r, 0, 0, SIGHT_MAX_NODEROLES, NULL, NULL, NULL);
    add_need(&s, id, last);
    is_doc(see(&s, id), "{'a':1}", "%d ancestors, one above the other, are seen",
           SIGHT_MAX_NODEROLES);
    uint32_t more = add_noderole(&s, r, 0, 0, SIGHT_MAX_NODEROLES + 1, NULL, NULL, NULL);
    add_need(&s, more, id);
    refused(&s, more, ERR_LIMIT, "more than 100000 ancestors", "one more");
    for (uint32_t i = 1; i <= id; i++)
        add_peer(&s, more, i);
    s.nrs.at[more - 1].needs.at[0].peer = true;
    refused(&s, more, ERR_LIMIT, "more than 100000 peers", "as many peers and one");
    s.nrs.at[more - 1].needs.n = 0;
    s.nrs.at[more - 1].nr.node = n;
    for (uint32_t i = 1; i <= id; i++)
        vec_push(&s.on_node, i);
    refused(&s, more, ERR_LIMIT, "more than 100000 neighbours", "as many neighbours and one");
    vec_clear(&s.on_node);
    for (uint32_t i = 1; i <= id; i++)
        vec_push(&s.on_node, first);
    is_doc(see(&s, more), "{'a':1}", "one neighbour named often is one");
}

int main(void)
{
    test_defaults();
    test_own();
    test_ancestors();
    test_ancestor_block();
    test_ambient();
    test_node();
    test_peers();
    test_cache();
    test_refusals();
    test_limit();
    return tap_done();
}
