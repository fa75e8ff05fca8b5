/* test_conditions.c - YAQL and the older condition language as expressions of ours
 *
 * Tables of translations and refusals, real conditions evaluated by hand on small data, and, where
 * they are at hand ($ANNEAL_TEST_DATA, by default ../shared beside the tree), every expression of
 * the real task files and the recorded facts about both languages.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_yaql.h"

#include <dirent.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/yaml.h"
#include "tap.h"
#include "template/expr.h"

struct row {
    const char *text, *want;
};

/* --- translations --- */

static const struct row yaql_rows[] = {
    {"$", "data"},
    {"$node.toYaml()", "node | toyaml"},
    {"$common.toJson()", "common | tojson"},
    {"$.a.b", "data.a.b"},
    {"$.get('a')", "data.a | default(none)"},
    {"$.get('a-b')", "data['a-b'] | default(none)"},
    {"$.get(a, {}).get('b', 1)", "(data.a | default({})).b | default(1)"},
    {"$.get(concat('node-', $.uid))", "data['node-' ~ data.uid] | default(none)"},
    {"$.get('limits', None) = None", "data.limits | default('None') == 'None'"},
    {"$.a = null or not $.b != 'it\\'s'", "data.a == none or not data.b != 'it\\'s'"},
    {"($.a or $.b) and $.c", "(data.a or data.b) and data.c"},
    {"$.a or ($.b and $.c)", "data.a or data.b and data.c"},
    {"not ($.a and $.b)", "not (data.a and data.b)"},
    {"($.a = $.b) = true", "(data.a == data.b) == true"},
    {"1 + 2 * (3 - 4) - (5 - 6)", "1 + 2 * (3 - 4) - (5 - 6)"},
    {"-$.a + - 1 mod 2", "-data.a + -1 % 2"},
    {"$.nodes.where($.role = compute)", "[x for x in data.nodes if x.role == 'compute']"},
    {"$.nodes.where($.a or $.b).where($.c).name",
     "[x.name for x in data.nodes if (x.a or x.b) and x.c]"},
    {"$.nodes.values().name", "[x.name for x in data.nodes | values]"},
    {"$.nodes.values().roles.flatten()", "[x.roles for x in data.nodes | values] | flatten"},
    {"$.nodes.select($.a).select($ + 1).where($ > 2)",
     "[x for x in [x + 1 for x in [x.a for x in data.nodes]] if x > 2]"},
    {"$.nodes.values().where($.roles.any($.matches('^(primary-)?mongo$')))",
     "[x for x in data.nodes | values if [x2 for x2 in x.roles if x2 is "
     "match('^(primary-)?mongo$')]"
     " != []]"},
    {"$.a.where($.b.where($.c = 1).any()).first().d",
     "([x for x in data.a if [x2 for x2 in x.b if x2.c == 1] != []] | first).d"},
    {"$.roles.any($ = $node.role)", "[x for x in data.roles if x == node.role] != []"},
    {"$.nodes.where($.uid = new($.uid))", "[x for x in data.nodes if x.uid == new(data.uid)]"},
    {"$.uid in added($.nodes).uid", "data.uid in [x.uid for x in added(data.nodes)]"},
    {"deleted($.nodes).uid", "[x.uid for x in deleted(data.nodes) | default([], true)]"},
    {"coalesce(deleted($.a), [])", "deleted(data.a) | default([], true)"},
    {"coalesce($.get(a), $.get(b), 1)",
     "[x if x is not none else [x if x is not none else 1 for x in [data.b | default(none)]][0]"
     " for x in [data.a | default(none)]][0]"},
    {"changedAny($.a, $.get(b))", "changed_any(data.a, data.b | default(none))"},
    {"changedAll($.a, $.b)", "changed_all(data.a, data.b)"},
    {"old($.a).isUndef()", "old(data.a) is undefined"},
    {"old($.a) = 1", "old(data.a) | default(none) == 1"},
    {"len(old($)) > 0", "old(data) | default({}) | length > 0"},
    {"$.plugins.len() > 0", "data.plugins | length > 0"},
    {"switch($.a => 1, true => 6)", "1 if data.a else 6"},
    {"switch($.a => 1, $.b or $.c => [x])", "1 if data.a else ['x'] if data.b or data.c else none"},
    {"[{name=>'x', role=>self}]", "[{'name': 'x', 'role': 'self'}]"},
    {"dict(a => 1, 'b c' => $.d)", "{'a': 1, 'b c': data.d}"},
    {"dict($.items())", "data"},
    {"$.a.set('k', 1) + $.b", "data.a | combine({'k': 1}, recursive=false) | combine(data.b,"
                              " recursive=false)"},
    {"$.roles.toSet().intersect($.other.toSet())",
     "data.roles | unique(true) | intersect(data.other | unique(true))"},
    {"$.s.matches('\\\\d+$')", "data.s is match('[0-9]+$')"},
    {"$.s.matches(`\\w`)", "data.s is match('[[:alnum:]_]')"},
    {"$.s.matches('/x')", "data.s is match('[/]x')"},
    {"$.l[0].name", "data.l[0].name"},
    {"'primary-' + $.role", "'primary-' + data.role"},
};
static const struct row yaql_errors[] = {
    {"", "1:1: expected a value, found the end"},
    {"$.a +", "1:6: expected a value, found the end"},
    {"$.a $.b", "1:5: expected an operator or the end, found $"},
    {"$.a and\n  $.b b", "2:7: expected an operator or the end, found b"},
    {"$.groupBy($)", "1:3: the method \"groupBy\" of YAQL has no translation"},
    {"wher($.a)", "1:1: the function \"wher\" of YAQL has no translation"},
    {"$foo", "1:1: the variable $foo is not known"},
    {"$.a =~ 'b'", "1:5: =~ has no translation"},
    {"$.a / 2", "1:5: / has no translation"},
    {"$.a?.b", "1:4: ?. has no translation"},
    {"$.s.matches('(?=a)')", "1:5: matches: a group that looks around or has a name"},
    {"$.s.matches($.p)", "1:5: matches: only a pattern that is a text has a translation"},
    {"$.s.matches('(')", NULL},
    {"changed()", "1:1: changed: too few arguments"},
    {"changed($.a, $.b)", "1:1: changed: too many arguments"},
    {"changed(a => 1)", "1:9: changed takes no named arguments"},
    {"$.isUndef()", "1:3: isUndef: asked of what is not old(...)"},
    {"dict(1, 2)", "1:1: dict: only key => value and x.items() have a translation"},
    {"{1}", "1:2: a map has key => value"},
    {"[a => 1]", "1:2: a list has no keys"},
    {"switch(1)", "1:1: switch: a value without a condition"},
    {"$.values().get(x)", "1:12: get: a list has no keys"},
    {"'abc", "1:1: a text that does not end"},
    {"'\\x41'", "1:2: the escape \\x has no translation"},
    {"1a", "1:1: a number that ends in letters"},
    {"1 + 9223372036854775808", "1:5: an integer that does not fit 64 bits"},
    {"$.\xC3\xA4", "1:3: \xC3\xA4 means nothing here"},
    {"'\xC3\xA4' #", "1:5: # means nothing here"},
    {"$.a[$.b]", "1:5: only numbers and texts in brackets have a translation"},
    {"$.where($.a", "1:12: expected ')', found the end"},
};
static const struct row legacy_rows[] = {
    {"true", "true"},
    {"cluster:mode == \"ha_compact\"", "data.cluster.mode | default(none) == 'ha_compact'"},
    {"settings:storage.images_ceph.value == true",
     "(data.storage | default({})).images_ceph | default(none) == true"},
    {"settings:common.libvirt_type.value", "data.libvirt_type | default(none)"},
    {"settings:additional_components.heat.value",
     "(data.heat | default({})).enabled | default(none)"},
    {"not (a:b or a:c)", "not (data.a.b | default(none) or data.a.c | default(none))"},
    {"not a:b == true", "(not data.a.b | default(none)) == true"},
    {"'x' in a:b-c", "'x' in data.a['b-c'] | default(none)"},
    {"1 == 2 == false", "(1 == 2) == false"},
    {"a:b? != -07", "data.a.b | default(none) != -7"},
};
static const struct row legacy_errors[] = {
    {"", "1:1: expected a value, found the end"},
    {"(true", "1:6: expected ')', found the end"},
    {"== 123", "1:1: expected a value, found =="},
    {"a:b c:d", "1:5: expected an operator or the end, found c:d"},
    {"true = false", "1:6: this means nothing here"},
    {"maybe", "1:1: expected a value, found maybe"},
    {"'abc", "1:1: a text that does not end"},
    {"a:b..c", "1:5: a path with an empty step"},
    {"a:b.", "1:1: a path that ends in a dot"},
    {"1x", "1:1: a number that ends in letters"},
    {"1 == 99999999999999999999", "1:6: an integer that does not fit 64 bits"},
};

typedef int (*import_f)(struct arena *a, struct str text, struct str *ret_expr, struct err *e);

static void check_rows(import_f import, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        SCOPED_ARENA(mem);
        struct err e = {0};
        struct str got = {"", 0};
        int rc = import(&mem, str_of(rows[i].text), &got, &e);
        is_text(rc < 0 ? e.text : arena_strndup(&mem, got.s, got.n), rows[i].want, "%s",
                rows[i].text);
    }
}

/* An error without a text of its own may have any. */
static void check_errors(import_f import, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        SCOPED_ARENA(mem);
        char shown[sizeof(struct err)];
        struct err e = {0};
        struct str got;
        int rc = import(&mem, str_of(rows[i].text), &got, &e);
        snprintf(shown, sizeof shown, "%s: %s", e.at, e.text);
        ok(rc < 0 && (!rows[i].want || strcmp(shown, rows[i].want) == 0), "%s: %s", rows[i].text,
           shown);
    }
}

static void check_bounds(import_f import, const char *open, const char *name)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(deep);
    struct err e = {0};
    struct str got;
    for (int i = 0; i < 200; i++)
        buf_puts(&deep, open);
    is_int(import(&mem, buf_str(&deep), &got, &e), -ERR_LIMIT, "%s: depth: %s", name, e.text);
    while (deep.len <= IMPORT_MAX_CONDITION)
        buf_puts(&deep, "aaaaaaaaaaaaaaaa");
    is_int(import(&mem, buf_str(&deep), &got, &e), -ERR_LIMIT, "%s: length: %s", name, e.text);
    is_int(import(&mem, (struct str){"1\0 ", 3}, &got, &e), -ERR_SYNTAX, "%s: NUL: %s", name,
           e.text);
    is_int(import(&mem, (struct str){"'\xff'", 3}, &got, &e), -ERR_SYNTAX, "%s: bytes: %s", name,
           e.text);
    buf_clear(&deep);
    buf_puts(&deep, "1");
    for (int i = 0; i < 2000; i++)
        buf_puts(&deep, " or 1");
    int rc = import(&mem, buf_str(&deep), &got, &e);
    ok(rc == 0 || rc == -ERR_LIMIT, "%s: a long chain: %d", name, rc);
}

/* --- evaluating --- */

struct data {
    const struct value *now, *old; /* old NULL: none */
};

static const struct value *json(struct arena *mem, const char *text)
{
    struct value *v = NULL;
    return text && json_parse(mem, text, strlen(text), NULL, &v, NULL) == 0 ? v : NULL;
}

/* The result as JSON, "undefined", or the error. */
static const char *evaluate(struct arena *mem, struct str expr, const struct data *d)
{
    SCOPED_BUF(out);
    struct expr_var now[] = {{str_of("data"), d->now}, {str_of("node"), d->now}};
    struct expr_var old[] = {{str_of("data"), d->old}, {str_of("node"), d->old}};
    struct expr_scope before = {.vars = old, .n = 2};
    struct expr_scope scope = {.vars = now, .n = 2, .old = d->old ? &before : NULL};
    const struct expr *x;
    const struct value *v = NULL;
    struct err e = {0};
    if (expr_compile(mem, expr, NULL, &x, &e) < 0 || expr_eval(x, &scope, mem, &v, &e) < 0)
        return arena_printf(mem, "error: %s", e.text);
    if (!v)
        return "undefined";
    json_write(&out, v, 0);
    return arena_strdup(mem, out.data);
}

static const char *evaluate_yaql(struct arena *mem, const char *text, const struct data *d)
{
    struct str expr;
    struct err e = {0};
    if (import_yaql(mem, str_of(text), &expr, &e) < 0)
        return arena_printf(mem, "no translation: %s", e.text);
    return evaluate(mem, expr, d);
}

/* Conditions as the real files have them, on data made up for the purpose; the answers were found
 * with pencil and paper.  Columns: nothing changed, changed as the row says, no old data. */
static const char sample[] =
    "{\"uid\": \"2\", \"fqdn\": \"node-2.lan\", \"roles\": [\"controller\", \"ceph-osd\"],"
    " \"ceilometer\": {\"enabled\": true}, \"storage\": {\"objects_ceph\": false, \"images_ceph\":"
    " true, \"volumes_ceph\": false, \"ephemeral_ceph\": false}, \"aodh\": {\"db_password\": "
    "\"p\"},"
    " \"public_ssl\": {\"horizon\": false, \"services\": true, \"hostname\": \"h\", "
    "\"cert_source\":"
    " \"self_signed\"}, \"deployed_before\": {\"value\": true}, \"plugins\": [],"
    " \"network_scheme\": {\"endpoints\": {\"br-ex\": {\"gateway\": \"10.0.0.1\"}, \"br-mgmt\": "
    "{}}},"
    " \"network_metadata\": {\"vips\": {\"vrouter\": {\"ipaddr\": \"10.0.0.9\", \"node_roles\":"
    " [\"controller\", \"primary-controller\"]}}, \"nodes\": {\"node-1\": {\"uid\": \"1\", "
    "\"name\":"
    " \"node-1\", \"fqdn\": \"node-1.lan\", \"node_roles\": [\"primary-controller\"],"
    " \"network_roles\": {\"mgmt/messaging\": \"10.0.0.1\"}}, \"node-2\": {\"uid\": \"2\", "
    "\"name\":"
    " \"node-2\", \"fqdn\": \"node-2.lan\", \"node_roles\": [\"controller\"], \"network_roles\":"
    " {\"mgmt/messaging\": \"10.0.0.2\"}}, \"node-3\": {\"uid\": \"3\", \"name\": \"node-3\","
    " \"fqdn\": \"node-3.lan\", \"node_roles\": [\"compute\"], \"network_roles\": {}}}}}";
static const struct {
    const char *yaql;
    const char *over; /* merged over the sample, which is the new data then */
    const char *same, *changed, *first;
} real_rows[] = {
    {"changed($)", "{\"x\": 1}", "false", "true", "true"},
    {"$.uid in added($.network_metadata.nodes.values()).uid",
     "{\"network_metadata\": {\"nodes\": {\"node-2\": {\"name\": \"other\"}}}}", "false", "true",
     "true"},
    {"$.uid in added($.network_metadata.nodes.values().uid)",
     "{\"network_metadata\": {\"nodes\": {\"node-4\": {\"uid\": \"4\"}}}}", "false", "false",
     "true"},
    {"$.ceilometer.enabled and changedAny($.aodh, $.network_metadata.vips, $.public_ssl,"
     " $.get('use_ssl'))",
     "{\"use_ssl\": true}", "false", "true", "true"},
    {"($.ceilometer.enabled and $.storage.objects_ceph) and\n (changedAny($.ceilometer.enabled,"
     " $.storage.objects_ceph))",
     "{\"storage\": {\"objects_ceph\": true}}", "false", "true", "false"},
    {"changedAny($.network_metadata.nodes.values().where(\n  $.node_roles.any($.matches("
     "'(controller|rabbitmq)'))).network_roles.select(\n    $.get('mgmt/messaging')))",
     "{\"network_metadata\": {\"nodes\": {\"node-3\": {\"name\": \"compute is not looked at\"}}}}",
     "false", "false", "true"},
    {"changedAny($.network_metadata.nodes.values().where(\n  $.node_roles.any($.matches("
     "'(controller|rabbitmq)'))).network_roles.select(\n    $.get('mgmt/messaging')))",
     "{\"network_metadata\": {\"nodes\": {\"node-3\": {\"node_roles\": [\"rabbitmq\"]}}}}", "false",
     "true", "true"},
    {"changedAny($.network_metadata.nodes.values().where(\n  ('controller' in $.node_roles) or\n"
     "  ('primary-controller' in $.node_roles)))",
     "{\"network_metadata\": {\"nodes\": {\"node-1\": {\"fqdn\": \"new\"}}}}", "false", "true",
     "true"},
    {"$.network_metadata.nodes.values().where($.uid = new($.uid)).name.first()", "{\"uid\": \"3\"}",
     "\"node-2\"", "\"node-3\"", "\"node-2\""},
    {"changedAny($.network_metadata.nodes.values().where($.uid = new($.uid)))", "{\"uid\": \"3\"}",
     "false", "false", "true"},
    {"((len(old($)) > 0) or $.deployed_before.value) and changed($.public_ssl.hostname)",
     "{\"deployed_before\": {\"value\": false}, \"public_ssl\": {\"hostname\": \"g\"}}", "false",
     "true", "true"},
    {"switch($.get('deployed_before', {}).get('value') => 1, true => 6)",
     "{\"deployed_before\": {\"value\": null}}", "1", "6", "1"},
    {"$.get('mu_upgrade', {}).get('enabled') and changedAny($.mu_upgrade.repos)",
     "{\"mu_upgrade\": {\"enabled\": true, \"repos\": []}}", "null", "true", "null"},
    {"not $.storage.objects_ceph and (changedAny($.storage, $.get('swift_master_role',"
     " 'primary-controller'),\n  $.get('swift_ring_min_part_hours'),('primary-controller' in"
     " $.roles)))",
     "{\"roles\": [\"primary-controller\"]}", "false", "true", "true"},
    {"changedAny($.network_scheme.endpoints.values().where(\n  $.get('gateway') !="
     " null).gateway)",
     "{\"network_scheme\": {\"endpoints\": {\"br-mgmt\": {\"gateway\": \"10.0.1.1\"}}}}", "false",
     "true", "true"},
    {"(((changedAny($.public_ssl.horizon, $.public_ssl.services, $.public_ssl.hostname)) and\n"
     "    ($.public_ssl.horizon or $.public_ssl.services) and\n    (not"
     " (old($.public_ssl.horizon) or old($.public_ssl.services)))) or\n  (($.public_ssl.horizon or"
     " $.public_ssl.services) and\n    (($.uid in added($.network_metadata.nodes.values()).uid) or"
     " (\n    changed($.public_ssl.hostname))))) and\n$.public_ssl.cert_source = 'self_signed'",
     "{\"public_ssl\": {\"horizon\": true}}", "false", "false", "true"},
    {"switch(\n  (\n    $.roles.any($.matches('^(primary-)?(mongo)$'))\n    or"
     " ($.network_metadata.get('vips',{}).get('vrouter',{}).get('ipaddr') = null)\n    or (\n"
     "      len($.roles.toSet().intersect($.network_metadata.get('vips',{}).get('vrouter',{})"
     ".get('node_roles').toSet())) > 0\n    )\n  ) => [],\n  true => [{\n    name => 'virtual_ips',"
     "\n    role => $.network_metadata.get('vips',{}).get('vrouter',{}).get('node_roles')\n  }]\n)",
     "{\"roles\": [\"compute\"]}", "[]",
     "[{\"name\":\"virtual_ips\",\"role\":[\"controller\",\"primary-controller\"]}]", "[]"},
    {"[{name=>'primary-cluster', role=>$.roles.select('primary-' + $)}]", "{\"roles\": [\"a\"]}",
     "[{\"name\":\"primary-cluster\",\"role\":[\"primary-controller\",\"primary-ceph-osd\"]}]",
     "[{\"name\":\"primary-cluster\",\"role\":[\"primary-a\"]}]",
     "[{\"name\":\"primary-cluster\",\"role\":[\"primary-controller\",\"primary-ceph-osd\"]}]"},
    {"{\"deleted_nodes\" => coalesce(deleted($.network_metadata.nodes.values().fqdn), "
     "[])}.toYaml()",
     "{\"network_metadata\": {\"nodes\": {\"node-3\": {\"fqdn\": \"renamed\"}}}}",
     "\"deleted_nodes: []\\n\"", "\"deleted_nodes:\\n  - node-3.lan\\n\"",
     "\"deleted_nodes: []\\n\""},
    {"{\"old_access\" => old($).get(\"access\", {})}.toYaml()", "{\"access\": 1}",
     "\"old_access: {}\\n\"", "\"old_access: {}\\n\"", "\"old_access: {}\\n\""},
    {"len($.plugins) > 0", "{\"plugins\": [1]}", "false", "true", "false"},
    {"changed($.murano)", "{\"murano\": 1}", "error: data.murano is undefined", "true",
     "error: data.murano is undefined"},
    {"($.storage.objects_ceph or $.storage.images_ceph) and changedAny($.storage,"
     " $.network_metadata.nodes.values().flatten().node_roles.flatten().where(\n   $ = 'controller'"
     " or $ = 'primary-controller'))",
     "{\"network_metadata\": {\"nodes\": {\"node-3\": {\"node_roles\": [\"controller\"]}}}}",
     "false", "true", "true"},
};

static void check_real_rows(void)
{
    for (size_t i = 0; i < sizeof real_rows / sizeof *real_rows; i++) {
        SCOPED_ARENA(mem);
        const struct value *base = json(&mem, sample), *again = json(&mem, sample);
        const struct value *now = value_merge(&mem, again, json(&mem, real_rows[i].over));
        struct data same = {base, again}, changed = {now, base}, first = {base, NULL};
        const char *yaql = real_rows[i].yaql;
        is_text(evaluate_yaql(&mem, yaql, &same), real_rows[i].same, "the same: %s", yaql);
        is_text(evaluate_yaql(&mem, yaql, &changed), real_rows[i].changed, "changed: %s", yaql);
        is_text(evaluate_yaql(&mem, yaql, &first), real_rows[i].first, "at first: %s", yaql);
    }
}

/* --- the real files --- */

static bool file_read(const char *path, struct buf *ret)
{
    char piece[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    while (f && (n = fread(piece, 1, sizeof piece, f)) > 0)
        buf_put(ret, piece, n);
    if (f)
        fclose(f);
    return f != NULL;
}

struct found {
    uint32_t conditions, dependencies, amounts, rest, bad;
};

static void found_check(struct found *f, const char *file, const char *key, struct str text)
{
    SCOPED_ARENA(mem);
    struct err e = {0};
    struct str expr;
    const struct expr *x;
    uint32_t *count = strcmp(key, "condition") == 0           ? &f->conditions
                      : strncmp(key, "cross-depend", 12) == 0 ? &f->dependencies
                      : strcmp(key, "amount") == 0            ? &f->amounts
                                                              : &f->rest;
    ++*count;
    int rc = import_yaql(&mem, text, &expr, &e);
    rc = rc < 0 ? rc : expr_compile(&mem, expr, NULL, &x, &e);
    f->bad += rc < 0;
    if (rc < 0)
        note("%s: %s: %s: %.*s", file, e.at, e.text, (int)text.n, text.s);
}

/* Every yaql_exp below a value, with the key that it is the value of. */
static void file_check(struct found *f, const char *file, const struct value *top)
{
    struct at {
        const struct value *v;
        const char *key;
    };
    VEC(struct at) todo = {0};
    vec_push(&todo, ((struct at){top, ""}));
    while (todo.n) {
        struct at a = todo.at[--todo.n];
        const struct value *yaql = value_get(a.v, "yaql_exp");
        if (yaql)
            found_check(f, file, a.key, value_as_str(yaql));
        for (uint32_t i = 0; value_is(a.v, VALUE_LIST) && i < a.v->n; i++)
            vec_push(&todo, ((struct at){&a.v->items[i], a.key}));
        for (uint32_t i = 0; value_is(a.v, VALUE_MAP) && i < a.v->n; i++)
            vec_push(&todo, ((struct at){&a.v->members[i].v, a.v->members[i].key}));
    }
    vec_done(&todo);
}

/* Some of the files have a key twice; the last counts, as it did there. */
static void duplicate_key(void *ctx, struct str key, uint32_t line, uint32_t last_line)
{
    (void)ctx, (void)key, (void)line, (void)last_line;
}

static void check_files(const char *data)
{
    const struct yaml_options options = {.duplicate = duplicate_key};
    SCOPED_ARENA(mem);
    struct found f = {0};
    uint32_t files = 0;
    const char *folder = arena_printf(&mem, "%s/data/fuel", data);
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        SCOPED_BUF(text);
        struct value *top = NULL;
        struct err e = {0};
        size_t n = strlen(entry->d_name);
        if (n < 5 || strcmp(entry->d_name + n - 5, ".yaml") != 0 ||
            !file_read(arena_printf(&mem, "%s/%s", folder, entry->d_name), &text))
            continue;
        files++;
        if (ok(yaml_parse(&mem, text.data, text.len, &options, &top, &e) == 0, "%s %s",
               entry->d_name, e.text))
            file_check(&f, entry->d_name, top);
    }
    if (d)
        closedir(d);
    if (!files) {
        skip("the real task files are not here");
        return;
    }
    note("%u files: %u conditions, %u dependencies, %u amounts, %u more", files, f.conditions,
         f.dependencies, f.amounts, f.rest);
    is_int(f.bad, 0, "every expression has a translation");
    is_int(f.conditions, 181, "conditions");
    is_int(f.dependencies, 4, "dependencies");
    is_int(f.amounts, 7, "amounts");
    is_int(f.rest, 14, "parameters");
}

/* --- recorded facts --- */

struct tally {
    uint32_t ran, passed, excepted, skipped;
};

static void tally_put(struct tally *t, bool good, const char *suite, const char *name,
                      const char *got)
{
    t->ran++;
    t->passed += ok(good, "%s %s: %s", suite, name, got);
}

static bool same_json(struct arena *mem, const char *got, const struct value *want)
{
    const struct value *v = json(mem, got);
    return v && want && value_equal(v, want);
}

/* "@suite" is what the file has under that name; {} and nothing: there is no old data. */
static const struct value *shared(const struct value *file, const struct value *in, const char *key)
{
    const struct value *v = value_get(in, key);
    return value_is(v, VALUE_STRING) ? value_get(file, key) : v;
}

static void change_diff(struct arena *mem, struct tally *t, const char *name,
                        const struct value *in, const struct value *out)
{
    const struct value *pair = value_get(in, "diff");
    struct value *old = value_map(mem), *now = value_map(mem);
    value_set(mem, old, "v", &pair->items[0]);
    value_set(mem, now, "v", &pair->items[1]);
    struct data d = {now, old};
    const char *added = evaluate_yaql(mem, "added($.v)", &d);
    const char *deleted = evaluate_yaql(mem, "deleted($.v)", &d);
    bool good = same_json(mem, added, value_get(out, "added")) &&
                same_json(mem, deleted, value_get(out, "deleted"));
    tally_put(t, good, "change_functions", name, arena_printf(mem, "%s %s", added, deleted));
}

static void change_case(struct arena *mem, struct tally *t, const struct value *file,
                        const struct value *c)
{
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    const char *name = value_as_text(value_get(c, "name"), "");
    if (value_get(in, "diff")) {
        change_diff(mem, t, name, in, out);
        return;
    }
    const char *condition = value_as_text(value_get(in, "condition"), NULL);
    struct data d = {condition ? value_get(file, "new") : shared(file, in, "new"),
                     shared(file, in, "old")};
    bool same = str_is(value_as_str(value_get(in, "old")), "same");
    if (condition)
        d.old = same ? value_copy(mem, d.now) : NULL;
    const char *text = condition ? condition : value_as_text(value_get(in, "expr"), "");
    const char *got = evaluate_yaql(mem, text, &d);
    tally_put(t, same_json(mem, got, value_get(out, condition ? "runs" : "value")),
              "change_functions", name, got);
    if (value_is(d.old, VALUE_MAP) && d.old->n == 0) { /* empty old data is as none */
        d.old = NULL;
        const char *again = evaluate_yaql(mem, text, &d);
        is_text(again, got, "change_functions %s without old data", name);
    }
}

/* Settings are the whole of the data, other models are members of it. */
static const struct value *legacy_data(struct arena *mem, const struct value *models)
{
    return value_merge(mem, models, value_get(models, "settings"));
}

static void legacy_case(struct arena *mem, struct tally *t, const struct value *file,
                        const struct value *c)
{
    const struct value *in = value_get(c, "in"), *out = value_get(c, "out");
    const char *name = value_as_text(value_get(c, "name"), "");
    const char *rewrite = value_as_text(value_get(in, "rewrite"), NULL);
    if (rewrite) {
        struct str got = import_legacy_rewrite(mem, str_of(rewrite));
        tally_put(t, str_eq(got, value_as_str(value_get(out, "text"))), "legacy_expression", name,
                  arena_strndup(mem, got.s, got.n));
        return;
    }
    struct data d = {legacy_data(mem, value_get(file, "models")), NULL};
    const char *want = value_as_text(value_get(out, "error"), NULL);
    struct str expr;
    struct err e = {0};
    int rc = import_legacy_expression(mem, value_as_str(value_get(in, "expr")),
                                      value_as_bool(value_get(in, "strict"), false), &expr, &e);
    const char *got = rc < 0 ? "ParseError" : evaluate(mem, expr, &d);
    bool good = want ? (rc < 0 ? rc == -ERR_SYNTAX && strcmp(want, got) == 0
                               : strcmp(want, "TypeError") == 0 && strcmp(got, "undefined") == 0)
                     : same_json(mem, got, value_get(out, "value"));
    tally_put(t, good, "legacy_expression", name, got);
}

static void check_facts(const char *data, const char *suite, uint32_t cases,
                        void (*check)(struct arena *mem, struct tally *t, const struct value *file,
                                      const struct value *c))
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct value *file = NULL;
    struct tally t = {0};
    if (!file_read(arena_printf(&mem, "%s/golden/fuel/%s.json", data, suite), &text)) {
        skip("the recorded facts are not here");
        return;
    }
    if (!ok(json_parse(&mem, text.data, text.len, NULL, &file, NULL) == 0, "%s can be read", suite))
        return;
    const struct value *list = value_get(file, "cases");
    for (uint32_t i = 0; i < list->n; i++)
        check(&mem, &t, file, &list->items[i]);
    note("%s: ran %u, passed %u, excepted %u, skipped %u", suite, t.ran, t.passed, t.excepted,
         t.skipped);
    is_int(t.ran, cases, "%s: every case", suite);
}

int main(int argc, char **argv)
{
    const char *data = getenv("ANNEAL_TEST_DATA");
    SCOPED_BUF(beside);
    buf_printf(&beside, "%s/../shared", argc > 1 ? argv[1] : ".");
    data = data ? data : beside.data;
#define TABLE(t) t, sizeof(t) / sizeof *(t)
    check_rows(import_yaql, TABLE(yaql_rows));
    check_errors(import_yaql, TABLE(yaql_errors));
    check_rows(import_legacy_condition, TABLE(legacy_rows));
    check_errors(import_legacy_condition, TABLE(legacy_errors));
#undef TABLE
    check_bounds(import_yaql, "(", "YAQL");
    check_bounds(import_yaql, "not ", "YAQL not");
    check_bounds(import_yaql, "[", "YAQL lists");
    check_bounds(import_yaql, "$.a.where(", "YAQL where");
    check_bounds(import_legacy_condition, "(", "legacy");
    check_bounds(import_legacy_condition, "not ", "legacy not");
    check_real_rows();
    check_files(data);
    check_facts(data, "change_functions", 14, change_case);
    check_facts(data, "legacy_expression", 21, legacy_case);
    return tap_done();
}
