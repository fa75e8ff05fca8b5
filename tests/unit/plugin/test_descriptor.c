/* test_descriptor.c - plugin.yaml: what is read, and where and why it is refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "plugin/plugin.h"

#define HEAD    "plugin: dirs\ntype: provider\nversion: '1.0'\nprotocol: 1\nexecutable: bin/dirs\n"
#define ACTIONS "actions: {create: {}}\n"

static void whole(void)
{
    static const char text[] = HEAD
        "description: machines\ndry_run: true\n"
        "actions:\n  create: {timeout: 2m, repeat: token, probe: find}\n  find: {timeout: 10}\n"
        "  delete:\n"
        "types:\n  dirs:\n    fields:\n"
        "      admin: {root: {label: Where, default: /srv, override: true}}\n"
        "      user: {key: {type: password}, zone: {type: select, options: [a, b]},\n"
        "             shown: {type: password, sensitive: false}}\n"
        "    required: {admin: [[root]], user: [[key], [zone, shown]]}\n"
        "    resources: {keys: {format: file, permissions: '0400'}, boxes: {format: "
        "archive}}\n"
        "  other: {}\n";
    SCOPED_ARENA(mem);
    const struct plugin *p = NULL;
    struct err e = {0};
    is_int(plugin_read(&mem, str_of("/p/dirs"), str_of(text), &p, &e), 0, "a whole descriptor %s",
           e.text);
    if (!p)
        return;
    is_text(p->name.s, "dirs", "its name");
    is_int(p->kind, PLUGIN_PROVIDER, "its type");
    ok(p->dry_run && str_is(p->executable, "bin/dirs") && str_is(p->dir, "/p/dirs"),
       "its program");
    is_int(p->n_actions, 3, "its actions");
    const struct plugin_action *create = plugin_action_get(p, str_of("create"));
    ok(create->timeout_ms == 120000 && create->repeat == REPEAT_TOKEN &&
           str_is(create->probe, "find"),
       "an action with all there is");
    is_int(plugin_action_get(p, str_of("find"))->timeout_ms, 10000, "a bare number is seconds");
    ok(!plugin_action_get(p, str_of("delete"))->timeout_ms, "an action with nothing");
    const struct plugin_type *t = plugin_type_get(p, str_of("dirs"));
    is_int(t->n_fields, 4, "fields of admins and of users");
    ok(plugin_field_get(t, str_of("root"))->by_admin &&
           !plugin_field_get(t, str_of("key"))->by_admin,
       "who says them");
    ok(plugin_field_get(t, str_of("key"))->sensitive &&
           !plugin_field_get(t, str_of("shown"))->sensitive,
       "a password is sensitive unless it is said otherwise");
    ok(t->n_required[1] == 1 && t->n_required[0] == 2 && t->required[0][1].n == 2, "required sets");
    is_int(plugin_resource_get(t, str_of("keys"))->mode, 0400, "permissions of a resource");
    ok(plugin_resource_get(t, str_of("boxes"))->archive, "an archive");
    ok(plugin_type_get(p, str_of("other")) && !plugin_type_get(p, str_of("third")), "types");
}

static void refusals(void)
{
#define FIELD(text) HEAD ACTIONS "types: {t: {fields: {" text "}}}\n"
    static const struct {
        const char *text, *at, *what, *hint;
    } cases[] = {
        {"plugin: [\n", ":", "", ""},
        {"- a\n", "1:1", "must be a map, not list", ""},
        {"", "plugin.yaml", "needs \"plugin\"", ""},
        {HEAD, "1:1", "needs \"actions\"", ""},
        {HEAD "actions: {}\n", "6:10", "empty", ""},
        {HEAD ACTIONS "action: 1\n", "7:1", "no \"action\"", "did you mean actions?"},
        {HEAD ACTIONS "quite-another: 1\n", "7:1", "no \"quite-another\"", "it has plugin type"},
        {"plugin: Dirs\n", "1:9", "no name for a plugin", "lower-case"},
        {"plugin: 7\n", "1:9", "must be text, not integer", "quotes"},
        {"plugin: d\ntype: provder\n", "2:7", "must be provider, automator",
         "did you mean provider?"},
        {"plugin: d\nprotocol: 2\n", "2:11", "not known", "protocol: 1"},
        {"plugin: d\nversion: 1.0\n", "2:10", "must be text", "quotes"},
        {"plugin: d\nexecutable: /bin/sh\n", "2:13", "inside", "run.sh"},
        {"plugin: d\nexecutable: a/../../b\n", "2:13", "inside", ""},
        {"plugin: d\nexecutable: ..\n", "2:13", "inside", ""},
        {HEAD "actions: {create: {probe: look}}\n", "6:27", "no action \"look\"", ""},
        {HEAD "actions: {create: {probe: create}}\n", "6:27", "cannot probe", ""},
        {HEAD "actions: {create: {timeout: soon}}\n", "6:29", "a time above 0", ""},
        {HEAD "actions: {create: {timeout: 0}}\n", "6:29", "a time above 0", ""},
        {HEAD "actions: {create: {repeat: twice}}\n", "6:28", "safe, token or once", ""},
        {HEAD "actions: {'a b': {}}\n", "6:11", "no name for an action", "letters"},
        {FIELD("user: {a: {type: txt}}"), "7:39", "must be text, password", "did you mean text?"},
        {FIELD("user: {a: {type: select}}"), "7:32", "needs options", ""},
        {FIELD("user: {a: {override: true}}"), "7:43", "only an admin's", ""},
        {FIELD("user: {a: {type: password, default: x}}"), "7:58", "everybody would know", ""},
        {FIELD("user: {a: {type: number, default: x}}"), "7:56", "must be a number", ""},
        {FIELD("user: {a: {options: [x], default: y}}"), "7:56", "none of its options", ""},
        {FIELD("user: {a: {options: []}}"), "7:42", "empty", ""},
        {FIELD("user: {a: {}}, admin: {a: {}}"), "7:45", "twice", ""},
        {FIELD("usr: {}"), "7:22", "no \"usr\"", "did you mean user?"},
        {HEAD ACTIONS "types: {t: {required: {user: [[x]]}}}\n", "7:23", "no field \"x\"", ""},
        {HEAD ACTIONS "types: {t: {fields: {user: {u: {}}}, required: {admin: [[u]]}}}\n", "7:48",
         "user's field", ""},
        {HEAD ACTIONS "types: {t: {required: {user: [[]]}}}\n", "7:31", "empty", ""},
        {HEAD ACTIONS "types: {t: {resources: {k: {format: zip}}}}\n", "7:37", "file or archive",
         ""},
        {HEAD ACTIONS "types: {t: {resources: {k: {}}}}\n", "7:28", "needs \"format\"", ""},
        {HEAD ACTIONS "types: {t: {resources: {k: {format: file, permissions: '0999'}}}}\n", "7:56",
         "octal", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(mem);
        const struct plugin *p = NULL;
        struct err e = {0};
        int rc = plugin_read(&mem, str_of("/p"), str_of(cases[i].text), &p, &e);
        if (!ok(rc < 0 && strstr(e.at, cases[i].at) && !strncmp(e.at, "/p/plugin.yaml", 14) &&
                    strstr(e.text, cases[i].what) && strstr(e.hint, cases[i].hint) && !p,
                "case %zu is refused at %s: %s", i, cases[i].at, cases[i].what))
            note("%d at %s: %s (%s)", rc, e.at, e.text, e.hint);
    }
}

static void limits(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    const struct plugin *p = NULL;
    struct err e = {0};
    for (int i = 0; i < 30000; i++)
        buf_puts(&b, "# a comment\n");
    is_int(plugin_read(&mem, str_of("/p"), buf_str(&b), &p, &e), -ERR_TOO_LARGE, "a large one");
    buf_clear(&b);
    buf_puts(&b, HEAD "actions: {");
    for (int i = 0; i <= PLUGIN_MAX_LIST; i++)
        buf_printf(&b, "%sa%d: {}", i ? ", " : "", i);
    buf_puts(&b, "}\n");
    ok(plugin_read(&mem, str_of("/p"), buf_str(&b), &p, &e) < 0 && strstr(e.text, "more than 200"),
       "one with too many actions");
    has_text(e.line, "a0: {}", "the line is shown");
}

int main(void)
{
    whole();
    refusals();
    limits();
    for (int i = 0; i < PLUGIN_KIND_COUNT; i++)
        ok(strcmp(plugin_kind_name((enum plugin_kind)i), "unknown"), "type %d has a name", i);
    for (int i = 0; i < FIELD_TYPE_COUNT; i++)
        ok(strcmp(plugin_field_type_name((enum plugin_field_type)i), "unknown"),
           "field type %d has a name", i);
    return tap_done();
}
