/* worker_probe.c - are nodes there, and which machine in which boot
 *
 * A probe is cheap first: a kept connection is asked for a sign of life, or an ssh server must
 * greet (src/ssh, ssh_probe).  Only a node that answers is asked who it is, if that is wanted, by a
 * login over the pool: a silent one never takes one of the few places for handshakes from tasks. So
 * a node is silent if no address of it answers, and whatever goes wrong behind that is something
 * else: a key that is not trusted, no way in, or an answer that does not say what was asked.
 *
 * A node that is this machine answers at once and is not told who it is: whose machine that would
 * be depends on the worker that is asked.
 *
 * Answers are gathered and leave together, once before the loop waits.  Nothing here repeats a
 * probe, or decides what follows from one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "worker/worker_i.h"

enum { PROBE_MS = 5000, WHO_MS = 20000, ANSWERS_AT_ONCE = 256, TEXT_BYTES = 300 };

struct probe {
    struct worker *w;
    struct link of_worker;
    struct node *node;
    uint64_t number;
    bool who;
    struct ssh_probe *asked; /* NULL: it has answered */
    struct reach_ask *ask;   /* who it is; NULL: not asked */
    struct loop_timer *limit;
};

/* ---- answers ---- */

static struct str kept(struct worker *w, struct str s)
{
    size_t n = s.n < TEXT_BYTES ? s.n : TEXT_BYTES;
    return n ? (struct str){arena_strndup(&w->probed_mem, s.s, n), n} : (struct str){0};
}

static void answer(struct worker *w, const struct probe_answer *a)
{
    vec_push(&w->probed, ((struct probe_answer){.node = kept(w, a->node),
                                                .node_id = a->node_id,
                                                .number = a->number,
                                                .end = a->end,
                                                .text = kept(w, a->text),
                                                .machine_id = kept(w, a->machine_id),
                                                .boot_id = kept(w, a->boot_id)}));
}

void probes_flush(struct worker *w)
{
    for (size_t i = 0; i < w->probed.n; i += ANSWERS_AT_ONCE) {
        size_t n = w->probed.n - i < ANSWERS_AT_ONCE ? w->probed.n - i : ANSWERS_AT_ONCE;
        worker_send(w, &(struct taskmsg){.kind = TASKMSG_PROBED,
                                         .answers = w->probed.at + i,
                                         .n_answers = (uint32_t)n});
    }
    if (w->probed.n == 0)
        return;
    vec_clear(&w->probed);
    arena_reset(&w->probed_mem);
}

void probe_missed(const struct node *n, const char *text)
{
    answer(n->w, &(struct probe_answer){.node = str_of(n->name),
                                        .node_id = n->id,
                                        .end = PROBE_MISSED,
                                        .text = str_of(text)});
}

/* ---- one probe ---- */

static void probe_free(struct probe *p)
{
    link_remove(&p->of_worker);
    ssh_probe_close(p->asked);
    reach_ask_free(p->ask);
    loop_timer_free(p->limit);
    node_unuse(p->node);
    free(p);
}

static void probe_ends(struct probe *p, struct probe_answer a)
{
    a.node = str_of(p->node->name);
    a.node_id = p->node->id;
    a.number = p->number;
    answer(p->w, &a);
    probe_free(p);
}

static struct str fact(struct str lines, const char *name)
{
    size_t k = strlen(name);
    while (lines.n > 0) {
        const char *end = memchr(lines.s, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.s) : lines.n;
        if (n > k && memcmp(lines.s, name, k) == 0 && lines.s[k] == ' ')
            return (struct str){lines.s + k + 1, n - k - 1};
        size_t used = end ? n + 1 : n;
        lines = (struct str){lines.s + used, lines.n - used};
    }
    return (struct str){0};
}

static void on_facts(void *arg, const struct reach_answer *said)
{
    struct probe *p = arg;
    struct probe_answer a = {.end = PROBE_UNABLE, .text = str_of(said->text)};
    if (said->kind == REACH_ANSWERED)
        a = (struct probe_answer){.end = PROBE_ANSWERS,
                                  .machine_id = fact(said->lines, "machine_id"),
                                  .boot_id = fact(said->lines, "boot_id")};
    else if (said->fail == REACH_FAIL_HOST_KEY)
        a.end = PROBE_HOST_KEY;
    else if (said->fail == REACH_FAIL_AUTH)
        a.end = PROBE_AUTH;
    probe_ends(p, a);
}

static void on_limit(void *arg)
{
    probe_ends(arg, (struct probe_answer){
                        .end = PROBE_UNABLE,
                        .text = str_of("an ssh server greets, but it took too long to log in and "
                                       "to ask which machine it is")});
}

static void on_probed(void *arg, bool alive, const char *text)
{
    struct probe *p = arg;
    struct err e = {0};
    p->asked = NULL;
    if (!alive) {
        probe_ends(p, (struct probe_answer){.end = PROBE_SILENT, .text = str_of(text)});
    } else if (!p->who) {
        probe_ends(p, (struct probe_answer){.end = PROBE_ANSWERS});
    } else if (reach_facts(&p->node->link, &p->node->options, on_facts, p, &p->ask, &e) < 0) {
        probe_ends(p, (struct probe_answer){.end = PROBE_UNABLE, .text = str_of(e.text)});
    } else {
        p->limit = loop_timer_new(p->w->loop, on_limit, p);
        loop_timer_at(p->limit, loop_now_ms(p->w->loop) + WHO_MS);
    }
}

static int probe_begin(struct worker *w, const struct taskmsg *m, const struct probe_ask *q,
                       uint64_t timeout_ms, struct err *e)
{
    struct node *node = node_get(w, m, e);
    if (!node)
        return -(int)e->code;
    struct probe *p = xcalloc(1, sizeof *p);
    *p = (struct probe){.w = w, .node = node_use(node), .number = q->number, .who = q->who};
    link_append(&w->probes, &p->of_worker);
    int rc = nodes_probe(node, timeout_ms ? timeout_ms : PROBE_MS, on_probed, p, &p->asked, e);
    if (rc < 0)
        probe_free(p);
    return rc;
}

/* ---- the message ---- */

void probe_come(struct worker *w, const struct taskmsg *m)
{
    for (uint32_t i = 0; i < m->n_probes && !w->stopping; i++) {
        const struct probe_ask *q = &m->probes[i];
        struct taskmsg about = {.node = q->node,
                                .node_id = q->node_id,
                                .access = q->access,
                                .access_rev = q->access_rev};
        struct value *access = NULL;
        struct err e = {0};
        int rc = 0;
        if (q->access.n)
            rc = json_parse(&w->scratch, q->access.s, q->access.n,
                            &(struct json_options){.name = "access"}, &access, &e);
        bool remote = rc == 0 && node_is_remote(w, &about, access);
        if (remote)
            rc = probe_begin(w, &about, q, m->timeout_ms, &e);
        if (rc < 0 || !remote)
            answer(w, &(struct probe_answer){.node = q->node,
                                             .node_id = q->node_id,
                                             .number = q->number,
                                             .end = rc < 0 ? PROBE_UNABLE : PROBE_ANSWERS,
                                             .text = str_of(rc < 0 ? e.text : "")});
    }
}

void probes_done(struct worker *w)
{
    while (!link_empty(&w->probes))
        probe_free(LINK_OF(w->probes.next, struct probe, of_worker));
    vec_done(&w->probed);
    arena_done(&w->probed_mem);
}
