/* deploy_seen.c - what each task of a graph saw when it last succeeded
 *
 * Conditions compare what there is with that, task by task: one that was left out in between has
 * not seen anything since.  Documents are kept by content, two for a deploy of a noderole: what is
 * common to its deployment, and what is its node's own.  What nobody refers to any more goes at the
 * next start.
 *
 * A deploy is noted when it begins; what its tasks saw, when its operation ends, in the same group
 * as the event that ended it.  A node of which something failed has seen nothing: all of it runs
 * again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "server/deploy.h"

struct kept {
    uint32_t noderole, operation;
    bool no_op;
    uint64_t common, own;
    char *seen; /* JSON: [[common, own, [task ...]] ...] */
};
struct deploys {
    VEC(struct kept) at;
    struct u64map by_noderole; /* -> index */
    struct u64map documents;   /* id -> char * */
};

struct deploys *deploys_new(void)
{
    return xcalloc(1, sizeof(struct deploys));
}

void deploys_free(struct deploys *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->at.n; i++)
        free(all->at.at[i].seen);
    for (size_t i = 0; i < all->documents.n; i++)
        free((char *)all->documents.at[i].val);
    vec_done(&all->at);
    u64map_done(&all->by_noderole);
    u64map_done(&all->documents);
    free(all);
}

static struct kept *kept_get(const struct server *s, uint32_t noderole)
{
    uintptr_t i;
    return u64map_get(&s->deploys->by_noderole, noderole, &i) ? &s->deploys->at.at[i] : NULL;
}

static struct kept *kept_add(struct deploys *all, uint32_t noderole)
{
    struct kept *k = vec_add(&all->at);
    k->noderole = noderole;
    k->seen = xstrdup("[]");
    u64map_put(&all->by_noderole, noderole, all->at.n - 1);
    return k;
}

static void row_note(struct server *s, const struct kept *k, enum row_verb verb)
{
    struct row_deploy_run row = {.id = k->noderole,
                                 .tenant = 1,
                                 .realm = 1,
                                 .operation = k->operation,
                                 .no_op = k->no_op,
                                 .common = k->common,
                                 .own = k->own,
                                 .seen = str_of(k->seen)};
    commit_row(s->commit, ROWS_DEPLOY_RUN, verb, &row);
}

/* --- documents --- */

static uint64_t document_write(struct buf *text, const struct value *v)
{
    json_write_canonical(text, v);
    return digest_64(text->data, text->len);
}

uint64_t deploy_document_id(const struct value *v)
{
    SCOPED_BUF(text);
    return document_write(&text, v);
}

void deploy_document_keep(struct server *s, const struct value *v)
{
    SCOPED_BUF(text);
    uint64_t id = document_write(&text, v);
    if (u64map_get(&s->deploys->documents, id, NULL))
        return;
    u64map_put(&s->deploys->documents, id, (uintptr_t)xstrndup(text.data, text.len));
    struct row_deploy_doc row = {.id = id, .tenant = 1, .realm = 1, .text = buf_str(&text)};
    commit_row(s->commit, ROWS_DEPLOY_DOC, ROW_PUT, &row);
}

struct str deploy_document(const struct server *s, uint64_t id)
{
    uintptr_t text;
    return u64map_get(&s->deploys->documents, id, &text) ? str_of((const char *)text)
                                                         : (struct str){"{}", 2};
}

/* --- loading --- */

static int load_run(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_deploy_run *r = row;
    struct kept *k = kept_add(arg, r->id);
    (void)t;
    (void)e;
    free(k->seen);
    k->seen = xstrndup(r->seen.s, r->seen.n);
    k->operation = r->operation;
    k->no_op = r->no_op;
    k->common = r->common;
    k->own = r->own;
    return 0;
}

static int load_doc(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_deploy_doc *r = row;
    struct deploys *all = arg;
    (void)t;
    (void)e;
    u64map_put(&all->documents, r->id, (uintptr_t)xstrndup(r->text.s, r->text.n));
    return 0;
}

static struct value *seen_read(struct arena *mem, const struct kept *k)
{
    struct value *v;
    /* Ours: a text that was written here. */
    return json_parse(mem, k->seen, strlen(k->seen), NULL, &v, NULL) < 0 ? value_list(mem) : v;
}

static void drop_unused(struct server *s)
{
    struct deploys *all = s->deploys;
    struct u64map used = {0};
    for (size_t i = 0; i < all->at.n; i++) {
        SCOPED_ARENA(mem);
        const struct value *seen = seen_read(&mem, &all->at.at[i]);
        u64map_put(&used, all->at.at[i].common, 1);
        u64map_put(&used, all->at.at[i].own, 1);
        for (uint32_t k = 0; k < seen->n; k++)
            for (uint32_t d = 0; d < 2 && seen->items[k].n == 3; d++)
                u64map_put(&used, (uint64_t)value_as_int(&seen->items[k].items[d], 0), 1);
    }
    for (size_t i = 0; i < all->documents.n; i++) {
        uint64_t id = all->documents.at[i].key;
        if (!all->documents.at[i].live || u64map_get(&used, id, NULL))
            continue;
        struct row_deploy_doc row = {.id = id};
        free((char *)all->documents.at[i].val);
        all->documents.at[i].val = 0;
        u64map_del(&all->documents, id);
        commit_row(s->commit, ROWS_DEPLOY_DOC, ROW_DELETE, &row);
    }
    u64map_done(&used);
}

int deploys_load(struct server *s, struct err *e)
{
    int r = store_each(s->store, ROWS_DEPLOY_RUN, load_run, s->deploys, e);
    if (r >= 0)
        r = store_each(s->store, ROWS_DEPLOY_DOC, load_doc, s->deploys, e);
    if (r >= 0)
        drop_unused(s);
    return r;
}

/* --- asking --- */

bool deploy_run_get(const struct server *s, uint32_t noderole, struct deploy_run *ret)
{
    const struct kept *k = kept_get(s, noderole);
    if (k)
        *ret = (struct deploy_run){k->operation, k->no_op};
    return k && k->operation;
}

bool deploy_ran(const struct server *s, uint32_t noderole)
{
    const struct kept *k = kept_get(s, noderole);
    return k && strcmp(k->seen, "[]") != 0;
}

const struct value *deploy_seen(const struct server *s, struct arena *mem, uint32_t noderole)
{
    const struct kept *k = kept_get(s, noderole);
    return k ? seen_read(mem, k) : NULL;
}

bool deploy_seen_find(const struct value *seen, struct str task, uint64_t *ret_common,
                      uint64_t *ret_own)
{
    for (uint32_t i = 0; seen && i < seen->n; i++) {
        const struct value *entry = &seen->items[i];
        for (uint32_t k = 0; entry->n == 3 && k < entry->items[2].n; k++) {
            if (!str_eq(value_as_str(&entry->items[2].items[k]), task))
                continue;
            *ret_common = (uint64_t)value_as_int(&entry->items[0], 0);
            *ret_own = (uint64_t)value_as_int(&entry->items[1], 0);
            return true;
        }
    }
    return false;
}

/* --- noting --- */

void deploy_begun(struct server *s, uint32_t noderole, uint32_t op, bool no_op, uint64_t common,
                  uint64_t own)
{
    struct kept *k = kept_get(s, noderole);
    bool new = !k;
    if (new)
        k = kept_add(s->deploys, noderole);
    k->operation = op;
    k->no_op = no_op;
    k->common = common;
    k->own = own;
    row_note(s, k, new ? ROW_INSERT : ROW_UPDATE);
}

static struct value *seen_entry(struct arena *mem, uint64_t common, uint64_t own,
                                const struct value *tasks)
{
    struct value *entry = value_list(mem);
    value_add(mem, entry, value_int(mem, (int64_t)common));
    value_add(mem, entry, value_int(mem, (int64_t)own));
    value_add(mem, entry, tasks);
    return entry;
}

/* What was seen before, without tasks that have seen something newer. */
static struct value *seen_without(struct arena *mem, const struct value *seen,
                                  const struct strmap *newer)
{
    struct value *out = value_list(mem);
    for (uint32_t i = 0; i < seen->n; i++) {
        const struct value *entry = &seen->items[i];
        struct value *tasks = value_list(mem);
        for (uint32_t k = 0; entry->n == 3 && k < entry->items[2].n; k++)
            if (!strmap_get(newer, value_as_str(&entry->items[2].items[k]), NULL))
                value_add(mem, tasks, &entry->items[2].items[k]);
        if (tasks->n)
            value_add(mem, out,
                      seen_entry(mem, (uint64_t)value_as_int(&entry->items[0], 0),
                                 (uint64_t)value_as_int(&entry->items[1], 0), tasks));
    }
    return out;
}

static void seen_set(struct server *s, struct kept *k, const struct value *seen)
{
    SCOPED_BUF(text);
    json_write(&text, seen, 0);
    if (!strcmp(k->seen, text.data))
        return;
    free(k->seen);
    k->seen = xstrndup(text.data, text.len);
    row_note(s, k, ROW_UPDATE);
}

/* A task that had an attempt counts by how that ended, whatever it saw before. */
static bool was_tried(const struct task_view *v)
{
    return v->rule == RULE_RUN && (v->state == TASK_DONE || v->tried);
}

/* Tasks move between the noderoles of a node as its groups change: whoever held one of these
 * before has seen nothing of it any more.  The master's are apart, as they are in a weave. */
static void forget_elsewhere(struct server *s, const struct kept *k, const struct strmap *newer)
{
    const struct inv_noderole *self = &s->inv.noderoles.at[k->noderole];
    struct noderole_view nr;
    bool master = !strcmp(view_role_name(s, k->noderole), CATALOG_MASTER);
    (void)anneal_noderole(s->engine, k->noderole, &nr);
    for (uint32_t id = anneal_node_first_noderole(s->engine, nr.node); id && newer->n;
         id = anneal_node_next_noderole(s->engine, id)) {
        SCOPED_ARENA(mem);
        struct kept *other = id == k->noderole ? NULL : kept_get(s, id);
        if (other && s->inv.noderoles.at[id].deployment == self->deployment &&
            master == !strcmp(view_role_name(s, id), CATALOG_MASTER))
            seen_set(s, other, seen_without(&mem, seen_read(&mem, other), newer));
    }
}

static void ended(struct server *s, struct kept *k)
{
    SCOPED_ARENA(mem);
    struct strmap newer = {0};
    struct noderole_view nr;
    struct value *tasks = value_list(&mem);
    bool failed = false;
    if (!anneal_noderole(s->engine, k->noderole, &nr))
        return;
    if (nr.operation != k->operation) { /* others had it since, and may have run anything */
        seen_set(s, k, tasks);
        return;
    }
    for (uint32_t t = nr.first_task; t < nr.first_task + nr.n_tasks; t++) {
        struct task_view v;
        (void)anneal_task(s->engine, t, &v);
        failed |= v.state == TASK_FAILED || v.state == TASK_DEP_FAILED;
        if (!was_tried(&v))
            continue;
        struct str name = str_of(view_task_name(s, t));
        strmap_put(&newer, name, 1);
        if (v.state == TASK_DONE)
            value_add(&mem, tasks, value_str(&mem, name));
    }
    struct value *seen = failed ? value_list(&mem) : seen_without(&mem, seen_read(&mem, k), &newer);
    if (tasks->n && !failed)
        value_add(&mem, seen, seen_entry(&mem, k->common, k->own, tasks));
    seen_set(s, k, seen);
    forget_elsewhere(s, k, &newer);
    strmap_done(&newer);
}

static void drop(struct server *s, uint32_t noderole)
{
    struct deploys *all = s->deploys;
    uintptr_t i;
    if (!u64map_get(&all->by_noderole, noderole, &i))
        return;
    struct row_deploy_run row = {.id = noderole};
    commit_row(s->commit, ROWS_DEPLOY_RUN, ROW_DELETE, &row);
    u64map_del(&all->by_noderole, noderole);
    free(all->at.at[i].seen);
    all->at.at[i] = all->at.at[--all->at.n];
    if (i < all->at.n)
        u64map_put(&all->by_noderole, all->at.at[i].noderole, i);
}

static bool is_deploy(const struct server *s, uint32_t op)
{
    const char *kind = op < s->inv.operations.n ? s->inv.operations.at[op].kind : NULL;
    return kind && !strcmp(kind, "deploy");
}

void deploy_settle(struct server *s, const struct effects *fx)
{
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *ch = &fx->changes.at[i];
        if (ch->table == ROWS_NODEROLE && ch->to == NODEROLE_REMOVED)
            drop(s, ch->id);
        if (ch->table != ROWS_OPERATION || ch->from == ch->to || ch->to == OPERATION_RUNNING ||
            !is_deploy(s, ch->id))
            continue;
        for (size_t k = 0; k < s->deploys->at.n; k++)
            if (s->deploys->at.at[k].operation == ch->id && !s->deploys->at.at[k].no_op)
                ended(s, &s->deploys->at.at[k]);
    }
}

void deploy_forget_node(struct server *s, uint32_t node)
{
    SCOPED_ARENA(mem);
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id;
         id = anneal_node_next_noderole(s->engine, id)) {
        struct kept *k = kept_get(s, id);
        if (k)
            seen_set(s, k, value_list(&mem));
    }
}
