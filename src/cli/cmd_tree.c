/* cmd_tree.c - the graph of needs: as a tree for people, as data, as a picture
 *
 * Everything is made from the list of noderoles, all pages of it.  A tree gets wider with every
 * level, a terminal does not: past a number of levels lines stay where they are and say how deep
 * they stand instead, so that the output is linear in what it shows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/noderole_tree_i.h"
#include "cli/table_i.h"

enum { INDENT = 3, LEVELS_MOST = 20, LEVELS_LEAST = 4 };

struct tree_draw {
    struct pen pen;
    const struct noderole_graph *g;
    uint32_t levels;        /* that are indented */
    bool open[LEVELS_MOST]; /* a sibling follows at that level: draw the line down */
};

static const char *tree_text(const struct tree_draw *t, uint32_t v, const char *key)
{
    return value_as_text(value_get(t->g->rows[v], key), "");
}

/* The lines of the levels above, then the branch; beginnings stand at the left edge. */
static void tree_branch(struct tree_draw *t, const struct noderole_line *l)
{
    bool utf8 = t->pen.look->utf8;
    if (!l->depth)
        return;
    uint32_t level = l->depth - 1 < t->levels ? l->depth - 1 : t->levels - 1;
    for (uint32_t d = 0; d < level; d++)
        pen_put(&t->pen, STYLE_DIM, "%s", t->open[d] ? (utf8 ? "\u2502  " : "|  ") : "   ");
    pen_put(&t->pen, STYLE_DIM, "%s",
            utf8 ? (l->last ? "\u2514\u2500 " : "\u251c\u2500 ") : (l->last ? "`- " : "|- "));
    if (l->depth > t->levels)
        pen_put(&t->pen, STYLE_DIM, "[%" PRIu32 "] ", l->depth);
    else
        t->open[level] = !l->last;
}

static void tree_line(struct tree_draw *t, const struct noderole_line *l)
{
    uint32_t v = l->vertex;
    const char *state = tree_text(t, v, "state"), *deployment = tree_text(t, v, "deployment");
    tree_branch(t, l);
    pen_put(&t->pen, STYLE_BOLD, "%" PRIu64, t->g->ids[v]);
    pen_put(&t->pen, STYLE_PLAIN, " %s@%s", tree_text(t, v, "role"), tree_text(t, v, "node"));
    if (l->again) {
        pen_put(&t->pen, STYLE_DIM, "  (see above)");
    } else {
        pen_put(&t->pen, STYLE_PLAIN, "  ");
        pen_put(&t->pen, term_state_style(state), "%s", state);
        if (*tree_text(t, v, "reason"))
            pen_put(&t->pen, STYLE_PLAIN, " %s", tree_text(t, v, "reason"));
        if (l->above == NODEROLE_NONE || strcmp(deployment, tree_text(t, l->above, "deployment")))
            pen_put(&t->pen, STYLE_DIM, "  %s", deployment);
    }
    pen_end(&t->pen);
}

static void tree_print(struct cli *c, const struct noderole_graph *g, bool up)
{
    SCOPED_BUF(b);
    const struct look look = cli_look(c, false);
    const struct noderole_line *lines;
    struct tree_draw t = {
        .pen = {.b = &b, .look = &look}, .g = g, .levels = LEVELS_MOST}; /* a half for branches */
    int half = look.columns / 2 / INDENT;
    if (look.columns && half < LEVELS_MOST)
        t.levels = half > LEVELS_LEAST ? (uint32_t)half : LEVELS_LEAST;
    uint32_t n = noderole_graph_lines(&c->mem, g, up, &lines);
    for (uint32_t i = 0; i < n; i++)
        tree_line(&t, &lines[i]);
    if (!n && !c->quiet)
        (void)fprintf(c->env->err, "no noderoles\n");
    cli_put(c, &b);
}

/* {"noderoles": [...], "edges": [{"parent": 1, "child": 2}, ...]} */
static const struct value *tree_value(struct arena *mem, const struct noderole_graph *g)
{
    struct value *v = value_map(mem), *rows = value_list(mem), *edges = value_list(mem);
    for (uint32_t i = 0; i < g->n; i++) {
        value_add(mem, rows, g->rows[i]);
        for (uint32_t k = 0; k < g->children.n[i]; k++) {
            uint32_t child = g->children.at[g->children.first[i] + k];
            struct value *edge = value_map(mem);
            value_put_int(mem, edge, "parent", (int64_t)g->ids[i]);
            value_put_int(mem, edge, "child", (int64_t)g->ids[child]);
            value_add(mem, edges, edge);
        }
    }
    value_set(mem, v, "noderoles", rows);
    value_set(mem, v, "edges", edges);
    return v;
}

static void names_print(struct cli *c, const struct noderole_graph *g)
{
    SCOPED_BUF(b);
    for (uint32_t v = 0; v < g->n; v++)
        buf_printf(&b, "%" PRIu64 "\n", g->ids[v]);
    cli_put(c, &b);
}

static int tree_get(struct cli *c, struct noderole_graph *ret_g, struct err *e)
{
    static const char *const filters[] = {"deployment", "node", "role"};
    const struct value *list;
    bool filtered = false;
    SCOPED_BUF(path);
    buf_puts(&path, "/v1/noderoles");
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        http_query(&path, filters[i], cli_option(c, filters[i]));
        filtered |= cli_has(c, filters[i]);
    }
    int rc = cli_get_list(c, &c->mem, path.data, UINT32_MAX, &list, e);
    if (!rc)
        rc = noderole_graph_make(&c->mem, value_get(list, "items"), ret_g, e);
    if (rc || !cli_arg(c, 0))
        return rc;
    uint32_t start = noderole_graph_find(ret_g, strtoull(cli_arg(c, 0), NULL, 10));
    if (start == NODEROLE_NONE && filtered)
        return err_set(e, ERR_NOT_FOUND, "noderole %s is not among those that the options leave",
                       cli_arg(c, 0));
    if (start == NODEROLE_NONE)
        return err_set(e, ERR_NOT_FOUND, "there is no noderole %s", cli_arg(c, 0));
    noderole_graph_part(&c->mem, ret_g, start, cli_has(c, "up"), ret_g);
    return 0;
}

int cmd_noderole_tree(struct cli *c, struct err *e)
{
    struct noderole_graph g;
    if (cli_has(c, "dot") && cli_has(c, "output"))
        return err_set(e, ERR_INVALID, "--dot and --output contradict each other");
    int rc = tree_get(c, &g, e);
    if (rc)
        return rc;
    if (cli_has(c, "dot")) {
        SCOPED_BUF(b);
        noderole_graph_dot(&g, &b);
        cli_put(c, &b);
    } else if (c->format == OUT_NAME) {
        names_print(c, &g);
    } else if (c->format == OUT_TABLE) {
        tree_print(c, &g, cli_has(c, "up"));
    } else {
        (void)cli_print_data(c, tree_value(&c->mem, &g), "");
    }
    return 0;
}
