/* book_i.h - what the route table becomes before the first request
 *
 * A book is made once from routes.c and schemas.json: a tree to match paths with, and for each
 * route the schemas of its parameters and body, resolved.  It is immutable and knows no socket and
 * no server, so that the fuzzer and the OpenAPI dump use the very code that answers requests.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_BOOK_I_H
#define API_BOOK_I_H

#include "api/api.h"
#include "base/alloc.h"
#include "base/value.h"
#include "model/schema.h"

enum {
    API_MAX_SEGMENTS = 8, /* of a path; the longest route has 6 */
    API_MAX_PATH_IDS = 3, /* as many as struct server_call takes */
    API_LIMIT_DEFAULT = 100,
};

/* --- the request target (uri.c) --- */

struct uri {
    struct str
        segment[API_MAX_SEGMENTS]; /* decoded; NUL-terminated where decoding changed anything */
    unsigned n;
    struct str query; /* after the question mark, raw */
};
/* Strict: bad escapes, escapes of what is not UTF-8, control characters, empty segments and raw
 * bytes that a URI may not hold are refused.  Borrows text; decoded segments are in mem. */
int uri_split(struct arena *mem, const char *text, struct uri *ret_u, struct err *e);
/* name=value&...; a plus is a blank.  A map of text; a name given twice is refused. */
int uri_query_parse(struct arena *mem, struct str query, struct value **ret_map, struct err *e);

/* --- matching (route.c) --- */

struct route_node;
struct route_match {
    const struct api_route *route; /* NULL: no such method here, or no such path */
    struct str id[API_MAX_PATH_IDS];
    unsigned n_ids;
    unsigned methods; /* bit per api_method that the path has; 0: there is no such path */
};
struct route_node *route_tree_new(struct arena *mem);
void route_find(const struct route_node *root, const struct uri *u, enum api_method m,
                struct route_match *ret_m);
/* ERR_NOT_FOUND with the nearest path that exists as hint. */
int route_missing(const struct route_node *root, const struct uri *u, struct err *e);
/* "GET, HEAD, OPTIONS, PATCH" for Allow. */
void route_allow(unsigned methods, struct buf *b);

/* --- schemas (schemas.c) --- */

/* All components as one map: the file's and the enums that model/states.h and others list. */
const struct value *schemas_load(struct arena *mem);

/* --- the book (book.c) --- */

struct route_plan {
    const struct value *query;   /* schema of an object with the known parameters; NULL: none */
    const struct value *request; /* NULL: no body */
    const struct api_param *path[API_MAX_PATH_IDS];
    const struct value *path_schema[API_MAX_PATH_IDS];
    unsigned n_path;
};
struct api_book {
    struct arena mem;
    const struct value *schemas;
    struct schema_env env;
    struct route_node *root;
    struct route_plan *plans; /* one per route */
    struct buf openapi;       /* compact */
    char openapi_tag[24];     /* its ETag, quotes included */
};
struct api_book *book_new(void);
void book_free(struct api_book *b);
static inline void api_book_scope_end(struct api_book **b)
{
    book_free(*b);
}
const struct route_plan *book_plan(const struct api_book *b, const struct api_route *r);
/* The component's schema; asserts that it is there. */
const struct value *book_schema(const struct api_book *b, const char *name);
/* NULL if no parameter has that name. */
const struct api_param *api_path_param(struct str name);
/* limit and after, of every list. */
const struct api_param *api_page_params(void);
/* Is an Idempotency-Key heeded?  Not where the answer holds a secret, which must not be kept. */
bool api_keeps_answers(const struct api_route *r);

/* --- OpenAPI (openapi.c) --- */

void openapi_write(const struct api_book *b, struct buf *out);

/* --- validation (validate.c) --- */

/* Each refuses with ERR_INVALID (ERR_SYNTAX for malformed JSON) and e->at as docs/rfc/05-api.md has
 * it:
 * "{id}", "?limit", "/labels/rack", "body:3:14". */
int validate_path(const struct api_book *b, struct arena *mem, const struct route_match *m,
                  struct err *e);
/* NULL if the route takes none.  A list's limit is always there. */
int validate_query(const struct api_book *b, const struct api_route *r, struct arena *mem,
                   struct str query, uint32_t page_limit, const struct value **ret_map,
                   struct err *e);
int validate_body(const struct api_book *b, const struct api_route *r, struct arena *mem,
                  struct str body, const struct value **ret_v, struct err *e);

/* --- problems (problem_json.c) --- */

/* application/problem+json of an error; returns the status. */
unsigned problem_write(struct buf *out, const struct err *e);

#endif
