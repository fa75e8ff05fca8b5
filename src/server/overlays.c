/* overlays.c - piles of versions: memory of the newest, rows of all */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/overlays.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

struct pile {
    uint8_t scope;
    char *barclamp, *graph; /* graph NULL: the pile is gone */
    uint32_t deployment;
    VEC(struct overlay) at; /* by number, without gaps, the first may be above 1 */
};
struct overlays {
    VEC(struct pile) piles;
    struct strmap by_key;
    uint32_t last_id;
    overlay_row_f *row;
    void *arg;
};

/* --- memory --- */

static struct str str_dup(struct str s)
{
    return (struct str){xstrndup(s.n ? s.s : "", s.n), s.n};
}

static void str_drop(struct str *s)
{
    free((char *)(uintptr_t)s->s);
    *s = (struct str){0};
}

static void version_drop(struct overlay *v)
{
    str_drop(&v->author);
    str_drop(&v->message);
    str_drop(&v->text);
}

static void pile_drop(struct pile *p)
{
    for (size_t i = 0; i < p->at.n; i++)
        version_drop(&p->at.at[i]);
    vec_done(&p->at);
    free(p->barclamp);
    free(p->graph);
    *p = (struct pile){0};
}

struct overlays *overlays_new(overlay_row_f *row, void *arg)
{
    struct overlays *all = xcalloc(1, sizeof *all);
    all->row = row;
    all->arg = arg;
    return all;
}

void overlays_free(struct overlays *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->piles.n; i++)
        pile_drop(&all->piles.at[i]);
    vec_done(&all->piles);
    strmap_done(&all->by_key);
    free(all);
}

/* --- finding --- */

/* Neither names nor graphs have a slash in them. */
static void key_write(struct buf *b, const struct overlay_key *k)
{
    if (k->scope == OVERLAY_DEPLOYMENT) {
        buf_puts(b, "d/");
        buf_u64(b, k->deployment);
    } else {
        buf_puts(b, "b/");
        buf_put(b, k->barclamp.s, k->barclamp.n);
    }
    buf_putc(b, '/');
    buf_put(b, k->graph.s, k->graph.n);
}

static struct pile *pile_get(const struct overlays *all, const struct overlay_key *k)
{
    SCOPED_BUF(key);
    uintptr_t i;

    key_write(&key, k);
    return strmap_get(&all->by_key, buf_str(&key), &i) ? &all->piles.at[i] : NULL;
}

static struct pile *pile_make(struct overlays *all, const struct overlay_key *k)
{
    struct pile *p = pile_get(all, k);
    SCOPED_BUF(key);

    if (p)
        return p;
    key_write(&key, k);
    strmap_put(&all->by_key, buf_str(&key), all->piles.n);
    p = vec_add(&all->piles);
    p->scope = k->scope;
    p->barclamp = xstrndup(k->barclamp.n ? k->barclamp.s : "", k->barclamp.n);
    p->graph = xstrndup(k->graph.s, k->graph.n);
    p->deployment = k->deployment;
    return p;
}

uint32_t overlays_versions(const struct overlays *all, const struct overlay_key *k,
                           const struct overlay **ret_first)
{
    const struct pile *p = pile_get(all, k);
    if (p)
        *ret_first = p->at.at;
    return p ? (uint32_t)p->at.n : 0;
}

const struct overlay *overlays_newest(const struct overlays *all, const struct overlay_key *k)
{
    const struct overlay *first;
    uint32_t n = overlays_versions(all, k, &first);
    return n ? &first[n - 1] : NULL;
}

const struct overlay *overlays_version(const struct overlays *all, const struct overlay_key *k,
                                       uint32_t version)
{
    const struct overlay *first;
    uint32_t n = overlays_versions(all, k, &first);
    return n && version >= first->version && version - first->version < n
               ? &first[version - first->version]
               : NULL;
}

size_t overlays_piles(const struct overlays *all)
{
    return all->piles.n;
}

bool overlays_pile(const struct overlays *all, size_t i, struct overlay_key *ret_key,
                   const struct overlay **ret_newest)
{
    const struct pile *p = &all->piles.at[i];
    if (!p->graph)
        return false;
    *ret_key = (struct overlay_key){.scope = p->scope,
                                    .barclamp = str_of(p->barclamp),
                                    .deployment = p->deployment,
                                    .graph = str_of(p->graph)};
    *ret_newest = &p->at.at[p->at.n - 1];
    return true;
}

/* --- rows --- */

static void row_tell(struct overlays *all, const struct pile *p, const struct overlay *v,
                     uint32_t tenant)
{
    struct row_overlay row = {.id = v->id,
                              .tenant = tenant,
                              .realm = 1,
                              .scope = p->scope,
                              .barclamp = str_of(p->barclamp),
                              .deployment = p->deployment,
                              .graph = str_of(p->graph),
                              .version = v->version,
                              .tasks = v->tasks,
                              .author = v->author,
                              .created_ms = v->created_ms,
                              .message = v->message,
                              .text = v->text};
    all->row(all->arg, ROW_INSERT, &row);
}

static void row_delete(struct overlays *all, uint32_t id)
{
    struct row_overlay row = {.id = id};
    all->row(all->arg, ROW_DELETE, &row);
}

static int corrupt(const struct row_overlay *r, const char *why, struct err *e)
{
    err_set(e, ERR_CORRUPT, "overlay %u: %s", r->id, why);
    return err_hint(e, "restore a backup with `anneal admin restore`");
}

static int load_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct overlays *all = arg;
    const struct row_overlay *r = row;
    struct overlay_key k = {r->scope, r->barclamp, r->deployment, r->graph};

    (void)t;
    if (r->scope >= OVERLAY_SCOPE_COUNT || r->graph.n == 0 ||
        (r->scope == OVERLAY_DEPLOYMENT ? r->deployment == 0 : r->barclamp.n == 0))
        return corrupt(r, "it is over nothing", e);
    struct pile *p = pile_make(all, &k);
    struct overlay *before = p->at.n ? &p->at.at[p->at.n - 1] : NULL;
    if (r->version == 0 || (before && r->version != before->version + 1))
        return corrupt(r, "came twice, or a version before it is missing", e);
    if (before)
        str_drop(&before->text);
    vec_push(&p->at, ((struct overlay){.id = r->id,
                                       .version = r->version,
                                       .tasks = r->tasks,
                                       .created_ms = r->created_ms,
                                       .author = str_dup(r->author),
                                       .message = str_dup(r->message),
                                       .text = str_dup(r->text)}));
    all->last_id = r->id; /* rows come in the order of ids */
    return 0;
}

int overlays_load(struct overlays *all, struct store *from, struct err *e)
{
    return store_each(from, ROWS_OVERLAY, load_row, all, e);
}

/* --- changing --- */

static void oldest_drop(struct overlays *all, struct pile *p)
{
    row_delete(all, p->at.at[0].id);
    version_drop(&p->at.at[0]);
    p->at.n--;
    memmove(p->at.at, p->at.at + 1, p->at.n * sizeof *p->at.at);
}

int overlays_put(struct overlays *all, const struct overlay_key *k, const struct overlay *version,
                 uint32_t tenant, uint64_t durable, const struct overlay **ret, struct err *e)
{
    if (version->text.n > OVERLAY_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "an overlay is at most %d bytes", OVERLAY_MAX_BYTES);
    if (!pile_get(all, k) && all->piles.n >= OVERLAY_MAX_PILES)
        return err_set(e, ERR_LIMIT, "more than %d overlays", OVERLAY_MAX_PILES);
    struct pile *p = pile_make(all, k);
    for (size_t i = 0; i < p->at.n; i++)
        if (p->at.at[i].group <= durable)
            str_drop(&p->at.at[i].text);
    struct overlay v = *version;
    v.id = ++all->last_id;
    v.version = p->at.n ? p->at.at[p->at.n - 1].version + 1 : 1;
    v.author = str_dup(v.author);
    v.message = str_dup(v.message);
    v.text = str_dup(v.text);
    vec_push(&p->at, v);
    row_tell(all, p, &v, tenant);
    if (p->at.n > OVERLAY_MAX_VERSIONS)
        oldest_drop(all, p);
    *ret = &p->at.at[p->at.n - 1];
    return 0;
}

void overlays_forget(struct overlays *all, uint32_t deployment)
{
    for (size_t i = 0; i < all->piles.n; i++) {
        struct pile *p = &all->piles.at[i];
        SCOPED_BUF(key);
        if (!p->graph || p->scope != OVERLAY_DEPLOYMENT || p->deployment != deployment)
            continue;
        for (size_t k = 0; k < p->at.n; k++)
            row_delete(all, p->at.at[k].id);
        key_write(&key, &(struct overlay_key){.scope = OVERLAY_DEPLOYMENT,
                                              .deployment = deployment,
                                              .graph = str_of(p->graph)});
        strmap_del(&all->by_key, buf_str(&key));
        pile_drop(p);
    }
}
