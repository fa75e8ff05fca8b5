/* test_import_crowbar.c - barclamps of another system become a catalog, and every difference is
 * told */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog/import.h"
#include "catalog/import_i.h"
#include "import_job.h"

/* --- helpers --- */

static int job_run(struct job *j, const struct import_map *maps, size_t n)
{
    struct catalog_source source = files_source(&j->in);

    j->rc = catalog_import_crowbar(&source, maps, n, &j->out, &j->e);
    return job_load(j);
}

/* --- a whole barclamp --- */

static const char shop[] =
    "# (c) nobody in particular\n"
    "# for tests\n"
    "\n"
    "barclamp:\n"
    "  name: Shop\n"
    "  display: A shop\n"
    "  description: all of it\n"
    "  version: 2.0\n"
    "  license: none\n"
    "hammers: [{name: ssh}]\n"
    "roles:\n"
    "  # keeps the goods\n"
    "  - name: store\n"
    "    jig: script\n"
    "    type: Shop::Store\n"
    "    flags: [implicit, shiny, service]\n"
    "    provides: [cellar, store]\n"
    "    attribs:\n"
    "      - name: store-port\n"
    "        description: where it listens\n"
    "        map: shop/store/port\n"
    "        schema: {type: int, required: true, range: {min: 1, max-ex: 65536}}\n"
    "        default: 0100\n"
    "      - {name: store-open, map: shop/open, schema: {type: bool}, default: yes}\n"
    "      - {name: store-name, map: shop/name, default: \"yes\", ui_renderer: x}\n"
    "  - name: Till 9\n"
    "    jig: cook\n"
    "    requires: [store, vault]\n"
    "    conflicts: [nobody, 'Till 9', store, vault]\n"
    "    wants-attribs: [store-port, {name: rack, at: x}, nothing, till-own]\n"
    "    attribs: [{name: till-own}, {name: 9 lives, map: a.b/c}]\n"
    "  - name: vault\n"
    "    jig: noop\n"
    "    attaches: [store, nowhere]\n"
    "attribs:\n"
    "  - {name: rack, map: facts/rack}\n";

static void test_shop(void)
{
    struct job j = {0};

    job_file(&j, "a/shop.yml", shop);
    is_int(job_run(&j, NULL, 0), 0, "a shop: imported and loaded (%s)", j.rc ? j.e.text : "");
    is_text(made(&j, "shop/barclamp.yaml"),
            "# (c) nobody in particular\n"
            "# for tests\n"
            "# Imported from a/shop.yml\n"
            "# display: A shop\n"
            "# license: none\n"
            "barclamp: shop\n"
            "version: \"2.0\"\n"
            "description: all of it\n"
            "lenient: true\n"
            "attributes:\n"
            "  rack:\n"
            "    path: facts/rack\n"
            "jigs:\n"
            "- name: script\n"
            "  implementation: shell\n"
            "- name: cook\n"
            "  active: false\n"
            "- name: noop\n",
            "the barclamp's file");
    is_text(made(&j, "shop/roles/store.yaml"),
            "# Imported from a/shop.yml\n"
            "# keeps the goods\n"
            "name: store\n"
            "jig: script\n"
            "flags:\n"
            "  - implicit\n"
            "  - service\n"
            "requires:\n"
            "  - vault\n"
            "provides:\n"
            "  - cellar\n"
            "  - store\n"
            "attributes:\n"
            "  store-port:\n"
            "    description: where it listens\n"
            "    path: shop/store/port\n"
            "    schema:\n"
            "      type: integer\n"
            "      minimum: 1\n"
            "      maximum: 65535\n"
            "    default: 64\n"
            "  store-open:\n"
            "    path: shop/open\n"
            "    schema:\n"
            "      type:\n"
            "        - boolean\n"
            "        - \"null\"\n"
            "    default: true\n"
            "  store-name:\n"
            "    path: shop/name\n"
            "    default: yes\n"
            "actions:\n"
            "  converge:\n"
            "    - name: placeholder\n"
            "      description: its scripts are not in the source\n"
            "      type: noop\n",
            "a role");
    is_text(made(&j, "shop/roles/till-9.yaml"),
            "# Imported from a/shop.yml\n"
            "name: till-9\n"
            "jig: cook\n"
            "requires:\n"
            "  - store\n"
            "  - vault\n"
            "wants:\n"
            "  - store.store-port\n"
            "  - /facts/rack\n"
            "conflicts:\n"
            "  - store\n"
            "  - vault\n"
            "attributes:\n"
            "  till-own: {}\n"
            "  _9_lives:\n"
            "    path: a_b/c\n"
            "actions:\n"
            "  converge:\n"
            "    - name: placeholder\n"
            "      description: its work is not part of its YAML\n"
            "      type: noop\n",
            "a role whose name is adapted");
    static const char *const lines[] = {
        "a/shop.yml:5: changed: barclamp: Shop is called shop: ",
        "a/shop.yml:5: changed: shop: kept as comments: display, license",
        "a/shop.yml:10: left out: shop: hammers: ",
        "a/shop.yml:14: left out: store: what jig script does for it",
        "a/shop.yml:15: left out: store: type Shop::Store: a class of Ruby",
        "a/shop.yml:16: left out: store: flag shiny is not known",
        "a/shop.yml:23: changed: store: attribute store-port: 64 was written as 0100",
        "a/shop.yml:24: changed: store: attribute store-open: true was written as yes",
        "a/shop.yml:25: left out: store: attribute store-name: ui_renderer: ",
        "a/shop.yml:26: changed: role: Till 9 is called till-9: ",
        "a/shop.yml:26: changed: jig cook: is off: ",
        "conflicts with nobody, which no role is or provides",
        "conflicts with till-9, which is itself",
        "till-9: wants rack at another place",
        "till-9: wants rack of its node, written as the path /facts/rack",
        "fault: till-9: wants nothing, which nobody has",
        "till-9: wants till-own, which is its own",
        "till-9: attribute 9 lives is called _9_lives",
        "till-9: path a.b/c is written a_b/c",
        "changed: vault: attaches itself to store, which is written as: store requires vault",
        "fault: vault: attaches itself to nowhere, which is no role",
        "imported 1 barclamps of 1 files, 3 jigs, 3 roles, 5 attributes of roles and 1 of nodes, 3 "
        "requires, 2 wants, 0 scripts",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ok(told(&j, lines[i]), "told: %s", lines[i]);
    job_done(&j);
}

/* --- schemas --- */

static const struct schema_case {
    const char *kwalify, *ours, *line;
} schemas[] = {
    {"{type: str}", "{type: [string, 'null']}", NULL},
    {"{type: str, required: true}", "{type: string}", NULL},
    {"{required: true}", "{type: string}", NULL},
    {"{type: float, required: true}", "{type: number}", NULL},
    {"{type: number, required: true}", "{type: number}", NULL},
    {"{type: text, required: true}", "{type: [string, number]}", NULL},
    {"{type: scalar}", "{type: [string, number, boolean, 'null']}", NULL},
    {"{type: any}", NULL, NULL},
    {"{type: date}", NULL, "type date is not known to us"},
    {"{type: str, required: true, enum: [a, 'on', on]}", "{type: string, enum: [a, 'on', true]}",
     "true was written as on"},
    {"{type: str, enum: [a]}", "{type: [string, 'null'], enum: [a, null]}", NULL},
    {"{type: str, enum: []}", "{type: [string, 'null']}", NULL},
    {"{type: str, required: true, enum: x}", "{type: string}", "expected a list"},
    {"{type: str, required: true, pattern: '/^[a-z]+$/'}", "{type: string, pattern: '^[a-z]+$'}",
     NULL},
    {"{type: str, required: true, pattern: '/a(?=b)/'}", "{type: string}",
     "pattern /a(?=b)/: a group that looks around or has a name"},
    {"{type: str, required: true, pattern: '/a{9}{999}/'}", "{type: string}", "pattern counts"},
    {"{type: str, required: true, length: {min: 1, max: 5}}",
     "{type: string, minLength: 1, maxLength: 5}", NULL},
    {"{type: str, required: true, length: {min-ex: 1, max: -5, most: 3}}",
     "{type: string, minLength: 2}", "most is no bound"},
    {"{type: float, required: true, range: {min: 0.5, max-ex: 2.5}}",
     "{type: number, minimum: 0.5}", "we have no bound such as max-ex"},
    {"{type: int, required: true, range: {min-ex: 0, max: 9}}",
     "{type: integer, minimum: 1, maximum: 9}", NULL},
    {"{type: seq, required: true, sequence: [{type: int, required: true, unique: true}]}",
     "{type: array, items: {type: integer}, uniqueItems: true}", NULL},
    {"{type: seq, required: true, sequence: [{type: any}, {type: int}]}",
     "{type: array, items: {}}", "this one was never looked at"},
    {"{type: seq, required: true, sequence: []}", "{type: array}", NULL},
    {"{type: seq, required: true, sequence: [x]}", "{type: array, items: true}",
     "a rule must be a map"},
    {"{type: map, required: true, mapping: {a: {type: int, required: true}, =: {type: str, "
     "required: true}}}",
     "{type: object, properties: {a: {type: integer}}, required: [a], additionalProperties: {type: "
     "string}}",
     NULL},
    {"{type: map, required: true, mapping: {a: {type: any}}}",
     "{type: object, properties: {a: {}}, additionalProperties: false}", NULL},
    {"{type: map, required: true, mapping: []}", "{type: object}", "\"mapping\" must be a map"},
    {"{type: map, required: true, mapping: {a: {type: map, unique: true, mapping: {b: {type: "
     "any}}}}}",
     "{type: object, properties: {a: {type: [object, 'null'], properties: {b: {}}, "
     "additionalProperties: false}}, additionalProperties: false}",
     "we compare whole items only"},
    {"{type: int, required: true, desc: how many, name: n}",
     "{type: integer, description: how many, title: n}", NULL},
    {"{type: int, required: true, assert: 'val > 1'}", "{type: integer}",
     "schemas of ours have no \"assert\""},
    {"text", NULL, "a schema must be a map"},
};

static void test_schemas(void)
{
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        const struct schema_case *c = &schemas[i];
        struct job j = {0};
        job_file(&j, "s.yml",
                 arena_printf(&j.in.mem,
                              "barclamp: {name: s}\n"
                              "roles: [{name: r, attribs: [{name: a, schema: %s}]}]\n",
                              c->kwalify));
        int rc = job_run(&j, NULL, 0);
        is_int(rc, 0, "%s: loads (%s)", c->kwalify, rc ? j.e.text : "");
        struct value *want = NULL;
        if (c->ours) {
            struct catalog_file f = {str_of("barclamp.yaml"),
                                     str_of(arena_printf(&j.in.mem,
                                                         "barclamp: x\nroles: [{name: r, "
                                                         "attributes: {a: {schema: %s}}}]\n",
                                                         c->ours))};
            struct catalog_source source = {&f, 1};
            struct catalog_report report = {0};
            SCOPED(catalog) *cat = NULL;
            is_int(catalog_load(&source, NULL, 1, &report, &cat, &j.e), 0, "%s is one", c->ours);
            want = cat ? value_copy(&j.in.mem, cat->roles[0].attributes) : NULL;
            catalog_report_done(&report);
        } else {
            want = value_map(&j.in.mem);
            value_set(&j.in.mem, want, "a", value_map(&j.in.mem));
        }
        ok(j.cat && want && value_equal(j.cat->roles[0].attributes, want), "%s becomes %s",
           c->kwalify, c->ours ? c->ours : "nothing");
        bool quiet = !told(&j, "attribute a: ");
        ok(c->line ? told(&j, c->line) : quiet, "%s: %s is told", c->kwalify,
           c->line ? c->line : "nothing");
        job_done(&j);
    }
}

static void test_deep_schema(void)
{
    struct job j = {0};
    SCOPED_BUF(b);

    buf_puts(&b, "barclamp: {name: s}\nroles: [{name: r, attribs: [{name: a, schema: ");
    for (int i = 0; i < 40; i++)
        buf_puts(&b, "{type: seq, sequence: [");
    buf_puts(&b, "{type: int}");
    for (int i = 0; i < 40; i++)
        buf_puts(&b, "]}");
    buf_puts(&b, "}]}]\n");
    job_file(&j, "s.yml", b.data);
    is_int(job_run(&j, NULL, 0), 0, "a schema of forty levels: loads");
    ok(told(&j, "the schema is nested too deep"), "and is cut off");
    job_done(&j);
}

/* --- defaults --- */

static void test_bad_defaults(void)
{
    struct job j = {0};

    job_file(&j, "s.yml",
             "barclamp: {name: s}\n"
             "roles:\n"
             "  - name: r\n"
             "    attribs:\n"
             "      - {name: a, schema: {type: map, mapping: {x: {type: int}}}, default: {y: 1}}\n"
             "      - {name: b, schema: {type: int}, default: text}\n");
    is_int(job_run(&j, NULL, 0), 0, "defaults that break their schemas: loads");
    ok(told(&j, "s.yml:5: changed: r: attribute a: only the type of its schema is kept: its own "
                "default breaks it at /y"),
       "the first is told");
    ok(told(&j, "s.yml:6: changed: r: attribute b: only the type of its schema is kept"),
       "the second too");
    const struct value *v = j.cat ? j.cat->roles[0].attributes : NULL;
    ok(v && !value_at(v, "a.schema.properties") && value_at(v, "a.schema.type"),
       "of the first the type stays");
    ok(v && !value_at(v, "b.schema") && value_at(v, "b.default"),
       "of the second, which breaks even that, nothing");
    job_done(&j);
}

/* --- patterns --- */

static void test_patterns(void)
{
    static const struct {
        const char *ruby, *posix; /* NULL: refused */
    } cases[] = {
        {"/[0-9a-f:.]*/", "[0-9a-f:.]*"},
        {"/\\[?[0-9]*\\]?:?/", "\\[?[0-9]*\\]?:?"},
        {"/\\Ahttp:\\/\\/.+\\z/", "^http://.+$"},
        {"/a\\:b\\Z/", "a:b$"},
        {"/([0-9a-fA-F]{2}:){5}x/", "([0-9a-fA-F]{2}:){5}x"},
        {"/\\d+\\w*\\s?\\h/", "[0-9]+[[:alnum:]_]*[[:space:]]?[0-9a-fA-F]"},
        {"/\\D\\W\\S\\H/", "[^0-9][^[:alnum:]_][^[:space:]][^0-9a-fA-F]"},
        {"/(?:ab|c)+/", "(ab|c)+"},
        {"/a{x}/", "a\\{x\\}"},
        {"/a{2,}b{,3}/", "a{2,}b\\{,3\\}"},
        {"/\\n\\t/", "\n\t"},
        {"/[\\]a]/", "[]a]"},
        {"/[\\^]/", "\\^"},
        {"/[\\^-]/", "[-^]"},
        {"/[^\\^a]/", "[^a^]"},
        {"/[a\\-z]/", "[az-]"},
        {"/[\\w.-]/", "[[:alnum:]_.-]"},
        {"/[\\d\\s]/", "[0-9[:space:]]"},
        {"/[[:alpha:]_]/", "[[:alpha:]_]"},
        {"/[\\[x]/", "[x[]"},
        {"/[\\n]/", "[\n]"},
        {"plain", "plain"},
        {"//", ""},
        {"/a/i", NULL},
        {"/a", NULL},
        {"/", NULL},
        {"/a*?/", NULL},
        {"/a++/", NULL},
        {"/a{2}?/", NULL},
        {"/(?=a)/", NULL},
        {"/(?<n>a)/", NULL},
        {"/\\b/", NULL},
        {"/(a)\\1/", NULL},
        {"/a\\/", NULL},
        {"/[a[b]]/", NULL},
        {"/[a&&b]/", NULL},
        {"/[]/", NULL},
        {"/[a/", NULL},
        {"/[[:alpha/", NULL},
        {"/[\\p]/", NULL},
        {"/[a-\\d]/", NULL},
        {"/[!-\\]]/", NULL},
        {"/[a-\\p]/", NULL},
    };
    SCOPED_ARENA(mem);
    const char *why = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = import_pattern(&mem, str_of(cases[i].ruby), &why);
        if (cases[i].posix)
            is_text(got, cases[i].posix, "%s", cases[i].ruby);
        else
            ok(!got && why && *why, "%s is refused: %s", cases[i].ruby, why);
    }
    ok(!import_pattern(&mem, (struct str){"a\0b", 3}, &why), "a NUL is refused");
}

/* --- scripts and jigs --- */

static const char jigs[] =
    "barclamp: {name: core}\n"
    "jigs:\n"
    "  - {name: script, class: A, description: over ssh}\n"
    "  - {name: chef, implementor: agent, speed: 3}\n"
    "  - {name: odd, implementor: nobody}\n"
    "  - {class: B}\n"
    "  - {name: chef}\n"
    "roles:\n"
    "  - {name: agent, jig: script}\n"
    "  - {name: web, jig: chef}\n"
    "  - {name: proof, jig: test, attribs: [{name: d, map: delay, default: 2}]}\n"
    "  - {name: test-fails, jig: test}\n"
    "  - {name: plain}\n";

static void test_scripts(void)
{
    struct job j = {0};
    const struct import_map map = {str_of("chef"), str_of("shell")};

    job_file(&j, "script/roles/agent/02 more.sh", "echo two\n");
    job_file(&j, "script/roles/agent/01-install.sh", "set -e\necho one\n");
    job_file(&j, "script/roles/agent/template.erb", "x");
    job_file(&j, "script/roles/ghost/01.sh", "x");
    job_file(&j, "script/roles/loose.sh", "x");
    job_file(&j, "script/roles/web/01.sh", "x");
    job_file(&j, "more/script/roles/agent/01-install.sh", "echo more\n");
    job_file(&j, "crowbar.yml.from-1234", jigs);
    job_file(&j, "README", "not looked at");
    is_int(job_run(&j, &map, 1), 0, "scripts and jigs: loads (%s)", j.rc ? j.e.text : "");
    is_text(made(&j, "core/barclamp.yaml"),
            "# Imported from crowbar.yml.from-1234\n"
            "barclamp: core\n"
            "jigs:\n"
            "# over ssh\n"
            "- name: script\n"
            "  implementation: shell\n"
            "- name: chef\n"
            "  implementation: shell\n"
            "  implementor: agent\n"
            "- name: odd\n"
            "  active: false\n"
            "- name: test\n",
            "the jigs");
    has_text(made(&j, "core/roles/agent.yaml"),
             "  converge:\n"
             "    - name: 01-install\n"
             "      description: from more/script/roles/agent/01-install.sh\n"
             "      params:\n"
             "        script: |\n"
             "          echo more\n"
             "    - name: 01-install-2\n"
             "      description: from script/roles/agent/01-install.sh\n"
             "      params:\n"
             "        script: |\n"
             "          set -e\n"
             "          echo one\n"
             "    - name: 02-more\n",
             "the scripts in their order");
    has_text(made(&j, "core/roles/proof.yaml"), "        sleep_ms: 2000\n", "a test that sleeps");
    has_text(made(&j, "core/roles/test-fails.yaml"), "        exit: 1\n", "a test that fails");
    ok(!strstr(made(&j, "core/roles/plain.yaml"), "actions"), "a role without a jig does nothing");
    static const char *const lines[] = {
        "script/roles/agent/template.erb: left out: agent: ",
        "script/roles/ghost/01.sh: left out: this script: there is no role",
        "script/roles/agent/02 more.sh: changed: agent: its task is called 02-more",
        "more/script/roles/agent/01-install.sh: changed: agent: runs by /bin/sh",
        "script/roles/agent/01-install.sh: changed: agent: its task is called 01-install-2",
        "script/roles/web/01.sh: left out: this script: its role does not use the jig script",
        "crowbar.yml.from-1234:3: left out: jig script: class A: a class of Ruby",
        "jig chef: speed 3: jigs of ours have no such field",
        "jig odd: is implemented by nobody, which is no role",
        "left out: a jig: it has no name",
        "left out: chef: this jig is declared before",
        " 3 scripts",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ok(told(&j, lines[i]), "told: %s", lines[i]);
    uint32_t web = catalog_name_find(j.cat, str_of("web"));
    const struct catalog_role *r = j.cat ? &j.cat->roles[j.cat->names[web].role] : NULL;
    ok(r && r->n_requires == 1 && r->requires[0].jig != CATALOG_NONE,
       "a role needs the implementor of its jig");
    job_done(&j);
}

static void test_maps(void)
{
    static const struct {
        const char *jig, *to;
        int rc;
        const char *text;
    } cases[] = {
        {"chef", "shell", 0, ""},
        {"noop", "noop", 0, ""},
        {"noop", "shell", -ERR_INVALID, "the jig noop must stay a noop"},
        {"chef", "A B", -ERR_INVALID, "\"A B\" cannot be an implementation"},
        {"chfe", "shell", -ERR_UNKNOWN_NAME, "no barclamp has or uses a jig \"chfe\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j = {0};
        struct import_map map = {str_of(cases[i].jig), str_of(cases[i].to)};
        job_file(&j, "a.yml",
                 "barclamp: {name: a}\nroles: [{name: r, jig: chef}, {name: n, jig: noop}]\n");
        is_int(job_run(&j, &map, 1), cases[i].rc, "map %s=%s", cases[i].jig, cases[i].to);
        if (cases[i].rc)
            is_text(j.e.text, cases[i].text, "and why");
        if (cases[i].rc == -ERR_UNKNOWN_NAME)
            is_text(j.e.hint, "there are: chef, noop", "and what there is");
        job_done(&j);
    }
}

/* --- what a source gets wrong --- */

static void test_faults(void)
{
    struct job j = {0};

    job_file(&j, "1.yml",
             "barclamp: {name: a}\n"
             "roles:\n"
             "  - {name: r, jig: noop, requires: [milestone, {}, r2, r2]}\n"
             "  - {name: r2, jig: noop, jig: noop, provides: [{}]}\n"
             "  - name: twice\n"
             "    attribs:\n"
             "      - {name: d, map: delay, default: 1}\n"
             "      - {name: m, map: way}\n"
             "      - {name: d, map: test, default: 2}\n"
             "      - {name: in, map: way/inside}\n"
             "      - {name: out, map: /}\n"
             "      - {name: deep, map: a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a}\n"
             "      - {map: x}\n"
             "  - {jig: noop}\n"
             "  - {name: reader, jig: noop, wants-attribs: [d, in]}\n");
    job_file(&j, "2.yml",
             "barclamp: {name: a, description: the second of that name}\n"
             "roles: [{name: r, jig: noop}, {name: other, attribs: [{name: d}]}]\n");
    job_file(&j, "3.yml", "barclamp: nothing\n");
    job_file(&j, "4.yaml", "broken: [\n");
    job_file(&j, "5.yml", "barclamp: {name: odd}\nroles: {a: 1}\nattribs: text\njigs: 7\n");
    is_int(job_run(&j, NULL, 0), 0, "a source full of faults: loads (%s)", j.rc ? j.e.text : "");
    static const char *const lines[] = {
        "1.yml:3: fault: r: requires milestone, which no role is or provides; it cannot be bound",
        "1.yml:3: left out: r: this is no name",
        "1.yml:4: fault: jig: left out: the same key comes again in line 4, which stands",
        "1.yml:7: fault: twice: attribute d is defined again in line 9, which stands; this one "
        "(delay) is left out",
        "1.yml:10: left out: twice: attribute in: its path way/inside is that of another",
        "1.yml:12: left out: twice: attribute deep: its path has more than 16 keys",
        "1.yml:13: left out: twice: an attribute without a name",
        "1.yml:14: left out: a role: it has no name",
        "1.yml:15: fault: reader: wants in, which nobody has",
        "2.yml:1: changed: a: is called a-2: there is a barclamp of this name already",
        "2.yml:2: fault: r: left out: there is a role of this name already",
        "2.yml:2: changed: other: attribute d is also one of twice; who wants it gets this one",
        "3.yml: left out: this file: it has no barclamp with a name",
        "4.yaml: fault: left out, as it is no YAML we read: 4.yaml:",
        "5.yml:2: left out: roles: expected a list",
        "5.yml:3: left out: attribs: expected a list",
        "5.yml:4: left out: jigs: expected a list",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ok(told(&j, lines[i]), "told: %s", lines[i]);
    ok(j.cat && catalog_barclamp_get(j.cat, str_of("a"))->lenient, "the barclamp is lenient");
    const struct catalog_role *r = j.cat ? catalog_role_get(j.cat, str_of("r")) : NULL;
    ok(r && r->fault && strstr(r->fault, "milestone"), "the role that cannot be bound is marked");
    const struct catalog_role *twice = j.cat ? catalog_role_get(j.cat, str_of("twice")) : NULL;
    ok(twice && !twice->fault, "the one with the doubled attribute is not");
    is_int(value_as_int(value_at(twice ? twice->defaults : NULL, "test"), 0), 2,
           "and has the last definition");
    ok(twice && value_at(twice->attributes, "out") && !value_at(twice->attributes, "out.path"),
       "a path without keys is none");
    job_done(&j);
}

static void test_refused(void)
{
    struct job j = {0};

    is_int(job_run(&j, NULL, 0), -ERR_INVALID, "no files at all");
    job_done(&j);
    job_file(&j, "a.yml", "x: [\n");
    is_int(job_run(&j, NULL, 0), -ERR_INVALID, "no file that can be read");
    has_text(j.e.hint, "a.yml:", "the hint says why");
    job_done(&j);
    struct catalog_source many = {NULL, CATALOG_MAX_FILES + 1};
    is_int(catalog_import_crowbar(&many, NULL, 0, &j.out, &j.e), -ERR_LIMIT, "too many files");
    catalog_import_free(NULL);
    is_text(import_kind_name(IMPORT_KIND_COUNT), "?", "there is no such kind");
}

/* A name is kept apart from another that would be adapted to the same. */
static void test_names(void)
{
    struct job j = {0};
    SCOPED_BUF(b);

    buf_puts(&b, "barclamp: {name: n}\nroles:\n"
                 "  - {name: A b, jig: Big Jig}\n  - {name: a-b, jig: big-jig}\n"
                 "  - {name: a_B, requires: ['A b', a-b, X!]}\n"
                 "  - {name: -x, provides: [X!], description: '");
    for (int i = 0; i < 5000; i++)
        buf_putc(&b, 'd');
    buf_puts(&b, "'}\n  - {name: ");
    for (int i = 0; i < 100; i++)
        buf_putc(&b, 'l');
    buf_puts(&b, "}\n  - {name: ");
    for (int i = 0; i < 101; i++)
        buf_putc(&b, 'l');
    buf_puts(&b, "}\n");
    job_file(&j, "n.yml", b.data);
    is_int(job_run(&j, NULL, 0), 0, "names: loads (%s)", j.rc ? j.e.text : "");
    is_int(j.out ? j.out->counts.roles : 0, 6, "all roles");
    has_text(made(&j, "n/roles/a_b.yaml"), "requires:\n  - a-b\n  - a-b-2\n  - x-\n",
             "they stay apart");
    ok(told(&j, "xx: its description is longer") || told(&j, "x-x: its description is longer"),
       "a description that is too long is left out");
    job_done(&j);
}

/* Paths may be anything, and texts may hold what ends a line: a comment stays one line of text. */
static void test_comments(void)
{
    struct job j = {0};

    job_file(&j, "\xff\xc3\xa9\x01.yml",
             "barclamp: {name: c, \"x\\ny\": z, display: \"a\\nb\\x85c\\u2028d\\uFEFFe\\xE9f\"}\n"
             "jigs: [{name: j, description: \"one\\ntwo\"}]\n");
    is_int(job_run(&j, NULL, 0), 0, "odd comments: loads (%s)", j.rc ? j.e.text : "");
    has_text(made(&j, "c/barclamp.yaml"), "# Imported from  \xc3\xa9 .yml\n", "a path");
    has_text(made(&j, "c/barclamp.yaml"),
             "# display: a b  c   d   e\xc3\xa9"
             "f\n",
             "a text");
    has_text(made(&j, "c/barclamp.yaml"), "\n# x y: z\n", "a key");
    ok(told(&j, "kept as comments: x y, display"), "and so does the report");
    has_text(made(&j, "c/barclamp.yaml"), "# one two\n- name: j\n", "a jig's description");
    job_done(&j);
}

int main(void)
{
    test_shop();
    test_schemas();
    test_deep_schema();
    test_bad_defaults();
    test_patterns();
    test_scripts();
    test_maps();
    test_faults();
    test_refused();
    test_names();
    test_comments();
    return tap_done();
}
