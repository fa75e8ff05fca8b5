/* value.c - building, reading, comparing and copying the tree
 *
 * Nothing here recurses: trees are as deep as a user's file.  Walks that need to come back keep
 * their own stack on the heap.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"
#include "base/value_i.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "base/arena_i.h"
#include "base/hash_i.h"

_Static_assert(sizeof(struct value) == 24, "values are copied by the million: keep them small");
_Static_assert(sizeof(struct member) == 40, "as values");
_Static_assert(sizeof(struct value_index) == 16, "keeps the members behind it aligned");

const char *value_kind_name(enum value_kind k)
{
    static const char *const names[VALUE_KIND_COUNT] = {
#define X(id, text) [VALUE_##id] = text,
        VALUE_KINDS(X)
#undef X
    };
    return (unsigned)k < VALUE_KIND_COUNT ? names[k] : "unknown";
}

/* --- the index of large maps --- */

static struct value_index *map_index(const struct value *map)
{
    return (struct value_index *)(void *)map->members - 1;
}

static uint32_t *index_slots(const struct value_index *x)
{
    return (uint32_t *)(void *)x - ((size_t)x->mask + 1);
}

void value_members_new(struct arena *a, struct value *map, uint32_t n)
{
    map->indexed = n > VALUE_INDEX_ABOVE;
    if (!map->indexed) {
        map->members = n ? arena_take_raw(a, n, sizeof *map->members) : NULL;
        return;
    }
    assert(n <= 1u << 30);
    uint32_t slots = 1u << (33 - __builtin_clz(n - 1)); /* at least twice n, a power of two */
    size_t index_bytes = (size_t)slots * sizeof(uint32_t) + sizeof(struct value_index);
    char *block = arena_take_raw(a, index_bytes + (size_t)n * sizeof(struct member), 1);
    memset(block, 0, (size_t)slots * sizeof(uint32_t));
    map->members = (struct member *)(void *)(block + index_bytes);
    *map_index(map) = (struct value_index){.seed = hash_seed(), .mask = slots - 1};
}

/* The slot that holds the key, or the empty one where it would go. */
static uint32_t *index_probe(const struct value *map, uint32_t n, struct str key)
{
    const struct value_index *x = map_index(map);
    uint32_t *slots = index_slots(x);
    uint32_t at = (uint32_t)hash_bytes(x->seed, key.s, key.n) & x->mask;
    for (; slots[at]; at = (at + 1) & x->mask) {
        uint32_t i = slots[at] - 1;
        if (i < n && str_eq(member_key(&map->members[i]), key))
            break;
    }
    return &slots[at];
}

void value_index_add(struct value *map, uint32_t i)
{
    if (map->indexed)
        *index_probe(map, i, member_key(&map->members[i])) = i + 1;
}

int64_t value_find(const struct value *map, struct str key)
{
    if (map->indexed)
        return (int64_t)*index_probe(map, map->n, key) - 1;
    for (uint32_t i = 0; i < map->n; i++)
        if (str_eq(member_key(&map->members[i]), key))
            return i;
    return -1;
}

bool value_members_seal(struct arena *a, struct value *map, const struct member *from, uint32_t n,
                        uint32_t *ret_first, uint32_t *ret_again)
{
    value_members_new(a, map, n);
    map->n = n;
    if (n)
        memcpy(map->members, from, n * sizeof *from);
    for (uint32_t i = 0; i < n; i++) {
        map->members[i].v.cap = 0;
        struct str key = member_key(&map->members[i]);
        uint32_t first = 0;
        if (map->indexed) {
            uint32_t *slot = index_probe(map, i, key);
            if (*slot == 0) {
                *slot = i + 1;
                continue;
            }
            first = *slot - 1;
        } else {
            while (first < i && !str_eq(member_key(&map->members[first]), key))
                first++;
            if (first == i)
                continue;
        }
        *ret_first = first;
        *ret_again = i;
        return false;
    }
    return true;
}

/* --- builders --- */

static struct value *value_new(struct arena *a, enum value_kind kind)
{
    struct value *v = arena_new(a, struct value, 1);
    v->kind = (uint8_t)kind;
    return v;
}

struct value *value_null(struct arena *a)
{
    return value_new(a, VALUE_NULL);
}

struct value *value_bool(struct arena *a, bool b)
{
    struct value *v = value_new(a, VALUE_BOOL);
    v->b = b;
    return v;
}

struct value *value_int(struct arena *a, int64_t i)
{
    struct value *v = value_new(a, VALUE_INT);
    v->i = i;
    return v;
}

struct value *value_real(struct arena *a, double r)
{
    assert(isfinite(r));
    struct value *v = value_new(a, VALUE_REAL);
    v->r = r;
    return v;
}

struct value *value_str(struct arena *a, struct str s)
{
    assert(s.n < UINT32_MAX);
    struct value *v = value_new(a, VALUE_STRING);
    v->s = arena_strndup(a, s.s, s.n);
    v->n = (uint32_t)s.n;
    return v;
}

struct value *value_text(struct arena *a, const char *s)
{
    return s ? value_str(a, str_of(s)) : value_null(a);
}

struct value *value_list(struct arena *a)
{
    return value_new(a, VALUE_LIST);
}

struct value *value_map(struct arena *a)
{
    return value_new(a, VALUE_MAP);
}

/* What a container stores of a value: the same, but shared from now on. */
static struct value value_shared(const struct value *v)
{
    struct value copy = *v;
    copy.cap = 0;
    return copy;
}

static uint32_t value_room(uint32_t n)
{
    assert(n < 1u << 30);
    return n < 4 ? 4 : n + n / 2 + 1;
}

void value_add(struct arena *a, struct value *list, const struct value *item)
{
    assert(list->kind == VALUE_LIST);
    struct value copy = value_shared(item); /* the item may be the list itself */
    if (list->n >= list->cap) {
        uint32_t cap = value_room(list->n);
        struct value *items = arena_take_raw(a, cap, sizeof *items);
        if (list->n)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = copy;
}

/* Gives the map a block of its own with room for `cap` members. */
static void map_move(struct arena *a, struct value *map, uint32_t cap)
{
    struct value grown = *map;
    value_members_new(a, &grown, cap);
    grown.cap = cap;
    if (map->n)
        memcpy(grown.members, map->members, map->n * sizeof *map->members);
    if (grown.indexed)
        for (uint32_t i = 0; i < map->n; i++)
            value_index_add(&grown, i);
    *map = grown;
}

void value_set_str(struct arena *a, struct value *map, struct str key, const struct value *v)
{
    assert(map->kind == VALUE_MAP && key.n < UINT32_MAX);
    struct value copy = value_shared(v);
    int64_t at = value_find(map, key);
    if (at >= 0) {
        if (map->cap == 0)
            map_move(a, map, map->n);
        map->members[at].v = copy;
        return;
    }
    if (map->n >= map->cap)
        map_move(a, map, value_room(map->n));
    map->members[map->n] = (struct member){
        .key = arena_strndup(a, key.s, key.n), .key_n = (uint32_t)key.n, .v = copy};
    value_index_add(map, map->n);
    map->n++;
}

void value_set(struct arena *a, struct value *map, const char *key, const struct value *v)
{
    value_set_str(a, map, str_of(key), v);
}

void value_put_text(struct arena *a, struct value *map, const char *key, const char *s)
{
    struct value v = {.kind = s ? VALUE_STRING : VALUE_NULL};
    if (s) {
        size_t n = strlen(s);
        assert(n < UINT32_MAX);
        v.n = (uint32_t)n;
        v.s = arena_strndup(a, s, n);
    }
    value_set(a, map, key, &v);
}

void value_put_int(struct arena *a, struct value *map, const char *key, int64_t i)
{
    value_set(a, map, key, &(struct value){.kind = VALUE_INT, .i = i});
}

void value_put_bool(struct arena *a, struct value *map, const char *key, bool b)
{
    value_set(a, map, key, &(struct value){.kind = VALUE_BOOL, .b = b});
}

/* --- readers --- */

const struct value *value_get_str(const struct value *map, struct str key)
{
    if (!value_is(map, VALUE_MAP))
        return NULL;
    int64_t at = value_find(map, key);
    return at < 0 ? NULL : &map->members[at].v;
}

const struct value *value_get(const struct value *map, const char *key)
{
    return value_get_str(map, str_of(key));
}

/* Decimal digits without a needless zero in front, or nothing. */
static const struct value *list_at(const struct value *list, struct str index)
{
    uint64_t i = 0;
    if (index.n == 0 || index.n > 10 || (index.n > 1 && index.s[0] == '0'))
        return NULL;
    for (size_t k = 0; k < index.n; k++) {
        if (index.s[k] < '0' || index.s[k] > '9')
            return NULL;
        i = i * 10 + (uint64_t)(index.s[k] - '0');
    }
    return i < list->n ? &list->items[i] : NULL;
}

const struct value *value_at(const struct value *v, const char *path)
{
    if (!*path)
        return v;
    for (;;) {
        size_t n = strcspn(path, ".");
        struct str step = {path, n};
        v = value_is(v, VALUE_LIST) ? list_at(v, step) : value_get_str(v, step);
        if (!v || !path[n])
            return v;
        path += n + 1;
    }
}

struct str value_as_str(const struct value *v)
{
    return value_is(v, VALUE_STRING) ? (struct str){v->s, v->n} : (struct str){"", 0};
}

const char *value_as_text(const struct value *v, const char *otherwise)
{
    return value_is(v, VALUE_STRING) ? v->s : otherwise;
}

int64_t value_as_int(const struct value *v, int64_t otherwise)
{
    return value_is(v, VALUE_INT) ? v->i : otherwise;
}

bool value_as_bool(const struct value *v, bool otherwise)
{
    return value_is(v, VALUE_BOOL) ? v->b : otherwise;
}

/* --- whole trees --- */

struct value_pair {
    const struct value *a, *b;
};

/* Equal as far as can be told without looking at children. */
static bool value_same_top(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind)
        return false;
    switch ((enum value_kind)a->kind) {
    case VALUE_NULL: return true;
    case VALUE_BOOL: return a->b == b->b;
    case VALUE_INT: return a->i == b->i;
    case VALUE_REAL: return memcmp(&a->r, &b->r, sizeof a->r) == 0; /* 0.0 and -0.0 print apart */
    case VALUE_STRING: return str_eq((struct str){a->s, a->n}, (struct str){b->s, b->n});
    case VALUE_LIST:
    case VALUE_MAP: return a->n == b->n;
    case VALUE_KIND_COUNT: break;
    }
    return false;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (!a || !b)
        return a == b;
    VEC(struct value_pair) todo = {0};
    bool same = true;
    vec_push(&todo, ((struct value_pair){a, b}));
    while (same && todo.n) {
        struct value_pair p = todo.at[--todo.n];
        if (p.a == p.b)
            continue;
        same = value_same_top(p.a, p.b);
        if (!same || p.a->n == 0)
            continue;
        if (p.a->kind == VALUE_LIST && p.a->items != p.b->items)
            for (uint32_t i = 0; i < p.a->n; i++)
                vec_push(&todo, ((struct value_pair){&p.a->items[i], &p.b->items[i]}));
        if (p.a->kind == VALUE_MAP && p.a->members != p.b->members)
            for (uint32_t i = 0; same && i < p.a->n; i++) {
                const struct value *other = value_get_str(p.b, member_key(&p.a->members[i]));
                same = other != NULL;
                if (same)
                    vec_push(&todo, ((struct value_pair){&p.a->members[i].v, other}));
            }
    }
    vec_done(&todo);
    return same;
}

struct value *value_copy(struct arena *a, const struct value *v)
{
    if (!v)
        return NULL;
    struct value *top = arena_take_raw(a, 1, sizeof *top);
    VEC(struct value *) todo = {0}; /* copied, but their children still are the original's */
    struct text_pool pool = {0};
    *top = *v;
    vec_push(&todo, top);
    while (todo.n) {
        struct value *at = todo.at[--todo.n];
        at->cap = 0;
        if (at->kind == VALUE_STRING) {
            char *s = arena_pool_take(a, &pool, at->n);
            memcpy(s, at->s, at->n);
            at->s = s;
        } else if (at->kind == VALUE_LIST && at->n) {
            struct value *items = arena_take_raw(a, at->n, sizeof *items);
            memcpy(items, at->items, at->n * sizeof *items);
            at->items = items;
            for (uint32_t i = 0; i < at->n; i++)
                vec_push(&todo, &items[i]);
        } else if (at->kind == VALUE_MAP && at->n) {
            map_move(a, at, at->n);
            at->cap = 0;
            for (uint32_t i = 0; i < at->n; i++) {
                struct member *m = &at->members[i];
                char *key = arena_pool_take(a, &pool, m->key_n);
                memcpy(key, m->key, m->key_n);
                m->key = key;
                vec_push(&todo, &m->v);
            }
        }
    }
    vec_done(&todo);
    return top;
}
