/* test_sight_read.c - provenance tables, inputs, walls and changed paths, case by case */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sight_world.h"

/* --- explanations --- */

/* The rows as text: kind, noderole, value; * for who wins, ! for who cuts. */
static const char *rows_text(struct arena *a, struct sight_explanation x)
{
    SCOPED_BUF(b);
    for (uint32_t i = 0; i < x.n; i++) {
        const struct sight_row *r = &x.rows[i];
        buf_printf(&b, "%s%s%s %u ", i ? "; " : "",
                   r->wins   ? "*"
                   : r->cuts ? "!"
                             : "",
                   sight_kind_name(r->layer->kind), r->layer->noderole);
        json_write_canonical(&b, r->value);
    }
    return arena_strndup(a, buf_str(&b).s, b.len);
}

static void test_explain(void)
{
    SCOPED(small_world) s;
    small_init(&s);
    uint32_t r = add_role(&s, "web", "port=net/port", "{'port':80}", "");
    uint32_t dep = add_deployment(&s, 0), node = add_node(&s, "n1", "{'cpu':4}");
    add_shared(&s, dep, r, "{'net':{'port':81,'mtu':1500},'m':{}}");
    uint32_t p = add_noderole(&s, r, 0, 0, 0, "{'net':{'ip':1},'x':{'y':1},'m':{}}", NULL,
                              "{'x':5,'l':[1]}");
    uint32_t id = add_noderole(&s, r, node, dep, 1, NULL, "{'x':{'z':2}}", "{'net':{'port':82}}");
    add_need(&s, id, p);
    static const struct {
        const char *path, *rows, *visible;
    } cases[] = {
        {"net/port", "default 2 80; deployment-role 2 81; *user 2 82", "82"},
        {"net/ip", "*wall 1 1", "1"},
        {"net",
         "default 2 {\"port\":80}; *wall 1 {\"ip\":1}; *deployment-role 2 "
         "{\"mtu\":1500,\"port\":81}; *user 2 {\"port\":82}",
         "{'port':82,'ip':1,'mtu':1500}"},
        {"x", "wall 1 {\"y\":1}; user 1 5; *system 2 {\"z\":2}", "{'z':2}"},
        {"x/y", "wall 1 1; !user 1 5", NULL},
        {"x/z", "!user 1 5; *system 2 2", "2"},
        {"x/z/deep", "!user 1 5; !system 2 2", NULL},
        {"l", "*user 1 [1]", "[1]"},
        {"l/0", "!user 1 [1]", NULL},
        {"m", "wall 1 {}; *deployment-role 2 {}", "{}"},
        {"nothing/here", "", NULL},
        {"node/cpu", "*node 2 4", "4"},
    };
    struct sight_layers l;
    struct err e;
    is_int(sight_layers(&s.w, NULL, id, &s.mem, &l, &e), 0, "layers of %u", id);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sight_path path = path_of(&s.mem, cases[i].path, strlen(cases[i].path));
        struct sight_explanation x = sight_explain(&l, path, &s.mem);
        is_text(rows_text(&s.mem, x), cases[i].rows, "%s: rows", cases[i].path);
        is_doc(x.visible, cases[i].visible, "%s: visible", cases[i].path);
    }
    struct sight_explanation all = sight_explain(&l, (struct sight_path){0}, &s.mem);
    ok(value_equal(all.visible, sight_data(&l, &s.mem)), "the path of no keys is all of it");
    is_int(all.n, l.n, "and every layer has a row");
    is_doc(sight_origins(&l, &s.mem),
           "{'net':{'port':5,'ip':1,'mtu':3},'x':4,'m':3,'l':2,'node':6}",
           "origins: one number for a map that is one layer's");
    is_doc(sight_origins(&(struct sight_layers){l.at + 3, 1}, &s.mem), "0",
           "origins of one layer: its number");
    ok(!sight_origins(&(struct sight_layers){0}, &s.mem), "origins of no layer: none");
    is_int(l.at[3].deployment, dep, "a deployment-role layer names its deployment");
    is_int(l.at[6].node, node, "a node layer its node");
}

/* --- inputs --- */

static void test_inputs(void)
{
    SCOPED(small_world) s;
    small_init(&s);
    uint32_t node = add_node(&s, "n1", "{'cpu':4,'clock':1}");
    uint32_t r = add_role(&s, "web", "port a=x/y", "{'port':1}", "z node/cpu");
    uint32_t same = add_role(&s, "web2", "a=x/y port", "{'port':1}", "node/cpu z z port");
    uint32_t less = add_role(&s, "web3", "a=x/y port", "{'port':1}", "node/cpu");
    uint32_t id = add_noderole(&s, r, node, 0, 0, NULL, NULL, "{'x':{'y':1}}");
    uint64_t first = inputs(&s, id);
    ok(first != 0, "a digest");
    is_int(s.asked_on_node, 0, "nobody asked who else is on the node");
    s.nrs.at[id - 1].nr.role = same;
    ok(inputs(&s, id) == first, "the same paths in another order or twice: the same");
    s.nrs.at[id - 1].nr.role = less;
    ok(inputs(&s, id) != first, "a path less: another");
    s.nrs.at[id - 1].nr.role = r;
    static const struct {
        const char *user;
        bool same;
    } cases[] = {
        {"{'x':{'y':1}}", true},
        {"{'x':{'y':1,'w':3},'other':[1,2]}", true},
        {"{'port':1,'x':{'y':1}}", true},
        {"{'x':{'y':1.0}}", false},
        {"{'x':{'y':'1'}}", false},
        {"{'x':{'y':null}}", false},
        {"{'x':null}", false},
        {"{'x':{'y':1},'z':null}", false},
        {"{'x':{'y':1},'z':{}}", false},
        {"{'x':{'y':1},'port':2}", false},
        {"{'x':{'y':1},'node':{'cpu':9}}", true},
        {"{'x':{'y':1},'node':5}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.nrs.at[id - 1].nr.user = doc_of(&s.mem, cases[i].user);
        ok((inputs(&s, id) == first) == cases[i].same, "%s: %s", cases[i].user,
           cases[i].same ? "the same inputs" : "other inputs");
    }
    s.nrs.at[id - 1].nr.user = doc_of(&s.mem, "{'x':{'y':1}}");
    s.nodes.at[0].facts = doc_of(&s.mem, "{'cpu':4,'clock':2}");
    ok(inputs(&s, id) == first, "a fact nobody wants");
    s.nodes.at[0].facts = doc_of(&s.mem, "{'cpu':5,'clock':2}");
    ok(inputs(&s, id) != first, "a fact that is wanted");

    uint32_t none = add_role(&s, "none", "", NULL, "");
    s.nrs.at[id - 1].nr.role = none;
    uint64_t empty = inputs(&s, id);
    s.nrs.at[id - 1].nr.user = NULL;
    ok(empty && inputs(&s, id) == empty, "who wants nothing has the same inputs for ever");
    uint32_t ab = add_role(&s, "ab", "", NULL, "a/b"), a_b = add_role(&s, "a_b", "", NULL, "a b");
    s.nrs.at[id - 1].nr.role = ab;
    uint64_t one = inputs(&s, id);
    s.nrs.at[id - 1].nr.role = a_b;
    ok(inputs(&s, id) != one, "a path of two keys is not two paths");
}

static void test_inputs_peers(void)
{
    SCOPED(small_world) s;
    small_init(&s);
    uint32_t sees = add_role(&s, "sees", "", NULL, "peers/db"),
             db = add_role(&s, "db", "", NULL, "");
    uint32_t blind = add_role(&s, "blind", "", NULL, "x"), n = add_node(&s, "n1", NULL);
    uint32_t id = add_noderole(&s, sees, 0, 0, 1, NULL, NULL, NULL);
    uint32_t m = add_noderole(&s, db, n, 0, 0, NULL, NULL, "{'x':1}");
    add_peer(&s, id, m);
    uint64_t before = inputs(&s, id), after;
    s.nrs.at[id - 1].nr.role = blind;
    uint64_t blind_before = inputs(&s, id);
    s.nrs.at[m - 1].nr.user = doc_of(&s.mem, "{'x':2}");
    ok(inputs(&s, id) == blind_before, "who does not want peers has inputs without them");
    s.nrs.at[id - 1].nr.role = sees;
    ok((after = inputs(&s, id)) != before, "who wants them has them in");

    /* A document that adds to what the peers' document has: nothing of it may be kept. */
    SCOPED(sight_cache) *c = sight_cache_new();
    struct err e;
    uint64_t mixed = 0, again = 0;
    s.nrs.at[id - 1].nr.user = doc_of(&s.mem, "{'peers':{'db':{'more':1}}}");
    ok(sight_inputs(&s.w, c, id, &s.mem, &mixed, &e) == 0 && mixed != after, "mixed with others");
    s.nrs.at[id - 1].nr.user = NULL;
    ok(sight_inputs(&s.w, c, id, &s.mem, &again, &e) == 0 && again == after, "and without");
}

/* --- what changed --- */

/* Paths as text, in order of their text. */
static const char *paths_text(struct arena *a, struct sight_paths paths)
{
    const char *all[32];
    SCOPED_BUF(b);
    for (uint32_t i = 0; i < paths.n && i < 32; i++) {
        buf_clear(&b);
        for (uint32_t k = 0; k < paths.at[i].n; k++) {
            buf_puts(&b, k ? "/" : "");
            buf_put(&b, paths.at[i].keys[k].s, paths.at[i].keys[k].n);
        }
        all[i] = arena_strndup(a, b.data, b.len);
        for (uint32_t k = i; k > 0 && strcmp(all[k], all[k - 1]) < 0; k--) {
            const char *swap = all[k];
            all[k] = all[k - 1];
            all[k - 1] = swap;
        }
    }
    buf_clear(&b);
    for (uint32_t i = 0; i < paths.n && i < 32; i++)
        buf_printf(&b, "%s%s", i ? " " : "", all[i]);
    return arena_strndup(a, buf_str(&b).s, b.len);
}

static void test_changes(void)
{
    static const struct {
        const char *before, *after, *wall, *gone, *changed;
    } cases[] = {
        {"{'a':1}", "{'a':1}", NULL, "", ""},
        {"{'a':1}", "{'a':2}", "{'a':2}", "", "a"},
        {"{'a':1}", "{'a':null}", "{'a':null}", "", "a"},
        {"{'a':1}", "{}", NULL, "a", "a"},
        {"{}", "{'a':{}}", "{'a':{}}", "", "a"},
        {"{'a':{}}", "{'a':{}}", NULL, "", ""},
        {"{'a':{'b':1,'c':1}}", "{'a':{'b':2,'c':1}}", "{'a':{'b':2}}", "", "a/b"},
        {"{'a':{'b':1,'c':1}}", "{'a':{'b':2}}", "{'a':{'b':2}}", "a/c", "a/b a/c"},
        {"{'a':{'b':1}}", "{'a':5}", "{'a':5}", "", "a"},
        {"{'a':5}", "{'a':{'b':1}}", "{'a':{'b':1}}", "", "a"},
        {"{'a':[1,2]}", "{'a':[1,3]}", "{'a':[1,3]}", "", "a"},
        {"{'a':{'b':{'c':{'d':1}}}}", "{'a':{'b':{'c':{'e':1}}}}", "{'a':{'b':{'c':{'e':1}}}}",
         "a/b/c/d", "a/b/c/d a/b/c/e"},
        {"{'a.b':1,'a':{'b':1}}", "{'a':{'b':1}}", NULL, "a.b", "a.b"},
        {"{'a':1}", NULL, NULL, "", "a"},
        {"{'a':1}", "7", NULL, "", "a"},
        {NULL, "{'a':1}", "{'a':1}", "", "a"},
        {NULL, "{}", NULL, "", ""},
        {NULL, NULL, NULL, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(a);
        const struct value *before = doc_of(&a, cases[i].before),
                           *after = doc_of(&a, cases[i].after);
        struct sight_wall wall = sight_wall(before, after, &a);
        const char *from = cases[i].before ? cases[i].before : "nothing";
        const char *to = cases[i].after ? cases[i].after : "nothing";
        is_doc(wall.doc, cases[i].wall, "%s -> %s: wall", from, to);
        is_text(paths_text(&a, wall.gone), cases[i].gone, "%s -> %s: gone", from, to);
        is_text(paths_text(&a, sight_changed_paths(before, after, &a)), cases[i].changed,
                "%s -> %s: changed", from, to);
    }
    SCOPED_ARENA(a);
    const struct value *doc = doc_of(&a, "{'a':{'b':1},'c':1}");
    const struct value *over = value_merge(&a, doc, doc_of(&a, "{'c':2}"));
    is_text(paths_text(&a, sight_changed_paths(doc, over, &a)), "c", "shared parts are the same");
    ok(sight_at(NULL, path_of(&a, "a", 1)) == NULL, "nothing has nothing");
}

static void test_touch(void)
{
    static const struct {
        const char *wants, *changed;
        bool touched;
    } cases[] = {
        {"a", "a", true},  {"a", "a/b/c", true}, {"a/b/c", "a", true},  {"a/b", "a/c", false},
        {"a", "b", false}, {"a", "ab", false},   {"ab", "a", false},    {"x y/z", "q y/z/1", true},
        {"", "a", false},  {"a", "", false},     {"x y", "b c", false}, {"a/b", "a/b", true},
    };
    SCOPED_ARENA(a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sight_paths wants = paths_of(&a, cases[i].wants);
        struct sight_paths changed = paths_of(&a, cases[i].changed);
        is_int(sight_wants_touch(wants, changed), cases[i].touched, "wants \"%s\", changed \"%s\"",
               cases[i].wants, cases[i].changed);
    }
    struct sight_path whole = {0};
    ok(sight_wants_touch((struct sight_paths){&whole, 1}, paths_of(&a, "a")),
       "who wants the whole document is touched by all");

    SCOPED(small_world) s;
    small_init(&s);
    add_role(&s, "web", "port=net/port name", NULL, "peers/db");
    ok(sight_lens_touched(&s.roles.at[0].lens, paths_of(&a, "net")), "an attribute's path counts");
    ok(sight_lens_touched(&s.roles.at[0].lens, paths_of(&a, "name")), "or its name");
    ok(sight_lens_touched(&s.roles.at[0].lens, paths_of(&a, "q peers/db/n1")), "a want counts");
    ok(!sight_lens_touched(&s.roles.at[0].lens, paths_of(&a, "port net/ip peers/ntp")),
       "all else not");
    struct sight_paths below = sight_paths_under(path_of(&a, "peers/db/n1", 11),
                                                 paths_of(&a, "ip net/x"), &a);
    is_text(paths_text(&a, below), "peers/db/n1/ip peers/db/n1/net/x",
            "what changed in a peer, as those see it who need it");
    is_text(paths_text(&a, sight_paths_under(whole, paths_of(&a, "a"), &a)), "a", "under nothing");
    is_text(
        paths_text(&a, sight_paths_under(path_of(&a, "a", 1), (struct sight_paths){&whole, 1}, &a)),
        "a", "nothing under something");
}

int main(void)
{
    test_explain();
    test_inputs();
    test_inputs_peers();
    test_changes();
    test_touch();
    return tap_done();
}
