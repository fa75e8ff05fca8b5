/* catalog_source.c - catalogs as the store keeps them, and what a new generation brings to the
 * engine
 *
 * A generation is stored as its files, so that a restart needs no directory and a plan can name
 * what it was made from.  Jigs and pools live in the engine across generations: a new one adds what
 * is missing and leaves switches and sizes that an operator may have set.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server_i.h"

int catalog_from_files(const struct value *files, uint32_t number, struct catalog_report *report,
                       struct catalog **ret_c, struct err *e)
{
    SCOPED_ARENA(mem);
    if (!value_is(files, VALUE_MAP))
        return err_set(e, ERR_INVALID, "a catalog is a map of paths to texts");
    struct catalog_file *list = arena_new(&mem, struct catalog_file, files->n ? files->n : 1);
    for (uint32_t i = 0; i < files->n; i++) {
        const struct member *m = &files->members[i];
        if (m->v.kind != VALUE_STRING) {
            err_set(e, ERR_INVALID, "the text of a catalog file must be a string");
            return err_at(e, "/files/%s", m->key);
        }
        list[i].path = (struct str){m->key, m->key_n};
        list[i].text = (struct str){m->v.s, m->v.n};
    }
    struct catalog_source source = {list, files->n};
    return catalog_load(&source, NULL, number, report, ret_c, e);
}

static int adopt_jig(struct server *s, const struct catalog_jig *j, const struct commit_note *note,
                     struct err *e)
{
    if (strmap_get(&s->inv.jig_by_name, j->name, NULL))
        return 0;
    struct row_jig fixed = {.name = j->name};
    struct commit_note n = *note;
    uint32_t id = s->inv.jigs.n ? (uint32_t)s->inv.jigs.n : 1;
    struct event ev = {.kind = EVENT_JIG_SET, .id = id, .flag = j->active};
    n.fixed = &fixed;
    int r = server_apply(s, &ev, &n, NULL, e);
    if (r >= 0)
        inventory_add_jig(&s->inv, id, j->name);
    return r;
}

static int adopt_pool(struct server *s, const struct catalog_pool *p,
                      const struct commit_note *note, struct err *e)
{
    if (strmap_get(&s->inv.pool_by_name, p->name, NULL))
        return 0;
    struct row_pool fixed = {.name = p->name};
    struct commit_note n = *note;
    struct event ev = {.kind = EVENT_POOL_SET, .id = anneal_pool_end(s->engine), .n = p->size};
    n.fixed = &fixed;
    int r = server_apply(s, &ev, &n, NULL, e);
    if (r >= 0)
        inventory_add_pool(&s->inv, ev.id, p->name, (struct str){"", 0});
    return r;
}

int catalog_adopt(struct server *s, struct catalog *c, const struct commit_note *note,
                  struct err *e)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < c->n_jigs; i++)
        r = adopt_jig(s, &c->jigs[i], note, e);
    for (uint32_t i = 0; r >= 0 && i < c->n_pools; i++)
        r = adopt_pool(s, &c->pools[i], note, e);
    if (r >= 0)
        dispatch_capacity(s); /* new jigs get their workers' slots */
    return r;
}
