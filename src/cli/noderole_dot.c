/* noderole_dot.c - the graph of needs in Graphviz's language
 *
 * The same graph gives the same bytes.  A label may hold anything: quotes and backslashes would end
 * or command it, and Graphviz reads `&name;` as an entity even in plain labels.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/noderole_tree_i.h"
#include "cli/term_i.h"

static const char *const fills[STYLE_COUNT] = {
    [STYLE_PLAIN] = "#ffffff", [STYLE_GOOD] = "#c8e6c9", [STYLE_BUSY] = "#b2ebf2",
    [STYLE_HOLD] = "#bbdefb",  [STYLE_WARN] = "#ffecb3", [STYLE_BAD] = "#ffcdd2",
    [STYLE_DIM] = "#eeeeee",   [STYLE_BOLD] = "#ffffff",
};

static void label_put(struct buf *b, const char *text)
{
    SCOPED_BUF(clean);
    term_clean(&clean, text, strlen(text), 0);
    for (size_t i = 0; i < clean.len; i++) {
        char c = clean.data[i];
        if (c == '&') {
            buf_puts(b, "&amp;");
            continue;
        }
        if (c == '"' || c == '\\')
            buf_putc(b, '\\');
        buf_putc(b, c);
    }
}

static const char *row_text(const struct value *row, const char *key)
{
    return value_as_text(value_get(row, key), "");
}

static void box_put(struct buf *b, uint64_t id, const struct value *row)
{
    const char *state = row_text(row, "state"), *reason = row_text(row, "reason");
    buf_printf(b, "  n%" PRIu64 " [label=\"", id);
    label_put(b, row_text(row, "role"));
    buf_putc(b, '@');
    label_put(b, row_text(row, "node"));
    buf_puts(b, "\\n");
    label_put(b, state);
    buf_puts(b, *reason ? " " : "");
    label_put(b, reason);
    buf_puts(b, "\", tooltip=\"");
    buf_printf(b, "noderole %" PRIu64 " of ", id);
    label_put(b, row_text(row, "deployment"));
    buf_printf(b, "\", fillcolor=\"%s\"];\n", fills[term_state_style(state)]);
}

/* Rows are sorted by cohort, so a rank is a stretch of them. */
static void ranks_put(const struct noderole_graph *g, struct buf *b)
{
    int64_t rank = 0;
    for (uint32_t v = 0; v < g->n; v++) {
        int64_t cohort = value_as_int(value_get(g->rows[v], "cohort"), 0);
        if (!v || cohort != rank)
            buf_printf(b, "%s  {rank=same;", v ? "}\n" : "");
        rank = cohort;
        buf_printf(b, " n%" PRIu64 ";", g->ids[v]);
    }
    buf_puts(b, g->n ? "}\n" : "");
}

void noderole_graph_dot(const struct noderole_graph *g, struct buf *b)
{
    buf_puts(b, "digraph noderoles {\n"
                "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    for (uint32_t v = 0; v < g->n; v++)
        box_put(b, g->ids[v], g->rows[v]);
    ranks_put(g, b);
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t k = 0; k < g->children.n[v]; k++)
            buf_printf(b, "  n%" PRIu64 " -> n%" PRIu64 ";\n", g->ids[v],
                       g->ids[g->children.at[g->children.first[v] + k]]);
    buf_puts(b, "}\n");
}
