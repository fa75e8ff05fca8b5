/* test_fields.c - fields of providers: who says them, which are secret, which are missing
 *
 * The first case is Coopr's own (ProviderTypeTest): user fields and an admin's that may be
 * overridden count, all else does not, sensitive ones apart.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "plugin/plugin.h"

static const char descriptor[] =
    "plugin: p\ntype: provider\nversion: '1'\nprotocol: 1\nexecutable: x\nactions: {create: {}}\n"
    "types:\n"
    "  p:\n"
    "    fields:\n"
    "      admin: {region: {override: true}, account: {}, url: {override: true, sensitive: true}}\n"
    "      user: {keyname: {}, key: {sensitive: true}, size: {type: number, default: 10},\n"
    "             on: {type: checkbox}, zone: {type: select, options: [a, 1]}}\n"
    "    required: {admin: [[account], [region]], user: [[keyname, key], [zone]]}\n";

static const struct value *parsed(struct arena *a, const char *json)
{
    struct value *v = NULL;
    return json_parse(a, json, strlen(json), NULL, &v, NULL) < 0 ? NULL : v;
}

static bool same(struct arena *a, const struct value *v, const char *json)
{
    SCOPED_BUF(b);
    json_write_canonical(&b, v);
    bool good = value_equal(v, parsed(a, json));
    if (!good)
        note("got %s", b.data);
    return good;
}

static void splitting(struct arena *mem, const struct plugin_type *t)
{
    const struct value *given = parsed(
        mem, "{\"key\":\"keycontents\",\"url\":\"abc.com/api\",\"keyname\":\"dev\",\"region\":"
             "\"iad\",\"account\":\"asdf\",\"boguskey\":\"bogusval\"}");
    struct plugin_split s = plugin_fields_split(mem, t, false, given);
    ok(same(mem, s.plain, "{\"keyname\":\"dev\",\"region\":\"iad\"}"), "of a request: plain");
    ok(same(mem, s.sensitive, "{\"key\":\"keycontents\",\"url\":\"abc.com/api\"}"), "sensitive");
    ok(same(mem, s.dropped, "[\"account\",\"boguskey\"]"), "and what does not count");
    s = plugin_fields_split(mem, t, true, given);
    ok(same(mem, s.plain, "{\"region\":\"iad\",\"account\":\"asdf\"}"), "of an admin: plain");
    ok(same(mem, s.sensitive, "{\"url\":\"abc.com/api\"}"), "sensitive");
    ok(same(mem, s.dropped, "[\"key\",\"keyname\",\"boguskey\"]"), "and what users say");
    s = plugin_fields_split(mem, t, false, NULL);
    ok(!s.plain->n && !s.sensitive->n && !s.dropped->n, "nothing comes to nothing");
}

static void values(struct arena *mem, const struct plugin_type *t)
{
    static const struct {
        const char *given, *why; /* NULL: it is right */
    } cases[] = {
        {"{\"region\":\"x\",\"account\":7,\"size\":2.5,\"on\":false,\"zone\":1}", NULL},
        {"{\"size\":null,\"key\":null}", NULL},
        {"{\"nobody\":[1]}", NULL},
        {"{\"size\":\"7\"}", "\"size\" must be a number"},
        {"{\"on\":\"yes\"}", "\"on\" must be true or false"},
        {"{\"region\":[1]}", "\"region\" must be text"},
        {"{\"zone\":\"c\"}", "none of its options"},
        {"{\"key\":\"abc\"}", "at least 4"},
        {"{\"key\":12345}", "must be text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        int rc = plugin_fields_check(t, parsed(mem, cases[i].given), &e);
        ok(cases[i].why ? rc == -ERR_INVALID && strstr(e.text, cases[i].why) : rc == 0, "%s: %s",
           cases[i].given, e.text);
        ok(!cases[i].why || !strncmp(e.at, "/fields/", 8), "at the field: %s", e.at);
    }
    struct err e = {0};
    (void)plugin_fields_check(t, parsed(mem, "{\"url\":\"qwy\"}"), &e);
    ok(!strstr(e.text, "qwy"), "what is refused is not shown");
}

static void completeness(struct arena *mem, const struct plugin_type *t)
{
    static const struct {
        const char *has, *lacks; /* NULL: complete */
        bool admins;
    } cases[] = {
        {"{\"account\":\"a\",\"zone\":\"a\"}", NULL, false},
        {"{\"region\":\"a\",\"keyname\":\"n\",\"key\":\"***\"}", NULL, false},
        {"{\"account\":\"a\"}", NULL, true},
        {"{}", "needs account, or region", true},
        {"{\"account\":\"a\",\"keyname\":\"n\"}", "needs key, or zone", false},
        {"{\"account\":\"a\"}", "needs keyname and key, or zone", false},
        {"{}", "needs account, or region; and keyname and key, or zone", false},
        {"{\"account\":\"\",\"zone\":null}", "needs account, or region; and keyname", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        int rc = plugin_fields_complete(t, cases[i].admins, parsed(mem, cases[i].has), &e);
        ok(cases[i].lacks ? rc < 0 && strstr(e.text, cases[i].lacks) : rc == 0, "%s of %s: %s",
           cases[i].has, cases[i].admins ? "admins" : "all", e.text);
    }
    ok(same(mem, plugin_fields_defaults(mem, t), "{\"size\":10}"), "defaults");
}

int main(void)
{
    SCOPED_ARENA(mem);
    const struct plugin *p = NULL;
    struct err e = {0};
    if (!ok(plugin_read(&mem, str_of("/p"), str_of(descriptor), &p, &e) == 0, "%s", e.text))
        return tap_done();
    const struct plugin_type *t = plugin_type_get(p, str_of("p"));
    splitting(&mem, t);
    values(&mem, t);
    completeness(&mem, t);
    return tap_done();
}
