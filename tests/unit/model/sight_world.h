/* sight_world.h - a small world in memory for the tests of sight
 *
 * Documents are written as JSON with ' for ", paths as a/b/c.  Ids of all kinds count from 1.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIGHT_WORLD_H
#define TESTS_SIGHT_WORLD_H

#include "base/alloc.h"
#include "base/json.h"
#include "model/sight.h"
#include "tap.h"

/* Not every test uses every helper. */
#define HELPER __attribute__((unused)) static

struct small_nr {
    struct sight_noderole nr;
    bool missing;
    VEC(struct sight_need) needs;
};
struct small_role {
    struct str name;
    struct sight_lens lens;
};
struct small_shared { /* deployment-role data */
    uint32_t deployment, role;
    const struct value *doc;
};
struct small_world {
    struct arena mem;
    VEC(struct small_nr) nrs;
    VEC(struct small_role) roles; /* each is its own lens, unless told otherwise */
    VEC(struct sight_node) nodes;
    VEC(uint32_t) parents; /* of deployments */
    VEC(struct small_shared) shared;
    VEC(uint32_t) ids;      /* the last answer of on_node, unless told otherwise */
    VEC(uint32_t) on_node;  /* told: what on_node answers for any node */
    uint32_t asked_on_node; /* calls */
    struct sight_world w;
};

HELPER bool small_noderole(void *ctx, uint32_t id, struct sight_noderole *ret)
{
    struct small_world *s = ctx;
    if (id == 0 || id > s->nrs.n || s->nrs.at[id - 1].missing)
        return false;
    *ret = s->nrs.at[id - 1].nr;
    if (!ret->lens)
        ret->lens = ret->role;
    return true;
}
HELPER struct sight_needs small_needs(void *ctx, uint32_t id)
{
    const struct small_nr *n = &((struct small_world *)ctx)->nrs.at[id - 1];
    return (struct sight_needs){n->needs.at, (uint32_t)n->needs.n};
}
HELPER struct sight_ids small_on_node(void *ctx, uint32_t node)
{
    struct small_world *s = ctx;
    s->asked_on_node++;
    if (s->on_node.n)
        return (struct sight_ids){s->on_node.at, (uint32_t)s->on_node.n};
    vec_clear(&s->ids);
    for (size_t i = s->nrs.n; i > 0; i--) /* not in the order in which they count */
        if (s->nrs.at[i - 1].nr.node == node)
            vec_push(&s->ids, (uint32_t)i);
    return (struct sight_ids){s->ids.at, (uint32_t)s->ids.n};
}
HELPER uint32_t small_parent(void *ctx, uint32_t deployment)
{
    return ((struct small_world *)ctx)->parents.at[deployment - 1];
}
HELPER const struct value *small_shared_doc(void *ctx, uint32_t deployment, uint32_t role)
{
    const struct small_world *s = ctx;
    for (size_t i = 0; i < s->shared.n; i++)
        if (s->shared.at[i].deployment == deployment && s->shared.at[i].role == role)
            return s->shared.at[i].doc;
    return NULL;
}
HELPER bool small_role(void *ctx, uint32_t id, struct str *ret)
{
    const struct small_world *s = ctx;
    if (id == 0 || id > s->roles.n)
        return false;
    *ret = s->roles.at[id - 1].name;
    return true;
}
HELPER bool small_lens(void *ctx, uint32_t id, struct sight_lens *ret)
{
    const struct small_world *s = ctx;
    if (id == 0 || id > s->roles.n)
        return false;
    *ret = s->roles.at[id - 1].lens;
    return true;
}
HELPER bool small_node(void *ctx, uint32_t id, struct sight_node *ret)
{
    const struct small_world *s = ctx;
    if (id == 0 || id > s->nodes.n)
        return false;
    *ret = s->nodes.at[id - 1];
    return true;
}

HELPER void small_init(struct small_world *s)
{
    *s = (struct small_world){0};
    arena_init(&s->mem);
    s->w = (struct sight_world){
        s,          small_noderole, small_needs, small_on_node, small_parent, small_shared_doc,
        small_role, small_lens,     small_node};
}
HELPER void small_done(struct small_world *s)
{
    for (size_t i = 0; i < s->nrs.n; i++)
        vec_done(&s->nrs.at[i].needs);
    vec_done(&s->nrs);
    vec_done(&s->roles);
    vec_done(&s->nodes);
    vec_done(&s->parents);
    vec_done(&s->shared);
    vec_done(&s->ids);
    vec_done(&s->on_node);
    arena_done(&s->mem);
}
HELPER void small_world_scope_end(struct small_world *s)
{
    small_done(s);
}

/* --- building --- */

HELPER const struct value *doc_of(struct arena *a, const char *text)
{
    if (!text)
        return NULL;
    char *json = arena_strdup(a, text);
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    struct value *v = NULL;
    struct err e = {0};
    if (json_parse(a, json, strlen(json), NULL, &v, &e) < 0) {
        printf("Bail out! %s: %s\n", text, e.text);
        exit(1);
    }
    return v;
}
HELPER struct sight_path path_of(struct arena *a, const char *text, size_t n)
{
    VEC(struct str) keys = {0};
    const char *end = text + n;
    while (text < end) {
        size_t len = 0;
        while (text + len < end && text[len] != '/')
            len++;
        vec_push(&keys, ((struct str){arena_strndup(a, text, len), len}));
        text += len + (text + len < end);
    }
    struct str *at = arena_new(a, struct str, keys.n);
    for (size_t i = 0; i < keys.n; i++)
        at[i] = keys.at[i];
    struct sight_path path = {at, (uint32_t)keys.n};
    vec_done(&keys);
    return path;
}
/* Paths separated by blanks. */
HELPER struct sight_paths paths_of(struct arena *a, const char *text)
{
    struct sight_path *at = arena_new(a, struct sight_path, strlen(text) + 1);
    uint32_t n = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        at[n++] = path_of(a, text, len);
        text += len + strspn(text + len, " ");
    }
    return (struct sight_paths){at, n};
}
/* Attributes "name" or "name=a/b/c", separated by blanks. */
HELPER uint32_t add_role(struct small_world *s, const char *name, const char *attributes,
                         const char *defaults, const char *wants)
{
    struct sight_attribute *at = arena_new(&s->mem, struct sight_attribute, strlen(attributes) + 1);
    struct sight_lens lens = {
        .defaults = doc_of(&s->mem, defaults), .attributes = at, .wants = paths_of(&s->mem, wants)};
    while (*attributes) {
        size_t len = strcspn(attributes, " "), name_n = strcspn(attributes, " =");
        struct sight_attribute *one = &at[lens.n_attributes++];
        one->name = (struct str){arena_strndup(&s->mem, attributes, name_n), name_n};
        if (name_n < len)
            one->path = path_of(&s->mem, attributes + name_n + 1, len - name_n - 1);
        attributes += len + strspn(attributes + len, " ");
    }
    vec_push(&s->roles, ((struct small_role){str_of(arena_strdup(&s->mem, name)), lens}));
    return (uint32_t)s->roles.n;
}
HELPER uint32_t add_node(struct small_world *s, const char *name, const char *facts)
{
    vec_push(&s->nodes,
             ((struct sight_node){str_of(arena_strdup(&s->mem, name)), doc_of(&s->mem, facts)}));
    return (uint32_t)s->nodes.n;
}
HELPER uint32_t add_deployment(struct small_world *s, uint32_t parent)
{
    vec_push(&s->parents, parent);
    return (uint32_t)s->parents.n;
}
HELPER uint32_t add_noderole(struct small_world *s, uint32_t role, uint32_t node,
                             uint32_t deployment, uint32_t cohort, const char *wall,
                             const char *system, const char *user)
{
    vec_push(&s->nrs, ((struct small_nr){.nr = {.role = role,
                                                .node = node,
                                                .deployment = deployment,
                                                .cohort = cohort,
                                                .active = true,
                                                .wall = doc_of(&s->mem, wall),
                                                .system = doc_of(&s->mem, system),
                                                .user = doc_of(&s->mem, user)}}));
    return (uint32_t)s->nrs.n;
}
HELPER void add_need(struct small_world *s, uint32_t child, uint32_t parent)
{
    vec_push(&s->nrs.at[child - 1].needs, ((struct sight_need){parent, false}));
}
/* The parent becomes a cluster member by it. */
HELPER void add_peer(struct small_world *s, uint32_t child, uint32_t parent)
{
    vec_push(&s->nrs.at[child - 1].needs, ((struct sight_need){parent, true}));
    s->nrs.at[parent - 1].nr.member = true;
}
HELPER void add_shared(struct small_world *s, uint32_t deployment, uint32_t role, const char *doc)
{
    vec_push(&s->shared, ((struct small_shared){deployment, role, doc_of(&s->mem, doc)}));
}

/* --- checking --- */

/* Equal as documents; on failure both are shown. */
#define is_doc(got, want, ...) is_doc_((got), (want), __LINE__, __VA_ARGS__)
__attribute__((format(printf, 4, 5))) HELPER void is_doc_(const struct value *got, const char *want,
                                                          int line, const char *fmt, ...)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(text);
    char label[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(label, sizeof label, fmt, ap);
    va_end(ap);
    bool good = got && want ? value_equal(got, doc_of(&a, want)) : !got && !want;
    if (tap_ok_(good, __FILE__, line, "%s", label))
        return;
    json_write(&text, got, 0);
    printf("#   got    %s\n#   wanted %s\n", got ? text.data : "nothing", want ? want : "nothing");
}

HELPER const struct value *see(struct small_world *s, uint32_t id)
{
    struct sight_layers layers;
    struct err e = {0};
    if (sight_layers(&s->w, NULL, id, &s->mem, &layers, &e) < 0) {
        ok(false, "layers of %u: %s", id, e.text);
        return NULL;
    }
    return sight_data(&layers, &s->mem);
}
HELPER uint64_t inputs(struct small_world *s, uint32_t id)
{
    struct err e = {0};
    uint64_t digest = 0;
    if (sight_inputs(&s->w, NULL, id, &s->mem, &digest, &e) < 0)
        ok(false, "inputs of %u: %s", id, e.text);
    return digest;
}

#endif
