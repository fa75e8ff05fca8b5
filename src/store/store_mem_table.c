/* store_mem_table.c - rows of one table in memory: slots, texts, order of keys */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_mem_i.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"

enum { MEM_MIN_HOLES = 64, MEM_MIN_TEXT = 32 };

static struct mem_slot *slot_at(const struct mem_table *t, size_t i)
{
    return (struct mem_slot *)(t->slots + i * t->stride);
}

static char *slot_row(struct mem_slot *slot)
{
    return (char *)(slot + 1);
}

static bool is_text(const struct row_column *c)
{
    return c->type == ROW_TEXT || c->type == ROW_BLOB;
}

void store_table_init(struct mem_table *t, const struct row_layout *l)
{
    bool dyn = false;

    t->layout = l;
    t->stride = sizeof(struct mem_slot) + (l->size + 7u) / 8 * 8;
    for (unsigned i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        uint16_t end = i + 1u < l->n_columns ? l->columns[i + 1].offset : l->size;

        if (c->role == ROW_DYN && !dyn)
            t->dyn_from = c->offset;
        if (c->role == ROW_DYN)
            t->dyn_to = end;
        /* One copy serves an update because no table has a FIX column after a DYN one. */
        assert(!dyn || c->role == ROW_DYN);
        dyn = c->role == ROW_DYN;
    }
}

void store_table_done(struct mem_table *t)
{
    for (size_t i = 0; i < t->n_slots; i++)
        free(slot_at(t, i)->text);
    free(t->slots);
    vec_done(&t->unused);
    vec_done(&t->order);
    u64map_done(&t->by_key);
}

static uint32_t slot_take(struct mem_table *t)
{
    if (t->unused.n)
        return t->unused.at[--t->unused.n];
    if (t->n_slots == t->cap_slots)
        t->slots = vec_grow_(t->slots, &t->cap_slots, t->n_slots + 1, t->stride);
    memset(slot_at(t, t->n_slots), 0, t->stride);
    assert(t->n_slots < UINT32_MAX);
    return (uint32_t)t->n_slots++;
}

/* Copies the texts of the columns that are written into the slot's block and points the row at
 * them. FIX texts lie first in the block, so that an update leaves them where they are. */
static void slot_texts(struct mem_table *t, struct mem_slot *slot, const char *from, bool dyn_only)
{
    const struct row_layout *l = t->layout;
    char *row = slot_row(slot);
    size_t total = 0, at = 0;
    struct str s;

    for (unsigned i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];

        if (!is_text(c))
            continue;
        memcpy(&s, (dyn_only && c->role != ROW_DYN ? row : from) + c->offset, sizeof s);
        total += s.n;
    }
    assert(total < UINT32_MAX / 2);
    if (total > slot->text_cap) {
        uint32_t cap = total < MEM_MIN_TEXT ? MEM_MIN_TEXT : (uint32_t)total;

        t->text_bytes += cap - slot->text_cap;
        slot->text = xrealloc(slot->text, cap, 1);
        slot->text_cap = cap;
    }
    for (unsigned i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        bool keep = dyn_only && c->role != ROW_DYN;

        if (!is_text(c))
            continue;
        memcpy(&s, (keep ? row : from) + c->offset, sizeof s);
        if (s.n && !keep)
            memcpy(slot->text + at, s.s, s.n);
        s.s = s.n ? slot->text + at : "";
        at += s.n;
        memcpy(row + c->offset, &s, sizeof s);
    }
}

static void slot_write(struct mem_table *t, struct mem_slot *slot, const struct row_op *op)
{
    if (op->verb == ROW_UPDATE) {
        memcpy(slot_row(slot) + t->dyn_from, (const char *)op->row + t->dyn_from,
               (size_t)(t->dyn_to - t->dyn_from));
        slot_texts(t, slot, op->row, true);
    } else {
        memcpy(slot_row(slot), op->row, t->layout->size);
        slot_texts(t, slot, op->row, false);
    }
}

bool store_table_begin(struct mem_table *t, const struct row_op *op, struct mem_change *ret_change)
{
    uint64_t key = row_key(op->table, op->row);
    uintptr_t found = 0;
    bool there = u64map_get(&t->by_key, key, &found);

    *ret_change = (struct mem_change){(uint32_t)found, there ? MEM_FOUND : MEM_NOTHING};
    switch ((enum row_verb)op->verb) {
    case ROW_UPDATE: return there;
    case ROW_DELETE:
        if (there) {
            u64map_del(&t->by_key, key);
            ret_change->did = MEM_REMOVED;
        }
        return true;
    case ROW_INSERT:
        if (there)
            return false;
        break;
    case ROW_PUT:
        if (there)
            return true;
        break;
    }
    ret_change->slot = slot_take(t);
    ret_change->did = MEM_ADDED;
    slot_at(t, ret_change->slot)->key = key;
    u64map_put(&t->by_key, key, ret_change->slot);
    return true;
}

void store_table_undo(struct mem_table *t, const struct row_op *op, const struct mem_change *c)
{
    uint64_t key = row_key(op->table, op->row);

    if (c->did == MEM_ADDED) {
        u64map_del(&t->by_key, key);
        vec_push(&t->unused, c->slot);
    } else if (c->did == MEM_REMOVED) {
        u64map_put(&t->by_key, key, c->slot);
    }
}

void store_table_apply(struct mem_table *t, const struct row_op *op, const struct mem_change *c)
{
    struct mem_slot *slot = slot_at(t, c->slot);

    if (c->did == MEM_NOTHING)
        return;
    if (c->did == MEM_REMOVED) {
        slot->live = false; /* the slot may serve another key after this commit, not during it */
        return;
    }
    if (c->did == MEM_ADDED) {
        slot->live = true;
        if (t->order.n && t->order.at[t->order.n - 1].key >= slot->key)
            t->unsorted = true;
        if (!t->unsorted)
            vec_push(&t->order, ((struct mem_order){slot->key, c->slot}));
    }
    slot_write(t, slot, op);
}

void store_table_finish(struct mem_table *t, const struct mem_change *c)
{
    if (c->did == MEM_REMOVED)
        vec_push(&t->unused, c->slot);
}

void store_table_remove(struct mem_table *t, const struct mem_order *o)
{
    slot_at(t, o->slot)->live = false;
    u64map_del(&t->by_key, o->key);
    vec_push(&t->unused, o->slot);
}

static int order_cmp(const void *a, const void *b)
{
    uint64_t x = ((const struct mem_order *)a)->key, y = ((const struct mem_order *)b)->key;

    return x < y ? -1 : x > y;
}

static bool order_is_hole(const struct mem_table *t, const struct mem_order *o)
{
    const struct mem_slot *slot = slot_at(t, o->slot);

    return !slot->live || slot->key != o->key;
}

/* Before a read: sorts if keys came out of order, and drops holes once they are the greater part.
 */
void store_table_settle(struct mem_table *t)
{
    size_t kept = 0;

    if (!t->unsorted && t->order.n <= 2 * t->by_key.live + MEM_MIN_HOLES)
        return;
    if (!t->unsorted) {
        for (size_t i = 0; i < t->order.n; i++)
            if (!order_is_hole(t, &t->order.at[i]))
                t->order.at[kept++] = t->order.at[i];
        t->order.n = kept;
        return;
    }
    vec_clear(&t->order);
    for (size_t i = 0; i < t->n_slots; i++)
        if (slot_at(t, i)->live)
            vec_push(&t->order, ((struct mem_order){slot_at(t, i)->key, (uint32_t)i}));
    qsort(t->order.at, t->order.n, sizeof *t->order.at, order_cmp);
    t->unsorted = false;
}

size_t store_table_find(const struct mem_table *t, uint64_t key)
{
    return sort_first(t->order.at, t->order.n, it, it->key >= key);
}

const void *store_table_row(const struct mem_table *t, size_t place)
{
    const struct mem_order *o = &t->order.at[place];

    return order_is_hole(t, o) ? NULL : slot_row(slot_at(t, o->slot));
}
