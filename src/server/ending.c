/* ending.c - what became of an operation that did not end well */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ending.h"

/* Nothing of it was ever to be executed: a join, or what the plan kept or left out. */
static bool is_frame(const struct task_view *t)
{
    if (t->passive)
        return !(t->state == TASK_DONE && t->attempt); /* what ran once is passive from then on */
    return t->state == TASK_SKIPPED && (t->reason == REASON_KEPT || t->reason == REASON_LEFT_OUT);
}

static void failure_add(struct ending *r, uint32_t task)
{
    uint32_t n = r->failed < ENDING_NAMED ? r->failed : ENDING_NAMED, at = n;
    r->failed++;
    while (at > 0 && r->failures[at - 1] > task)
        at--;
    if (at == ENDING_NAMED)
        return;
    for (uint32_t i = n < ENDING_NAMED ? n : ENDING_NAMED - 1; i > at; i--)
        r->failures[i] = r->failures[i - 1];
    r->failures[at] = task;
}

void ending_add(struct ending *r, const struct task_view *t)
{
    bool failed = t->state == TASK_FAILED || t->state == TASK_TOLERATED;
    if (failed && !is_frame(t))
        failure_add(r, t->id);
    else if (t->rule == RULE_UNDO)
        r->undone += t->state == TASK_DONE;
    else if (!is_frame(t))
        *(task_state_passed(t->state) ? &r->done : &r->never_ran) += 1;
}

bool ending_known(const struct anneal *a, uint32_t op, struct ending *ret)
{
    struct operation_view o;
    *ret = (struct ending){0};
    if (!anneal_operation(a, op, &o) ||
        (o.state != OPERATION_FAILED && o.state != OPERATION_TOLERATED))
        return false;
    uint64_t has = 0, seen = 0;
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        has += o.counts[i];
    if (has != o.total)
        return false;
    for (uint32_t id = 1; id < anneal_noderole_end(a); id++) {
        struct noderole_view nr;
        struct task_view t;
        if (!anneal_noderole(a, id, &nr) || nr.operation != op)
            continue;
        for (uint32_t i = nr.first_task; i < nr.first_task + nr.n_tasks; i++)
            if (anneal_task(a, i, &t)) {
                ending_add(ret, &t);
                seen += t.state == TASK_DONE;
            }
    }
    ret->done += (uint32_t)(o.counts[TASK_DONE] - seen); /* of what is removed by now */
    return true;
}
