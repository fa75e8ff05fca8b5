/* test_openapi.c - the document that is published is the one that is kept in docs/openapi.json
 *
 * With ANNEAL_UPDATE set in the environment the file is written instead of compared.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "api/book_i.h"
#include "base/json.h"
#include "sys/fs.h"
#include "tap.h"

/* The first line that differs, for people. */
static void show_difference(struct str a, struct str b)
{
    size_t i = 0, line = 1, from = 0;
    while (i < a.n && i < b.n && a.s[i] == b.s[i])
        if (a.s[i++] == '\n') {
            line++;
            from = i;
        }
    note("line %zu of the file: %.*s", line, (int)strcspn(b.s + from, "\n"), b.s + from);
    note("                now: %.*s", (int)strcspn(a.s + from, "\n"), a.s + from);
}

static void test_snapshot(const char *path)
{
    SCOPED_BUF(now);
    SCOPED_BUF(kept);
    struct err e;
    api_openapi_write(&now);
    if (getenv("ANNEAL_UPDATE"))
        fs_write_atomic(path, now.data, now.len, 0644, &e);
    int r = fs_read(path, 4 << 20, &kept, &e);
    if (!ok(r >= 0, "docs/openapi.json can be read"))
        return;
    bool same = str_eq(buf_str(&now), buf_str(&kept));
    ok(same, "docs/openapi.json is up to date (ANNEAL_UPDATE=1 writes it)");
    if (!same)
        show_difference(buf_str(&now), buf_str(&kept));
}

static void test_document(void)
{
    SCOPED(api_book) *b = book_new();
    SCOPED_ARENA(mem);
    struct value *doc;
    int r = json_parse(&mem, b->openapi.data, b->openapi.len, NULL, &doc, NULL);
    if (!ok(r == 0, "it is JSON"))
        return;
    is_text(value_as_text(value_get(doc, "openapi"), ""), "3.1.0", "OpenAPI 3.1");
    const struct value *paths = value_get(doc, "paths");
    for (size_t i = 0; i < api_route_count(); i++) {
        const struct api_route *route = api_route_at(i);
        char method[8];
        snprintf(method, sizeof method, "%s", api_method_name(route->method));
        for (char *c = method; *c; c++)
            *c |= 0x20;
        const struct value *op = value_get(value_get(paths, route->path), method);
        is_text(value_as_text(value_get(op, "operationId"), ""), route->id, "%s is there",
                route->id);
        const struct value *responses = value_get(op, "responses");
        ok(value_get(responses, "400") && value_get(responses, "default"), "  with problems");
        ok(!value_get(responses, "428") == !(route->flags & API_IF_MATCH), "  428 if it applies");
        ok(!value_get(responses, "401") == (route->scope == SCOPE_NONE), "  401 if it applies");
        ok(!value_get(op, "requestBody") == !route->request, "  a body if it takes one");
    }
}

int main(void)
{
    test_document();
    test_snapshot(OPENAPI_FILE);
    return tap_done();
}
