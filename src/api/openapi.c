/* openapi.c - the route table as OpenAPI 3.1
 *
 * What a route may answer follows from its line: parameters can be wrong (400), a token missing or
 * too weak (401, 403), a name unknown (404), a revision stale or missing (412, 428), a body too
 * large or of another type (413, 415), and whatever else it says it refuses with.  Anything beyond
 * is the server's trouble and is the "default" response, a problem as well.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void pair(struct jsonw *w, const char *key, const char *text)
{
    jsonw_key(w, key);
    jsonw_text(w, text);
}

static void open_map(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_map(w);
}

static void schema_refer(struct jsonw *w, const char *component)
{
    char ref[96];
    snprintf(ref, sizeof ref, "#/components/schemas/%s", component);
    jsonw_map(w);
    pair(w, "$ref", ref);
    jsonw_end(w);
}

static void param_write(struct jsonw *w, const struct api_param *p, const char *in, bool required)
{
    jsonw_map(w);
    pair(w, "name", p->name);
    pair(w, "in", in);
    if (required) {
        jsonw_key(w, "required");
        jsonw_bool(w, true);
    }
    pair(w, "description", p->about);
    jsonw_key(w, "schema");
    schema_refer(w, p->schema);
    jsonw_end(w);
}

static void header_write(struct jsonw *w, const char *name, const char *about, bool required)
{
    jsonw_map(w);
    pair(w, "name", name);
    pair(w, "in", "header");
    jsonw_key(w, "required");
    jsonw_bool(w, required);
    pair(w, "description", about);
    open_map(w, "schema");
    pair(w, "type", "string");
    jsonw_end(w);
    jsonw_end(w);
}

static void params_write(struct jsonw *w, const struct api_book *b, const struct api_route *r)
{
    const struct route_plan *plan = book_plan(b, r);

    jsonw_key(w, "parameters");
    jsonw_list(w);
    for (unsigned i = 0; i < plan->n_path; i++)
        param_write(w, plan->path[i], "path", true);
    for (const struct api_param *p = r->query; p && p->name; p++)
        param_write(w, p, "query", false);
    for (const struct api_param *p = api_page_params(); r->flags & API_LIST && p->name; p++)
        param_write(w, p, "query", false);
    if (r->flags & API_IF_MATCH)
        header_write(w, "If-Match", "The revision that is to be changed, quoted, or *.", true);
    if (api_keeps_answers(r))
        header_write(w, "Idempotency-Key",
                     "The first answer is kept for a day and given again for the same key.", false);
    if (r->special == API_SPECIAL_EVENTS)
        header_write(w, "Last-Event-ID", "As since, which wins.", false);
    jsonw_end(w);
}

static void media_write(struct jsonw *w, const char *media, const char *component)
{
    open_map(w, media);
    jsonw_key(w, "schema");
    if (component) {
        schema_refer(w, component);
    } else {
        jsonw_map(w);
        pair(w, "type", "string");
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void body_write(struct jsonw *w, const struct api_route *r)
{
    if (!r->request)
        return;
    open_map(w, "requestBody");
    jsonw_key(w, "required");
    jsonw_bool(w, !(r->flags & API_BODY_OPTIONAL));
    open_map(w, "content");
    media_write(w, "application/json", r->request);
    if (r->method == API_PATCH)
        media_write(w, "application/merge-patch+json", r->request);
    jsonw_end(w);
    jsonw_end(w);
}

/* {items: [component], next, total} */
static void list_schema(struct jsonw *w, const char *component)
{
    jsonw_map(w);
    pair(w, "type", "object");
    jsonw_key(w, "required");
    jsonw_list(w);
    jsonw_text(w, "items");
    jsonw_text(w, "next");
    jsonw_text(w, "total");
    jsonw_end(w);
    open_map(w, "properties");
    open_map(w, "items");
    pair(w, "type", "array");
    jsonw_key(w, "items");
    schema_refer(w, component);
    jsonw_end(w);
    jsonw_key(w, "next");
    schema_refer(w, "MaybeText");
    jsonw_key(w, "total");
    schema_refer(w, "Count");
    jsonw_end(w);
    jsonw_end(w);
}

static void success_content(struct jsonw *w, const struct api_route *r)
{
    open_map(w, "content");
    if (r->flags & API_LIST) {
        open_map(w, "application/json");
        jsonw_key(w, "schema");
        list_schema(w, r->response);
        jsonw_end(w);
    } else {
        media_write(w, r->flags & API_TEXT ? "text/plain" : "application/json", r->response);
    }
    if (r->special == API_SPECIAL_EVENTS)
        media_write(w, "text/event-stream", NULL);
    jsonw_end(w);
}

struct status_doc {
    const char *status, *about;
};

static void success_write(struct jsonw *w, const struct api_route *r)
{
    static const struct status_doc docs[] = {{"200", "Done."},
                                             {"201", "Made."},
                                             {"202", "Accepted; the work goes on."},
                                             {"204", "Done."}};

    assert(r->success);
    for (unsigned i = 0; i < sizeof docs / sizeof *docs; i++) {
        if (!(r->success & 1u << i))
            continue;
        open_map(w, docs[i].status);
        pair(w, "description", docs[i].about);
        if (1u << i != API_204)
            success_content(w, r);
        jsonw_end(w);
    }
    if (r->method != API_GET || r->flags & API_LIST || !r->op)
        return;
    open_map(w, "304");
    pair(w, "description", "It has the revision that If-None-Match names.");
    jsonw_end(w);
}

static void problem_refer(struct jsonw *w, bool applies, const char *status, const char *about)
{
    if (!applies)
        return;
    open_map(w, status);
    pair(w, "description", about);
    open_map(w, "content");
    media_write(w, "application/problem+json", "Problem");
    jsonw_end(w);
    jsonw_end(w);
}

static void responses_write(struct jsonw *w, const struct api_book *b, const struct api_route *r)
{
    bool named = book_plan(b, r)->n_path > 0, read = r->method == API_GET;

    open_map(w, "responses");
    success_write(w, r);
    problem_refer(w, true, "400", "The request is not valid.");
    problem_refer(w, r->scope != SCOPE_NONE, "401", "A token is needed.");
    problem_refer(w, r->scope != SCOPE_NONE, "403", "The token's scope does not reach so far.");
    problem_refer(w, named || r->op == server_catalog_get, "404", "There is no such object.");
    problem_refer(w, !read && (r->refuses & API_409 || r->method == API_POST), "409",
                  "It contradicts what is there.");
    problem_refer(w, r->flags & API_IF_MATCH, "412", "The revision is stale.");
    problem_refer(w, !read, "413", "The body is too large.");
    problem_refer(w, r->request, "415", "The body is not JSON.");
    problem_refer(w, r->refuses & API_422, "422", "Understood, and refused.");
    problem_refer(w, r->flags & API_IF_MATCH, "428", "If-Match is needed.");
    problem_refer(w, true, "default", "The server could not.");
    jsonw_end(w);
}

static void route_write(struct jsonw *w, const struct api_book *b, const struct api_route *r)
{
    char method[8];
    snprintf(method, sizeof method, "%s", api_method_name(r->method));
    for (char *c = method; *c; c++)
        *c |= 0x20;
    open_map(w, method);
    pair(w, "operationId", r->id);
    pair(w, "summary", r->summary);
    jsonw_key(w, "tags");
    jsonw_list(w);
    jsonw_text(w, r->tag);
    jsonw_end(w);
    jsonw_key(w, "security");
    jsonw_list(w);
    if (r->scope != SCOPE_NONE) {
        jsonw_map(w);
        jsonw_key(w, "token");
        jsonw_list(w);
        jsonw_text(w, api_scope_name(r->scope));
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
    params_write(w, b, r);
    body_write(w, r);
    responses_write(w, b, r);
    jsonw_end(w);
}

static void paths_write(struct jsonw *w, const struct api_book *b)
{
    const char *open = NULL;

    open_map(w, "paths");
    for (size_t i = 0; api_route_at(i); i++) {
        const struct api_route *r = api_route_at(i);
        if (!open || strcmp(open, r->path)) {
            if (open)
                jsonw_end(w);
            open_map(w, r->path);
            open = r->path;
        }
        route_write(w, b, r);
    }
    jsonw_end(w);
    jsonw_end(w);
}

void openapi_write(const struct api_book *b, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_map(&w);
    pair(&w, "openapi", "3.1.0");
    open_map(&w, "info");
    pair(&w, "title", "Anneal");
    pair(&w, "version", ANNEAL_VERSION);
    pair(&w, "description", "Brings clusters of machines to the state their operators describe.");
    open_map(&w, "license");
    pair(&w, "name", "Apache-2.0");
    pair(&w, "identifier", "Apache-2.0");
    jsonw_end(&w);
    jsonw_end(&w);
    paths_write(&w, b);
    open_map(&w, "components");
    open_map(&w, "securitySchemes");
    open_map(&w, "token");
    pair(&w, "type", "http");
    pair(&w, "scheme", "bearer");
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_key(&w, "schemas");
    jsonw_value(&w, b->schemas);
    jsonw_end(&w);
    jsonw_end(&w);
}

void api_openapi_write(struct buf *b)
{
    SCOPED(api_book) *book = book_new();
    SCOPED_ARENA(mem);
    struct value *v;
    int r = json_parse(&mem, book->openapi.data, book->openapi.len, NULL, &v, NULL);

    assert(r == 0);
    json_write(b, v, 2);
    buf_putc(b, '\n');
}
