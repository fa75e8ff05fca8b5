/* Lists in pages: every item once, whatever is added or removed between two of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

/* Offers ids 1..n; returns what the page took as text. */
static const char *offer(struct rig *g, const char *query, uint32_t n, struct server_reply *r)
{
    struct server_call c = {
        .mem = &g->mem, .who = &g->who, .query = query ? rig_json(g, query) : NULL};
    struct page p;
    SCOPED_BUF(b);
    if (page_begin(&p, &c, &g->err) < 0)
        return NULL;
    for (uint32_t id = 1; id <= n; id++)
        if (page_wants(&p, id)) {
            page_add(&p, &c, value_int(&g->mem, id));
            buf_printf(&b, "%u ", id);
        }
    page_end(&p, &c, r);
    return arena_strdup(&g->mem, buf_str(&b).s);
}

static void test_shape(struct rig *g)
{
    struct server_reply r = {0};
    is_text(offer(g, NULL, 3, &r), "1 2 3 ", "a short list is one page");
    is_int(value_as_int(value_get(r.body, "total"), -1), 3, "its total");
    ok(value_is(value_get(r.body, "next"), VALUE_NULL), "nothing follows");
    is_text(offer(g, NULL, 0, &r), "", "an empty list is a page too");
    ok(value_is(value_get(r.body, "items"), VALUE_LIST), "with an empty list");
    offer(g, NULL, 101, &r);
    is_int(value_get(r.body, "items")->n, 100, "a page is 100 items unless told");
}

static void test_walk(struct rig *g)
{
    for (uint32_t limit = 1; limit <= 8; limit++) {
        SCOPED_BUF(all);
        const char *next = NULL;
        int pages = 0;
        do {
            struct server_reply r = {0};
            const char *query = next ? arena_printf(&g->mem, "{'limit': '%u', 'after': '%s'}",
                                                    limit, next)
                                     : arena_printf(&g->mem, "{'limit': '%u'}", limit);
            buf_puts(&all, offer(g, query, 7, &r));
            is_int(value_as_int(value_get(r.body, "total"), -1), 7, "page %d of %u: total", pages,
                   limit);
            next = value_as_text(value_get(r.body, "next"), NULL);
        } while (next && ++pages < 20);
        is_text(all.data, "1 2 3 4 5 6 7 ", "pages of %u show each item once", limit);
        is_int(pages, (7 + limit - 1) / limit - 1, "pages of %u end when nothing is left", limit);
    }
}

static void test_refusals(struct rig *g)
{
    static const char *const cursors[] = {"",
                                          "1",
                                          "000000000000000",
                                          "00000000000000001",
                                          "000000000000000G",
                                          "000000000000000A",
                                          "-00000000000000f"};
    struct server_reply r = {0};
    for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
        err_clear(&g->err);
        ok(!offer(g, arena_printf(&g->mem, "{'after': '%s'}", cursors[i]), 3, &r),
           "cursor \"%s\" is refused", cursors[i]);
        is_int(g->err.code, ERR_INVALID, "as invalid");
        is_text(g->err.at, "?after", "naming the parameter");
    }
    ok(!offer(g, "{'limit': '0'}", 3, &r), "an empty page is refused");
    ok(!offer(g, "{'limit': 'ten'}", 3, &r), "a limit is a number");
    is_text(g->err.at, "?limit", "naming the parameter");
    is_text(offer(g, "{'after': 'ffffffffffffffff'}", 3, &r), "", "after the last is nothing");
}

/* Through the operations: the cursor of one list goes on where it was, though a node has gone
 * meanwhile. */
static void test_nodes(struct rig *g)
{
    for (int i = 1; i <= 5; i++)
        rig_node(g, arena_printf(&g->mem, "n%d.example.org", i), "");
    rig_list(g, server_node_list, "Node", (struct rig_ask){.query = "{'limit': '2'}"}, 2);
    const char *next = arena_strdup(&g->mem, rig_text(g, "next"));
    is_int(rig_int(g, "total"), 5, "all nodes are counted");
    rig_do(g, server_node_delete, NULL, (struct rig_ask){.id = "n2.example.org"});
    rig_list(
        g, server_node_list, "Node",
        (struct rig_ask){.query = arena_printf(&g->mem, "{'limit': '2', 'after': '%s'}", next)}, 2);
    is_text(rig_text(g, "items.0.name"), "n3.example.org", "the next page goes on");
    is_int(rig_int(g, "total"), 4, "the one that has gone is not counted");
    const char *last = arena_strdup(&g->mem, rig_text(g, "next"));
    rig_list(
        g, server_node_list, "Node",
        (struct rig_ask){.query = arena_printf(&g->mem, "{'limit': '2', 'after': '%s'}", last)}, 1);
    ok(!rig_text(g, "next"), "the last page says so");
}

static void test_util(struct rig *g)
{
    struct server_call c = {.mem = &g->mem, .who = &g->who};
    struct strmap names = {0};
    uint32_t id = 0;
    ok(face_u32("17", "task", &id, &g->err) == 0 && id == 17, "an id is a number");
    is_int(face_u32("0", "task", &id, &g->err), -ERR_NOT_FOUND, "from 1");
    is_int(face_u32("4294967296", "task", &id, &g->err), -ERR_NOT_FOUND, "of 32 bits");
    is_int(face_u32("seven", "task", &id, &g->err), -ERR_NOT_FOUND, "in digits");
    is_int(face_u32(NULL, "task", &id, &g->err), -ERR_NOT_FOUND, "and there");
    has_text(g->err.hint, "anneal task list", "the hint shows where to look");
    is_int(face_match(&c, 7, "node", "x", &g->err), 0, "no If-Match matches");
    c.if_match = "*";
    is_int(face_match(&c, 7, "node", "x", &g->err), 0, "a star matches");
    c.if_match = "7";
    is_int(face_match(&c, 7, "node", "x", &g->err), 0, "the revision matches");
    c.if_match = "6";
    is_int(face_match(&c, 7, "node", "x", &g->err), -ERR_STALE, "another does not");
    has_text(g->err.text, "revision 7, not 6", "and the current one is named");
    c.if_match = "seven";
    is_int(face_match(&c, 7, "node", "x", &g->err), -ERR_STALE, "nor does what is no number");
    strmap_put(&names, str_of("database"), 1);
    strmap_put(&names, str_of("web"), 2);
    strmap_del(&names, str_of("web"));
    face_not_found_near(&g->err, "role", "databse", &names);
    has_text(g->err.hint, "did you mean \"database\"?", "a near name is offered");
    face_not_found_near(&g->err, "role", "web", &names);
    has_text(g->err.hint, "anneal role list", "one that has gone is not");
    strmap_done(&names);
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    test_shape(&g);
    test_walk(&g);
    test_refusals(&g);
    test_nodes(&g);
    test_util(&g);
    rig_close(&g);
    return tap_done();
}
