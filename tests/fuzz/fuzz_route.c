/* fuzz_route.c - "METHOD target\nbody": matching and validation of whatever a client sends, no
 * sockets
 *
 * What is let through is what a handler may rely on: decoded names without control characters, a
 * query of known parameters, a body that fits its schema.  Every refusal is a problem that is JSON
 * itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/book_i.h"
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"

static void refused(int r, const struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(out);
    struct value *v;
    fuzz_must(r == -(int)e->code && e->text[0], "a refusal says why");
    unsigned status = problem_write(&out, e);
    fuzz_must(status >= 400 && status < 500, "a request is never the server's fault");
    fuzz_must(json_parse(&mem, out.data, out.len, NULL, &v, NULL) == 0, "a problem is JSON");
}

static void names_check(const struct route_match *m)
{
    for (unsigned i = 0; i < m->n_ids; i++) {
        fuzz_must(m->id[i].n > 0 && text_utf8_valid(m->id[i].s, m->id[i].n), "a name is text");
        for (size_t k = 0; k < m->id[i].n; k++)
            fuzz_must((unsigned char)m->id[i].s[k] >= 0x20, "a name has no control characters");
    }
}

static void route_check(const struct api_book *b, struct arena *mem, const struct route_match *m,
                        const struct uri *u, struct str body)
{
    enum { PAGE_LIMIT = 50 };
    const struct value *query = NULL, *value = NULL;
    const struct api_route *route = m->route;
    struct err e;
    int r = validate_path(b, mem, m, &e);
    if (r < 0) {
        refused(r, &e);
        return;
    }
    names_check(m);
    r = validate_query(b, route, mem, u->query, PAGE_LIMIT, &query, &e);
    if (r < 0) {
        refused(r, &e);
        return;
    }
    if (route->flags & API_LIST)
        fuzz_must(value_get(query, "limit"), "a list has a limit");
    r = validate_body(b, route, mem, body, &value, &e);
    if (r < 0)
        refused(r, &e);
    else if (route->request)
        fuzz_must(schema_check_env(&b->env, book_schema(b, route->request), value, &e) == 0,
                  "a body that passes fits its schema");
    else
        fuzz_must(!value && !body.n, "a route without a body gets none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *line = size ? memchr(text, '\n', size) : NULL;
    size_t head_n = line ? (size_t)(line - text) : size;
    struct str body = line ? (struct str){line + 1, size - head_n - 1} : (struct str){"", 0};
    static struct api_book *b; /* the same for every input, and made once */
    SCOPED_ARENA(mem);
    struct route_match m;
    struct uri u;
    struct err e;

    b = b ? b : book_new();
    char *head = arena_strndup(&mem, text, head_n);
    char *blank = strchr(head, ' ');
    enum api_method method = 0;
    if (blank)
        *blank++ = '\0';
    while (method < API_METHOD_COUNT && strcmp(head, api_method_name(method)))
        method++;
    int r = uri_split(&mem, blank ? blank : "", &u, &e);
    if (r < 0) {
        refused(r, &e);
        return 0;
    }
    route_find(b->root, &u, method, &m);
    if (m.route) {
        route_check(b, &mem, &m, &u, body);
    } else if (!m.methods) {
        refused(route_missing(b->root, &u, &e), &e);
    } else {
        SCOPED_BUF(allow);
        route_allow(m.methods, &allow);
        fuzz_must(allow.len > 0, "a path that exists has methods");
    }
    return 0;
}
