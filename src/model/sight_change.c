/* sight_change.c - what differs between two documents, and whom it concerns
 *
 * A wall is what value_diff() says, plus the paths of what vanished: dotted text, as value_diff()
 * lists them, could not tell a key with a dot from two keys.  Paths are arrays of keys that point
 * into the documents compared.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"
#include "model/sight_i.h"

const struct value *sight_at(const struct value *v, struct sight_path path)
{
    for (uint32_t i = 0; v && i < path.n; i++)
        v = value_get_str(v, path.keys[i]);
    return v;
}

/* --- comparing --- */

struct trail { /* a key and those above it; a tree that grows downwards */
    struct str key;
    const struct trail *up; /* NULL: at the top */
    uint32_t n;             /* keys, itself included */
};
struct change_pair { /* two maps at the same path */
    const struct value *before, *after;
    const struct trail *at;
};
enum { CHANGE_GONE = 1u << 0, CHANGE_OTHER = 1u << 1 };

struct change_walk {
    struct arena *a;
    unsigned asked; /* CHANGE_ */
    VEC(struct change_pair) todo;
    VEC(struct sight_path) found;
};

static struct str key_of(const struct member *m)
{
    return (struct str){m->key, m->key_n};
}

static void change_found(struct change_walk *w, const struct trail *up, struct str key,
                         unsigned what)
{
    if (!(w->asked & what))
        return;
    uint32_t n = (up ? up->n : 0) + 1;
    struct str *keys = arena_new(w->a, struct str, n);
    keys[n - 1] = key;
    for (const struct trail *t = up; t; t = t->up)
        keys[t->n - 1] = t->key;
    vec_push(&w->found, ((struct sight_path){keys, n}));
}

static void change_descend(struct change_walk *w, const struct trail *up, struct str key,
                           const struct value *before, const struct value *after)
{
    if (before->members == after->members && before->n == after->n)
        return; /* the same block: shared, or both empty */
    struct trail *t = arena_new(w->a, struct trail, 1);
    *t = (struct trail){key, up, (up ? up->n : 0) + 1};
    vec_push(&w->todo, ((struct change_pair){before, after, t}));
}

static void change_compare(struct change_walk *w, const struct change_pair *p)
{
    for (uint32_t i = 0; i < p->before->n; i++) {
        const struct member *m = &p->before->members[i];
        const struct value *now = value_get_str(p->after, key_of(m));
        if (!now)
            change_found(w, p->at, key_of(m), CHANGE_GONE);
        else if (m->v.kind == VALUE_MAP && now->kind == VALUE_MAP)
            change_descend(w, p->at, key_of(m), &m->v, now);
        else if ((w->asked & CHANGE_OTHER) && !value_equal(&m->v, now))
            change_found(w, p->at, key_of(m), CHANGE_OTHER);
    }
    for (uint32_t i = 0; (w->asked & CHANGE_OTHER) && i < p->after->n; i++) {
        const struct member *m = &p->after->members[i];
        if (!value_get_str(p->before, key_of(m)))
            change_found(w, p->at, key_of(m), CHANGE_OTHER);
    }
}

static struct sight_paths change_paths(const struct value *before, const struct value *after,
                                       unsigned asked, struct arena *a)
{
    static const struct value nothing = {.kind = VALUE_MAP};
    struct change_walk w = {.a = a, .asked = asked};
    before = value_is(before, VALUE_MAP) ? before : &nothing;
    after = value_is(after, VALUE_MAP) ? after : &nothing;
    vec_push(&w.todo, ((struct change_pair){before, after, NULL}));
    while (w.todo.n) {
        struct change_pair p = w.todo.at[--w.todo.n];
        change_compare(&w, &p);
    }
    struct sight_path *at = arena_new(a, struct sight_path, w.found.n);
    if (w.found.n)
        memcpy(at, w.found.at, w.found.n * sizeof *at);
    struct sight_paths paths = {at, (uint32_t)w.found.n};
    vec_done(&w.todo);
    vec_done(&w.found);
    return paths;
}

struct sight_paths sight_changed_paths(const struct value *before, const struct value *after,
                                       struct arena *a)
{
    return change_paths(before, after, CHANGE_GONE | CHANGE_OTHER, a);
}

struct sight_wall sight_wall(const struct value *sent, const struct value *returned,
                             struct arena *a)
{
    if (!value_is(returned, VALUE_MAP))
        return (struct sight_wall){0};
    if (!value_is(sent, VALUE_MAP))
        return (struct sight_wall){.doc = returned->n ? returned : NULL};
    return (struct sight_wall){.doc = value_diff(a, sent, returned, NULL),
                               .gone = change_paths(sent, returned, CHANGE_GONE, a)};
}

/* --- concerning --- */

struct sight_paths sight_paths_under(struct sight_path prefix, struct sight_paths paths,
                                     struct arena *a)
{
    struct sight_path *at = arena_new(a, struct sight_path, paths.n);
    for (uint32_t i = 0; i < paths.n; i++) {
        struct str *keys = arena_new(a, struct str, (size_t)prefix.n + paths.at[i].n);
        if (prefix.n)
            memcpy(keys, prefix.keys, prefix.n * sizeof *keys);
        if (paths.at[i].n)
            memcpy(keys + prefix.n, paths.at[i].keys, paths.at[i].n * sizeof *keys);
        at[i] = (struct sight_path){keys, prefix.n + paths.at[i].n};
    }
    return (struct sight_paths){at, paths.n};
}

/* One is a prefix of the other, or they are the same. */
static bool paths_meet(struct sight_path a, struct sight_path b)
{
    for (uint32_t i = 0; i < a.n && i < b.n; i++)
        if (!str_eq(a.keys[i], b.keys[i]))
            return false;
    return true;
}

static bool path_touched(struct sight_path path, struct sight_paths changed)
{
    for (uint32_t i = 0; i < changed.n; i++)
        if (paths_meet(path, changed.at[i]))
            return true;
    return false;
}

bool sight_wants_touch(struct sight_paths wants, struct sight_paths changed)
{
    for (uint32_t i = 0; i < wants.n; i++)
        if (path_touched(wants.at[i], changed))
            return true;
    return false;
}

bool sight_lens_touched(const struct sight_lens *lens, struct sight_paths changed)
{
    for (uint32_t i = 0; i < lens->n_attributes; i++)
        if (path_touched(sight_attribute_path(&lens->attributes[i]), changed))
            return true;
    return sight_wants_touch(lens->wants, changed);
}
