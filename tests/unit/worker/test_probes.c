/* test_probes.c - what a worker says of nodes that it is asked to look for
 *
 * Nodes are ports of loopback: where nobody listens, where something greets as an ssh server does
 * and goes no further, where something says nothing.  What a real node answers is tested with real
 * ones (tests/e2e).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/rig.h"

struct port {
    struct loop *l;
    int fd, line;
    uint16_t number;
    const char *greeting; /* NULL: it says nothing */
    struct loop_watch *watch;
};

static void on_call(void *arg, unsigned events)
{
    struct port *p = arg;
    (void)events;
    if (p->line >= 0)
        close(p->line);
    p->line = accept(p->fd, NULL, NULL);
    if (p->line >= 0 && p->greeting &&
        write(p->line, p->greeting, strlen(p->greeting)) != (ssize_t)strlen(p->greeting))
        note("a greeting was not taken");
}

static void port_open(struct port *p, struct rig *r, const char *greeting)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *p = (struct port){.l = r->l, .line = -1, .greeting = greeting};
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ok(bind(p->fd, (struct sockaddr *)&a, n) == 0 && listen(p->fd, 8) == 0 &&
           getsockname(p->fd, (struct sockaddr *)&a, &n) == 0,
       "a port");
    p->number = ntohs(a.sin_port);
    p->watch = loop_watch_new(r->l, p->fd, LOOP_READ, on_call, p);
}

static void port_close(struct port *p)
{
    loop_watch_free(p->watch);
    close(p->fd);
    if (p->line >= 0)
        close(p->line);
}

static struct str at(struct rig *r, uint16_t port)
{
    return str_of(
        arena_printf(&r->mem, "{\"via\":\"ssh\",\"addresses\":[\"127.0.0.1\"],\"port\":%u}", port));
}

static void stop_when_told(void *arg)
{
    struct rig *r = arg;
    loop_stop(r->l);
}

/* Until so many answers are there. */
static size_t told(const struct rig *r, struct probe_answer *ret, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < r->got.n; i++)
        for (uint32_t k = 0; k < r->got.at[i].n_answers && n < most; k++)
            ret[n++] = r->got.at[i].answers[k];
    return n;
}

static size_t wait_told(struct rig *r, struct probe_answer *ret, size_t n)
{
    size_t have = 0;
    for (int i = 0; i < 1500 && (have = told(r, ret, n)) < n; i++) {
        struct loop_timer *t = loop_timer_new(r->l, stop_when_told, r);
        loop_timer_at(t, loop_now_ms(r->l) + 10);
        loop_run(r->l);
        loop_timer_free(t);
    }
    return have;
}

static const struct probe_answer *of(const struct probe_answer *a, size_t n, uint64_t number)
{
    static const struct probe_answer none = {.end = PROBE_END_COUNT};
    for (size_t i = 0; i < n; i++)
        if (a[i].number == number)
            return &a[i];
    return &none;
}

static void test_answers(void)
{
    struct rig r;
    struct port greets, mute;
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    struct probe_answer got[8];
    rig_init(&r, false, &o);
    port_open(&greets, &r, "SSH-2.0-test\r\n");
    port_open(&mute, &r, NULL);
    uint16_t closed = mute.number;
    port_close(&mute);
    port_open(&mute, &r, NULL);
    const struct probe_ask asks[] = {
        {.node = str_of("greets"), .access = at(&r, greets.number), .number = 1},
        {.node = str_of("closed"), .access = at(&r, closed), .number = 2, .who = true},
        {.node = str_of("mute"), .access = at(&r, mute.number), .number = 3},
        {.node = str_of("here"), .access = str_of("{\"via\":\"local\"}"), .number = 4, .who = true},
        {.node = str_of("usual"), .number = 5},
        {.node = str_of("bad"), .access = str_of("{\"via\":"), .number = 6},
    };
    rig_send(&r, &(struct taskmsg){
                     .kind = TASKMSG_PROBE, .timeout_ms = 500, .probes = asks, .n_probes = 6});
    size_t n = wait_told(&r, got, 6);
    is_int(n, 6, "each is answered");
    is_int(of(got, n, 1)->end, PROBE_ANSWERS, "an ssh server greets");
    ok(str_is(of(got, n, 1)->node, "greets"), "the answer names the node");
    is_int(of(got, n, 2)->end, PROBE_SILENT, "nobody listens: silent, nobody was logged in");
    has_text(of(got, n, 2)->text.s, "127.0.0.1", "and the text names the address");
    is_int(of(got, n, 3)->end, PROBE_SILENT, "nothing is said in time");
    is_int(of(got, n, 4)->end, PROBE_ANSWERS, "this machine is here");
    is_int(of(got, n, 4)->machine_id.n, 0, "whose machine that is is not said");
    is_int(of(got, n, 5)->end, PROBE_ANSWERS, "so is one that does not say otherwise");
    is_int(of(got, n, 6)->end, PROBE_UNABLE, "what cannot be read is nobody's silence");
    ok(rig_count(&r, TASKMSG_RESULT) == 0 && worker_counts(r.w).running == 0, "no place is taken");
    port_close(&greets);
    port_close(&mute);
    rig_done(&r);
}

/* How a node is reached is what was said last, whatever arrives last. */
static void test_older_access(void)
{
    struct rig r;
    struct port greets, mute;
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    struct probe_answer got[4];
    rig_init(&r, false, &o);
    port_open(&greets, &r, "SSH-2.0-test\r\n");
    port_open(&mute, &r, NULL);
    struct str old = at(&r, mute.number), new = at(&r, greets.number);
    const struct probe_ask asks[] = {
        {.node = str_of("n"), .access = old, .access_rev = 3, .number = 1},
        {.node = str_of("n"), .access = new, .access_rev = 4, .number = 2},
        {.node = str_of("n"), .access = old, .access_rev = 3, .number = 3},
        {.node = str_of("n"), .access = old, .access_rev = 5, .number = 4},
    };
    rig_send(&r, &(struct taskmsg){
                     .kind = TASKMSG_PROBE, .timeout_ms = 500, .probes = asks, .n_probes = 4});
    size_t n = wait_told(&r, got, 4);
    is_int(of(got, n, 1)->end, PROBE_SILENT, "where it is said to be");
    is_int(of(got, n, 2)->end, PROBE_ANSWERS, "where it is said to be now");
    is_int(of(got, n, 3)->end, PROBE_ANSWERS, "what was said before that does not count any more");
    is_int(of(got, n, 4)->end, PROBE_SILENT, "unless it is said anew");
    port_close(&greets);
    port_close(&mute);
    rig_done(&r);
}

/* It greets, and that is all: asked who it is, it is not silent. */
static void test_who(void)
{
    struct rig r;
    struct port half;
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    struct probe_answer got[2];
    rig_init(&r, false, &o);
    port_open(&half, &r, "SSH-2.0-test\r\ngarbage garbage garbage garbage garbage\r\n");
    struct probe_ask a = {
        .node = str_of("half"), .access = at(&r, half.number), .number = 9, .who = true};
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_PROBE, .probes = &a, .n_probes = 1});
    size_t n = wait_told(&r, got, 1);
    is_int(of(got, n, 9)->end, PROBE_UNABLE, "something answers: it is not silent");
    ok(of(got, n, 9)->text.n > 0, "and the text says what went wrong");
    port_close(&half);
    rig_done(&r);
}

/* A task that does not reach its node says so, once a try. */
static void test_missed(void)
{
    struct rig r;
    struct port p;
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    struct probe_answer got[2];
    rig_init(&r, false, &o);
    port_open(&p, &r, NULL);
    uint16_t closed = p.number;
    port_close(&p);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                   .task = 1,
                                   .attempt = 1,
                                   .jig = str_of("shell"),
                                   .node = str_of("n"),
                                   .access = at(&r, closed),
                                   .params = str_of("{\"command\":[\"true\"]}")});
    is_int(wait_told(&r, got, 1), 1, "the server is told that a node was missed");
    is_int(got[0].end, PROBE_MISSED, "which is not a probe");
    is_int(got[0].number, 0, "and nobody asked");
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_AGAIN, "the task is not yet done");
    rig_ack_all(&r);
    rig_done(&r);
}

/* Ended with probes under way. */
static void test_end(void)
{
    struct rig r;
    struct port mute;
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    rig_init(&r, false, &o);
    port_open(&mute, &r, NULL);
    struct probe_ask a = {.node = str_of("mute"), .access = at(&r, mute.number), .number = 1};
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_PROBE, .probes = &a, .n_probes = 1});
    struct probe_answer none;
    loop_post(r.l, stop_when_told, &r);
    loop_run(r.l);
    is_int(told(&r, &none, 1), 0, "nothing is known yet");
    port_close(&mute);
    rig_done(&r);
    ok(true, "a worker ends with a probe under way");
}

int main(void)
{
    test_answers();
    test_older_access();
    test_who();
    test_missed();
    test_end();
    return tap_done();
}
