/* graph_file.c - files of task graphs, and files that lie over them
 *
 * An overlay replaces whole vertices by id.  Of all files of graph_overlays/ the last name lies on
 * top, so that a number in front of it says how they lie on each other; what is on top is read
 * first and hides what has its id below.  A vertex that takes another's place is meant as the
 * lowest that has the id, a new one as its own barclamp says: as overlays that are set through a
 * server (graph_overlay.c).  docs/rfc/07-task-graphs.md, section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

/* A graph's name has no slash. */
static void key_write(struct buf *b, struct str graph, const struct value *v)
{
    struct str id = value_as_str(value_get(v, "id"));
    buf_clear(b);
    buf_put(b, graph.s, graph.n);
    buf_putc(b, '/');
    buf_put(b, id.s, id.n);
}

static void doc_learn(struct load *l, uint32_t number)
{
    const struct load_doc *doc = &l->docs[number];
    const struct value *list = doc->barclamp == CATALOG_NONE ? NULL : catalog_doc_parse(l, number);
    SCOPED_BUF(key);

    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++) {
        key_write(&key, doc->graph, &list->items[i]);
        if (!strmap_get(&l->meant, buf_str(&key), NULL))
            strmap_put(&l->meant, buf_str(&key), doc->barclamp);
    }
}

void catalog_overlays_learn(struct load *l)
{
    for (uint32_t i = 0; i < l->n_docs; i++)
        if (l->docs[i].kind == DOC_GRAPH)
            doc_learn(l, i);
    for (uint32_t i = l->n_docs; i-- > 0;) /* the topmost is the first of them */
        if (l->docs[i].kind == DOC_OVERLAY)
            doc_learn(l, i);
}

static void overlay_vertex(struct load *l, const struct load_doc *doc, const struct value *v,
                           struct str key)
{
    uintptr_t barclamp = doc->barclamp;

    (void)strmap_get(&l->meant, key, &barclamp);
    l->barclamp = (uint32_t)barclamp;
    l->lenient = l->barclamps.at[barclamp].lenient;
    catalog_read_vertex(l, v);
}

void catalog_read_graph_doc(struct load *l, const struct load_doc *doc, const struct value *v)
{
    struct strmap own = {0};
    SCOPED_BUF(key);

    if ((doc->kind == DOC_GRAPH && !l->above.live) || v->kind != VALUE_LIST) {
        catalog_read_each(l, v, "task", false, catalog_read_vertex);
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        key_write(&key, doc->graph, &v->items[i]);
        if (strmap_get(&l->above, buf_str(&key), NULL))
            continue;
        if (doc->kind == DOC_GRAPH) {
            catalog_read_vertex(l, &v->items[i]);
        } else {
            strmap_put(&own, buf_str(&key), 0);
            overlay_vertex(l, doc, &v->items[i], buf_str(&key));
        }
    }
    for (size_t i = 0; i < own.n; i++)
        strmap_put(&l->above, (struct str){own.at[i].key, own.at[i].len}, 0);
    strmap_done(&own);
}
