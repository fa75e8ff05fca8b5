/* bench_node.h - one run of a jig as on a node: its steps by the real runner, on this machine */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_JIG_BENCH_NODE_H
#define TESTS_JIG_BENCH_NODE_H

#include "jig/bench.h"
#include "reach/local_link.h"

struct bench_node {
    struct bench *b;
    struct reach_link *link;
    char *root;
    struct jig_line line;
    struct reach_chain *chain;
    struct reach_end end; /* of the last step; its texts are in the bench's arena */
    int ends, steps;
    size_t sent; /* bytes of files that went along, in all steps */
};

static void bench_node_init(struct bench_node *n, struct bench *b)
{
    *n = (struct bench_node){
        .b = b, .link = local_link_new(b->l), .root = fs_join(b->dir, "node")};
}

static void bench_node_done(struct bench_node *n)
{
    local_link_free(n->link);
    free(n->root);
}

static void bench_node_log(void *arg, unsigned step, const char *p, size_t len)
{
    struct bench_node *n = arg;
    (void)step;
    jig_line_note(&n->line, p, len);
    buf_put(&n->b->log[0], p, len);
}

static void bench_node_end(void *arg, unsigned step, const struct reach_end *end)
{
    struct bench_node *n = arg;
    (void)step;
    n->end = *end;
    n->end.result.s = arena_strndup(&n->b->mem, end->result.s, end->result.n);
    n->end.note.s = arena_strndup(&n->b->mem, end->note.s, end->note.n);
    n->ends++;
}

static void bench_node_over(void *arg, const struct reach_over *over)
{
    struct bench_node *n = arg;
    if (over->kind != REACH_OVER)
        ok(false, "the chain comes to its end: %s", over->text);
    reach_chain_free(n->chain);
    n->chain = NULL;
    loop_stop(n->b->l);
}

/* Runs one step to its end. */
static int bench_node_step(struct bench_node *n, struct reach_step *s)
{
    static const char *const harmless[] = {"true", NULL};
    struct bench *b = n->b;
    if (s->kind == REACH_REBOOT && !s->argv)
        s->argv = harmless; /* this machine is not booted, whatever goes wrong in a test */
    s->run = (struct reach_run){
        .task = b->task, .attempt = b->attempt, .ask = b->ask, .step = b->req.step};
    s->umask_bits = 022;
    s->grace_s = 1;
    struct reach_chain_spec spec = {.loop = b->l,
                                    .link = n->link,
                                    .options = {.root = n->root},
                                    .steps = s,
                                    .n = 1,
                                    .on_log = bench_node_log,
                                    .on_end = bench_node_end,
                                    .on_over = bench_node_over,
                                    .arg = n};
    n->line = (struct jig_line){0};
    n->ends = 0;
    n->steps++;
    for (size_t i = 0; i < s->puts_n; i++)
        n->sent += s->puts[i].content.n;
    int rc = reach_chain_start(&spec, &n->chain, &b->e);
    if (rc == 0)
        scratch_run(b->l);
    return rc < 0 ? rc : n->ends == 1 ? 0 : -1002;
}

/* As a worker does it: step(), next(), judge().  The outcome, or a negative code. */
static int bench_node_run(struct bench_node *n, const char *jig, const char *params,
                          const char *data)
{
    struct bench *b = n->b;
    struct jig_result r = {0};
    int rc = bench_ready(b, jig, params, data);
    n->steps = 0;
    n->sent = 0;
    struct reach_step first = {0}, second = {0};
    rc = rc < 0 ? rc : b->jig->step(&b->req, &b->mem, &first, &b->e);
    rc = rc < 0 ? rc : bench_node_step(n, &first);
    if (rc == 0 && b->jig->next)
        rc = b->jig->next(&b->env, &b->req, &n->end, &b->mem, &second, &b->e);
    if (rc > 0) {
        b->req.part++;
        b->req.step++;
        rc = bench_node_step(n, &second);
    }
    if (rc < 0)
        return rc;
    b->jig->judge(&b->req, &n->end, jig_line_last(&n->line), &b->mem, &r);
    bench_finish(b, &r);
    return (int)r.outcome;
}

#endif
