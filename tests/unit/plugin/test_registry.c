/* test_registry.c - which plugin a task is for */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "plugin/plugin.h"

static struct plugin_text text_of(struct arena *a, const char *dir, const char *name,
                                  const char *kind, const char *actions, const char *types)
{
    const char *text = arena_printf(a,
                                    "plugin: %s\ntype: %s\nversion: '1'\nprotocol: 1\n"
                                    "executable: x\nactions: {%s}\ntypes: {%s}\n",
                                    name, kind, actions, types);
    return (struct plugin_text){.dir = str_of(dir), .text = str_of(text)};
}

static void dispatch(const struct plugins *all)
{
    static const struct {
        const char *plugin, *action, *type;
        const char *found, *why;
    } cases[] = {
        {"", "create", "aws", "fog", NULL},
        {"", "create", "rackspace", "fog", NULL},
        {"", "create", "dirs", "dirs", NULL},
        {"", "install", "chef", "chef", NULL},
        {"", "install", "aws", NULL, "no plugin serves automator type \"aws\""},
        {"", "bake", "aws", NULL, "no type of plugin is asked to \"bake\""},
        {"", "create", "", NULL, "which type of provider"},
        {"", "confirm", "dirs", NULL, "plugin dirs has no action \"confirm\""},
        {"chef", "bake", "", "chef", NULL},
        {"chef", "bakes", "", NULL, "no action \"bakes\""},
        {"chf", "bake", "", NULL, "no plugin \"chf\""},
        {"twice", "create", "", NULL, "no plugin \"twice\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plugin_ask ask = {str_of(cases[i].plugin), str_of(cases[i].action),
                                 str_of(cases[i].type)};
        struct plugin_match m = {0};
        struct err e = {0};
        int rc = plugins_match(all, &ask, &m, &e);
        if (cases[i].found)
            ok(rc == 0 && str_is(m.plugin->name, cases[i].found) &&
                   str_is(m.action->name, cases[i].action) && !m.type == !*cases[i].type,
               "\"%s\" %s of %s: %s", cases[i].plugin, cases[i].action, cases[i].type, e.text);
        else
            ok(rc < 0 && strstr(e.text, cases[i].why), "\"%s\" %s of %s: %s", cases[i].plugin,
               cases[i].action, cases[i].type, e.text);
    }
}

int main(void)
{
    SCOPED_ARENA(mem);
    struct err gone = {0};
    err_set(&gone, ERR_IO, "cannot read it");
    struct plugin_text texts[] = {
        text_of(&mem, "/a/fog", "fog", "provider", "create: {}, delete: {}",
                "rackspace: {}, aws: {}"),
        text_of(&mem, "/a/dirs", "dirs", "provider", "create: {}", "dirs: {}"),
        text_of(&mem, "/a/chef", "chef", "automator", "install: {}, bake: {}",
                "chef: {}, dirs: {}"),
        text_of(&mem, "/a/one", "twice", "power", "on: {}", ""),
        text_of(&mem, "/b/two", "twice", "power", "on: {}", ""),
        text_of(&mem, "/b/x", "x", "wlm", "drain: {}", "slurm: {}"),
        text_of(&mem, "/b/y", "y", "wlm", "drain: {}", "slurm: {}"),
        {.dir = str_of("/b/broken"), .text = str_of("plugin: 7\n")},
        {.dir = str_of("/b/gone"), .unreadable = &gone},
    };
    const struct plugins *all = plugins_read(&mem, texts, sizeof texts / sizeof *texts);
    is_int(all->n, 3, "those that can be used");
    is_text(all->at[0]->name.s, "chef", "by name");
    is_int(all->n_faults, 6, "and those that cannot");
    bool name = false, type = false, broken = false, unread = false;
    for (uint32_t i = 0; i < all->n_faults; i++) {
        const struct plugin_fault *f = &all->faults[i];
        name |= str_is(f->dir, "/a/one") &&
                strstr(f->err.text, "the name twice is claimed by /b/two");
        type |= str_is(f->dir, "/b/y") && strstr(f->err.text, "wlm type slurm is claimed by /b/x");
        broken |= str_is(f->dir, "/b/broken") && strstr(f->err.at, "plugin.yaml:1:9");
        unread |= str_is(f->dir, "/b/gone") && f->err.code == ERR_IO;
    }
    ok(name, "two of one name");
    ok(type, "two that serve the same type");
    ok(broken, "one that is wrong");
    ok(unread, "one that cannot be read");
    dispatch(all);
    const struct plugins *none = plugins_read(&mem, NULL, 0);
    const struct plugin *p;
    struct err e = {0};
    ok(plugins_find(none, str_of("a"), &p, &e) == -ERR_UNKNOWN_NAME &&
           strstr(e.hint, "plugin_path"),
       "where there is none, the hint says so");
    return tap_done();
}
