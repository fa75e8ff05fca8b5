/* changes.h - plans over what lives, written by name; after rig.h */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ANNEALER_CHANGES_H
#define TESTS_UNIT_ANNEALER_CHANGES_H

#include "rig.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

enum { CHANGES = 8 };

static struct plan *plan_of_changes(struct rig *r)
{
    struct plan *p = rig_plan_new(r, "");
    p->changes = arena_new(&p->mem, struct plan_change, CHANGES);
    return p;
}

static struct plan_change *change(struct rig *r, struct plan *p, const char *name, uint8_t what)
{
    struct plan_change *c = &p->changes[p->n_changes++];
    *c = (struct plan_change){.noderole = rig_nr(r, name).id, .what = what, .user = str_of("")};
    return c;
}

/* New tasks for it, one after the other. */
static void tasks(struct plan *p, struct plan_change *c, uint32_t n)
{
    c->first_task = p->n_tasks;
    c->n_tasks = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *deps = arena_new(&p->mem, uint32_t, 1);
        deps[0] = p->base_task + p->n_tasks - 1;
        p->tasks[p->n_tasks++] = (struct plan_task){.noderole = c->noderole,
                                                    .def = p->base_def,
                                                    .weight = 1,
                                                    .deps = deps,
                                                    .n_deps = i > 0};
    }
}

static const uint32_t *one(struct plan *p, uint32_t id)
{
    uint32_t *ids = arena_new(&p->mem, uint32_t, 1);
    ids[0] = id;
    return ids;
}

static int apply(struct rig *r, struct plan *p, uint32_t op)
{
    rig_op_add(r, op, 1, CLASS_NORMAL);
    int rc = rig_try(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p});
    plan_free(p);
    return rc;
}

static int remove_all(struct rig *r, uint32_t op, const char *names[], uint32_t n_tasks)
{
    struct plan *p = plan_of_changes(r);
    for (uint32_t i = 0; names[i]; i++)
        tasks(p, change(r, p, names[i], PLAN_C_REMOVE), n_tasks);
    return apply(r, p, op);
}

static bool gone(const struct rig *r, uint32_t id)
{
    struct noderole_view v;
    return !anneal_noderole(r->a, id, &v);
}

#pragma GCC diagnostic pop

#endif
