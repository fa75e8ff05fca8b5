/* yaml_tree.c - YAML events to values
 *
 * Everything that gives events a meaning is here: types, duplicate keys, merge keys, aliases and
 * the limits.  Values under construction lie on one stack, as in json.c.
 *
 * An alias shares its value, so that memory stays small; but whoever walks the tree walks the
 * shared part each time.  Each value's weight (values in it, aliases expanded) and height are known
 * when it is complete, and the limits count those.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_i.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/utf8_i.h"
#include "base/value_i.h"

#define NO_ANCHOR UINT32_MAX

/* --- errors --- */

/* Points the error that was just set at the event. */
static int yaml_here(struct yaml_tree *t, const struct yaml_event *ev, int rc)
{
    source_point(t->text, ev->pos, t->e);
    return rc;
}

static int yaml_limit_values(struct yaml_tree *t, const struct yaml_event *ev)
{
    int rc = err_set(t->e, ERR_LIMIT, "more than %llu values, counting what aliases repeat",
                     (unsigned long long)t->max_values);
    yaml_here(t, ev, rc);
    err_hint(t->e, "split the file, or use fewer aliases of aliases");
    return rc;
}

static int yaml_limit_depth(struct yaml_tree *t, const struct yaml_event *ev)
{
    int rc = err_set(t->e, ERR_LIMIT, "nested more than %u levels deep", t->max_depth);
    yaml_here(t, ev, rc);
    err_hint(t->e, "flatten the document; at most %u levels are read here", t->max_depth);
    return rc;
}

static int yaml_tag_refused(struct yaml_tree *t, const struct yaml_event *ev, const char *why)
{
    int rc = err_set(t->e, ERR_INVALID, "tag %.*s %s", (int)utf8_cut(ev->tag.s, ev->tag.n, 80),
                     ev->tag.s, why);
    yaml_here(t, ev, rc);
    err_hint(t->e, "remove the tag; !!str !!int !!float !!bool !!null !!map !!seq are understood");
    return rc;
}

static int yaml_duplicate(struct yaml_tree *t, const struct member *first,
                          const struct member *again)
{
    size_t line, column;
    source_locate(t->text, first->v.cap, &line, &column);
    int rc = err_set(t->e, ERR_SYNTAX, "duplicate key \"%.*s\", first at %zu:%zu",
                     (int)utf8_cut(again->key, again->key_n, 100), again->key, line, column);
    source_point(t->text, again->v.cap, t->e);
    err_hint(t->e, "remove one of the two");
    return rc;
}

/* --- anchors --- */

static uint32_t anchor_new(struct yaml_tree *t, const struct yaml_event *ev)
{
    if (!ev->anchor.s)
        return NO_ANCHOR;
    uint32_t at = (uint32_t)t->anchors.n;
    vec_add(&t->anchors)->open = true;
    strmap_put(&t->names, ev->anchor, at); /* a later anchor of the same name takes over */
    return at;
}

static void anchor_close(struct yaml_tree *t, uint32_t anchor, const struct value *v,
                         uint64_t weight, uint32_t height)
{
    if (anchor == NO_ANCHOR)
        return;
    struct yaml_anchor *a = &t->anchors.at[anchor];
    *a = (struct yaml_anchor){.v = *v, .weight = weight, .height = height};
    a->v.cap = 0;
}

static int anchor_unknown(struct yaml_tree *t, const struct yaml_event *ev)
{
    int rc = err_set(t->e, ERR_SYNTAX, "alias *%.*s has no anchor above it",
                     (int)utf8_cut(ev->text.s, ev->text.n, 64), ev->text.s);
    yaml_here(t, ev, rc);
    VEC(const char *) known = {0};
    for (size_t i = 0; i < t->names.n; i++)
        vec_push(&known, t->names.at[i].key);
    const char *near = text_nearest(ev->text, known.at, known.n);
    if (near)
        err_hint(t->e, "did you mean *%s?", near);
    vec_done(&known);
    return rc;
}

/* --- the stack --- */

static struct yaml_level *yaml_level(struct yaml_tree *t)
{
    return t->open.n ? &t->open.at[t->open.n - 1] : NULL;
}

static bool yaml_wants_key(struct yaml_tree *t)
{
    return t->open.n && t->open.at[t->open.n - 1].want_key;
}

/* Where the next value goes: the member whose key was just read, or a new item. */
static struct value *yaml_slot(struct yaml_tree *t, const struct yaml_event *ev)
{
    struct yaml_level *l = yaml_level(t);
    if (!l || t->stack.at[l->at].v.kind == VALUE_LIST)
        vec_add(&t->stack);
    struct value *v = &t->stack.at[t->stack.n - 1].v;
    value_place(v, t->source, ev->line, ev->column);
    return v;
}

/* A value of the innermost container is complete. */
static void yaml_complete(struct yaml_tree *t, uint64_t weight, uint32_t height)
{
    struct yaml_level *l = yaml_level(t);
    if (!l)
        return;
    if (l->merge && l->merge == t->stack.n - 1) {
        /* What << names is not a level: its members move one up, or two out of a list. */
        uint32_t up = t->stack.at[l->merge].v.kind == VALUE_LIST ? 2 : 1;
        height = height > up ? height - up : 0;
    }
    l->weight += weight;
    if (height + 1 > l->height)
        l->height = height + 1;
    l->want_key = t->stack.at[l->at].v.kind == VALUE_MAP;
}

static int yaml_count(struct yaml_tree *t, const struct yaml_event *ev, uint64_t weight)
{
    t->values += weight;
    return t->values > t->max_values ? yaml_limit_values(t, ev) : 0;
}

static void yaml_text(struct yaml_tree *t, struct str s, const char **ret_s, uint32_t *ret_n)
{
    char *copy = arena_pool_take(t->arena, &t->pool, s.n);
    if (s.n)
        memcpy(copy, s.s, s.n);
    *ret_s = copy;
    *ret_n = (uint32_t)s.n;
}

/* --- scalars --- */

/* The part behind the core prefix, as "str"; empty for "!", which only says "do not guess". */
static bool tag_core(struct str tag, struct str *ret_name)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    size_t skip = sizeof prefix - 1;
    if (str_is(tag, "!")) {
        *ret_name = (struct str){"", 0};
        return true;
    }
    if (tag.n < skip || memcmp(tag.s, prefix, skip) != 0)
        return false;
    *ret_name = (struct str){tag.s + skip, tag.n - skip};
    return true;
}

static int yaml_tagged(struct yaml_tree *t, const struct yaml_event *ev, struct value *v)
{
    static const struct {
        const char *name;
        enum value_kind kind;
    } core[] = {{"str", VALUE_STRING}, {"", VALUE_STRING},   {"int", VALUE_INT},
                {"float", VALUE_REAL}, {"bool", VALUE_BOOL}, {"null", VALUE_NULL}};
    struct str name;
    double real;
    if (!tag_core(ev->tag, &name))
        return yaml_tag_refused(t, ev, "is not supported");
    for (size_t i = 0; i < sizeof core / sizeof *core; i++) {
        if (!str_is(name, core[i].name))
            continue;
        if (core[i].kind == VALUE_STRING)
            return 0;
        if (core[i].kind == VALUE_REAL && yaml_plain_real(ev->text, &real)) {
            v->kind = VALUE_REAL;
            v->r = real;
            return 0;
        }
        if (core[i].kind == yaml_plain_resolve(ev->text, v))
            return 0;
        return yaml_tag_refused(t, ev, "does not fit the value");
    }
    return yaml_tag_refused(t, ev, "is not supported here");
}

static int yaml_key(struct yaml_tree *t, const struct yaml_event *ev, uint32_t anchor)
{
    struct yaml_level *l = yaml_level(t);
    size_t at = t->stack.n;
    if (ev->plain && ev->text.n == 0) {
        int rc = yaml_here(t, ev, err_set(t->e, ERR_SYNTAX, "a key is missing"));
        err_hint(t->e, "write \"\" for a key that is empty");
        return rc;
    }
    struct member *m = vec_add(&t->stack);
    value_place(&m->v, t->source, ev->line, ev->column);
    m->key_line = m->v.line;
    m->key_column = m->v.column;
    m->v.cap = (uint32_t)ev->pos; /* on loan until the map is sealed, for the error on duplicates */
    yaml_text(t, ev->text, &m->key, &m->key_n);
    l->want_key = false;
    struct value text = m->v;
    text.kind = VALUE_STRING;
    text.s = m->key;
    text.n = m->key_n;
    anchor_close(t, anchor, &text, 1, 0);
    if (!ev->plain || !str_is(ev->text, "<<"))
        return 0;
    if (l->merge) {
        int rc = yaml_here(t, ev, err_set(t->e, ERR_SYNTAX, "a second << in the same map"));
        err_hint(t->e, "merge a list: <<: [*first, *second]");
        return rc;
    }
    l->merge = at;
    return 0;
}

static int yaml_scalar(struct yaml_tree *t, const struct yaml_event *ev)
{
    struct value v = {.kind = VALUE_STRING};
    uint32_t anchor = anchor_new(t, ev);
    int rc = ev->tag.s ? yaml_tagged(t, ev, &v) : 0;
    if (rc)
        return rc;
    if (yaml_wants_key(t))
        return yaml_key(t, ev, anchor);
    rc = yaml_count(t, ev, 1);
    if (rc)
        return rc;
    if (ev->plain)
        (void)yaml_plain_resolve(ev->text, &v);
    struct value *slot = yaml_slot(t, ev);
    slot->kind = v.kind;
    if (v.kind == VALUE_STRING)
        yaml_text(t, ev->text, &slot->s, &slot->n);
    else
        slot->i = v.i; /* the whole union: nothing in it is wider */
    anchor_close(t, anchor, slot, 1, 0);
    yaml_complete(t, 1, 0);
    return 0;
}

static int yaml_alias(struct yaml_tree *t, const struct yaml_event *ev)
{
    uintptr_t at;
    if (yaml_wants_key(t))
        return yaml_here(t, ev, err_set(t->e, ERR_SYNTAX, "an alias cannot be a key"));
    if (!strmap_get(&t->names, ev->text, &at))
        return anchor_unknown(t, ev);
    struct yaml_anchor a = t->anchors.at[at];
    if (a.open)
        return yaml_here(t, ev,
                         err_set(t->e, ERR_CYCLE, "alias *%.*s is inside the value it names",
                                 (int)utf8_cut(ev->text.s, ev->text.n, 64), ev->text.s));
    int rc = yaml_count(t, ev, a.weight);
    if (rc)
        return rc;
    if (t->open.n + a.height > t->max_depth)
        return yaml_limit_depth(t, ev);
    struct value *v = yaml_slot(t, ev), placed = *v;
    *v = a.v;
    v->cap = placed.cap;
    v->line = placed.line;
    v->column = placed.column;
    yaml_complete(t, a.weight, a.height);
    return 0;
}

/* --- containers --- */

static int yaml_open(struct yaml_tree *t, const struct yaml_event *ev, enum value_kind kind)
{
    struct str name;
    if (yaml_wants_key(t)) {
        int rc = err_set(t->e, ERR_SYNTAX, "a key must be text, not a %s", value_kind_name(kind));
        yaml_here(t, ev, rc);
        err_hint(t->e, "put text that starts with [ or { into quotes");
        return rc;
    }
    if (ev->tag.s && !tag_core(ev->tag, &name))
        return yaml_tag_refused(t, ev, "is not supported");
    if (ev->tag.s && name.n && !str_is(name, kind == VALUE_MAP ? "map" : "seq"))
        return yaml_tag_refused(t, ev, "is not supported here");
    int rc = yaml_count(t, ev, 1);
    if (rc)
        return rc;
    if (t->open.n >= t->max_depth)
        return yaml_limit_depth(t, ev);
    yaml_slot(t, ev)->kind = (uint8_t)kind;
    vec_push(&t->open, ((struct yaml_level){.at = t->stack.n - 1,
                                            .weight = 1,
                                            .height = 1,
                                            .anchor = anchor_new(t, ev),
                                            .want_key = kind == VALUE_MAP}));
    return 0;
}

/* Adds the members of a merged map that are not there yet. */
static void yaml_merge_map(struct value *into, const struct value *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        if (value_find(into, member_key(&from->members[i])) >= 0)
            continue;
        into->members[into->n] = from->members[i];
        value_index_add(into, into->n);
        into->n++;
    }
}

/* Completes a sealed map with what its << names; earlier maps of a list win over later ones. */
static int yaml_merge(struct yaml_tree *t, struct value *map, const struct value *merge,
                      size_t key_pos)
{
    const struct value *maps = merge;
    uint32_t n = 1;
    uint64_t room = map->n;
    if (merge->kind == VALUE_LIST) {
        maps = merge->items;
        n = merge->n;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (maps[i].kind != VALUE_MAP) {
            int rc = err_set(t->e, ERR_SYNTAX, "<< merges a map or a list of maps, found %s",
                             value_kind_name((enum value_kind)maps[i].kind));
            source_point(t->text, key_pos, t->e);
            err_hint(t->e, "quote the key if \"<<\" is meant as text");
            return rc;
        }
        room += maps[i].n;
    }
    struct value out = *map;
    out.n = 0;
    value_members_new(t->arena, &out, (uint32_t)room); /* the budget keeps it within 32 bits */
    yaml_merge_map(&out, map);
    for (uint32_t i = 0; i < n; i++)
        yaml_merge_map(&out, &maps[i]);
    *map = out;
    return 0;
}

/* Of members with one key only the last stays; returns how many do. */
static uint32_t yaml_keep_last(struct yaml_tree *t, struct member *at, uint32_t n)
{
    struct strmap last = {0};
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        strmap_put(&last, (struct str){at[i].key, at[i].key_n}, i);
    for (uint32_t i = 0; i < n; i++) {
        struct str key = {at[i].key, at[i].key_n};
        uintptr_t stands = i;
        strmap_get(&last, key, &stands);
        if (stands == i)
            at[kept++] = at[i];
        else
            t->options->duplicate(t->options->ctx, key, at[i].key_line, at[stands].key_line);
    }
    strmap_done(&last);
    return kept;
}

static int yaml_close_map(struct yaml_tree *t, const struct yaml_level *l)
{
    struct member *children = t->stack.at + l->at + 1;
    struct value *v = &t->stack.at[l->at].v;
    uint32_t n = (uint32_t)(t->stack.n - l->at - 1), first, again;
    struct member merge = {0};
    if (l->merge) {
        struct member *m = t->stack.at + l->merge;
        merge = *m;
        memmove(m, m + 1, (size_t)(children + n - (m + 1)) * sizeof *m);
        n--;
    }
    bool sealed = value_members_seal(t->arena, v, children, n, &first, &again);
    if (!sealed && t->options->duplicate) {
        n = yaml_keep_last(t, children, n);
        sealed = value_members_seal(t->arena, v, children, n, &first, &again);
    }
    if (!sealed)
        return yaml_duplicate(t, &children[first], &children[again]);
    if (!l->merge)
        return 0;
    return yaml_merge(t, v, &merge.v, merge.v.cap);
}

static int yaml_close(struct yaml_tree *t)
{
    struct yaml_level l = t->open.at[--t->open.n];
    struct value *v = &t->stack.at[l.at].v;
    uint32_t n = (uint32_t)(t->stack.n - l.at - 1);
    if (v->kind == VALUE_MAP) {
        int rc = yaml_close_map(t, &l);
        if (rc)
            return rc;
    } else if (n) {
        v->items = arena_take_raw(t->arena, n, sizeof *v->items);
        for (uint32_t i = 0; i < n; i++)
            v->items[i] = t->stack.at[l.at + 1 + i].v;
        v->n = n;
    }
    t->stack.n = l.at + 1;
    anchor_close(t, l.anchor, v, l.weight, l.height);
    yaml_complete(t, l.weight, l.height);
    return 0;
}

int yaml_tree_event(struct yaml_tree *t, const struct yaml_event *ev)
{
    switch (ev->kind) {
    case YAML_SCALAR: return yaml_scalar(t, ev);
    case YAML_ALIAS: return yaml_alias(t, ev);
    case YAML_LIST: return yaml_open(t, ev, VALUE_LIST);
    case YAML_MAP: return yaml_open(t, ev, VALUE_MAP);
    case YAML_END: return yaml_close(t);
    }
    return 0;
}

int64_t yaml_tree_column(const struct yaml_tree *t)
{
    if (t->open.n == 0)
        return -1;
    return (int64_t)t->stack.at[t->open.at[t->open.n - 1].at].v.column - 1;
}

void yaml_tree_done(struct yaml_tree *t)
{
    strmap_done(&t->names);
    vec_done(&t->stack);
    vec_done(&t->open);
    vec_done(&t->anchors);
}
