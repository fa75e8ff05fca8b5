/* data_lens.c - what each noderole sees by, as the catalog had it that it was last brought to
 *
 * Lenses are the inventory's, as texts, one for all noderoles that see alike; they are parsed here
 * when first looked for.  None ever goes while the server runs: there are as many as definitions
 * that roles had.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"

#include "base/log.h"

/* Into the place behind the last. */
static void parse_next(struct server *s)
{
    struct data *d = s->data;
    const struct inv_lens *from = &s->inv.lenses.at[d->lenses.n];
    struct data_lens *l = vec_add(&d->lenses);
    struct err e;
    if (from->text && lens_read(&d->lens_mem, str_of(from->text), &l->lens, &e) < 0) {
        log_err(LOG_ERROR, "data.lens", &e);
        l->lens = (struct lens){0}; /* it was checked when it was stored: somebody changed it */
    }
    for (uint32_t i = 0; i < l->lens.paths.n; i++)
        strmap_put(&d->wanted, l->lens.paths.at[i].keys[0], 1);
}

static void parse_all(struct server *s)
{
    while (s->data->lenses.n < s->inv.lenses.n)
        parse_next(s);
}

struct data_lens *data_lens_get(struct server *s, uint32_t number)
{
    parse_all(s);
    if (s->data->lenses.n == 0) /* nobody was ever bound */
        (void)vec_add(&s->data->lenses);
    return &s->data->lenses.at[number];
}

struct data_lens *data_lens_of(struct server *s, uint32_t noderole)
{
    return data_lens_get(s, s->inv.noderoles.at[noderole].lens);
}

bool data_wanted(struct server *s, struct sight_paths changed)
{
    parse_all(s);
    for (uint32_t i = 0; i < changed.n && s->data->wanted.live > 0; i++)
        if (changed.at[i].n == 0 || strmap_get(&s->data->wanted, changed.at[i].keys[0], NULL))
            return true;
    return false;
}

/* --- those that a plan brings --- */

static int lens_bring(struct server *s, const struct plan *p, struct str role, struct err *e)
{
    const struct catalog *c = s->builtin;
    int rc = p->catalog ? catalog_generation(s, p->catalog, &c, e) : 0;
    const struct catalog_role *r = rc < 0 ? NULL : catalog_role_get(c, role);
    if (!r)
        return rc < 0
                   ? rc
                   : err_set(e, ERR_UNKNOWN_NAME, "generation %u of the catalog has no role %.*s",
                             p->catalog, (int)role.n, role.s);
    struct row_lens row = {.id = r->lens_id, .tenant = 1, .realm = 1, .text = r->lens};
    if (inventory_add_lens(&s->inv, r->lens_id, r->lens))
        commit_row(s->commit, ROWS_LENS, ROW_INSERT, &row);
    return 0;
}

int data_plan_lenses(struct server *s, const struct plan *p, struct err *e)
{
    uint64_t last = 0; /* mostly the same as of the one before */
    int rc = 0;
    for (uint32_t i = 0; i < p->n_noderoles && rc >= 0; i++) {
        const struct plan_noderole *n = &p->noderoles[i];
        if (n->lens != last && !inventory_lens(&s->inv, n->lens))
            rc = lens_bring(s, p, n->role, e);
        last = n->lens;
    }
    for (uint32_t i = 0; i < p->n_changes && rc >= 0; i++) {
        const struct plan_change *c = &p->changes[i];
        if ((c->what & PLAN_C_LENS) && !inventory_lens(&s->inv, c->lens))
            rc = lens_bring(s, p, str_of(view_role_name(s, c->noderole)), e);
    }
    return rc;
}

/* --- asked by others --- */

int data_check_noderole(struct server *s, uint32_t noderole, const struct value *v, struct err *e)
{
    return lens_check(&data_lens_of(s, noderole)->lens, v, e);
}

bool data_attribute_at(struct server *s, uint32_t noderole, struct sight_path path)
{
    const struct sight_lens *l = &data_lens_of(s, noderole)->lens.sight;
    for (uint32_t i = 0; i < l->n_attributes; i++) {
        struct sight_path at = l->attributes[i].path;
        uint32_t same = 0;
        while (at.n == path.n && same < at.n && str_eq(at.keys[same], path.keys[same]))
            same++;
        if (at.n == path.n && same == at.n)
            return true;
    }
    return false;
}
