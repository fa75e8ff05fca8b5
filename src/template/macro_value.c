/* macro_value.c - all texts of a value: checked, or expanded for one node after another
 *
 * A list or map that depends on no node is made once for all of them and remembered by its address,
 * and so is what has no macro at all.  What is left to do for a node are the ways down to the texts
 * that speak of the node itself.  Walks keep their own stack: values are a user's.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/macro_i.h"

struct frame { /* a list or map on the way down */
    const struct value *from;
    uint32_t next;
    struct value *made; /* with changes; NULL: none yet */
    bool of_self;       /* something in it depends on the node */
};
struct walk {
    VEC(struct frame) frames;
};

static bool is_container(const struct value *v)
{
    return v->kind == VALUE_LIST || v->kind == VALUE_MAP;
}

static const struct value *child_at(const struct value *v, uint32_t i)
{
    return v->kind == VALUE_LIST ? &v->items[i] : &v->members[i].v;
}

/* --- where --- */

static void pointer_part(struct buf *b, const struct frame *f)
{
    uint32_t at = f->next - 1;

    buf_putc(b, '/');
    if (f->from->kind == VALUE_LIST) {
        buf_u64(b, at);
        return;
    }
    const struct member *m = &f->from->members[at];
    for (uint32_t i = 0; i < m->key_n; i++) {
        if (m->key[i] == '~' || m->key[i] == '/')
            buf_puts(b, m->key[i] == '~' ? "~0" : "~1");
        else
            buf_putc(b, m->key[i]);
    }
}

static void place_set(const struct walk *w, struct err *e)
{
    SCOPED_BUF(pointer);

    for (size_t i = 0; i < w->frames.n; i++)
        pointer_part(&pointer, &w->frames.at[i]);
    (void)err_at(e, "%s", pointer.data ? pointer.data : "");
}

/* --- checking --- */

int macro_value_validate(const struct value *v, const struct strmap *services, struct err *e)
{
    struct walk w = {0};
    int rc = 0;

    if (v->kind == VALUE_STRING)
        return macro_text_validate(value_as_str(v), services, e);
    if (is_container(v))
        vec_push(&w.frames, ((struct frame){.from = v}));
    while (rc == 0 && w.frames.n) {
        struct frame *f = &w.frames.at[w.frames.n - 1];
        if (f->next == f->from->n) {
            w.frames.n--;
            continue;
        }
        const struct value *child = child_at(f->from, f->next++);
        if (is_container(child))
            vec_push(&w.frames, ((struct frame){.from = child}));
        else if (child->kind == VALUE_STRING &&
                 (rc = macro_text_validate(value_as_str(child), services, e)) < 0)
            place_set(&w, e);
    }
    vec_done(&w.frames);
    return rc;
}

/* --- texts --- */

static int memo_get(struct macro_cluster *c, struct str text, struct macro_memo **ret,
                    struct err *e)
{
    uintptr_t known;

    if (strmap_get(&c->texts, text, &known)) {
        *ret = (struct macro_memo *)known;
        return 0;
    }
    int rc = macro_cluster_room(c, e);
    struct macro_memo *memo = arena_new(&c->mem, struct macro_memo, 1);
    if (rc < 0)
        return rc;
    memo->text = macro_text_compile(&c->mem, text, e);
    if (!memo->text)
        return -ERR_SYNTAX;
    strmap_put(&c->texts, text, (uintptr_t)memo);
    *ret = memo;
    return 0;
}

/* A text for all nodes, made once. */
static int memo_make(struct macro_cluster *c, struct macro_memo *memo, struct err *e)
{
    SCOPED_BUF(text);

    if (memo->done)
        return 0;
    int rc = macro_text_expand(memo->text, c, MACRO_NO_NODE, &text, e);
    if (rc < 0)
        return rc;
    memo->made = (struct str){arena_strndup(&c->mem, buf_str(&text).s, text.len), text.len};
    memo->done = true;
    return 0;
}

/* The text of a string; *ret_of_self if it is left for each node. */
static int string_for_all(struct macro_cluster *c, const struct value *v, struct value *ret,
                          bool *ret_changed, bool *ret_of_self, struct err *e)
{
    struct macro_memo *memo;

    *ret_changed = *ret_of_self = false;
    if (!memchr(v->s, '%', v->n))
        return 0;
    int rc = memo_get(c, value_as_str(v), &memo, e);
    if (rc < 0 || !memo->text->has_macros)
        return rc;
    *ret_of_self = memo->text->of_self;
    if (*ret_of_self || (rc = memo_make(c, memo, e)) < 0)
        return rc;
    *ret = *v;
    ret->s = memo->made.s;
    ret->n = (uint32_t)memo->made.n;
    *ret_changed = !str_eq(memo->made, value_as_str(v));
    return 0;
}

static int string_for_node(struct arena *a, struct macro_cluster *c, const struct value *v,
                           uint32_t self, struct value *ret, struct err *e)
{
    struct macro_memo *memo;
    SCOPED_BUF(text);
    int rc = memo_get(c, value_as_str(v), &memo, e);

    if (rc < 0 || (rc = macro_text_expand(memo->text, c, self, &text, e)) < 0)
        return rc;
    *ret = *v;
    ret->s = arena_strndup(a, buf_str(&text).s, text.len);
    ret->n = (uint32_t)text.len;
    return 0;
}

/* --- containers --- */

/* The container as far as it was walked, in a copy that can be changed. */
static void frame_copy(struct arena *a, struct frame *f)
{
    if (f->made)
        return;
    f->made = f->from->kind == VALUE_LIST ? value_list(a) : value_map(a);
    for (uint32_t i = 0; i + 1 < f->next; i++) {
        const struct member *m = &f->from->members[i];
        if (f->from->kind == VALUE_LIST)
            value_add(a, f->made, &f->from->items[i]);
        else
            value_set_str(a, f->made, (struct str){m->key, m->key_n}, &m->v);
    }
}

/* What the child that was walked last has become. */
static void frame_put(struct arena *a, struct frame *f, const struct value *v)
{
    uint32_t at = f->next - 1;

    if (!f->made && v == child_at(f->from, at))
        return;
    frame_copy(a, f);
    if (f->from->kind == VALUE_LIST)
        value_add(a, f->made, v);
    else
        value_set_str(a, f->made,
                      (struct str){f->from->members[at].key, f->from->members[at].key_n}, v);
}

static bool known_for_all(const struct macro_cluster *c, const struct value *v, uintptr_t *ret)
{
    return u64map_get(&c->values, (uintptr_t)v, ret);
}

static int prepare_child(struct macro_cluster *c, struct walk *w, const struct value *child,
                         struct err *e)
{
    struct frame *f = &w->frames.at[w->frames.n - 1];
    struct value text;
    bool changed, of_self;
    uintptr_t known;

    if (is_container(child) && !known_for_all(c, child, &known)) {
        vec_push(&w->frames, ((struct frame){.from = child}));
        return 0;
    }
    if (is_container(child)) {
        f->of_self |= !known;
        frame_put(&c->mem, f, known ? (const struct value *)known : child);
        return 0;
    }
    if (child->kind != VALUE_STRING) {
        frame_put(&c->mem, f, child);
        return 0;
    }
    int rc = string_for_all(c, child, &text, &changed, &of_self, e);
    if (rc < 0)
        return rc;
    f->of_self |= of_self;
    frame_put(&c->mem, f, changed ? &text : child);
    return 0;
}

/* Makes whatever of a container is the same for all nodes, and remembers what is not. */
static int prepare(struct macro_cluster *c, const struct value *v, struct err *e)
{
    struct walk w = {0};
    uintptr_t known;
    int rc = 0;

    if (!known_for_all(c, v, &known))
        vec_push(&w.frames, ((struct frame){.from = v}));
    while (rc == 0 && w.frames.n) {
        struct frame *f = &w.frames.at[w.frames.n - 1];
        if (f->next < f->from->n) {
            rc = prepare_child(c, &w, child_at(f->from, f->next++), e);
            if (rc < 0)
                place_set(&w, e);
            continue;
        }
        struct frame done = *f;
        const struct value *made = done.of_self ? NULL : done.made ? done.made : done.from;
        u64map_put(&c->values, (uintptr_t)done.from, (uintptr_t)made);
        w.frames.n--;
        if (!w.frames.n)
            break;
        f = &w.frames.at[w.frames.n - 1];
        f->of_self |= done.of_self;
        frame_put(&c->mem, f, made ? made : done.from);
    }
    vec_done(&w.frames);
    return rc;
}

static int expand_child(struct arena *a, struct macro_cluster *c, struct walk *w,
                        const struct value *child, uint32_t self, struct err *e)
{
    struct frame *f = &w->frames.at[w->frames.n - 1];
    struct value text;
    bool changed, of_self;
    uintptr_t known = 0;

    if (is_container(child)) {
        (void)known_for_all(c, child, &known);
        if (known)
            frame_put(a, f, (const struct value *)known);
        else
            vec_push(&w->frames, ((struct frame){.from = child}));
        return 0;
    }
    if (child->kind != VALUE_STRING) {
        frame_put(a, f, child);
        return 0;
    }
    int rc = string_for_all(c, child, &text, &changed, &of_self, e);
    if (rc == 0 && of_self)
        rc = string_for_node(a, c, child, self, &text, e);
    if (rc == 0)
        frame_put(a, f, changed || of_self ? &text : child);
    return rc;
}

static int expand_container(struct arena *a, struct macro_cluster *c, const struct value *v,
                            uint32_t self, const struct value **ret, struct err *e)
{
    struct walk w = {0};
    int rc = 0;

    vec_push(&w.frames, ((struct frame){.from = v}));
    while (rc == 0) {
        struct frame *f = &w.frames.at[w.frames.n - 1];
        if (f->next < f->from->n) {
            rc = expand_child(a, c, &w, child_at(f->from, f->next++), self, e);
            if (rc < 0)
                place_set(&w, e);
            continue;
        }
        const struct value *made = f->made ? f->made : f->from;
        if (w.frames.n == 1) {
            *ret = made;
            break;
        }
        w.frames.n--;
        frame_put(a, &w.frames.at[w.frames.n - 1], made);
    }
    vec_done(&w.frames);
    return rc;
}

static int expand_string(struct arena *a, struct macro_cluster *c, const struct value *v,
                         uint32_t self, const struct value **ret, struct err *e)
{
    struct value text, *own;
    bool changed, of_self;
    int rc = string_for_all(c, v, &text, &changed, &of_self, e);

    if (rc == 0 && of_self)
        rc = string_for_node(a, c, v, self, &text, e);
    if (rc < 0)
        return rc;
    if (!changed && !of_self) {
        *ret = v;
        return 0;
    }
    own = arena_new(a, struct value, 1);
    *own = text;
    *ret = own;
    return 0;
}

int macro_value_expand(struct arena *a, const struct value *v, struct macro_cluster *c,
                       uint32_t self, const struct value **ret, struct err *e)
{
    uintptr_t known = 0;

    if (v->kind == VALUE_STRING)
        return expand_string(a, c, v, self, ret, e);
    if (!is_container(v)) {
        *ret = v;
        return 0;
    }
    int rc = prepare(c, v, e);
    if (rc < 0)
        return rc;
    (void)known_for_all(c, v, &known);
    if (known) {
        *ret = (const struct value *)known;
        return 0;
    }
    return expand_container(a, c, v, self, ret, e);
}
