/* bench_desired.c - desired state: what it costs to propose, edit, compare and merge 100,000
 * entries
 *
 * Entries are as a snapshot has them, two parents each: one that a hundred nodes share, and the
 * role before on the same node.  An edit is measured with all that its transaction needs: a kept
 * map, the changed entry, and the rows added and dropped.  Memory is what the heap holds, so that
 * the allocator's share counts.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "figures.h"
#include "model/snapshot.h"

enum {
    ROLES = 20,
    NODES = 5000,
    ENTRIES = ROLES * NODES,
    EDITS = 2000,
    CHANGES = 10,
    ROUNDS = 200
};

static void fail(const struct err *e)
{
    char text[1024];
    fprintf(stderr, "bench: %s\n", err_format(e, text, sizeof text));
    exit(2);
}

static void put(struct pmap_space *s, struct pmap **m, uint32_t i, uint64_t user)
{
    uint32_t role = 3 + i / NODES, node = 1 + i % NODES;
    const uint64_t parents[] = {snapshot_key(1, 1 + node / 100), snapshot_key(role - 1, node)};
    struct snapshot_entry t = {SNAPSHOT_F_REQUESTED, user, parents, 2, NULL};
    struct err e;
    if (snapshot_set(s, m, role, node, &t, &e) < 0)
        fail(&e);
}

static double heap_bytes(void)
{
    struct mallinfo2 now = mallinfo2();
    return (double)(now.uordblks + now.hblkhd);
}

static void value_bytes(void *ctx, uint64_t key, struct str value)
{
    (void)key;
    *(double *)ctx += (double)value.n;
}

static struct pmap *build(struct figures *f, struct pmap_space *s)
{
    struct pmap *m = NULL;
    double before = heap_bytes(), t0 = now_s(), values = 0;
    for (uint32_t i = 0; i < ENTRIES; i++)
        put(s, &m, i, 1 + i % 100);
    figure_seen("desired.build", ENTRIES / (now_s() - t0), "entries/s, one proposal");
    double bytes = (heap_bytes() - before) / ENTRIES;
    pmap_each(m, value_bytes, &values);
    figure_seen("desired.entry", bytes, "bytes an entry");
    figure(f, "desired.entry.overhead", bytes - values / ENTRIES, AT_MOST, 64, "bytes an entry",
           NULL);
    return m;
}

static void propose(struct figures *f, struct pmap_space *s, struct pmap *head)
{
    double t0 = now_s();
    for (uint32_t i = 0; i < EDITS; i++) {
        struct pmap *volatile proposal = pmap_ref(head);
        pmap_unref(s, proposal);
    }
    figure(f, "desired.propose", (now_s() - t0) / EDITS * 1e3, AT_MOST, 1, "ms", NULL);
}

static void edit(struct figures *f, struct pmap_space *s, struct pmap *head)
{
    struct pmap *proposal = pmap_ref(head);
    struct pmap_changes c;
    double sum = 0, worst = 0, rows = 0;
    for (uint32_t i = 0; i < EDITS; i++) {
        SCOPED_ARENA(mem);
        struct pmap *kept = pmap_ref(proposal);
        double t0 = now_s();
        put(s, &proposal, i * 7919 % ENTRIES, 777 + i);
        pmap_unref(s, kept);
        pmap_changes_take(s, &mem, &c);
        double t = now_s() - t0;
        sum += t;
        worst = t > worst ? t : worst;
        rows += (double)(c.n_added + c.n_dropped);
    }
    pmap_unref(s, proposal);
    figure(f, "desired.edit", sum / EDITS * 1e3, AT_MOST, 1, "ms", NULL);
    figure_seen("desired.edit.worst", worst * 1e3, "ms");
    figure_seen("desired.edit.rows", rows / EDITS, "rows added and dropped");
}

static void compare(struct figures *f, struct pmap_space *s, struct pmap *head)
{
    struct pmap *proposal = pmap_ref(head), *moved = pmap_ref(head), *merged;
    struct snapshot_changes c;
    struct snapshot_conflicts conflicts;
    struct err e;
    double diff = 0, merge = 0;
    for (uint32_t i = 0; i < CHANGES; i++) {
        put(s, &proposal, i * 9973, 888);
        put(s, &moved, i * 9967 + 3, 999);
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        SCOPED_ARENA(mem);
        double t0 = now_s();
        if (snapshot_diff(&mem, head, proposal, &c, &e) < 0)
            fail(&e);
        double t1 = now_s();
        if (c.n_changed != CHANGES ||
            snapshot_merge(s, &mem, head, proposal, moved, &merged, &conflicts, &e) != 0)
            exit(2);
        merge += now_s() - t1;
        diff += t1 - t0;
        pmap_unref(s, merged);
    }
    pmap_unref(s, proposal);
    pmap_unref(s, moved);
    figure(f, "desired.diff", diff / ROUNDS * 1e3, AT_MOST, 5, "ms for 10 changes", NULL);
    figure(f, "desired.merge", merge / ROUNDS * 1e3, AT_MOST, 5, "ms for 10 and 10", NULL);
}

static void reload(struct pmap_space *s, uint64_t head, const struct pmap_changes *rows)
{
    SCOPED(pmap_space) *next = pmap_space_new(pmap_space_next_id(s));
    struct pmap *m;
    struct err e;
    double t0 = now_s();
    for (size_t i = 0; i < rows->n_added; i++)
        if (pmap_load_node(next, rows->added[i].id, rows->added[i].bytes, &e) < 0)
            fail(&e);
    if (pmap_load_end(next, &e) < 0 || pmap_load_root(next, head, &m, &e) < 0)
        fail(&e);
    pmap_load_sweep(next);
    if (snapshot_check(m, &e) < 0)
        fail(&e);
    figure_seen("desired.load", (now_s() - t0) * 1e3, "ms, proved and checked");
}

int main(void)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    SCOPED_ARENA(mem);
    struct figures f = {0};
    struct pmap_changes rows;
    double bytes = 0;
    struct pmap *head = build(&f, s);
    pmap_changes_take(s, &mem, &rows);
    for (size_t i = 0; i < rows.n_added; i++)
        bytes += (double)rows.added[i].bytes.n;
    figure_seen("desired.rows", (double)rows.n_added, "rows");
    figure_seen("desired.rows.entry", bytes / ENTRIES, "bytes an entry");
    propose(&f, s, head);
    edit(&f, s, head);
    compare(&f, s, head);
    reload(s, pmap_id(head), &rows);
    double t0 = now_s();
    pmap_unref(s, head);
    figure_seen("desired.drop", (now_s() - t0) * 1e3, "ms for the last reference");
    return f.missed ? 1 : 0;
}
