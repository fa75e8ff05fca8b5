/* test_hook.c - hooks: what they allow, what they say when wrong, what comes out, twice the same */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/hook.h"

#include "base/json.h"
#include "base/yaml.h"
#include "tap.h"

static const char scope_text[] = "node: {name: db1.example.net, rack: r1}\n"
                                 "net: {name: admin, first: 10.0.0.5, last: 10.0.0.7}\n"
                                 "taken: [10.0.0.5]\n"
                                 "nics: [{name: eth0}, {name: eth1}]\n"
                                 "peers: {b: 2, a: 1}\n"
                                 "full: [10.0.0.5, 10.0.0.6, 10.0.0.7]\n"
                                 "names: [n1.example.net, n2.example.net, n1.example.net]\n"
                                 "many: []\n";

struct world {
    struct arena mem;
    struct expr_var vars[16];
    struct expr_scope scope;
};

static struct value *yaml_of(struct arena *mem, const char *text)
{
    struct value *v = NULL;
    struct err e;
    if (yaml_parse(mem, text, strlen(text), NULL, &v, &e) < 0) {
        printf("Bail out! %s: %s\n", e.at, e.text);
        exit(1);
    }
    return v;
}

static void world_of(struct world *w, const char *text)
{
    arena_init(&w->mem);
    struct value *map = yaml_of(&w->mem, text);
    for (uint32_t i = 0; i < map->n; i++)
        w->vars[i] = (struct expr_var){{map->members[i].key, map->members[i].key_n},
                                       &map->members[i].v};
    w->scope = (struct expr_scope){.vars = w->vars, .n = map->n};
}

static void world_init(struct world *w)
{
    world_of(w, scope_text);
}

static void outcome_write(struct buf *b, const struct hook_outcome *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const struct hook_action *a = &o->at[i];
        buf_printf(b, "%s%s %s", i ? "; " : "", hook_verb_name(a->verb),
                   a->path.n ? a->path.s : "");
        if (a->v)
            json_write(b, a->v, 0);
        buf_printf(b, "%.*s%s%.*s%.*s", (int)a->role.n, a->role.n ? a->role.s : "",
                   a->node.n ? "@" : "", (int)a->node.n, a->node.n ? a->node.s : "", (int)a->text.n,
                   a->text.n ? a->text.s : "");
    }
    if (o->refused)
        buf_puts(b, " (refused)");
}

/* The outcome of steps in YAML, or the error; evaluated twice, with equal outcomes. */
static const char *run(struct world *w, enum hook_event event, const char *text)
{
    static char out[8192];
    SCOPED_ARENA(mem);
    SCOPED_BUF(first);
    SCOPED_BUF(again);
    struct hook_options o = {.file = "roles/db.yaml"};
    const struct hook *h;
    struct hook_outcome outcome;
    struct err e;
    {
        SCOPED_ARENA(read); /* what was read may go once it is compiled */
        if (hook_compile(&mem, yaml_of(&read, text), event, &o, &h, &e) < 0)
            return err_format(&e, out, sizeof out);
    }
    if (hook_eval(h, &w->scope, &mem, &outcome, &e) < 0)
        return err_format(&e, out, sizeof out);
    outcome_write(&first, &outcome);
    uint32_t steps = outcome.steps;
    if (hook_eval(h, &w->scope, &mem, &outcome, &e) < 0)
        return "an error the second time";
    outcome_write(&again, &outcome);
    if (!str_eq(buf_str(&first), buf_str(&again)) || steps != outcome.steps)
        return "another outcome the second time";
    snprintf(out, sizeof out, "%s", buf_str(&first).s);
    return out;
}

struct row {
    const char *steps, *want;
};

static const struct row outcomes[] = {
    {"[]", ""},
    {"[{set: a/b/c, to: node.rack}]", "set a/b/c\"r1\""},
    {"[{set: a, to: 5}, {set: b, to: true}, {set: c, to: null}, {set: d, to: 1.5}]",
     "set a5; set btrue; set cnull; set d1.5"},
    {"[{set: a, to: none}, {unset: a/b}]", "set anull; unset a/b"},
    {"[{store: pool/(node.name), to: \"{'a': 1}\"}]", "store pool/db1.example.net{\"a\":1}"},
    {"[{set: a/(1 + 1)/c, to: 1}]", "set a/2/c1"},
    {"[{set: \"a/('x' ~ '-' ~ 'y')\", to: 1}]", "set a/x-y1"},
    {"[{set: \"a/(['p/q', 'it\\\\'s)']|length)\", to: 1}]", "set a/21"},
    {"[{when: node.rack == 'r2', set: a, to: 1}, {when: node.rack == 'r1', set: b, to: 2}]",
     "set b2"},
    {"[{when: true, set: a, to: 1}, {when: 0, set: b, to: 2}, {when: 0.5, set: c, to: 3},"
     " {when: null, set: d, to: 4}]",
     "set a1; set c3"},
    {"[{let: x, to: 5}, {let: x, to: x + 1}, {set: a, to: x}]", "set a6"},
    {"[{let: x, to: none}, {set: a, to: x is none}]", "set atrue"},
    {"[{let: x, to: nowhere}, {set: a, to: x is defined}]", "set afalse"},
    {"[{let: x, to: 7}, {let: y, to: x}, {let: node, to: y}, {set: a, to: node}]", "set a7"},
    {"[{for: n, in: nics, do: [{set: nics/(n.name)/up, to: true}]}]",
     "set nics/eth0/uptrue; set nics/eth1/uptrue"},
    {"[{for: k, in: peers, do: [{set: (k), to: 'peers[k]'}]}]", "set b2; set a1"},
    {"[{for: i, in: range(0), do: [{set: a, to: i}]}, {for: i, in: '[1]', do: []}]", ""},
    {"[{when: false, for: i, in: '[1]', do: [{set: a, to: i}]}]", ""},
    {"[{let: used, to: taken}, {for: n, in: nics, do: ["
     "{let: addr, to: 'address_free(net.first, net.last, used)'}, {let: used, to: 'used + [addr]'},"
     "{set: nics/(n.name)/address, to: addr}]}, {set: count, to: used|length}]",
     "set nics/eth0/address\"10.0.0.6\"; set nics/eth1/address\"10.0.0.7\"; set count3"},
    {"[{for: a, in: '[1, 2]', do: [{for: b, in: '[3, 4]', do: [{for: c, in: '[5]', do: ["
     "{for: d, in: '[6]', do: [{set: (a)/(b)/(c), to: a + b + c + d}]}]}]}]}]",
     "set 1/3/515; set 1/4/516; set 2/3/516; set 2/4/517"},
    {"[{for: a, in: '[1, 2]', do: [{when: a == 1, let: x, to: a}, {set: a, to: x is defined}]}]",
     "set atrue; set afalse"},
    {"[{for: a, in: '[1]', do: [{set: x, to: a}]}, {for: a, in: '[2]', do: [{set: x, to: a}]},"
     " {set: y, to: a is defined}]",
     "set x1; set x2; set yfalse"},
    {"[{unstore: pool/(node.name)}]", "unstore pool/db1.example.net"},
    {"[{set: a, to: 1, of: dns}, {unset: b, of: dns, on: names}]",
     "set a1dns; unset bdns@n1.example.net; unset bdns@n2.example.net; unset bdns@n1.example.net"},
    {"[{set: a, to: 1, of: dns, on: many}]", ""},
    {"[{enqueue: dns}]", "enqueue dns"},
    {"[{enqueue: [dns, ntp], on: node.name}]",
     "enqueue dns@db1.example.net; enqueue ntp@db1.example.net"},
    {"[{enqueue: dns, on: names}, {enqueue: dns, on: 'names[1]'}, {enqueue: dns}]",
     "enqueue dns@n1.example.net; enqueue dns@n2.example.net; enqueue dns"},
    {"[{enqueue: dns, on: many}]", ""},
    {"[{let: addr, to: 'address_free(net.first, net.last, full)'},"
     " {when: addr is not defined, refuse: \"'no address is left in ' ~ net.name\"},"
     " {set: address, to: addr}]",
     "refuse no address is left in admin (refused)"},
    {"[{for: a, in: '[1, 2]', do: [{refuse: \"'no ' ~ a\"}]}]", "refuse no 1 (refused)"},
};

static const struct row wrong_steps[] = {
    {"5", "roles/db.yaml:1:1: on_commit: expected a list of steps, not an integer"},
    {"[5]", "roles/db.yaml:1:2: on_commit: a step must be a map, not an integer"},
    {"- {set: a, to: 1}\n- {sett: a, to: 1}",
     "roles/db.yaml:2:4: on_commit: unknown key \"sett\" of a step\n  did you mean \"set\"?"},
    {"[{zzzzz: a}]", "roles/db.yaml:1:3: on_commit: unknown key \"zzzzz\" of a step"},
    {"[{when: true}]",
     "roles/db.yaml:1:2: on_commit: a step that does nothing\n  it needs one of set, "
     "unset, store, unstore, enqueue, refuse, let and for"},
    {"[{set: a, store: b, to: 1}]",
     "roles/db.yaml:1:2: on_commit: a step cannot both set and store"},
    {"[{set: a}]", "roles/db.yaml:1:2: on_commit: set needs \"to\""},
    {"[{unset: a, to: 1}]", "roles/db.yaml:1:17: on_commit: unset has no use for \"to\""},
    {"[{for: a, in: '[]'}]", "roles/db.yaml:1:2: on_commit: for needs \"do\""},
    {"[{for: a, in: '[]', do: 5}]",
     "roles/db.yaml:1:25: on_commit: expected a list of steps, not an integer"},
    {"[{set: a, to: [1]}]",
     "roles/db.yaml:1:15: on_commit: to must be an expression, not a list\n  write it in "
     "quotes, as in to: \"[a, 'b']\""},
    {"[{set: a, to: {b: 1}}]", "as in to: \"{'a': b}\""},
    {"[{set: a, to: 1 +}]",
     "roles/db.yaml:1:18: on_commit: to: expected a value, found the end\n    1 +\n       ^"},
    {"[{when: x y, set: a, to: 1}]",
     "roles/db.yaml:1:11: on_commit: when: expected an operator or the end, found y"},
    {"[{set: a/(b +)/c, to: 1}]",
     "roles/db.yaml:1:14: on_commit: set: expected a value, found the end"},
    {"[{set: a//b, to: 1}]", "on_commit: set must be a path such as a/b/c\n  at most 16 parts"},
    {"[{set: /a, to: 1}]", "set must be a path"},
    {"[{set: a/, to: 1}]", "set must be a path"},
    {"[{set: \"\", to: 1}]", "set must be a path"},
    {"[{set: \"a\\tb\", to: 1}]", "set must be a path"},
    {"[{set: 5, to: 1}]", "set must be a path"},
    {"[{set: a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a, to: 1}]", "set must be a path"},
    {"[{enqueue: Dns}]",
     "enqueue must be the name of a role or a list of names\n  a name is 1 to 64"},
    {"[{enqueue: [dns, 5]}]", "roles/db.yaml:1:18: on_commit: enqueue must be the name of a role"},
    {"[{enqueue: []}]", "enqueue names 0 roles, from 1 to 64 can be"},
    {"[{set: a, to: 1, of: Dns}]",
     "roles/db.yaml:1:22: on_commit: of must be the name of a role\n"},
    {"[{set: a, to: 1, on: names}]", "roles/db.yaml:1:22: on_commit: set with \"on\" needs \"of\""},
    {"[{store: a, to: 1, of: dns}]", "store has no use for \"of\""},
    {"address_from_rang", "roles/db.yaml:1:1: on_commit: there is no built-in hook "
                          "\"address_from_rang\"\n  did you mean "
                          "\"address_from_range\"?"},
    {"nothing", "steps are written as a list"},
    {"address_from_range", "the built-in hook address_from_range is not for this event"},
    {"[{let: 5x, to: 1}]", "let must be a name\n  letters, digits and _"},
    {"[{let: not, to: 1}]", "let must be a name"},
    {"[{let: '', to: 1}]", "let must be a name"},
    {"[{for: a, in: '[1]', do: [{let: a, to: 1}]}]", "let: \"a\" is in use around here"},
    {"[{for: a, in: '[1]', do: [{for: a, in: '[1]', do: []}]}]",
     "for: \"a\" is in use around here"},
    {"[{let: a, to: 1}, {for: a, in: '[1]', do: []}]", "for: \"a\" is in use around here"},
    {"[{for: a, in: n, do: [{for: b, in: n, do: [{for: c, in: n, do: [{for: d, in: n, do: ["
     "{for: e, in: n, do: []}]}]}]}]}]",
     "loops nested deeper than the limit of 4"},
    /* when run */
    {"[{set: a, to: nod.name}]",
     "roles/db.yaml:1:15: on_commit: nod is undefined\n    nod.name\n    ^ did you "
     "mean \"node\"?"},
    {"[{when: nod, set: a, to: 1}]", "roles/db.yaml:1:9: on_commit: when: nod is undefined"},
    {"[{let: a, to: 1 / 0}]", "on_commit: division by zero"},
    {"[{set: a/(nod), to: 1}]", "roles/db.yaml:1:11: on_commit: nod is undefined"},
    {"[{set: a/(taken), to: 1}]",
     "roles/db.yaml:1:2: on_commit: set: a computed part of the path is no key"},
    {"[{set: \"a/('x/y')\", to: 1}]", "a computed part of the path is no key"},
    {"[{set: \"a/('')\", to: 1}]", "a computed part of the path is no key"},
    {"[{enqueue: dns, on: taken ~ ''}]",
     "enqueue: on must give the name of a node or a list of names"},
    {"[{enqueue: dns, on: '[5]'}]", "on must give the name of a node"},
    {"[{enqueue: dns, on: 5}]", "on must give the name of a node"},
    {"[{enqueue: dns, on: nod}]", "nod is undefined"},
    {"[{refuse: 5}]", "refuse: the reason must be text"},
    {"[{refuse: \"''\"}]", "refuse: the reason must be text"},
    {"[{refuse: nod}]", "nod is undefined"},
    {"[{for: a, in: 5, do: []}]", "for: what is gone through must be a list or a map"},
    {"[{for: a, in: nod, do: []}]", "nod is undefined"},
    {"[{let: r, to: range(400)}, {for: a, in: r, do: [{for: b, in: r, do: [{let: c, to: 1}]}]}]",
     "more steps than the limit of the hook"},
    {"[{let: r, to: range(400)}, {for: a, in: r, do: [{for: b, in: r, do: ["
     "{when: a == b, let: c, to: 1}]}]}]",
     "more steps"},
    {"[{for: a, in: range(400), do: [{for: b, in: range(400), do: []}]}]",
     "range: more bytes in memory than what is left of the limit,"},
    {"[{let: x, to: \"'a' * 1000\"}, {for: a, in: range(2000), do: [{set: b, to: x}]}]",
     "set: more bytes written than the limit of 1048576"},
    {"[{let: x, to: '[1]'}, {for: a, in: range(60), do: [{let: x, to: '[x, x]'}]}, {set: b, to: "
     "x}]",
     "set: more bytes written than the limit of 1048576"},
    {"[{for: a, in: range(1000), do: [{enqueue: [a1, a2], on: "
     "'range(100)|map(\"string\")|list'}]}]",
     "more"},
};

static void test_events(struct world *w)
{
    static const struct row verbs[HOOK_VERB_COUNT] = {
        [HOOK_SET] = {"[{set: a, to: 1}]", "set"},
        [HOOK_UNSET] = {"[{unset: a}]", "unset"},
        [HOOK_STORE] = {"[{store: a, to: 1}]", "store"},
        [HOOK_UNSTORE] = {"[{unstore: a}]", "unstore"},
        [HOOK_ENQUEUE] = {"[{enqueue: a}]", "enqueue"},
        [HOOK_REFUSE] = {"[{refuse: \"'x'\"}]", "refuse"},
        [HOOK_LET] = {"[{let: a, to: 1}]", "let"},
        [HOOK_FOR] = {"[{for: a, in: '[]', do: []}]", "for"},
    };
    for (int ev = 0; ev < HOOK_EVENT_COUNT; ev++) {
        enum hook_event event = (enum hook_event)ev;
        const char *name = hook_event_name(event);
        is_int(hook_event_find(str_of(name)), event, "%s is found by its name", name);
        for (int v = 0; v < HOOK_VERB_COUNT; v++) {
            bool may = hook_event_verbs(event) >> v & 1;
            bool refused = strstr(run(w, event, verbs[v].steps), "is not allowed here") != NULL;
            ok(refused != may, "%s %s %s", name, may ? "may" : "may not",
               hook_verb_name((enum hook_verb)v));
        }
        bool deciding = event == HOOK_ON_BIND || event == HOOK_ON_COMMIT;
        ok((hook_event_verbs(event) & HOOK_F_REFUSE) == (deciding ? HOOK_F_REFUSE : 0u),
           "%s %s refuse", name, deciding ? "may" : "may not");
    }
    is_int(hook_event_find(str_of("on_nothing")), HOOK_EVENT_COUNT, "an event that is none");
    has_text(run(w, HOOK_ON_NODE_DELETE, "[{set: a, to: 1}]"), "set needs \"of\" here",
             "without a noderole, data are of a role that is named");
    is_text(run(w, HOOK_ON_REMOVED, "[{set: a, to: 1, of: dns}]"), "set a1dns", "as here");
    has_text(run(w, HOOK_ON_ACTIVE, "[{refuse: \"'x'\"}]"), "it is allowed in on_bind, on_commit",
             "who may refuse is said");
}

static void test_paths(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(reads);
    SCOPED_BUF(writes);
    SCOPED_BUF(roles);
    static const char text[] =
        "- {when: node.rack == r, set: a/b, to: node.name}\n"
        "- {let: x, to: net.first}\n"
        "- {when: maybe, let: y, to: 1}\n"
        "- {set: a/(x.q)/c, to: y.z + x}\n"
        "- {unset: a/b}\n"
        "- {store: s, to: 1}\n"
        "- {for: n, in: nics.all, do: [{set: a/b, to: n.name ~ node.name}, {let: z, to: n}]}\n"
        "- {set: d, to: n.w ~ z.w}\n"
        "- {enqueue: [dns, ntp], on: where}\n"
        "- {enqueue: dns}\n"
        "- {set: e, to: 1, of: web, on: where}\n";
    const struct hook *h = NULL;
    struct err e = {0};
    struct str s;
    uint32_t line, column;
    char where[64];
    enum hook_verb verb;
    is_int(hook_compile(&mem, yaml_of(&mem, text), HOOK_ON_ACTIVE, NULL, &h, &e), 0, "compiles");
    is_text(e.text, "", "without an error");
    if (!h)
        return;
    for (size_t i = 0; hook_read_at(h, i, &s); i++)
        buf_printf(&reads, "%.*s ", (int)s.n, s.s);
    for (size_t i = 0; hook_write_at(h, i, &verb, &s); i++)
        buf_printf(&writes, "%s:%.*s ", hook_verb_name(verb), (int)s.n, s.s);
    for (size_t i = 0; hook_role_at(h, i, &s, &line, &column); i++)
        buf_printf(&roles, "%.*s:%u:%u ", (int)s.n, s.s, line, column);
    is_text(reads.data, "node.rack r node.name net.first maybe y.z nics.all n.w z.w where ",
            "what it reads, without what is local");
    is_text(writes.data, "set:a/b set:a unset:a/b store:s set:d set:e ", "what it writes");
    is_text(roles.data, "dns:9:14 ntp:9:19 web:11:23 ",
            "whom it may run or set data of, and where");
    hook_where(h, where, sizeof where);
    is_text(where, "1:3", "and where it stands");
    is_int(hook_event_of(h), HOOK_ON_ACTIVE, "and when");
}

/* A hook that is built in gives what the same hook gives in the language. */
static void test_builtin(void)
{
    static const char in_words[] =
        "- {let: taken, to: 'store.taken | default({})'}\n"
        "- {let: addr, to: 'taken[node.name] | default(address_free(data.range.first,"
        " data.range.last, taken | values))'}\n"
        "- {when: addr is not defined, refuse: \"'no address is left from ' ~ data.range.first ~"
        " ' to ' ~ data.range.last\"}\n"
        "- {store: taken/(node.name), to: addr}\n"
        "- {set: address, to: addr}\n";
    static const struct {
        const char *scope, *want;
    } cases[] = {
        {"{data: {range: {first: 10.0.0.1, last: 10.0.0.2}}, store: {}}",
         "store taken/n1.t\"10.0.0.1\"; set address\"10.0.0.1\""},
        {"{data: {range: {first: 10.0.0.1, last: 10.0.0.2}}, store: {taken: {n2.t: 10.0.0.1}}}",
         "store taken/n1.t\"10.0.0.2\"; set address\"10.0.0.2\""},
        {"{data: {range: {first: 10.0.0.1, last: 10.0.0.2}}, store: {taken: {n1.t: 10.0.0.2}}}",
         "store taken/n1.t\"10.0.0.2\"; set address\"10.0.0.2\""},
        {"{data: {range: {first: 10.0.0.1, last: 10.0.0.1}}, store: {taken: {n2.t: 10.0.0.1}}}",
         "refuse no address is left from 10.0.0.1 to 10.0.0.1 (refused)"},
    };
    const char *name;
    uint32_t events;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        world_of(&w, cases[i].scope);
        w.vars[w.scope.n++] = (struct expr_var){str_of("node"), yaml_of(&w.mem, "{name: n1.t}")};
        is_text(run(&w, HOOK_ON_BIND, in_words), cases[i].want, "in words: %s", cases[i].scope);
        is_text(run(&w, HOOK_ON_BIND, "address_from_range"), cases[i].want, "built in: %s",
                cases[i].scope);
        is_text(run(&w, HOOK_ON_REMOVED, "address_from_range"), "unstore taken/n1.t",
                "and given back");
        arena_done(&w.mem);
    }
    struct world w;
    world_of(&w, "{data: {range: {first: 10.0.0.1}}, store: {}}");
    has_text(run(&w, HOOK_ON_BIND, "address_from_range"), "there is no node", "a node is needed");
    w.vars[w.scope.n++] = (struct expr_var){str_of("node"), yaml_of(&w.mem, "{name: n1.t}")};
    has_text(run(&w, HOOK_ON_BIND, "address_from_range"),
             "roles/db.yaml:1:1: on_bind: address_from_range: data.range must have first and last",
             "so is a range");
    w.vars[0].v = yaml_of(&w.mem, "{range: {first: x, last: y}}");
    has_text(run(&w, HOOK_ON_BIND, "address_from_range"), "is not an address",
             "and one of addresses");
    arena_done(&w.mem);
    ok(hook_builtin_at(0, &name, &events) && events & 1u << HOOK_ON_BIND, "%s is for on_bind",
       name);
    ok(!hook_builtin_at(1000, &name, &events), "the table has an end");
}

static void test_budget(struct world *w)
{
    SCOPED_ARENA(mem);
    const struct hook *h = NULL;
    struct hook_outcome out = {0};
    struct err e;
    struct expr_budget b = {.steps = 1000, .bytes = 10000};
    struct expr_scope scope = w->scope;
    scope.budget = &b;
    hook_compile(&mem, yaml_of(&mem, "[{set: a, to: node.name ~ 'x'}]"), HOOK_ON_BIND, NULL, &h,
                 &e);
    is_int(hook_eval(h, &scope, &mem, &out, &e), 0, "runs within a budget");
    ok(out.steps > 0 && b.steps == 1000 - out.steps && b.bytes < 10000, "that is charged");
    b.steps = 2;
    is_int(hook_eval(h, &scope, &mem, &out, &e), -ERR_LIMIT, "and not without");
    b = (struct expr_budget){.steps = 1000, .bytes = 50};
    hook_compile(&mem, yaml_of(&mem, "[{for: k, in: peers, do: []}]"), HOOK_ON_BIND, NULL, &h, &e);
    is_int(hook_eval(h, &scope, &mem, &out, &e), -ERR_LIMIT, "keys need memory");
    has_text(e.text, "a map with more keys", "as it says");
    is_text(e.at, "1:2", "a hook without a file has a place too");
    is_int(hook_eval(h, &scope, &mem, &out, NULL), -ERR_LIMIT, "also if nobody asks why");
    is_int(hook_compile(&mem, yaml_of(&mem, "[{sett: 1}]"), HOOK_ON_BIND, NULL, &h, NULL),
           -ERR_INVALID, "nor when compiling");
    is_int(hook_compile(&mem, yaml_of(&mem, "[{set: a, to: 1 +}]"), HOOK_ON_BIND, NULL, &h, NULL),
           -ERR_SYNTAX, "an expression");
    hook_compile(&mem, yaml_of(&mem, "[{enqueue: a, on: names}]"), HOOK_ON_ACTIVE, NULL, &h, &e);
    b = (struct expr_budget){.steps = 4, .bytes = 5000};
    is_int(hook_eval(h, &scope, &mem, &out, &e), -ERR_LIMIT, "runs are steps");
    hook_compile(&mem, yaml_of(&mem, "[{set: a, to: 1}]"), HOOK_ON_BIND, NULL, &h, &e);
    is_int(hook_eval(h, NULL, &mem, &out, &e), 0, "a hook may have no scope");

    struct value *steps = value_list(&mem), *step = yaml_of(&mem, "{unset: a}");
    for (int i = 0; i <= HOOK_MAX_STEPS; i++)
        value_add(&mem, steps, step);
    is_int(hook_compile(&mem, steps, HOOK_ON_BIND, NULL, &h, &e), -ERR_LIMIT, "steps have a limit");
}

int main(void)
{
    struct world w;
    world_init(&w);
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        enum hook_event event = HOOK_ON_COMMIT;
        is_text(run(&w, event, outcomes[i].steps), outcomes[i].want, "%.100s", outcomes[i].steps);
    }
    for (size_t i = 0; i < sizeof wrong_steps / sizeof *wrong_steps; i++)
        has_text(run(&w, HOOK_ON_COMMIT, wrong_steps[i].steps), wrong_steps[i].want, "%.*s",
                 (int)strcspn(wrong_steps[i].steps, "\n"), wrong_steps[i].steps);
    test_events(&w);
    test_paths();
    test_builtin();
    test_budget(&w);
    arena_done(&w.mem);
    return tap_done();
}
