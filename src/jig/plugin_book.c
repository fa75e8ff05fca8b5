/* plugin_book.c - the plugins of a worker
 *
 * Looked at before each use: installing a plugin, or mending one, needs no restart.  A look costs a
 * stat() for each plugin; descriptors are read again only if one has changed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

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
