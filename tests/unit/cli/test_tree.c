/* test_tree.c - the graph of needs: its order, its parts, and what it looks like */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/noderole_tree_i.h"
#include "cli_case.h"
#include "cluster.h"
#include "tap.h"

#define ROW(id, role, node, state, reason, cohort, parents)                                        \
    "{\"id\":" #id ",\"role\":\"" role "\",\"node\":\"" node                                       \
    "\",\"deployment\":\"prod\",\"state\":\"" state "\",\"reason\":\"" reason                      \
    "\",\"cohort\":" #cohort ",\"parents\":[" parents "]}"
#define DB ROW(3, "db", "n1", "ACTIVE", "", 1, "2,1")
#define DNS                                                                                        \
    "{\"id\":1,\"role\":\"dns\",\"node\":\"n1\",\"deployment\":\"system\",\"state\":\"STALE\","    \
    "\"reason\":\"refresh\",\"cohort\":0,\"parents\":[99]}" /* a parent that was left out */
#define NTP   ROW(2, "ntp", "n2", "ACTIVE", "", 0, "")
#define WEB   ROW(4, "web", "n2", "ERROR", "exit", 2, "2,3")
#define APP   ROW(5, "app", "n2", "BLOCKED", "", 3, "4")
#define LONER ROW(6, "cron", "n3", "TODO", "", 0, "")
#define ROWS  WEB "," NTP "," LONER "," DB "," APP "," DNS

static void graph_of(struct arena *mem, const char *json, struct noderole_graph *ret_g)
{
    struct value *v;
    struct err e;
    if (json_parse(mem, json, strlen(json), NULL, &v, &e) ||
        noderole_graph_make(mem, v, ret_g, &e)) {
        printf("Bail out! %s\n", e.text);
        exit(1);
    }
}

/* "1 .3 ..4 .4*": a dot a level, a star for a line that refers to an earlier one. */
static const char *lines_text(struct arena *mem, const struct noderole_graph *g, bool up)
{
    const struct noderole_line *l;
    struct buf b = {0};
    uint32_t n = noderole_graph_lines(mem, g, up, &l);
    for (uint32_t i = 0; i < n; i++) {
        buf_puts(&b, i ? " " : "");
        for (uint32_t d = 0; d < l[i].depth; d++)
            buf_putc(&b, '.');
        buf_u64(&b, g->ids[l[i].vertex]);
        buf_puts(&b, l[i].again ? "*" : "");
    }
    const char *s = arena_strndup(mem, buf_str(&b).s, b.len);
    buf_done(&b);
    return s;
}

static const char *edges_text(struct arena *mem, const struct noderole_graph *g,
                              const struct noderole_links *l)
{
    struct buf b = {0};
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t k = 0; k < l->n[v]; k++)
            buf_printf(&b, "%s%u>%u", b.len ? " " : "", (unsigned)g->ids[v],
                       (unsigned)g->ids[l->at[l->first[v] + k]]);
    const char *s = arena_strndup(mem, buf_str(&b).s, b.len);
    buf_done(&b);
    return s;
}

static void test_graph(void)
{
    SCOPED_ARENA(mem);
    struct noderole_graph g, part;
    graph_of(&mem, "[" ROWS "]", &g);
    is_int(g.n, 6, "every row is a vertex");
    is_text(edges_text(&mem, &g, &g.children), "1>3 2>3 2>4 3>4 4>5", "edges down, in order");
    is_text(edges_text(&mem, &g, &g.parents), "3>1 3>2 4>2 4>3 5>4", "edges up, in order");
    is_text(lines_text(&mem, &g, false), "1 .3 ..4 ...5 2 .3* .4* 6", "a tree down");
    is_text(lines_text(&mem, &g, true), "6 5 .4 ..2 ..3 ...1 ...2*", "a tree up");
    is_int(noderole_graph_find(&g, 99), NODEROLE_NONE, "what is not in the list is not found");

    noderole_graph_part(&mem, &g, noderole_graph_find(&g, 3), false, &part);
    is_text(edges_text(&mem, &part, &part.children), "3>4 4>5", "what needs 3");
    is_text(lines_text(&mem, &part, false), "3 .4 ..5", "as a tree");
    noderole_graph_part(&mem, &g, noderole_graph_find(&g, 4), true, &part);
    is_text(edges_text(&mem, &part, &part.parents), "3>1 3>2 4>2 4>3", "what 4 needs");
    is_text(lines_text(&mem, &part, true), "4 .2 .3 ..1 ..2*", "as a tree");
    noderole_graph_part(&mem, &g, noderole_graph_find(&g, 6), false, &part);
    is_text(lines_text(&mem, &part, false), "6", "who is alone is a tree too");
}

/* What a list that was read while the cluster changed may hold. */
static void test_torn(void)
{
    SCOPED_ARENA(mem);
    struct noderole_graph g;
    struct value *v;
    struct err e;
    graph_of(&mem, "[]", &g);
    is_text(lines_text(&mem, &g, false), "", "no noderoles, no lines");
    graph_of(&mem, "[{\"id\":1,\"parents\":[2]},{\"id\":2,\"parents\":[1,2]},{\"id\":3}]", &g);
    is_text(lines_text(&mem, &g, false), "3 1 .2 ..1*", "a circle is shown, once");
    graph_of(&mem, "[{\"id\":1},{\"id\":2,\"parents\":[1,1,\"x\",-1]},{\"id\":1}]", &g);
    is_text(lines_text(&mem, &g, false), "1 .2", "a row or a parent told twice counts once");
    (void)json_parse(&mem, "[{\"id\":0}]", 10, NULL, &v, &e);
    is_int(noderole_graph_make(&mem, v, &g, &e), -ERR_UNREACHABLE, "a row without a number");
    is_text(e.text, "the server's list of noderoles has a row that is none", "is said");
}

/* Rows of ids 1..n whose parents are made by a rule. */
enum shape { CHAIN, LADDER, STAR };
static void graph_big(struct arena *mem, uint32_t n, enum shape shape, struct noderole_graph *ret_g)
{
    struct value *rows = value_list(mem);
    struct err e;
    for (uint32_t i = 1; i <= n; i++) {
        struct value *row = value_map(mem), *parents = value_list(mem);
        if (i > 1)
            value_add(mem, parents, value_int(mem, shape == STAR ? 1 : i - 1));
        if (i > 2 && shape == LADDER)
            value_add(mem, parents, value_int(mem, i - 2));
        value_put_int(mem, row, "id", i);
        value_put_int(mem, row, "cohort", shape == STAR ? i > 1 : i - 1);
        value_put_text(mem, row, "role", "r");
        value_put_text(mem, row, "state", "ACTIVE");
        value_set(mem, row, "parents", parents);
        value_add(mem, rows, row);
    }
    if (noderole_graph_make(mem, rows, ret_g, &e))
        printf("Bail out! %s\n", e.text);
}

static void test_big(void)
{
    enum { N = 10000 };
    const struct noderole_line *l;
    for (int shape = CHAIN; shape <= STAR; shape++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(dot);
        struct noderole_graph g, part;
        graph_big(&mem, N, (enum shape)shape, &g);
        uint32_t n = noderole_graph_lines(&mem, &g, false, &l);
        is_int(n, shape == LADDER ? 2 * N - 2 : N, "shape %d: one line an edge", shape);
        is_int(l[N - 1].depth, shape == STAR ? 1 : N - 1, "shape %d: the depth of a line", shape);
        ok(mem.total_bytes < 40 << 20, "shape %d: memory grows with what is there", shape);
        noderole_graph_part(&mem, &g, N - 1, true, &part);
        is_int(part.n, shape == STAR ? 2 : N, "shape %d: all that the last one needs", shape);
        noderole_graph_dot(&g, &dot);
        ok(dot.len < N * 200, "shape %d: the picture is linear", shape);
    }
}

static void test_dot(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    struct noderole_graph g;
    graph_of(&mem,
             "[{\"id\":7,\"role\":\"a\\\"b\\\\N\",\"node\":\"x&lt;\\n\\u0007\",\"state\":\"ERROR\","
             "\"reason\":\"exit\",\"deployment\":\"\\\"]; evil\",\"cohort\":0,\"parents\":[]},"
             "{\"id\":9,\"role\":\"c\",\"node\":\"n\",\"state\":\"ACTIVE\",\"reason\":\"\","
             "\"deployment\":\"d\",\"cohort\":1,\"parents\":[7]},"
             "{\"id\":8,\"role\":\"e\",\"node\":\"n\",\"state\":\"new\",\"cohort\":1}]",
             &g);
    noderole_graph_dot(&g, &b);
    is_text(b.data,
            "digraph noderoles {\n"
            "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n"
            "  n7 [label=\"a\\\"b\\\\N@x&amp;lt; ^G\\nERROR exit\", tooltip=\"noderole 7 of "
            "\\\"]; evil\", fillcolor=\"#ffcdd2\"];\n"
            "  n8 [label=\"e@n\\nnew\", tooltip=\"noderole 8 of \", fillcolor=\"#ffffff\"];\n"
            "  n9 [label=\"c@n\\nACTIVE\", tooltip=\"noderole 9 of d\", fillcolor=\"#c8e6c9\"];\n"
            "  {rank=same; n7;}\n"
            "  {rank=same; n8; n9;}\n"
            "  n7 -> n9;\n"
            "}\n",
            "labels are escaped, ranks are cohorts, colours are states");
    buf_clear(&b);
    graph_of(&mem, "[]", &g);
    noderole_graph_dot(&g, &b);
    ok(!strstr(b.data, "rank"), "an empty graph has no ranks");
}

static const struct {
    const char *line, *golden;
} screens[] = {
    {"noderole tree", "1 dns@n1  STALE refresh  system\n"
                      "\u2514\u2500 3 db@n1  ACTIVE  prod\n"
                      "   \u2514\u2500 4 web@n2  ERROR exit\n"
                      "      \u2514\u2500 5 app@n2  BLOCKED\n"
                      "2 ntp@n2  ACTIVE  prod\n"
                      "\u251c\u2500 3 db@n1  (see above)\n"
                      "\u2514\u2500 4 web@n2  (see above)\n"
                      "6 cron@n3  TODO  prod\n"},
    {"noderole tree 4 --up", "4 web@n2  ERROR exit  prod\n"
                             "\u251c\u2500 2 ntp@n2  ACTIVE\n"
                             "\u2514\u2500 3 db@n1  ACTIVE\n"
                             "   \u251c\u2500 1 dns@n1  STALE refresh  system\n"
                             "   \u2514\u2500 2 ntp@n2  (see above)\n"},
    {"noderole tree 4 -o json", "{\"noderoles\":[" WEB "," APP "],"
                                "\"edges\":[{\"parent\":4,\"child\":5}]}\n"},
    {"noderole tree 4 --up -o name", "1\n2\n3\n4\n"},
};

static void test_screens(void)
{
    struct cli_case c = {.server = fake_new()};
    for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) {
        fake_off(c.server, "GET /v1/noderoles?limit=1000");
        fake_on(c.server, "GET /v1/noderoles?limit=1000", 200,
                "{\"items\":[" WEB "," NTP "," LONER "],\"next\":\"4\",\"total\":6}");
        fake_on(c.server, "GET /v1/noderoles?limit=1000", 200,
                "{\"items\":[" DB "," APP "," DNS "],\"next\":null,\"total\":6}");
        is_int(case_run(&c, screens[i].line), 0, "%s", screens[i].line);
        is_text(c.out, screens[i].golden, "%s: as it should look", screens[i].line);
        is_text(c.err, "", "%s: nothing else said", screens[i].line);
    }
    fake_on(c.server, "GET /v1/noderoles?deployment=prod&node=n2&role=web", 200, LIST(WEB));
    is_int(case_run(&c, "noderole tree --deployment prod --node n2 --role web"), 0, "filters");
    is_text(c.out, "4 web@n2  ERROR exit  prod\n", "leave out what they leave out");
    is_int(case_run(&c, "noderole tree 5 --deployment prod --node n2 --role web"), 4,
           "a beginning that they leave out");
    has_text(c.err, "noderole 5 is not among those that the options leave", "is refused");
    fake_free(c.server);
    case_done(&c);
}

static void test_terminal(void)
{
    struct cli_case c = {.server = fake_new(), .tty = true, .columns = 24};
    fake_on(c.server, "GET /v1/noderoles", 200, "{\"items\":[" ROWS "],\"next\":null,\"total\":6}");
    is_int(case_run(&c, "noderole tree"), 0, "on a terminal");
    has_text(c.out, "\033[33mSTALE\033[0m", "states have their colours");
    is_int(case_run(&c, "noderole tree --no-color"), 0, "on a narrow one");
    has_text(c.out, "1 dns@n1  STALE refresh\u2026\n", "lines are cut at the edge");
    c.locale = "C";
    is_int(case_run(&c, "noderole tree 2 --no-color"), 0, "without UTF-8");
    is_text(c.out,
            "2 ntp@n2  ACTIVE  prod\n"
            "|- 3 db@n1  ACTIVE\n"
            "|  `- 4 web@n2  ERROR e~\n"
            "|     `- 5 app@n2  BLOC~\n"
            "`- 4 web@n2  (see above)\n",
            "branches are ASCII");
    is_int(case_run(&c, "noderole tree --dot"), 0, "as a picture");
    has_text(c.out, "  n4 -> n5;\n}\n", "for another program");
    is_int(case_run(&c, "noderole tree --dot -o json"), 2, "two forms at once");
    is_int(case_run(&c, "noderole tree 77"), 4, "a beginning that is not there");
    has_text(c.err, "there is no noderole 77", "is said");
    fake_off(c.server, "GET /v1/noderoles");
    fake_on(c.server, "GET /v1/noderoles", 200, "{\"items\":[{\"id\":0}],\"next\":null}");
    is_int(case_run(&c, "noderole tree"), 9, "an answer that is none");
    fake_off(c.server, "GET /v1/noderoles");
    fake_on(c.server, "GET /v1/noderoles", 200, "{\"items\":[],\"next\":null,\"total\":0}");
    is_int(case_run(&c, "noderole tree"), 0, "an empty cluster");
    is_text(c.err, "no noderoles\n", "says so");
    fake_free(c.server);
    case_done(&c);
}

/* A chain deeper than any terminal is wide: lines say their depth instead of moving on. */
static void test_deep(void)
{
    enum { N = 1000 };
    struct cli_case c = {.server = fake_new()};
    SCOPED_BUF(b);
    size_t widest = 0;
    buf_puts(&b, "{\"items\":[");
    for (int i = 1; i <= N; i++)
        buf_printf(&b,
                   "%s{\"id\":%d,\"role\":\"r\",\"node\":\"n\",\"deployment\":\"prod\","
                   "\"state\":\"TODO\",\"reason\":\"\",\"cohort\":%d,\"parents\":[%d]}",
                   i > 1 ? "," : "", i, i - 1, i - 1);
    buf_puts(&b, "],\"next\":null,\"total\":1000}");
    fake_on(c.server, "GET /v1/noderoles", 200, b.data);
    is_int(case_run(&c, "noderole tree"), 0, "a chain of %d", N);
    has_text(c.out, "   \u2514\u2500 21 r@n  TODO\n",
             "the last line that is indented by its depth");
    has_text(c.out, "   \u2514\u2500 [21] 22 r@n  TODO\n", "the first that says it");
    has_text(c.out, "   \u2514\u2500 [999] 1000 r@n  TODO\n", "the last line");
    for (const char *p = c.out; *p; p += strcspn(p, "\n") + 1)
        if (strcspn(p, "\n") > widest)
            widest = strcspn(p, "\n");
    ok(widest < 100, "no line is wider than 100 bytes (%zu)", widest);
    fake_free(c.server);
    case_done(&c);
}

int main(void)
{
    test_graph();
    test_torn();
    test_big();
    test_dot();
    test_screens();
    test_terminal();
    test_deep();
    return tap_done();
}
