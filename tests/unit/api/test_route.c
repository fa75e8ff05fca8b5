/* test_route.c - the table is sound, and every route is found by its path */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"
#include "tap.h"

static void match(const struct api_book *b, struct arena *mem, const char *path, enum api_method m,
                  struct route_match *ret_m)
{
    struct uri u;
    memset(ret_m, 0, sizeof *ret_m);
    if (uri_split(mem, path, &u, NULL) == 0)
        route_find(b->root, &u, m, ret_m);
}

/* The template with every name replaced by an example. */
static char *example(struct arena *mem, const char *path)
{
    SCOPED_BUF(b);
    for (; *path; path++) {
        if (*path != '{') {
            buf_putc(&b, *path);
            continue;
        }
        buf_puts(&b, !strncmp(path, "{kind}", 6) ? "node" : "17");
        path = strchr(path, '}');
    }
    return arena_strdup(mem, b.data);
}

static void test_every_route(const struct api_book *b)
{
    for (size_t i = 0; i < api_route_count(); i++) {
        const struct api_route *r = api_route_at(i);
        SCOPED_ARENA(mem);
        struct route_match m;
        struct err e;
        match(b, &mem, example(&mem, r->path), r->method, &m);
        ok(m.route == r, "%s %s is found", api_method_name(r->method), r->path);
        if (m.route != r)
            continue;
        is_int(m.n_ids, book_plan(b, r)->n_path, "  with its parameters");
        ok(validate_path(b, &mem, &m, &e) == 0, "  that are valid");
    }
}

static void test_every_operation(void)
{
    static const struct {
        const char *name;
        server_op_f *op;
    } ops[] = {
#define X(name) {#name, server_##name},
        SERVER_OPS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        unsigned n = 0;
        for (size_t k = 0; k < api_route_count(); k++)
            n += api_route_at(k)->op == ops[i].op && !strcmp(api_route_at(k)->id, ops[i].name);
        is_int(n, 1, "operation %s has one route of its name", ops[i].name);
    }
    unsigned special[API_SPECIAL_COUNT] = {0};
    for (size_t k = 0; k < api_route_count(); k++)
        special[api_route_at(k)->special]++;
    for (unsigned s = API_SPECIAL_NONE + 1; s < API_SPECIAL_COUNT; s++)
        is_int(special[s], 1, "special %u has one route", s);
    is_int(special[API_SPECIAL_NONE], sizeof ops / sizeof *ops, "all others are operations");
}

/* What the table must keep to for clients to rely on it. */
static void test_rules(void)
{
    for (size_t i = 0; i < api_route_count(); i++) {
        const struct api_route *r = api_route_at(i);
        bool write = r->method != API_GET, change = write && r->method != API_POST;
        bool token = !strncmp(r->path, "/v1/tokens", 10), admin = !strncmp(r->path, "/v1/admin", 9);
        ok(r->success && r->tag && r->summary, "%s is documented", r->id);
        ok(!write || r->scope >= SCOPE_OPERATE || r->op == server_announce ||
               r->scope == SCOPE_WORKER ||
               r->op == server_worker_join, /* its token is in the body */
           "%s: no write without a token", r->id);
        bool secret = (write && (!strncmp(r->path, "/v1/providers", 13) ||
                                 !strncmp(r->path, "/v1/resource", 12) ||
                                 !strncmp(r->path, "/v1/contents", 12))) ||
                      r->op == server_worker_token || r->op == server_worker_delete;
        ok((token || admin || secret) == (r->scope == SCOPE_ADMIN), "%s: admin where it should be",
           r->id);
        if (change && !token)
            ok(r->flags & API_IF_MATCH, "%s needs If-Match", r->id);
        else
            ok(!(r->flags & API_IF_MATCH), "%s needs no If-Match", r->id);
        ok(r->method != API_GET || !r->request, "%s: a read takes no body", r->id);
        ok(r->response || r->success == API_204 || r->flags & API_TEXT, "%s: answers something",
           r->id);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(api_route_at(k)->id, r->id))
                ok(false, "%s is there twice", r->id);
        if (i && strcmp(api_route_at(i - 1)->path, r->path))
            for (size_t k = 0; k + 1 < i; k++)
                if (!strcmp(api_route_at(k)->path, r->path))
                    ok(false, "the lines of %s do not stand together", r->path);
    }
}

/* Where a fixed segment and a name are both possible, one would hide the other. */
static void test_unambiguous(void)
{
    unsigned hidden = 0;
    for (size_t i = 0; i < api_route_count(); i++)
        for (size_t k = 0; k < api_route_count(); k++) {
            const char *a = api_route_at(i)->path, *b = api_route_at(k)->path;
            while (*a && *a == *b)
                a++, b++;
            if (*a == '{' && a[-1] == '/' && *b && *b != '/' && b[-1] == '/') {
                note("%s hides %s", api_route_at(k)->path, api_route_at(i)->path);
                hidden++;
            }
        }
    is_int(hidden, 0, "no route hides another");
}

static void test_misses(const struct api_book *b)
{
    static const struct {
        const char *path, *hint;
    } cases[] = {
        {"/v1/nodez", "/v1/nodes?"},
        {"/v1/nodez/a/report", "/v1/nodes/a/report?"},
        {"/v1/nodes/a/reprot", "/v1/nodes/a/report?"},
        {"/v1/tasks/1/attempts/1/lag", "/v1/tasks/1/attempts/1/log?"},
        {"/v1/deployments/", "/v1/deployments?"},
        {"/metric", "/metrics?"},
        {"/v1", "openapi.json"},
        {"/v1/completely-different", "openapi.json"},
        {"/v1//nodes", "openapi.json"},
        {"/", "openapi.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(mem);
        struct route_match m;
        struct err e;
        struct uri u;
        match(b, &mem, cases[i].path, API_GET, &m);
        ok(!m.route && !m.methods, "%s is not there", cases[i].path);
        uri_split(&mem, cases[i].path, &u, &e);
        is_int(route_missing(b->root, &u, &e), -ERR_NOT_FOUND, "  so says the error");
        has_text(e.hint, cases[i].hint, "  and hints at %s", cases[i].hint);
    }
    SCOPED_ARENA(mem);
    struct route_match m;
    match(b, &mem, "/v1/nodes", API_DELETE, &m);
    ok(!m.route, "a path without the method has no route");
    is_int(m.methods, 1u << API_GET | 1u << API_POST, "but tells its methods");
    match(b, &mem, "/v1/nodes", API_METHOD_COUNT, &m);
    ok(!m.route && m.methods, "an unknown method likewise");
}

static void test_names(void)
{
    is_text(api_method_name(API_PATCH), "PATCH", "a method's name");
    is_text(api_method_name(API_METHOD_COUNT), "?", "no method's name");
    is_text(api_scope_name(SCOPE_OPERATE), "operate", "a scope's name");
    is_text(api_scope_name((enum scope)9), "?", "no scope's name");
    ok(!api_route_at(api_route_count()), "nothing past the end");
    ok(!api_path_param(str_of("nothing")), "no such parameter");
}

int main(void)
{
    SCOPED(api_book) *b = book_new();
    test_every_route(b);
    test_every_operation();
    test_rules();
    test_unambiguous();
    test_misses(b);
    test_names();
    return tap_done();
}
