/* plugin_book.c - the plugins of a worker
 *
 * Looked at before each use: installing a plugin, or mending one, needs no restart.  A look costs a
 * stat() for each plugin; descriptors are read again only if one has changed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "jig/plugin_i.h"
#include "sys/dirscan.h"

struct jig_plugins {
    struct dirscan scan;
    struct arena mem;
    const struct plugins *all;
};

struct jig_plugins *jig_plugins_new(const char *path)
{
    struct jig_plugins *p = xcalloc(1, sizeof *p);
    dirscan_init(&p->scan, path, PLUGIN_FILE, PLUGIN_MAX_BYTES);
    arena_init(&p->mem);
    return p;
}

void jig_plugins_free(struct jig_plugins *p)
{
    if (!p)
        return;
    dirscan_done(&p->scan);
    arena_done(&p->mem);
    free(p);
}

const struct plugins *jig_plugins_now(struct jig_plugins *p)
{
    if (!dirscan_refresh(&p->scan) && p->all)
        return p->all;
    arena_reset(&p->mem);
    struct plugin_text *texts = arena_new(&p->mem, struct plugin_text, p->scan.at.n);
    for (size_t i = 0; i < p->scan.at.n; i++) {
        const struct dirscan_entry *x = &p->scan.at.at[i];
        texts[i] = (struct plugin_text){str_of(x->dir), buf_str(&x->text), x->bad ? &x->err : NULL};
    }
    p->all = plugins_read(&p->mem, texts, p->scan.at.n);
    return p->all;
}

void jig_plugins_tell(struct jig_plugins *p, struct buf *b)
{
    const struct plugins *all = p ? jig_plugins_now(p) : NULL;
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_list(&w);
    for (uint32_t i = 0; all && i < all->n; i++) {
        jsonw_map(&w);
        jsonw_key(&w, "name");
        jsonw_str(&w, all->at[i]->name);
        jsonw_key(&w, "type");
        jsonw_text(&w, plugin_kind_name(all->at[i]->kind));
        jsonw_key(&w, "version");
        jsonw_str(&w, all->at[i]->version);
        jsonw_key(&w, "serves");
        jsonw_list(&w);
        for (uint32_t k = 0; k < all->at[i]->n_types; k++)
            jsonw_str(&w, all->at[i]->types[k].name);
        jsonw_end(&w);
        jsonw_end(&w);
    }
    jsonw_end(&w);
}
