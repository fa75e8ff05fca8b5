/* test_validate.c - bodies and queries against their routes, and how errors point */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"
#include "base/json.h"
#include "tap.h"

static const struct api_route *route_of(const char *id)
{
    for (size_t i = 0; api_route_at(i); i++)
        if (!strcmp(api_route_at(i)->id, id))
            return api_route_at(i);
    return NULL;
}

struct body_case {
    const char *route, *body;
    enum errcode code; /* ERR_NONE: fine */
    const char *at, *text, *hint;
};
static const struct body_case bodies[] = {
    {"node_create", "{\"name\":\"a.b\"}", ERR_NONE, "", "", ""},
    {"node_create", "{\"name\":\"a.b\",\"labels\":{\"a\":\"b\"},\"slots\":2}", ERR_NONE, "", "",
     ""},
    {"node_create", "", ERR_INVALID, "", "needs a body", "NodeCreate"},
    {"node_create", "{}", ERR_NONE, "", "", ""},
    {"announce", "{}", ERR_INVALID, "/machine_id", "required", ""},
    {"node_create", "[]", ERR_INVALID, "", "expected a map", ""},
    {"node_create", "{\"name\":3}", ERR_INVALID, "/name", "expected a string", ""},
    {"node_create", "{\"nam\":\"x\"}", ERR_INVALID, "/nam", "", "name"},
    {"node_create", "{\"name\":\"x\",\"labels\":{\"a\":1}}", ERR_INVALID, "/labels/a",
     "expected a string", ""},
    {"node_create", "{\"name\":\"x\",\"groups\":[\"a\",\"a\"]}", ERR_INVALID, "/groups/1", "differ",
     ""},
    {"node_create", "{\"name\":\"x\",\"slots\":0}", ERR_INVALID, "/slots", "1 or more", ""},
    {"node_create", "{\"name\":\"x\",\"alive\":\"maybe\"}", ERR_INVALID, "/alive", "", ""},
    {"node_create", "{\"name\":\"x\"", ERR_SYNTAX, "body:1:12", "", ""},
    {"node_create", "{\"name\":\n  \"x\",\n  oops}", ERR_SYNTAX, "body:3:3", "", ""},
    {"node_create", "{\"a\":1,\"a\":2}", ERR_SYNTAX, "body:1:8", "duplicate key", ""},
    {"node_create", "{\"name\":\"\xFF\"}", ERR_SYNTAX, "body:1:10", "", ""},
    {"node_patch", "{\"note\":null,\"labels\":{\"a\":null}}", ERR_NONE, "", "", ""},
    {"node_patch", "{\"name\":\"x\"}", ERR_INVALID, "/name", "", ""},
    {"node_patch", "{\"slots\":\"x\"}", ERR_INVALID, "/slots", "", ""},
    {"jig_patch", "{\"active\":\"yes\"}", ERR_INVALID, "/active", "true or false", ""},
    {"deployment_bind", "{\"bindings\":[]}", ERR_INVALID, "/bindings", "1 item or more", ""},
    {"deployment_bind", "{\"bindings\":[{\"role\":\"a\",\"nodes\":\"*\"}],\"class\":\"urgent\"}",
     ERR_NONE, "", "", ""},
    {"deployment_bind", "{\"bindings\":[{\"role\":\"a\"}]}", ERR_INVALID, "/bindings/0/nodes",
     "required", ""},
    {"task_resolve", "{\"outcome\":\"don\"}", ERR_INVALID, "/outcome", "", ""},
    {"operation_cancel", "", ERR_NONE, "", "", ""},
    {"operation_cancel", "{\"abort\":true}", ERR_NONE, "", "", ""},
    {"noderole_data", "{\"anything\":{\"at\":[\"all\"]}}", ERR_NONE, "", "", ""},
    {"noderole_data", "3", ERR_INVALID, "", "expected a map", ""},
    {"task_poke", "", ERR_NONE, "", "", ""},
    {"task_poke", "{}", ERR_INVALID, "", "takes no body", ""},
};

static void test_bodies(const struct api_book *b)
{
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const struct body_case *c = &bodies[i];
        const struct value *v = NULL;
        SCOPED_ARENA(mem);
        struct err e;
        err_clear(&e);
        int r = validate_body(b, route_of(c->route), &mem, str_of(c->body), &v, &e);
        is_int(r, -(int)c->code, "body %zu for %s", i, c->route);
        if (c->code == ERR_NONE)
            continue;
        is_text(e.at, c->at, "  points there");
        has_text(e.text, c->text, "  says why");
        has_text(e.hint, c->hint, "  hints");
    }
}

static void test_depth(const struct api_book *b)
{
    for (unsigned depth = 190; depth <= 210; depth += 5) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(body);
        const struct value *v;
        struct err e;
        buf_puts(&body, "{\"x\":");
        for (unsigned i = 1; i < depth; i++)
            buf_putc(&body, '[');
        for (unsigned i = 1; i < depth; i++)
            buf_putc(&body, ']');
        buf_putc(&body, '}');
        int r = validate_body(b, route_of("noderole_data"), &mem, buf_str(&body), &v, &e);
        is_int(r, depth <= 200 ? 0 : -ERR_INVALID, "%u levels", depth);
    }
}

static void test_lines(const struct api_book *b)
{
    SCOPED_ARENA(mem);
    const struct value *v;
    struct err e;
    const char *body = "{\n  \"name\": \"a\",\n  \"slots\": \"many\"\n}";
    validate_body(b, route_of("node_create"), &mem, str_of(body), &v, &e);
    is_text(e.line, "  \"slots\": \"many\"", "an error shows the line it is on");
    SCOPED_BUF(out);
    is_int(problem_write(&out, &e), 400, "as a problem it is 400");
    has_text(out.data, "\"pointer\":\"/slots\"", "with a pointer");
    has_text(out.data, "\"line\":\"  \\\"slots\\\": \\\"many\\\"\"", "and the line");
    ok(!strstr(out.data, "\"hint\""), "what is empty is left out");
    err_set(&e, ERR_CONFLICT, "%s", "");
    buf_clear(&out);
    is_int(problem_write(&out, &e), 409, "an error without text");
    has_text(out.data, "\"detail\":\"conflict\"", "has its name as detail");
}

struct query_case {
    const char *route, *query, *want, *at;
    uint32_t page_limit;
};
static const struct query_case queries[] = {
    {"node_list", "", "{\"limit\":\"100\"}", NULL, 1000},
    {"node_list", "", "{\"limit\":\"7\"}", NULL, 7},
    {"node_list", "limit=5", "{\"limit\":\"5\"}", NULL, 1000},
    {"node_list", "limit=8", NULL, "?limit", 7},
    {"node_list", "limit=-1", NULL, "?limit", 1000},
    {"node_list", "limit=1.0", NULL, "?limit", 1000},
    {"node_list", "limit=99999999999999999999", NULL, "?limit", 1000},
    {"node_list", "after=", NULL, "?after", 1000},
    {"node_list", "stat=ACTIVE", NULL, "?stat", 1000},
    {"node_list", "alive=alive&deployment=system",
     "{\"alive\":\"alive\",\"deployment\":\"system\",\"limit\":\"100\"}", NULL, 1000},
    {"task_list", "operation=x", NULL, "?operation", 1000},
    {"attempt_log", "follow=true&from=12", "{\"follow\":\"true\",\"from\":\"12\"}", NULL, 1000},
    {"attempt_log", "follow=yes", NULL, "?follow", 1000},
    {"attempt_log", "from=-1", NULL, "?from", 1000},
    {"events", "since=3", "{\"since\":\"3\"}", NULL, 1000},
    {"status", "", "null", NULL, 1000},
    {"status", "a=b", NULL, "?a", 1000},
    {"status", "%zz", NULL, "?", 1000},
};

static void test_queries(const struct api_book *b)
{
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const struct query_case *c = &queries[i];
        const struct value *map = NULL;
        SCOPED_ARENA(mem);
        SCOPED_BUF(got);
        struct err e;
        err_clear(&e);
        int r = validate_query(b, route_of(c->route), &mem, str_of(c->query), c->page_limit, &map,
                               &e);
        if (c->at) {
            is_int(r, -ERR_INVALID, "%s?%s is refused", c->route, c->query);
            is_text(e.at, c->at, "  at the parameter");
            continue;
        }
        is_int(r, 0, "%s?%s is fine", c->route, c->query);
        json_write(&got, map, 0);
        is_text(got.data, c->want, "  and becomes a map");
    }
}

int main(void)
{
    SCOPED(api_book) *b = book_new();
    test_bodies(b);
    test_depth(b);
    test_lines(b);
    test_queries(b);
    return tap_done();
}
