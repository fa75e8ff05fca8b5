/* validate.c - a request against the schemas that are published for it
 *
 * Three places, three ways to point: "{id}" in the path, "?limit" in the query, a JSON pointer or
 * body:line:column in the body.  Query parameters arrive as text and are checked as what their
 * schema says they are; the server gets the text. Bounds of the checker (depth, steps) are the
 * client's doing, so they are ERR_INVALID here, not a limit of the server.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* A text as the type that its schema names; left as text where it does not read as such, so that
 * the schema's own message tells what was expected. */
static struct value *typed(struct arena *mem, const struct value *schema, struct str text)
{
    struct str type = value_as_str(value_get(schema, "type"));
    uint64_t number;

    if (str_is(type, "integer") && text_u64(text, INT64_MAX, &number, NULL) >= 0)
        return value_int(mem, (int64_t)number);
    if (str_is(type, "boolean") && (str_is(text, "true") || str_is(text, "false")))
        return value_bool(mem, text.s[0] == 't');
    return value_str(mem, text);
}

static int as_invalid(struct err *e)
{
    if (e->code == ERR_LIMIT)
        e->code = ERR_INVALID;
    return -(int)e->code;
}

int validate_path(const struct api_book *b, struct arena *mem, const struct route_match *m,
                  struct err *e)
{
    const struct route_plan *plan = book_plan(b, m->route);

    for (unsigned i = 0; i < plan->n_path; i++) {
        struct value *v = typed(mem, plan->path_schema[i], m->id[i]);
        if (schema_check_env(&b->env, plan->path_schema[i], v, e) < 0) {
            as_invalid(e);
            return err_at(e, "{%s}", plan->path[i]->name);
        }
    }
    return 0;
}

static int limit_check(const struct value *typed_map, uint32_t page_limit, struct err *e)
{
    int64_t limit = value_as_int(value_get(typed_map, "limit"), 1);
    if (limit <= (int64_t)page_limit)
        return 0;
    err_set(e, ERR_INVALID, "a page has at most %" PRIu32 " items here", page_limit);
    err_at(e, "?limit");
    return err_hint(e, "follow next for more");
}

int validate_query(const struct api_book *b, const struct api_route *r, struct arena *mem,
                   struct str query, uint32_t page_limit, const struct value **ret_map,
                   struct err *e)
{
    const struct route_plan *plan = book_plan(b, r);
    struct value *map;

    if (!query.n && !(r->flags & API_LIST)) {
        *ret_map = NULL;
        return 0;
    }
    int rc = uri_query_parse(mem, query, &map, e);
    if (rc < 0)
        return rc;
    if (!plan->query) {
        if (map->n) {
            err_set(e, ERR_INVALID, "this route takes no query parameters");
            return err_at(e, "?%s", map->members[0].key);
        }
        *ret_map = NULL;
        return 0;
    }
    const struct value *known = value_get(plan->query, "properties");
    struct value *types = value_map(mem);
    for (uint32_t i = 0; i < map->n; i++) {
        struct str name = {map->members[i].key, map->members[i].key_n};
        const struct value *schema = value_get_str(known, name);
        value_set_str(mem, types, name, typed(mem, schema, value_as_str(&map->members[i].v)));
    }
    if (schema_check_env(&b->env, plan->query, types, e) < 0) {
        as_invalid(e);
        return err_at(e, "?%s", *e->at == '/' ? e->at + 1 : "");
    }
    rc = limit_check(types, page_limit, e);
    if (rc < 0)
        return rc;
    if (r->flags & API_LIST && !value_get(map, "limit")) {
        char limit[16];
        snprintf(limit, sizeof limit, "%" PRIu32,
                 page_limit < API_LIMIT_DEFAULT ? page_limit : API_LIMIT_DEFAULT);
        value_put_text(mem, map, "limit", limit);
    }
    *ret_map = map;
    return 0;
}

/* The line on which a schema error is, for people; the reader keeps positions in every value. */
static void line_show(struct str body, const struct value *v, struct err *e)
{
    const char *at = body.s, *end = body.s + body.n;

    for (uint32_t line = 1; v && line < v->line; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (!next)
            return;
        at = next + 1;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    err_line(e, at, (size_t)((stop ? stop : end) - at));
}

int validate_body(const struct api_book *b, const struct api_route *r, struct arena *mem,
                  struct str body, const struct value **ret_v, struct err *e)
{
    static const struct json_options options = {.name = "body", .max_depth = JSON_DEPTH_DEFAULT};
    const struct route_plan *plan = book_plan(b, r);
    struct value *v;

    if (!plan->request) {
        if (body.n)
            return err_set(e, ERR_INVALID, "this route takes no body");
        *ret_v = NULL;
        return 0;
    }
    if (!body.n && r->flags & API_BODY_OPTIONAL) {
        *ret_v = value_map(mem);
        return 0;
    }
    if (!body.n) {
        err_set(e, ERR_INVALID, "this route needs a body");
        return err_hint(e, "its schema is %s in /v1/openapi.json", r->request);
    }
    if (json_parse(mem, body.s, body.n, &options, &v, e) < 0)
        return as_invalid(e);
    if (schema_check_env(&b->env, plan->request, v, e) < 0) {
        line_show(body, schema_pointer_get(v, e->at), e);
        return as_invalid(e);
    }
    *ret_v = v;
    return 0;
}
