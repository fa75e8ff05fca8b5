/* test_worker.c - a worker with real processes, on a thread, and in bulk */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>
#include <time.h>

#include "worker/rig.h"

static const char *log_text(const struct rig *r, uint32_t task)
{
    for (size_t i = 0; i < r->got.n; i++)
        if (r->got.at[i].kind == TASKMSG_LOG && r->got.at[i].task == task)
            return r->got.at[i].chunk.s;
    return "";
}

static void test_processes(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    rig_task(&r, 1, 1, 0, "shell", "{\"script\":\"echo hi; echo '{\\\"p\\\":1}' >&3\"}");
    rig_task(&r, 2, 1, 0, "shell", "{\"script\":\"echo oops >&2; exit 3\"}");
    rig_wait(&r, 2);
    ok(rig_outcome(&r, 1, 1) == OUTCOME_OK && str_is(rig_result(&r, 1, 1)->returns, "{\"p\":1}"),
       "a script runs and returns");
    is_text(log_text(&r, 1), "hi\n", "with its output");
    is_int(rig_outcome(&r, 2, 1), OUTCOME_FAILED, "another fails");
    is_int(rig_result(&r, 2, 1)->exit_code, 3, "with its status");
    has_text(rig_result(&r, 2, 1)->text.s, "oops", "and its last words");
    rig_task(&r, 3, 1, 0, "shell", "{\"script\":\"exit 0\",\"cwd\":\"/no/such\"}");
    rig_wait(&r, 3);
    is_int(rig_outcome(&r, 3, 1), OUTCOME_FAILED, "one that cannot be started has failed");
    rig_done(&r);
}

static void test_ignoring_term(void)
{
    struct rig r;
    rig_init(&r, false, NULL);
    rig_task(&r, 1, 1, 0, "shell",
             "{\"script\":\"trap '' TERM; setsid sleep 1000 & echo $!; wait\"}");
    rig_wait_log(&r);
    pid_t left = (pid_t)atoi(log_text(&r, 1));
    rig_cancel(&r, 1, 1, 30);
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "a script that ignores TERM is cancelled");
    ok(left > 1 && scratch_gone(left), "with all it started");
    rig_forget(&r);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                   .task = 2,
                                   .attempt = 1,
                                   .jig = str_of("shell"),
                                   .params = str_of("{\"script\":\"trap '' TERM; sleep 1000\"}"),
                                   .timeout_ms = 50,
                                   .grace_ms = 20});
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_TIMEOUT, "or times out");
    rig_done(&r);
}

/* A later attempt of a task that runs: the earlier one is ended before the later one starts. */
static void test_supersede(void)
{
    struct rig r;
    SCOPED_BUF(params);
    rig_init(&r, false, NULL);
    rig_task(&r, 1, 1, 0, "shell", "{\"script\":\"echo $$; exec sleep 1000\"}");
    rig_wait_log(&r);
    buf_printf(&params, "{\"script\":\"kill -0 %d && exit 9; exit 0\"}", atoi(log_text(&r, 1)));
    rig_task(&r, 1, 2, 0, "shell", params.data);
    rig_wait(&r, 2);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "the earlier attempt is cancelled");
    is_int(rig_outcome(&r, 1, 2), OUTCOME_OK, "the later one starts when it is gone");
    rig_done(&r);
}

/* The life of a server that is killed, in a process of its own: its worker starts a task that would
 * run for ever.  The next worker on the same directory must be able to run the next attempt. */
static void doomed_server(char *dir, int out)
{
    struct loop *l = loop_new();
    struct queue *q = queue_new_embedded();
    struct worker_options o = {.run_dir = dir, .runner = RUNNER_PATH};
    struct err e;
    struct worker *w = worker_new(l, q, &o, &e);
    SCOPED_BUF(b);
    SCOPED_BUF(params);
    buf_printf(&params,
               "{\"script\":\"trap '' TERM; (sleep 1000) & echo $$ $! >/proc/%d/fd/%d; wait\"}",
               (int)getpid(), out);
    taskmsg_write(&b, &(struct taskmsg){.kind = TASKMSG_TASK,
                                        .task = 1,
                                        .attempt = 1,
                                        .jig = str_of("shell"),
                                        .params = buf_str(&params)});
    queue_to_worker(q, buf_str(&b));
    queue_flush(q);
    loop_run(l);
    _exit(w != NULL);
}

static void test_server_killed(void)
{
    char *dir = scratch_new(), line[64] = "";
    int p[2], a = 0, b = 0;
    if (pipe(p) < 0)
        exit(1);
    pid_t server = fork();
    if (server == 0)
        doomed_server(dir, p[1]);
    FILE *f = fdopen(p[0], "r");
    ok(fgets(line, sizeof line, f) && sscanf(line, "%d %d", &a, &b) == 2, "a server runs a task");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    ok(scratch_gone(a) && scratch_gone(b), "the server is killed and its task with it");
    fclose(f);
    close(p[1]);

    struct rig r = {.q = queue_new_embedded(), .l = loop_new(), .dir = dir};
    struct worker_options o = {.run_dir = dir, .runner = RUNNER_PATH};
    struct err e = {0};
    arena_init(&r.mem);
    queue_server_attach(r.q, r.l, rig_deliver, &r);
    r.w = worker_new(r.l, r.q, &o, &e);
    ok(r.w != NULL, "the next server has its directory (%s)", e.text);
    rig_task(&r, 1, 1, 0, "shell", "{\"script\":\"exit 0\"}");
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_LOST,
           "the attempt that was killed is lost, not run again");
    rig_task(&r, 1, 2, 0, "shell", "{\"script\":\"exit 0\"}");
    rig_wait(&r, 2);
    is_int(rig_outcome(&r, 1, 2), OUTCOME_OK, "the next attempt runs");
    char *scratch = fs_join(dir, "scratch"), **names;
    size_t n = 1;
    is_int(fs_list(scratch, &names, &n, &e), 0, "the scratch directory");
    is_int(n, 0, "was cleared of what the killed server left");
    free(names);
    free(scratch);
    rig_done(&r);
}

static uint64_t cpu_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The server's side of a burst: sends batches, counts results, acknowledges each batch of them. */
enum { BURST = 50000, BURST_BATCH = 1000 };
struct burst {
    struct queue *q;
    struct loop *l;
    struct arena mem;
    uint32_t sent, done;
    bool good;
};

static void burst_send(struct burst *b)
{
    SCOPED_BUF(text);
    for (int i = 0; i < BURST_BATCH && b->sent < BURST; i++) {
        buf_clear(&text);
        taskmsg_write(&text, &(struct taskmsg){.kind = TASKMSG_TASK,
                                               .task = ++b->sent,
                                               .attempt = 1,
                                               .jig = str_of("noop"),
                                               .name = str_of("install"),
                                               .node = str_of("n0001.cluster.example"),
                                               .key = str_of("0123456789abcdef"),
                                               .params = str_of("{\"returns\":{\"port\":5432}}")});
        queue_to_worker(b->q, buf_str(&text));
    }
    queue_flush(b->q);
}

static void burst_deliver(void *arg, const struct str *messages, size_t n)
{
    struct burst *b = arg;
    uint64_t seq = 0;
    SCOPED_BUF(text);
    for (size_t i = 0; i < n; i++) {
        struct taskmsg m;
        struct err e;
        arena_reset(&b->mem);
        if (taskmsg_parse(&b->mem, messages[i], &m, &e) < 0)
            b->good = false;
        else if (m.kind == TASKMSG_RESULT) {
            b->good = b->good && m.outcome == OUTCOME_OK && m.task == ++b->done && m.returns.n;
            seq = m.seq;
        }
    }
    if (seq) {
        taskmsg_write(&text, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = seq});
        queue_to_worker(b->q, buf_str(&text));
    }
    if (b->done == BURST)
        loop_stop(b->l);
    else if (b->sent - b->done < 2 * BURST_BATCH)
        burst_send(b);
    queue_flush(b->q);
}

static void test_burst(void)
{
    char *dir = scratch_new();
    struct burst b = {.q = queue_new_embedded(), .l = loop_new(), .good = true};
    struct worker_options o = {.run_dir = dir, .runner = RUNNER_PATH};
    struct err e;
    arena_init(&b.mem);
    struct worker_thread *t = worker_thread_start(b.q, &o, &e);
    ok(t != NULL, "a worker on a thread");
    queue_server_attach(b.q, b.l, burst_deliver, &b);
    uint64_t wall = cpu_ms(CLOCK_MONOTONIC), mine = cpu_ms(CLOCK_THREAD_CPUTIME_ID),
             all = cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
    burst_send(&b);
    scratch_run(b.l);
    wall = cpu_ms(CLOCK_MONOTONIC) - wall;
    all = cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - all;
    mine = cpu_ms(CLOCK_THREAD_CPUTIME_ID) - mine;
    is_int(b.done, BURST, "a burst of noops is done");
    ok(b.good, "each well and in order");
    note("%u noops in %u ms, %.2f us of the worker's time each", (unsigned)BURST, (unsigned)wall,
         1e3 * (double)(all - mine) / BURST);
    worker_thread_stop(t, 1000);
    queue_server_detach(b.q);
    queue_free(b.q);
    loop_free(b.l);
    arena_done(&b.mem);
    scratch_end(dir);
}

/* Stopping the thread while a task runs ends the task. */
static void test_thread_stop(void)
{
    struct rig r = {.q = queue_new_embedded(), .l = loop_new(), .dir = scratch_new()};
    struct worker_options o = {.run_dir = r.dir, .runner = RUNNER_PATH};
    struct err e;
    arena_init(&r.mem);
    queue_server_attach(r.q, r.l, rig_deliver, &r);
    struct worker_thread *t = worker_thread_start(r.q, &o, &e);
    rig_task(&r, 1, 1, 0, "shell", "{\"script\":\"echo $$; exec sleep 1000\"}");
    rig_wait_log(&r);
    pid_t pid = (pid_t)atoi(log_text(&r, 1));
    worker_thread_stop(t, 5000);
    ok(pid > 1 && scratch_gone(pid), "the thread is stopped and its task has ended");
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_LOST, "which the server is told");
    ok(str_is(r.got.at[0].worker, r.got.at[0].worker.s) && strchr(r.got.at[0].worker.s, ':'),
       "a worker without a name is called by host and process");
    r.stopped = true;
    rig_done(&r);
}

int main(void)
{
    test_processes();
    test_ignoring_term();
    test_supersede();
    test_server_killed();
    test_burst();
    test_thread_stop();
    return tap_done();
}
