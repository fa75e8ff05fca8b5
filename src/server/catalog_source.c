/* catalog_source.c - catalogs as the store keeps them, and what a new generation brings to the
 * engine
 *
 * A generation is stored as its files, so that a restart needs no directory and a plan can name
 * what it was made from.  Jigs and pools live in the engine across generations: a new one adds what
 * is missing and leaves switches and sizes that an operator may have set.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "server/server_i.h"

enum { CATALOGS_KEPT = 8 };

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

int catalog_from_row(const struct row_catalog *r, struct catalog **ret_c, struct err *e)
{
    SCOPED_ARENA(mem);
    struct value *files;
    struct catalog_report report = {0};
    int rc = json_parse(&mem, r->files.s, r->files.n, NULL, &files, e);
    if (rc >= 0)
        rc = catalog_from_files(files, r->id, &report, ret_c, e);
    catalog_report_done(&report);
    return rc < 0 ? err_wrap(e, "stored catalog %u", r->id) : 0;
}

/* --- older generations --- */

void catalog_forget(struct server *s)
{
    for (size_t i = 0; i < s->catalogs.n; i++)
        catalog_unref(s->catalogs.at[i]);
    vec_done(&s->catalogs);
    catalog_unref(s->catalog);
    s->catalog = NULL;
}

static int read_generation(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    return catalog_from_row(row, arg, e);
}

static void take_generation(struct server *s, size_t i)
{
    memmove(s->catalogs.at + i, s->catalogs.at + i + 1,
            (s->catalogs.n - i - 1) * sizeof *s->catalogs.at);
    s->catalogs.n--;
}

/* Few are ever asked for again; the one that nobody has asked for longest goes. */
static void keep_generation(struct server *s, struct catalog *c)
{
    if (s->catalogs.n >= CATALOGS_KEPT) {
        catalog_unref(s->catalogs.at[0]);
        take_generation(s, 0);
    }
    vec_push(&s->catalogs, c);
}

void catalog_replace(struct server *s, struct catalog *c)
{
    if (s->catalog)
        keep_generation(s, s->catalog);
    s->catalog = c;
}

static struct catalog *kept_generation(struct server *s, uint32_t number)
{
    for (size_t i = 0; i < s->catalogs.n; i++)
        if (s->catalogs.at[i]->number == number) {
            struct catalog *found = s->catalogs.at[i];
            take_generation(s, i);
            vec_push(&s->catalogs, found);
            return found;
        }
    return NULL;
}

int catalog_generation(struct server *s, uint32_t number, const struct catalog **ret_c,
                       struct err *e)
{
    struct catalog *found = number == 0 || (s->catalog && s->catalog->number == number) ? s->catalog
                                                                                        : NULL;
    if (!s->catalog) {
        err_set(e, ERR_REFUSED, "no catalog is loaded");
        return err_hint(e, "`anneal catalog load DIR` loads one");
    }
    if (!found)
        found = kept_generation(s, number);
    if (!found) {
        int rc = store_range(s->reader, ROWS_CATALOG, number, number, false, 1, read_generation,
                             &found, e);
        if (rc < 0)
            return rc;
        if (!found)
            return err_set(e, ERR_NOT_FOUND, "there is no generation %u of the catalog", number);
        keep_generation(s, found);
    }
    *ret_c = found;
    return 0;
}

/* --- what a new one brings --- */

int catalog_builtin(struct catalog **ret_c, struct err *e)
{
    struct catalog_file file = {str_of("barclamp.yaml"), str_of("barclamp: anneal\n")};
    struct catalog_source source = {&file, 1};
    struct catalog_report report = {0};
    int rc = catalog_load(&source, NULL, 0, &report, ret_c, e);
    catalog_report_done(&report);
    return rc;
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
        workers_capacity(s); /* new jigs get their workers' slots */
    return r;
}
