/* test_hook_twice.c - every hook of the catalogs that come with us, run twice: the same state
 *
 * Arguments are directories of catalogs.  Each is loaded into a real server, its roles are bound
 * where they can be, and every hook of every role is run for every noderole (or node) that it could
 * be run for, twice in a row.  After the second time no store and no data differ.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <sys/stat.h>

#include "server/hooks_i.h"
#include "server_rig.h"

static int hooks_run;

/* Files below a directory, as a catalog's. */
static void files_read(struct rig *g, const char *dir, const char *name, struct value *ret)
{
    DIR *d = opendir(dir);
    for (struct dirent *at; d && (at = readdir(d));) {
        char *path = fs_join(dir, at->d_name);
        const char *relative = *name ? arena_printf(&g->mem, "%s/%s", name, at->d_name)
                                     : arena_strdup(&g->mem, at->d_name);
        struct stat st;
        SCOPED_BUF(text);
        struct err e;
        if (at->d_name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                files_read(g, path, relative, ret);
            else if (fs_read(path, 1 << 20, &text, &e) >= 0)
                value_set(&g->mem, ret, relative, value_str(&g->mem, buf_str(&text)));
        }
        free(path);
    }
    if (d)
        closedir(d);
}

static bool load(struct rig *g, const char *dir)
{
    struct value *body = value_map(&g->mem), *files = value_map(&g->mem);
    struct server_call c = {.mem = &g->mem, .who = &g->who, .body = body};
    files_read(g, dir, "", files);
    value_set(&g->mem, body, "files", files);
    g->reply = (struct server_reply){0};
    int r = server_catalog_load(g->server, &c, &g->reply, &g->err);
    rig_settle(g);
    return r >= 0;
}

/* All that hooks can change. */
static void state_write(struct rig *g, struct buf *b)
{
    const struct server *s = g->server;
    buf_clear(b);
    for (uint32_t id = 1; id < s->inv.noderoles.n; id++)
        buf_printf(b, "%u %s\n", id,
                   s->inv.noderoles.at[id].system ? s->inv.noderoles.at[id].system : "");
    for (uint32_t i = 0; i < s->catalog->n_roles; i++) {
        uint32_t rev;
        const struct value *store = hook_store_of(g->server, s->catalog->roles[i].name, &rev);
        buf_printf(b, "%s ", s->catalog->roles[i].name.s);
        if (store)
            json_write(b, store, 0);
        buf_puts(b, "\n");
    }
}

static void twice(struct rig *g, const struct hook *h, const struct hook_subject *u)
{
    SCOPED_BUF(once);
    SCOPED_BUF(again);
    SCOPED_ARENA(mem);
    uint64_t failures = g->server->hooks->figures.failures;
    hook_perform(g->server, h, u);
    hook_settle(g->server);
    state_write(g, &once);
    hook_perform(g->server, h, u);
    hook_settle(g->server);
    state_write(g, &again);
    hooks_run++;
    is_text(again.data, once.data, "%s of %s, twice", hook_event_name(hook_event_of(h)),
            hook_subject_name(g->server, u, &mem));
    is_int((int64_t)g->server->hooks->figures.failures, (int64_t)failures, "and neither fails");
}

static void all_of_role(struct rig *g, const struct catalog_role *r,
                        const struct catalog_hooks *hooks)
{
    struct server *s = g->server;
    for (int event = 0; hooks && event < HOOK_EVENT_COUNT; event++) {
        bool node = HOOK_OF_NODE >> event & 1;
        if (!hooks->at[event])
            continue;
        if (node) {
            SCOPED_ARENA(mem);
            struct value *v = view_node(s, &mem, 1), *was = value_copy(&mem, v);
            value_put_text(&mem, was, "note", "before");
            twice(g, hooks->at[event],
                  &(struct hook_subject){.role = r,
                                         .node = 1,
                                         .after = v,
                                         .before = was,
                                         .changed = hook_changed_fields(was, v, &mem)});
            continue;
        }
        for (uint32_t id = 1; id < s->inv.noderoles.n; id++) {
            struct noderole_view v;
            if (hook_role_of(s, id) == r && anneal_noderole(s->engine, id, &v))
                twice(g, hooks->at[event],
                      &(struct hook_subject){.role = r,
                                             .noderole = id,
                                             .node = v.node,
                                             .deployment = s->inv.noderoles.at[id].deployment});
        }
    }
}

static void test_catalog(const char *dir)
{
    struct rig g;
    rig_open(&g);
    if (!load(&g, dir)) {
        printf("# %s is not one to load: %s\n", dir, g.err.text);
        rig_close(&g);
        return;
    }
    rig_node(&g, "n1.t", ", 'addresses': ['10.0.0.1'], 'labels': {'rack': 'r1'}");
    rig_node(&g, "n2.t", "");
    const struct catalog *c = g.server->catalog;
    for (uint32_t i = 0; i < c->n_roles; i++) /* as far as they can be: others are needed or not */
        (void)rig_call(
            &g, server_deployment_bind,
            (struct rig_ask){.id = "system",
                             .body = arena_printf(&g.mem,
                                                  "{'bindings': [{'role': '%s', 'nodes': 'n*.t'}]}",
                                                  c->roles[i].name.s)});
    rig_settle(&g);
    for (uint32_t i = 0; i < c->n_roles; i++) {
        all_of_role(&g, &c->roles[i], catalog_role_shared_hooks(c, &c->roles[i]));
        all_of_role(&g, &c->roles[i], c->roles[i].hooks);
    }
    rig_settle(&g);
    rig_close(&g);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        test_catalog(argv[i]);
    ok(hooks_run >= 12, "%d hooks ran twice", hooks_run);
    return tap_done();
}
