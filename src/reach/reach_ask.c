/* reach_ask.c - the runner's short verbs: stop, ack, held, facts
 *
 * One command, a few lines "anneal: VERB ..." as the answer; all of them but stop end with
 * "VERB done", so that an answer that was cut is not taken for a whole one.  A node that lacks the
 * runner gets it and is asked again: what an earlier version of it left there counts too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "reach/reach_i.h"

struct reach_ask {
    struct reach_link *link;
    struct reach_options options;
    reach_answer_f *fn;
    void *arg;
    struct reach_call *call;
    struct reach_events events;
    struct buf lines;
    char *root, *verb_and_ids;
    char verb[8];
    bool with_runner, no_runner, complete;
    char text[REACH_NOISE_BYTES + 64];
};
enum { ACK_MAX = 128 }; /* a command text stays well below what sshd and kernels take */

void reach_ask_free(struct reach_ask *a)
{
    if (!a)
        return;
    if (a->call)
        a->link->close(a->link, a->call);
    reach_events_done(&a->events);
    buf_done(&a->lines);
    free(a->root);
    free(a->verb_and_ids);
    free(a);
}

static void on_ask_event(void *arg, const struct reach_event *ev)
{
    struct reach_ask *a = arg;
    if (ev->kind == REACH_EV_NO_RUNNER) {
        a->no_runner = true;
    } else if (ev->kind == REACH_EV_OVER && str_is(ev->text, "error")) {
        snprintf(a->text, sizeof a->text, "%.*s", (int)ev->note.n, ev->note.s);
    } else if (ev->kind == REACH_EV_LINE && str_is(ev->text, a->verb) && !a->complete) {
        a->link->has_runner = true;
        a->complete = !strcmp(a->verb, "stop") || str_is(ev->note, "done");
        if (!str_is(ev->note, "done")) {
            buf_put(&a->lines, ev->note.s, ev->note.n);
            buf_putc(&a->lines, '\n');
        }
    }
}

static void on_ask_output(void *arg, int stream, const char *p, size_t n)
{
    struct reach_ask *a = arg;
    if (stream == 2)
        reach_events_push(&a->events, p, n, on_ask_event, a);
}

static void on_ask_end(void *arg, const struct reach_exec_end *end);

static int ask_exec(struct reach_ask *a, struct err *e)
{
    SCOPED_BUF(command);
    SCOPED_BUF(archive);
    struct reach_exec x = {.on_output = on_ask_output, .on_end = on_ask_end, .arg = a};
    if (a->with_runner) {
        struct reach_name name;
        reach_name_make(&name);
        reach_pack_runner(&archive, &name);
        reach_pack_end(&archive);
        reach_command_install(&command, &a->options, name.chain, a->verb_and_ids);
        x.input = buf_str(&archive);
    } else {
        reach_command_verb(&command, &a->options, a->verb_and_ids);
    }
    x.command = command.data;
    return a->link->exec(a->link, &x, &a->call, e);
}

static void on_ask_end(void *arg, const struct reach_exec_end *end)
{
    struct reach_ask *a = arg;
    struct reach_answer answer = {.fail = end->fail, .text = a->text};
    a->call = NULL;
    if (a->no_runner && !a->with_runner) {
        struct err e = {0};
        a->with_runner = true;
        a->link->has_runner = false;
        if (ask_exec(a, &e) == 0)
            return;
        snprintf(a->text, sizeof a->text, "%.200s", e.text);
    } else if (a->complete) {
        answer.kind = REACH_ANSWERED;
        answer.fail = REACH_FAIL_NONE;
        answer.lines = buf_str(&a->lines);
        a->fn(a->arg, &answer); /* may free a */
        return;
    } else if (end->text[0]) {
        snprintf(a->text, sizeof a->text, "%s", end->text);
    } else if (!a->text[0]) {
        snprintf(a->text, sizeof a->text, "%s (status %d)", a->events.noise, end->status);
    }
    answer.kind = end->ran && end->fail != REACH_FAIL_NONE ? REACH_UNKNOWN : REACH_UNASKED;
    a->fn(a->arg, &answer);
}

static int ask_new(struct reach_link *l, const struct reach_options *o, const char *verb,
                   const char *ids, reach_answer_f *fn, void *arg, struct reach_ask **ret_a,
                   struct err *e)
{
    int rc = reach_options_check(o, e);
    if (rc < 0)
        return rc;
    struct reach_ask *a = xcalloc(1, sizeof *a);
    SCOPED_BUF(text);
    *a = (struct reach_ask){.link = l, .options = *o, .fn = fn, .arg = arg};
    a->root = o->root ? xstrdup(o->root) : NULL;
    a->options.root = a->root;
    snprintf(a->verb, sizeof a->verb, "%s", !strcmp(verb, "facts") ? "fact" : verb);
    buf_printf(&text, "%s%s", verb, ids);
    a->verb_and_ids = xstrdup(text.data);
    a->with_runner = !l->has_runner;
    rc = ask_exec(a, e);
    if (rc < 0) {
        reach_ask_free(a);
        return rc;
    }
    *ret_a = a;
    return 0;
}

int reach_stop(struct reach_link *l, const struct reach_options *o, uint32_t task, uint32_t attempt,
               uint32_t grace_s, reach_answer_f *fn, void *arg, struct reach_ask **ret_a,
               struct err *e)
{
    char ids[64];
    snprintf(ids, sizeof ids, " %" PRIu32 " %" PRIu32 " %" PRIu32, task, attempt, grace_s);
    return ask_new(l, o, "stop", ids, fn, arg, ret_a, e);
}

int reach_ack(struct reach_link *l, const struct reach_options *o, const char *const *chains,
              size_t n, reach_answer_f *fn, void *arg, struct reach_ask **ret_a, struct err *e)
{
    SCOPED_BUF(ids);
    if (n == 0 || n > ACK_MAX)
        return err_set(e, ERR_INVALID, "1 to %d chains are acknowledged at once", (int)ACK_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!reach_id_valid(chains[i]))
            return err_set(e, ERR_INVALID, "\"%.32s\" is no id of a chain", chains[i]);
        buf_printf(&ids, " %s", chains[i]);
    }
    return ask_new(l, o, "ack", ids.data, fn, arg, ret_a, e);
}

int reach_watch(struct reach_link *l, const struct reach_options *o, const char *chain,
                reach_answer_f *fn, void *arg, struct reach_ask **ret_a, struct err *e)
{
    char ids[REACH_CHAIN_HEX + 1];
    snprintf(ids, sizeof ids, " %s", chain);
    return ask_new(l, o, "watch", ids, fn, arg, ret_a, e);
}

int reach_held(struct reach_link *l, const struct reach_options *o, reach_answer_f *fn, void *arg,
               struct reach_ask **ret_a, struct err *e)
{
    return ask_new(l, o, "held", "", fn, arg, ret_a, e);
}

int reach_facts(struct reach_link *l, const struct reach_options *o, reach_answer_f *fn, void *arg,
                struct reach_ask **ret_a, struct err *e)
{
    return ask_new(l, o, "facts", "", fn, arg, ret_a, e);
}
