/* book.c - the route table, resolved once
 *
 * Every name that routes.c gives as text (schemas, parameters) is looked up here, so that a
 * misspelt one stops the program at its start and every test, not one request.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

static const struct value *component_find(void *ctx, struct str name)
{
    const struct api_book *b = ctx;
    return value_get_str(b->schemas, name);
}

const struct value *book_schema(const struct api_book *b, const char *name)
{
    const struct value *schema = value_get(b->schemas, name);
    assert(schema);
    return schema;
}

static void param_add(struct api_book *b, struct value *properties, const struct api_param *p)
{
    value_set(&b->mem, properties, p->name, book_schema(b, p->schema));
}

/* One closed object, so that an unknown parameter gets the same "did you mean" as an unknown field.
 */
static const struct value *query_schema(struct api_book *b, const struct api_route *r)
{
    if (!r->query && !(r->flags & API_LIST))
        return NULL;
    struct value *properties = value_map(&b->mem);
    for (const struct api_param *p = r->query; p && p->name; p++)
        param_add(b, properties, p);
    for (const struct api_param *p = api_page_params(); r->flags & API_LIST && p->name; p++)
        param_add(b, properties, p);
    struct value *schema = value_map(&b->mem);
    value_put_text(&b->mem, schema, "type", "object");
    value_put_bool(&b->mem, schema, "additionalProperties", false);
    value_set(&b->mem, schema, "properties", properties);
    return schema;
}

static void plan_init(struct api_book *b, struct route_plan *plan, const struct api_route *r)
{
    assert(!r->op == (r->special != API_SPECIAL_NONE));
    plan->query = query_schema(b, r);
    plan->request = r->request ? book_schema(b, r->request) : NULL;
    for (const char *at = r->path; (at = strchr(at, '{')); at++) {
        struct str name = {at + 1, strcspn(at + 1, "}")};
        const struct api_param *p = api_path_param(name);
        assert(p && plan->n_path < API_MAX_PATH_IDS);
        plan->path[plan->n_path] = p;
        plan->path_schema[plan->n_path++] = book_schema(b, p->schema);
    }
}

struct api_book *book_new(void)
{
    struct api_book *b = xcalloc(1, sizeof *b);
    size_t n = api_route_count();

    arena_init(&b->mem);
    b->schemas = schemas_load(&b->mem);
    b->env = (struct schema_env){component_find, b};
    b->root = route_tree_new(&b->mem);
    b->plans = arena_new(&b->mem, struct route_plan, n);
    for (size_t i = 0; i < n; i++)
        plan_init(b, &b->plans[i], api_route_at(i));
    openapi_write(b, &b->openapi);
    snprintf(b->openapi_tag, sizeof b->openapi_tag, "\"%016" PRIx64 "\"",
             digest_64(b->openapi.data, b->openapi.len));
    return b;
}

void book_free(struct api_book *b)
{
    if (!b)
        return;
    buf_done(&b->openapi);
    arena_done(&b->mem);
    free(b);
}

const struct route_plan *book_plan(const struct api_book *b, const struct api_route *r)
{
    return &b->plans[r - api_route_at(0)];
}
