/* test_names.c - a name goes from one node to the next, and each is held to its own key
 *
 * The nodes are real ssh servers on loopback, each with a key of its own, into which nobody is let:
 * who shows a key that is trusted answers `auth`, who does not is not spoken to.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ssh/sshd.h"
#include "worker/rig.h"

enum { FENCE_SHIFT = 32 };

struct bed {
    struct rig r;
    struct sshd_keys *keys[2];
    struct sshd *at;
    uint64_t number;
    const char *via;
};

/* How it is reached, with these keys pinned ("": none). */
static struct str access_of(struct bed *b, const char *pinned)
{
    return str_of(arena_printf(&b->r.mem,
                               "{\"via\":\"ssh\",\"addresses\":[\"127.0.0.1\"],\"port\":%u,"
                               "\"identity\":\"%s\",\"host_keys\":"
                               "[%s%s%s]}",
                               b->at->port, b->keys[0]->wrong_key, *pinned ? "\"" : "", pinned,
                               *pinned ? "\"" : ""));
}

static void on_slice(void *arg)
{
    loop_stop(((struct rig *)arg)->l);
}

static const struct probe_answer *answer_to(const struct rig *r, uint64_t number)
{
    for (size_t i = 0; i < r->got.n; i++)
        for (uint32_t k = 0; k < r->got.at[i].n_answers; k++)
            if (r->got.at[i].answers[k].number == number)
                return &r->got.at[i].answers[k];
    return NULL;
}

/* Asked who it is, as the server's node `id` in revision `rev` of a history. */
static struct probe_answer asked(struct bed *b, uint64_t fence, uint32_t id, uint32_t rev,
                                 const char *pinned)
{
    struct rig *r = &b->r;
    struct probe_ask q = {.node = str_of("n"),
                          .node_id = id,
                          .access = access_of(b, pinned),
                          .access_rev = fence << FENCE_SHIFT | rev,
                          .number = ++b->number,
                          .who = true};
    const struct probe_answer *a = NULL;
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_PROBE, .probes = &q, .n_probes = 1});
    for (int i = 0; i < 1500 && !(a = answer_to(r, q.number)); i++) {
        struct loop_timer *t = loop_timer_new(r->l, on_slice, r);
        loop_timer_at(t, loop_now_ms(r->l) + 10);
        loop_run(r->l);
        loop_timer_free(t);
    }
    if (!a)
        return (struct probe_answer){.end = PROBE_END_COUNT};
    is_int(a->node_id, id, "%s: the answer is of the node that was asked for", b->via);
    return *a;
}

/* The last key that the server was told of is this one, met as that node in that revision. */
static void told_key(struct bed *b, size_t n, const char *line, uint32_t id, uint32_t rev)
{
    const struct taskmsg *last = NULL;
    is_int(rig_count(&b->r, TASKMSG_SEEN), n, "%s: so many keys were told", b->via);
    for (size_t i = 0; i < b->r.got.n; i++)
        if (b->r.got.at[i].kind == TASKMSG_SEEN)
            last = &b->r.got.at[i];
    ok(last && str_is(last->host_key, line), "%s: the one it shows", b->via);
    ok(last && last->node_id == id && (uint32_t)last->access_rev == rev,
       "%s: as node %u, revision %u", b->via, id, rev);
}

static void bed_open(struct bed *b, const char *via)
{
    struct worker_options o = {.name = "w",
                               .capacity = 1,
                               .beat_ms = 1000,
                               .ssh_transport = via,
                               .ssh_kex = "curve25519-sha256"};
    b->via = via;
    b->at = sshd_new(b->keys[0], "");
    rig_init(&b->r, false, &o);
}

static void bed_close(struct bed *b)
{
    rig_done(&b->r);
    sshd_free(b->at);
}

static void test_next_node(struct bed *b, const char *via)
{
    const char *first = b->keys[0]->host_line, *second = b->keys[1]->host_line;
    bed_open(b, via);
    is_int(asked(b, 9, 5, 7, "").end, PROBE_AUTH, "%s: the first key is taken", via);
    told_key(b, 1, first, 5, 7);
    is_int(asked(b, 9, 5, 8, first).end, PROBE_AUTH, "%s: and pinned", via);
    sshd_replace(b->at, b->keys[1]);
    is_int(asked(b, 9, 5, 8, first).end, PROBE_HOST_KEY, "%s: another one is not", via);
    is_int(asked(b, 9, 6, 1, "").end, PROBE_AUTH, "%s: another node of that name may have it", via);
    told_key(b, 2, second, 6, 1);
    struct probe_answer a = asked(b, 9, 5, 9, first);
    is_int(a.end, PROBE_UNABLE, "%s: who had the name before is not asked any more", via);
    has_text(a.text.s, "another one has its name", "%s: which is told", via);
    is_int(asked(b, 9, 6, 1, "").end, PROBE_AUTH, "%s: and the new one is as it was", via);
    sshd_replace(b->at, b->keys[0]);
    is_int(asked(b, 9, 6, 1, "").end, PROBE_HOST_KEY, "%s: it is held to its key", via);
    is_int(asked(b, 9, 7, 1, "").end, PROBE_AUTH, "%s: the third one is not", via);
    is_int(asked(b, 10, 3, 1, second).end, PROBE_HOST_KEY, "%s: nor the one of another history",
           via);
    is_int(asked(b, 9, 8, 1, "").end, PROBE_UNABLE, "%s: after which the old one is over", via);
    is_int(worker_counts(b->r.w).nodes, 1, "%s: only one of all these is known", via);
    bed_close(b);
}

/* The same words, said anew: the key that was met, and that nobody pinned, is not held to. */
static void test_trusted_anew(struct bed *b, const char *via)
{
    bed_open(b, via);
    is_int(asked(b, 9, 5, 7, "").end, PROBE_AUTH, "%s: a key is taken", via);
    sshd_replace(b->at, b->keys[1]);
    is_int(asked(b, 9, 5, 7, "").end, PROBE_HOST_KEY, "%s: another one is not", via);
    is_int(asked(b, 9, 5, 6, "").end, PROBE_HOST_KEY, "%s: nor by what was said before", via);
    is_int(asked(b, 9, 5, 8, "").end, PROBE_AUTH, "%s: said anew, it is", via);
    told_key(b, 2, b->keys[1]->host_line, 5, 8);
    sshd_replace(b->at, b->keys[0]);
    is_int(asked(b, 9, 5, 8, "").end, PROBE_HOST_KEY, "%s: once", via);
    bed_close(b);
}

/* A server that does not say which node it is: by the revision alone, as ever. */
static void test_not_told(struct bed *b)
{
    bed_open(b, "libssh");
    is_int(asked(b, 9, 0, 7, b->keys[0]->host_line).end, PROBE_AUTH, "no number of a node");
    is_int(asked(b, 9, 0, 6, b->keys[1]->host_line).end, PROBE_AUTH, "an older word is not taken");
    is_int(asked(b, 9, 4, 8, b->keys[0]->host_line).end, PROBE_AUTH, "it is told one day");
    is_int(asked(b, 9, 5, 1, b->keys[1]->host_line).end, PROBE_HOST_KEY, "and counts from then on");
    bed_close(b);
}

/* What may run on a node that is gone is not looked for on the one that has its name. */
static void test_orphan(void)
{
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    struct rig r;
    rig_init(&r, false, &o);
    struct str nowhere = str_of(arena_printf(
        &r.mem, "{\"via\":\"ssh\",\"addresses\":[\"127.0.0.1\"],\"port\":%u}", sshd_closed_port()));
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                   .task = 1,
                                   .attempt = 1,
                                   .jig = str_of("shell"),
                                   .node = str_of("n"),
                                   .node_id = 5,
                                   .access = nowhere,
                                   .since_ms = 5000,
                                   .params = str_of("{\"command\":[\"true\"]}")});
    rig_wait_notes(&r, 1);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "its node cannot be reached: it is waited for");
    struct probe_ask q = {.node = str_of("n"), .node_id = 6, .access = nowhere, .number = 1};
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_PROBE, .probes = &q, .n_probes = 1});
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_LOST, "the node is gone: nobody knows what became of it");
    has_text(rig_result(&r, 1, 1)->text.s, "another one has its name", "which is told");
    rig_ack_all(&r);
    rig_done(&r);
}

/* Who is not asked for is forgotten; who is asked for is not. */
static void test_forgotten(void)
{
    struct worker_options o = {
        .name = "w", .capacity = 1, .beat_ms = 1000, .ssh_transport = "libssh"};
    struct rig r;
    rig_init(&r, true, &o);
    for (uint32_t i = 1; i <= 50; i++) {
        struct probe_ask q = {
            .node = str_of(arena_printf(&r.mem, "n%u", i)),
            .node_id = i,
            .access = str_of("{\"via\":\"ssh\",\"addresses\":[\"127.0.0.1\"],\"port\":1}"),
            .number = i};
        rig_send(&r, &(struct taskmsg){
                         .kind = TASKMSG_PROBE, .timeout_ms = 500, .probes = &q, .n_probes = 1});
    }
    is_int(worker_counts(r.w).nodes, 50, "nodes that were asked for");
    for (uint32_t i = 0; i < 15; i++) {
        struct probe_ask q = {
            .node = str_of("n7"),
            .node_id = 7,
            .access = str_of("{\"via\":\"ssh\",\"addresses\":[\"127.0.0.1\"],\"port\":1}"),
            .number = 100 + i};
        rig_step(&r, 60000);
        rig_send(&r, &(struct taskmsg){
                         .kind = TASKMSG_PROBE, .timeout_ms = 500, .probes = &q, .n_probes = 1});
    }
    is_int(worker_counts(r.w).nodes, 1, "a quarter of an hour later only who still is");
    rig_done(&r);
}

int main(void)
{
    static const char *const vias[] = {"libssh", "openssh"};
    struct bed b = {0};
    for (size_t i = 0; i < 2; i++)
        if (!(b.keys[i] = sshd_keys_new()))
            return tap_done();
    for (size_t i = 0; i < 2; i++) {
        test_next_node(&b, vias[i]);
        test_trusted_anew(&b, vias[i]);
    }
    test_not_told(&b);
    for (size_t i = 0; i < 2; i++)
        sshd_keys_free(b.keys[i]);
    test_orphan();
    test_forgotten();
    return tap_done();
}
