/* bind_scene.h - a catalog, a fake world and what was bound last, for tests of binding */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BIND_SCENE_H
#define TESTS_BIND_SCENE_H

#include "fake_world.h"

struct scene {
    struct catalog *cat;
    struct fake_world world;
    struct err err;
    struct planner_steps *steps;
};

__attribute__((unused)) static void scene_open(struct scene *s, const char *text, uint32_t nodes)
{
    *s = (struct scene){.cat = fake_catalog(text)};
    fake_init(&s->world, s->cat, nodes);
}

__attribute__((unused)) static void scene_close(struct scene *s)
{
    planner_steps_free(s->steps);
    fake_done(&s->world);
    catalog_unref(s->cat);
}

/* Binds "role@1 role@2 ..." (node numbers) in a deployment; the number of new noderoles, or -code.
 */
__attribute__((unused)) static int scene_bind(struct scene *s, uint32_t deployment,
                                              const char *items)
{
    struct bind_item list[32];
    struct bind_request req = {deployment, list, 0};
    struct plan *p = NULL;
    char copy[512], *at = copy;

    snprintf(copy, sizeof copy, "%s", items);
    for (char *word; (word = strsep(&at, " "));) {
        char *node = strchr(word, '@');
        list[req.n_items++] = (struct bind_item){
            {word, (size_t)(node - word)}, (uint32_t)atoi(node + 1), NULL};
    }
    planner_steps_free(s->steps);
    s->steps = NULL;
    int r = planner_bind(s->cat, &s->world.face, &req, &p, &s->steps, &s->err);
    if (r < 0)
        return r;
    int n = (int)p->n_noderoles;
    fake_apply(&s->world, p);
    plan_free(p);
    return n;
}

__attribute__((unused)) static uint32_t scene_edges(const struct scene *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->world.noderoles.n; i++)
        n += (uint32_t)s->world.noderoles.at[i].parents.n;
    return n;
}

/* "role@node<-parent@node,parent@node" of the live noderole of a role on a node, parents by id. */
__attribute__((unused)) static const char *scene_show(struct scene *s, const char *role,
                                                      uint32_t node)
{
    struct buf b = {0};
    for (size_t i = 0; i < s->world.noderoles.n; i++) {
        const struct fake_noderole *n = &s->world.noderoles.at[i];
        if (strcmp(n->role, role) || n->node != node)
            continue;
        buf_printf(&b, "%s@n%u<-", role, node);
        for (uint32_t id = 1, put = 0; id <= s->world.noderoles.n; id++)
            for (size_t k = 0; k < n->parents.n; k++)
                if (n->parents.at[k] == id)
                    buf_printf(&b, "%s%s@n%u", put++ ? "," : "", s->world.noderoles.at[id - 1].role,
                               s->world.noderoles.at[id - 1].node);
    }
    const char *copy = arena_strdup(&s->world.mem, b.data ? b.data : "");
    buf_done(&b);
    return copy;
}

#endif
