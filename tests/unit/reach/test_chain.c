/* test_chain.c - chains over a link: the real runner on this machine, and links that break */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reach/local_link.h"
#include "reach/reach_i.h"
#include "sys/scratch.h"
#include <sys/stat.h>

struct seen { /* what a chain told, as text */
    struct loop *loop;
    struct reach_link *link;
    struct reach_options options;
    struct reach_chain *chain;
    struct buf log, ends;
    struct reach_over over;
    char followed[REACH_CHAIN_HEX], text[512];
    int overs;
    bool free_on_log;
};

static void on_log(void *arg, unsigned step, const char *p, size_t n)
{
    struct seen *s = arg;
    buf_printf(&s->log, "%u:%.*s", step, (int)n, p);
    if (s->free_on_log)
        loop_stop(s->loop);
}

static void on_end(void *arg, unsigned step, const struct reach_end *end)
{
    struct seen *s = arg;
    buf_printf(&s->ends, "%u=%s %d [%.*s] %.*s;", step, reach_what_text(end->what), end->status,
               (int)end->result.n, end->result.s, (int)end->note.n, end->note.s);
}

static void on_over(void *arg, const struct reach_over *over)
{
    struct seen *s = arg;
    s->over = *over;
    s->overs++;
    snprintf(s->followed, sizeof s->followed, "%s", over->chain);
    snprintf(s->text, sizeof s->text, "%s", over->text);
    reach_chain_free(s->chain);
    s->chain = NULL;
    loop_stop(s->loop);
}

static struct reach_chain_spec spec_of(struct seen *s, const struct reach_step *steps, size_t n)
{
    buf_clear(&s->log);
    buf_clear(&s->ends);
    s->overs = 0;
    return (struct reach_chain_spec){.loop = s->loop,
                                     .link = s->link,
                                     .options = s->options,
                                     .steps = steps,
                                     .n = n,
                                     .on_log = on_log,
                                     .on_end = on_end,
                                     .on_over = on_over,
                                     .arg = s};
}

static void follow(struct seen *s, const struct reach_step *steps, size_t n)
{
    struct reach_chain_spec spec = spec_of(s, steps, n);
    struct err e = {0};
    if (!ok(reach_chain_start(&spec, &s->chain, &e) == 0, "a chain of %zu starts%s", n, e.text))
        return;
    scratch_run(s->loop);
    is_int(s->overs, 1, "and is over once");
}

static struct reach_step script(uint32_t task, const char *text)
{
    return (struct reach_step){.run = {.task = task, .attempt = 1},
                               .kind = REACH_SCRIPT,
                               .script = str_of(text),
                               .grace_s = 1,
                               .umask_bits = 022};
}

static void on_answer(void *arg, const struct reach_answer *a)
{
    struct seen *s = arg;
    buf_clear(&s->log);
    if (a->kind == REACH_ANSWERED)
        buf_put(&s->log, a->lines.s, a->lines.n);
    else
        buf_printf(&s->log, "kind %d: %s", a->kind, a->text);
    loop_stop(s->loop);
}

static void ask_done(struct seen *s, int rc, struct reach_ask **a, const char *want)
{
    if (!ok(rc == 0, "a question is asked"))
        return;
    scratch_run(s->loop);
    has_text(buf_str(&s->log).s, want, "and answered: %s", want);
    reach_ask_free(*a);
}

static void test_local(struct seen *s)
{
    struct reach_step steps[] = {script(1, "echo one"), script(2, "printf two; exit 0"),
                                 script(3, "echo '{\"a\":1}' >&3"), script(4, "echo never")};
    struct reach_ask *a = NULL;
    struct err e;
    ok(!s->link->has_runner, "at first the node has no runner");
    follow(s, steps, 4);
    is_text(buf_str(&s->log).s, "0:one\n1:two", "the log is told step by step");
    is_text(buf_str(&s->ends).s,
            "0=done 0 [] ;1=done 0 [] ;2=done 0 [{\"a\":1}\n] ;3=skipped -1 [] ;",
            "and every end, in order");
    is_int(s->over.kind, REACH_OVER, "nothing is left open");
    ok(s->link->has_runner, "it has one now");
    char first[REACH_CHAIN_HEX];
    snprintf(first, sizeof first, "%s", s->followed);

    follow(s, steps + 2, 2);
    is_text(buf_str(&s->ends).s, "0=done 0 [{\"a\":1}\n] ;1=skipped -1 [] ;",
            "the same run again: the other chain is followed, the result is the kept one");
    is_text(s->followed, first, "which is the first one");

    struct reach_step later = steps[2];
    later.run.attempt = 0;
    follow(s, &later, 1);
    is_text(buf_str(&s->ends).s, "0=refused -1 [] 0.1.0.0;", "an earlier attempt is refused");

    ask_done(s, reach_held(s->link, &s->options, on_answer, s, &a, &e), &a, "3 0 1 0 0 ");
    const char *chains[] = {first};
    ask_done(s, reach_ack(s->link, &s->options, chains, 1, on_answer, s, &a, &e), &a, "");
    ask_done(s, reach_facts(s->link, &s->options, on_answer, s, &a, &e), &a, "boot_id ");
    ask_done(s, reach_stop(s->link, &s->options, 3, 1, 1, on_answer, s, &a, &e), &a, "none\n");
    chains[0] = "0123";
    is_int(reach_ack(s->link, &s->options, chains, 1, on_answer, s, &a, &e), -ERR_INVALID,
           "what is no id never gets into a command");
}

static void test_runner_gone(struct seen *s)
{
    struct reach_step one = script(10, "echo back");
    char path[600], hex[33];
    snprintf(path, sizeof path, "%s/anneal/runner.%s", s->options.root, reach_runner_digest(hex));
    is_int(unlink(path), 0, "the runner is removed");
    follow(s, &one, 1);
    is_text(buf_str(&s->ends).s, "0=done 0 [] ;", "it is sent again, and the chain runs");
    struct reach_ask *a = NULL;
    struct err e;
    unlink(path);
    ask_done(s, reach_stop(s->link, &s->options, 99, 1, 1, on_answer, s, &a, &e), &a, "none\n");
}

/* The worker vanishes in mid-task; another one collects. */
static void test_cut(struct seen *s)
{
    char fifo[600], text[1400];
    snprintf(fifo, sizeof fifo, "%s.fifo", s->options.root);
    ok(mkfifo(fifo, 0600) == 0, "a FIFO to wait at");
    snprintf(text, sizeof text, "echo here; read x <%s; echo '{}' >&3", fifo);
    struct reach_step steps[] = {script(20, text), script(21, "echo never")};
    struct reach_chain_spec spec = spec_of(s, steps, 2);
    struct err e;
    is_int(reach_chain_start(&spec, &s->chain, &e), 0, "a chain starts");
    s->free_on_log = true;
    scratch_run(s->loop);
    s->free_on_log = false;
    is_text(buf_str(&s->log).s, "0:here\n", "it runs");
    reach_chain_free(s->chain);
    local_link_free(s->link);
    s->link = local_link_new(s->loop);
    FILE *f = fopen(fifo, "w");
    ok(f != NULL, "the program waits still");
    fprintf(f, "go\n");
    fclose(f);
    follow(s, steps, 2);
    is_text(buf_str(&s->ends).s, "0=done 0 [{}\n] ;1=skipped -1 [] ;",
            "the same chain from another worker gets end and result");
    spec = spec_of(s, steps, 2);
    char chain[REACH_CHAIN_HEX];
    snprintf(chain, sizeof chain, "%s", s->followed);
    is_int(reach_chain_attach(&spec, chain, &s->chain, &e), 0, "and can be attached to");
    scratch_run(s->loop);
    is_text(buf_str(&s->ends).s, "0=done 0 [{}\n] ;1=skipped -1 [] ;", "with the same answer");
    spec = spec_of(s, steps, 2);
    is_int(reach_chain_attach(&spec, "00000000000000ff", &s->chain, &e), 0, "another chain");
    scratch_run(s->loop);
    has_text(buf_str(&s->ends).s, "0=lost -1 [] there is no chain", "of which nothing is known");
    unlink(fifo);
}

static void test_stop(struct seen *s)
{
    struct reach_step steps[] = {script(30, "echo here; sleep 1000"), script(31, ":")};
    struct reach_chain_spec spec = spec_of(s, steps, 2);
    struct reach_ask *a = NULL;
    struct err e;
    is_int(reach_chain_start(&spec, &s->chain, &e), 0, "a chain starts");
    s->free_on_log = true;
    scratch_run(s->loop);
    s->free_on_log = false;
    is_int(reach_stop(s->link, &s->options, 30, 1, 1, on_answer, s, &a, &e), 0, "it is stopped");
    while (!s->overs && tap_failed_ == 0)
        scratch_run(s->loop);
    reach_ask_free(a);
    is_text(buf_str(&s->ends).s, "0=stopped 143 [] ;1=skipped -1 [] ;", "and ends so");
}

/* A link that says what it is told to say. */
struct fake {
    struct reach_link link;
    struct loop *loop;
    struct reach_exec x;
    struct reach_exec_end end;
    const char *out, *err;
    int execs, closes;
    char command[4096];
};

static void fake_play(void *arg)
{
    struct fake *f = arg;
    if (f->err)
        f->x.on_output(f->x.arg, 2, f->err, strlen(f->err));
    if (f->out)
        f->x.on_output(f->x.arg, 1, f->out, strlen(f->out));
    if (f->end.text)
        f->x.on_end(f->x.arg, &f->end);
}

static int fake_exec(struct reach_link *l, const struct reach_exec *x, struct reach_call **ret_call,
                     struct err *e)
{
    struct fake *f = (struct fake *)l;
    (void)e;
    f->x = *x;
    f->execs++;
    snprintf(f->command, sizeof f->command, "%s", x->command);
    loop_post(f->loop, fake_play, f);
    *ret_call = (struct reach_call *)f;
    return 0;
}

static void fake_close(struct reach_link *l, struct reach_call *call)
{
    (void)call;
    ((struct fake *)l)->closes++;
}

static void fake_case(const char *out, const char *err, struct reach_exec_end end, const char *ends,
                      enum reach_over_kind kind, const char *text)
{
    struct loop *l = loop_new_fake(1000);
    struct fake f = {
        .link = {fake_exec, fake_close, true}, .loop = l, .end = end, .out = out, .err = err};
    struct seen s = {.loop = l, .link = &f.link};
    struct reach_step steps[] = {script(1, ":"), script(2, ":"), script(3, ":")};
    struct reach_chain_spec spec = spec_of(&s, steps, 3);
    struct err e;
    is_int(reach_chain_start(&spec, &s.chain, &e), 0, "a chain over a link that plays: %s", text);
    loop_run(l);
    is_text(buf_str(&s.ends).s, ends, "what it tells");
    ok(s.overs == 1 && s.over.kind == kind, "and how it is over");
    has_text(s.text, text, "and why");
    is_int(f.closes, end.text ? 0 : 1, "a session that does not end is closed");
    ok(!strncmp(f.command, "exec /bin/sh -c '", 17) &&
           strchr(f.command + 17, '\'') == f.command + strlen(f.command) - 1,
       "its command is one word in quotes");
    buf_done(&s.log);
    buf_done(&s.ends);
    loop_free(l);
}

static void test_links(void)
{
    struct reach_exec_end fine = {.ran = true, .text = ""},
                          lost = {.ran = true, .fail = REACH_FAIL_LOST, .text = "cut off"},
                          never = {.fail = REACH_FAIL_AUTH, .text = "no key"},
                          sudo = {.ran = true, .status = 1, .text = ""}, hangs = {.text = NULL};
    fake_case(NULL, NULL, never, "", REACH_NEVER, "no key");
    fake_case(NULL, "sudo: a password is required\n", sudo, "", REACH_NEVER,
              "a password is required (status 1)");
    fake_case(NULL, NULL, lost, "", REACH_CUT, "cut off");
    fake_case(NULL, "anneal: chain 00 3\nanneal: end 1 done 0 0 0 -\n", lost, "0=done 0 [] ;",
              REACH_CUT, "cut off");
    fake_case(NULL, "anneal: chain 00 3\n", fine, "", REACH_CUT, "the session ended");
    fake_case(NULL, "anneal: chain 00 3\nanneal: end 2 done 0 0 0 -\n", lost, "", REACH_CUT,
              "cut off");
    fake_case(NULL, "anneal: chain 00 3\nanneal: end 1 done 0 0 0 -\nanneal: over lost 0 gone\n",
              fine, "0=done 0 [] ;1=lost -1 [] gone;2=skipped -1 [] ;", REACH_OVER, "");
    fake_case(NULL, "anneal: over error 0 no space\n", fine, "", REACH_NEVER, "no space");
    fake_case(NULL, "anneal: chain 00 3\nanneal: end 1 what\n", sudo, "", REACH_CUT,
              "what no runner says");
    fake_case(NULL, "anneal: chain 00 3\nanneal: end 1 done 3 0 0 -\nanneal: over failed 0 -\n",
              hangs, "0=done 3 [] ;1=skipped -1 [] ;2=skipped -1 [] ;", REACH_OVER, "");
}

int main(void)
{
    struct seen s = {.loop = loop_new()};
    char *dir = scratch_new(), root[600];
    snprintf(root, sizeof root, "%s/root", dir);
    s.options.root = root;
    s.link = local_link_new(s.loop);
    test_local(&s);
    test_runner_gone(&s);
    test_cut(&s);
    test_stop(&s);
    local_link_free(s.link);
    buf_done(&s.log);
    buf_done(&s.ends);
    loop_free(s.loop);
    test_links();
    scratch_end(dir);
    return tap_done();
}
