/* merge.c - one tree laid over another, and what must be laid over one to get the other
 *
 * value_merge() shares every part that only one side has; only maps present on both sides are made
 * anew.  value_diff() is its inverse as far as merging can express: what vanished is named instead.
 * Both walk with a stack of their own; trees are as deep as a user's data.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"
#include "base/value_i.h"

#include "base/alloc.h"
#include "base/arena_i.h"

/* --- merge --- */

struct merge_job { /* *to shall become under + over, both maps */
    struct value *to;
    const struct value *under, *over;
};
typedef VEC(struct merge_job) merge_jobs_v;

static uint32_t merged_count(const struct value *under, const struct value *over)
{
    uint32_t n = under->n;
    for (uint32_t i = 0; i < over->n; i++)
        n += value_find(under, member_key(&over->members[i])) < 0;
    return n;
}

static void merge_maps(struct arena *a, const struct merge_job *job, merge_jobs_v *jobs)
{
    const struct value *under = job->under, *over = job->over;
    struct value out = *over; /* kind and position of the winning side */
    uint32_t n = 0;
    value_members_new(a, &out, merged_count(under, over));
    out.cap = 0;
    for (uint32_t i = 0; i < under->n; i++) {
        struct member *m = &out.members[n];
        *m = under->members[i];
        int64_t at = value_find(over, member_key(m));
        if (at >= 0) {
            const struct value *below = &under->members[i].v;
            *m = over->members[at];
            if (below->kind == VALUE_MAP && m->v.kind == VALUE_MAP && below->n)
                vec_push(jobs, ((struct merge_job){&m->v, below, &over->members[at].v}));
        }
        m->v.cap = 0;
        value_index_add(&out, n++);
    }
    for (uint32_t i = 0; i < over->n; i++) {
        if (value_find(under, member_key(&over->members[i])) >= 0)
            continue;
        out.members[n] = over->members[i];
        out.members[n].v.cap = 0;
        value_index_add(&out, n++);
    }
    out.n = n;
    *job->to = out;
}

const struct value *value_merge(struct arena *a, const struct value *under,
                                const struct value *over)
{
    if (!over || !under)
        return over ? over : under;
    if (under->kind != VALUE_MAP || over->kind != VALUE_MAP || under->n == 0)
        return over;
    if (over->n == 0)
        return under;
    struct value *top = arena_take_raw(a, 1, sizeof *top);
    merge_jobs_v jobs = {0};
    vec_push(&jobs, ((struct merge_job){top, under, over}));
    while (jobs.n) {
        struct merge_job job = jobs.at[--jobs.n];
        merge_maps(a, &job, &jobs);
    }
    vec_done(&jobs);
    return top;
}

/* --- diff --- */

struct diff_level { /* one pair of maps that is being compared */
    const struct value *from, *to;
    struct value *out; /* what changed so far, NULL for nothing */
    uint32_t next;     /* member of `to` to look at */
    size_t path_len;   /* of the dotted path that leads here */
};
struct diff_walk {
    struct arena *a;
    VEC(struct diff_level) at;
    struct buf path;
    struct value *gone; /* NULL: not wanted */
};

/* Appends the key of a member of the map that lies `depth` maps below the top. */
static void path_push(struct buf *path, size_t depth, struct str key)
{
    if (depth)
        buf_putc(path, '.');
    buf_put(path, key.s, key.n);
}

static void path_pop(struct buf *path, size_t len)
{
    path->len = len;
    if (path->data)
        path->data[len] = '\0';
}

static void diff_gone(struct diff_walk *w, const struct value *from, const struct value *to)
{
    size_t len = w->path.len;
    for (uint32_t i = 0; w->gone && i < from->n; i++) {
        struct str key = member_key(&from->members[i]);
        if (to && value_find(to, key) >= 0)
            continue;
        path_push(&w->path, w->at.n, key);
        value_add(w->a, w->gone, value_str(w->a, buf_str(&w->path)));
        path_pop(&w->path, len);
    }
}

static void diff_enter(struct diff_walk *w, const struct value *from, const struct value *to)
{
    diff_gone(w, from, to);
    vec_push(&w->at, ((struct diff_level){.from = from, .to = to, .path_len = w->path.len}));
}

/* Records `v` as the new value of the member of `to` that the level has just looked at. */
static void diff_record(struct diff_walk *w, struct diff_level *l, const struct value *v)
{
    const struct member *m = &l->to->members[l->next - 1];
    if (!l->out) {
        l->out = value_map(w->a);
        value_place(l->out, l->to->source, l->to->line, l->to->column);
    }
    value_set_str(w->a, l->out, member_key(m), v);
    struct member *last = &l->out->members[l->out->n - 1];
    last->key_line = m->key_line;
    last->key_column = m->key_column;
}

static void diff_member(struct diff_walk *w)
{
    struct diff_level *l = &w->at.at[w->at.n - 1];
    const struct member *m = &l->to->members[l->next++];
    const struct value *before = value_get_str(l->from, member_key(m));
    if (before && before->kind == VALUE_MAP && m->v.kind == VALUE_MAP) {
        path_push(&w->path, w->at.n - 1, member_key(m));
        diff_enter(w, before, &m->v);
    } else if (!before || !value_equal(before, &m->v)) {
        diff_record(w, l, &m->v);
    }
}

static const struct value *diff_maps(struct diff_walk *w, const struct value *from,
                                     const struct value *to)
{
    const struct value *changed = NULL;
    diff_enter(w, from, to);
    while (w->at.n) {
        struct diff_level *l = &w->at.at[w->at.n - 1];
        if (l->next < l->to->n) {
            diff_member(w);
            continue;
        }
        changed = l->out;
        w->at.n--;
        if (w->at.n) {
            struct diff_level *above = &w->at.at[w->at.n - 1];
            path_pop(&w->path, above->path_len);
            if (changed)
                diff_record(w, above, changed);
        }
    }
    return changed;
}

const struct value *value_diff(struct arena *a, const struct value *from, const struct value *to,
                               const struct value **ret_gone)
{
    struct diff_walk w = {.a = a, .gone = ret_gone ? value_list(a) : NULL};
    const struct value *changed = NULL;
    if (value_is(from, VALUE_MAP) && value_is(to, VALUE_MAP))
        changed = diff_maps(&w, from, to);
    else if (value_is(from, VALUE_MAP) && !to)
        diff_gone(&w, from, NULL);
    else if (to && !value_equal(from, to))
        changed = to;
    vec_done(&w.at);
    buf_done(&w.path);
    if (ret_gone)
        *ret_gone = w.gone;
    return changed;
}
