/* test_taskmsg.c - task messages through JSON and back; what is refused and where */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/taskmsg.h"

#include "tap.h"

static const struct str jigs[] = {{"noop", 4}, {"shell", 5}};
static const struct held_attempt held[] = {{1, 2}, {UINT32_MAX, UINT32_MAX}};

static const struct probe_ask probes[] = {{.node = {"n1", 2},
                                           .node_id = 3,
                                           .access = {"{\"port\":22}", 11},
                                           .access_rev = 9,
                                           .number = 7,
                                           .who = true},
                                          {.node = {"n2", 2}}};
static const struct probe_answer answers[] = {
    {.node = {"n1", 2},
     .node_id = UINT32_MAX,
     .number = 7,
     .end = PROBE_ANSWERS,
     .machine_id = {"m1", 2},
     .boot_id = {"b1", 2}},
    {.node = {"n2", 2}, .end = PROBE_HOST_KEY, .text = {"another key", 11}}};

static void same_str(struct str a, struct str b, const char *name, enum taskmsg_kind k)
{
    ok(str_eq(a, b), "%s of %s", name, taskmsg_kind_name(k));
}

static void same(const struct taskmsg *a, const struct taskmsg *b)
{
    enum taskmsg_kind k = a->kind;
    is_int(b->kind, k, "kind %s", taskmsg_kind_name(k));
    ok(a->task == b->task && a->attempt == b->attempt && a->ask == b->ask, "run of %s",
       taskmsg_kind_name(k));
    ok(a->seq == b->seq && a->timeout_ms == b->timeout_ms && a->grace_ms == b->grace_ms &&
           a->again_ms == b->again_ms && a->ran_ms == b->ran_ms,
       "64-bit numbers of %s", taskmsg_kind_name(k));
    ok(a->phase == b->phase && a->no_op == b->no_op, "phase and no_op of %s", taskmsg_kind_name(k));
    ok(a->outcome == b->outcome && a->exit_code == b->exit_code && a->truncated == b->truncated &&
           a->stream == b->stream && a->capacity == b->capacity,
       "small fields of %s", taskmsg_kind_name(k));
    same_str(a->jig, b->jig, "jig", k);
    same_str(a->name, b->name, "name", k);
    same_str(a->node, b->node, "node", k);
    ok(a->node_id == b->node_id && a->access_rev == b->access_rev, "which node, of %s",
       taskmsg_kind_name(k));
    same_str(a->address, b->address, "address", k);
    same_str(a->key, b->key, "key", k);
    same_str(a->params, b->params, "params", k);
    same_str(a->data, b->data, "data", k);
    same_str(a->under, b->under, "under", k);
    same_str(a->over, b->over, "over", k);
    same_str(a->tests, b->tests, "tests", k);
    same_str(a->digest, b->digest, "digest", k);
    same_str(a->text, b->text, "text", k);
    same_str(a->returns, b->returns, "returns", k);
    same_str(a->gone, b->gone, "gone", k);
    same_str(a->document, b->document, "document", k);
    same_str(a->content, b->content, "content", k);
    is_int(b->missing, a->missing, "missing of %s", taskmsg_kind_name(k));
    same_str(a->chunk, b->chunk, "chunk", k);
    same_str(a->worker, b->worker, "worker", k);
    ok(a->n_jigs == b->n_jigs && a->n_held == b->n_held, "list lengths of %s",
       taskmsg_kind_name(k));
    ok(a->n_probes == b->n_probes && a->n_answers == b->n_answers, "probes of %s",
       taskmsg_kind_name(k));
    for (uint32_t i = 0; i < a->n_probes && i < b->n_probes; i++) {
        same_str(a->probes[i].node, b->probes[i].node, "node of a probe", k);
        same_str(a->probes[i].access, b->probes[i].access, "access of a probe", k);
        ok(a->probes[i].access_rev == b->probes[i].access_rev &&
               a->probes[i].node_id == b->probes[i].node_id,
           "number and revision of a probe's node");
        ok(a->probes[i].number == b->probes[i].number && a->probes[i].who == b->probes[i].who,
           "number and question of a probe");
    }
    for (uint32_t i = 0; i < a->n_answers && i < b->n_answers; i++) {
        same_str(a->answers[i].node, b->answers[i].node, "node of an answer", k);
        same_str(a->answers[i].text, b->answers[i].text, "text of an answer", k);
        same_str(a->answers[i].machine_id, b->answers[i].machine_id, "machine of an answer", k);
        same_str(a->answers[i].boot_id, b->answers[i].boot_id, "boot of an answer", k);
        ok(a->answers[i].number == b->answers[i].number && a->answers[i].end == b->answers[i].end &&
               a->answers[i].node_id == b->answers[i].node_id,
           "number, node and end of an answer");
    }
    for (uint32_t i = 0; i < a->n_jigs && i < b->n_jigs; i++)
        same_str(a->jigs[i], b->jigs[i], "jigs", k);
    ok(!a->n_held || !memcmp(a->held, b->held, a->n_held * sizeof *a->held), "held of %s",
       taskmsg_kind_name(k));
}

static void test_round_trips(void)
{
    const struct taskmsg all[] = {
        {.kind = TASKMSG_TASK,
         .task = 7,
         .attempt = 3,
         .ask = 2,
         .jig = str_of("shell"),
         .name = str_of("install \"db\""),
         .node = str_of("n1.example"),
         .node_id = 12,
         .access_rev = 1ull << 62,
         .address = str_of("10.0.0.1"),
         .key = str_of("k"),
         .params = str_of("{\"a\" : 1.0, \"b\":\"\\u00e9\"}"),
         .data = str_of("{}"),
         .under = str_of("01aa"),
         .over = str_of("02bb"),
         .tests = str_of("{\"pre\": {\"cmd\":\"test -e \\u00e9\"}}"),
         .no_op = true,
         .digest = str_of("00ff"),
         .timeout_ms = 1ull << 40,
         .grace_ms = 5000},
        {.kind = TASKMSG_TASK, .task = 0, .attempt = 0, .jig = str_of("noop")},
        {.kind = TASKMSG_CANCEL, .task = 7, .attempt = 3, .ask = 4, .grace_ms = 10},
        {.kind = TASKMSG_ACK, .seq = 1763240000000000ull},
        {.kind = TASKMSG_HELLO,
         .worker = str_of("w1"),
         .capacity = 64,
         .jigs = jigs,
         .n_jigs = 2,
         .held = held,
         .n_held = 2},
        {.kind = TASKMSG_HELLO, .worker = str_of("w1")},
        {.kind = TASKMSG_BEAT, .worker = str_of("w1"), .capacity = 1, .held = held, .n_held = 1},
        {.kind = TASKMSG_RESULT,
         .task = 7,
         .attempt = 3,
         .ask = 1,
         .seq = 9,
         .outcome = OUTCOME_FAILED,
         .phase = PHASE_TEST_POST,
         .exit_code = -1,
         .ran_ms = 12,
         .text = str_of("exit status 3"),
         .returns = str_of("{\"x\":[1,2]}"),
         .gone = str_of("[[\"y\",\"z\"]]"),
         .digest = str_of("00112233445566778899aabbccddeeff"),
         .truncated = true},
        {.kind = TASKMSG_RESULT, .task = 7, .attempt = 3, .seq = 0, .outcome = OUTCOME_OK},
        {.kind = TASKMSG_RESULT,
         .task = 7,
         .attempt = 3,
         .seq = 1,
         .outcome = OUTCOME_AGAIN,
         .again_ms = 500,
         .exit_code = INT32_MAX},
        {.kind = TASKMSG_LOG,
         .task = 7,
         .attempt = 3,
         .stream = 2,
         .chunk = {"a\0\tb\n\xc3\xa9", 7}},
        {.kind = TASKMSG_LOG, .task = 7, .attempt = 3, .stream = 1},
        {.kind = TASKMSG_FETCH, .task = 7, .attempt = 3, .document = str_of("01aa")},
        {.kind = TASKMSG_DOCUMENT, .document = str_of("01aa"), .content = str_of("{\"a\":1}")},
        {.kind = TASKMSG_DOCUMENT, .document = str_of("01aa"), .missing = true},
        {.kind = TASKMSG_SEEN,
         .node = str_of("n1"),
         .node_id = 12,
         .access_rev = 1ull << 62,
         .host_key = str_of("ssh-ed25519 AAAA")},
        {.kind = TASKMSG_PROBE, .timeout_ms = 5000, .probes = probes, .n_probes = 2},
        {.kind = TASKMSG_PROBED, .answers = answers, .n_answers = 2},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(b);
        struct taskmsg back;
        struct err e = {0};
        taskmsg_write(&b, &all[i]);
        ok(!memchr(b.data, '\n', b.len), "one line: %s", b.data);
        is_int(taskmsg_parse(&mem, buf_str(&b), &back, &e), 0, "reads back (%s)", e.text);
        same(&all[i], &back);
    }
}

static void test_form(void)
{
    SCOPED_BUF(b);
    taskmsg_write(&b, &(struct taskmsg){.kind = TASKMSG_TASK,
                                        .task = 1,
                                        .attempt = 2,
                                        .jig = str_of("noop"),
                                        .params = str_of("{\"a\":1}")});
    is_text(b.data,
            "{\"kind\":\"task\",\"task\":1,\"attempt\":2,\"jig\":\"noop\",\"params\":\"{\\\"a\\\":"
            "1}\"}",
            "a task");
    buf_clear(&b);
    taskmsg_write(&b, &(struct taskmsg){.kind = TASKMSG_TASK,
                                        .task = 1,
                                        .attempt = 2,
                                        .jig = str_of("noop"),
                                        .tests = str_of("{\"post\":{\"cmd\":\"x\"}}"),
                                        .no_op = true});
    is_text(
        b.data,
        "{\"kind\":\"task\",\"task\":1,\"attempt\":2,\"jig\":\"noop\",\"tests\":\"{\\\"post\\\":"
        "{\\\"cmd\\\":\\\"x\\\"}}\",\"no_op\":true}",
        "a task with tests");
    buf_clear(&b);
    taskmsg_write(&b, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                        .task = 1,
                                        .attempt = 2,
                                        .seq = 3,
                                        .outcome = OUTCOME_FAILED,
                                        .phase = PHASE_TEST_PRE});
    is_text(b.data,
            "{\"kind\":\"result\",\"task\":1,\"attempt\":2,\"seq\":3,\"outcome\":\"failed\","
            "\"phase\":\"test_pre\"}",
            "a result that says where it ended");
    buf_clear(&b);
    taskmsg_write(&b, &(struct taskmsg){
                          .kind = TASKMSG_BEAT, .worker = str_of("w"), .held = held, .n_held = 1});
    is_text(b.data, "{\"kind\":\"beat\",\"worker\":\"w\",\"held\":[[1,2]]}", "a beat");
    buf_clear(&b);
    taskmsg_write(
        &b, &(struct taskmsg){
                .kind = TASKMSG_LOG, .task = 1, .attempt = 1, .stream = 1, .chunk = {"\xff!", 2}});
    has_text(b.data, "\xEF\xBF\xBD!", "bytes that are no text are replaced in a log");
    buf_clear(&b);
    taskmsg_write(
        &b, &(struct taskmsg){.kind = TASKMSG_PROBED, .answers = answers + 1, .n_answers = 1});
    is_text(b.data,
            "{\"kind\":\"probed\",\"answers\":[{\"node\":\"n2\",\"end\":\"host-key-changed\","
            "\"text\":\"another key\"}]}",
            "what came of a probe");
    is_text(probe_end_name(PROBE_END_COUNT), "?", "no end, no name");
    is_text(taskmsg_kind_name(TASKMSG_KIND_COUNT), "?", "no kind, no name");
    is_text(outcome_name(OUTCOME_LOST), "lost", "an outcome's name");
    is_text(outcome_name(OUTCOME_COUNT), "?", "no outcome, no name");
    is_text(phase_name(PHASE_COUNT), "?", "no phase, no name");
}

static void test_tolerance(void)
{
    SCOPED_ARENA(mem);
    struct taskmsg m;
    struct err e = {0};
    const char *newer =
        "{\"future\":{\"deep\":[[[[[1]]]]]},\"attempt\":4,\"kind\":\"cancel\",\"task\":5,"
        "\"chunk\":17}";
    is_int(taskmsg_parse(&mem, str_of(newer), &m, &e), 0,
           "fields in any order, unknown ones, others' ones");
    ok(m.kind == TASKMSG_CANCEL && m.task == 5 && m.attempt == 4 && m.chunk.n == 0,
       "are read past");
}

static void test_refusals(void)
{
    static const struct {
        const char *json, *text, *at;
    } cases[] = {
        {"", "", ""},
        {"{\"kind\":\"probe\"}", "a probe message needs probes", ""},
        {"{\"kind\":\"probe\",\"probes\":{}}", "expected a list", "/probes"},
        {"{\"kind\":\"probe\",\"probes\":[7]}", "expected a map", "/probes/0"},
        {"{\"kind\":\"probe\",\"probes\":[{}]}", "a node has a name", "/probes/0"},
        {"{\"kind\":\"probe\",\"probes\":[{\"node\":\"n\",\"number\":-1}]}", "a number",
         "/probes/0"},
        {"{\"kind\":\"probe\",\"probes\":[{\"node\":\"n\",\"who\":1}]}", "true or false",
         "/probes/0"},
        {"{\"kind\":\"probed\",\"answers\":[{\"node\":\"n\"}]}", "the end of a probe",
         "/answers/0"},
        {"{\"kind\":\"probed\",\"answers\":[{\"node\":\"n\",\"end\":\"auth\",\"text\":{}}]}",
         "a string", "/answers/0"},
        {"{", "", ""},
        {"[]", "a message is a map, not a list", ""},
        {"{}", "is no kind of message", "/kind"},
        {"{\"kind\":7}", "is no kind of message", "/kind"},
        {"{\"kind\":\"TASK\"}", "\"TASK\" is no kind", "/kind"},
        {"{\"kind\":\"task\"}", "a task message needs task", ""},
        {"{\"kind\":\"task\",\"task\":1}", "needs attempt", ""},
        {"{\"kind\":\"task\",\"task\":1,\"attempt\":1}", "needs jig", ""},
        {"{\"kind\":\"ack\"}", "needs seq", ""},
        {"{\"kind\":\"hello\"}", "needs worker", ""},
        {"{\"kind\":\"hello\",\"worker\":\"w\"}", "needs capacity", ""},
        {"{\"kind\":\"log\",\"task\":1,\"attempt\":1,\"stream\":1}", "needs chunk", ""},
        {"{\"kind\":\"result\",\"task\":1,\"attempt\":1,\"seq\":1}", "needs outcome", ""},
        {"{\"kind\":\"cancel\",\"task\":-1,\"attempt\":1}", "task must be from 0", "/task"},
        {"{\"kind\":\"cancel\",\"task\":4294967296,\"attempt\":1}", "to 4294967295", "/task"},
        {"{\"kind\":\"cancel\",\"task\":\"1\",\"attempt\":1}",
         "task: expected an integer, found string", "/task"},
        {"{\"kind\":\"cancel\",\"task\":1.5,\"attempt\":1}",
         "task: expected an integer, found number", "/task"},
        {"{\"kind\":\"ack\",\"seq\":18446744073709551615}",
         "seq: expected an integer, found number", "/seq"},
        {"{\"kind\":\"task\",\"task\":1,\"attempt\":1,\"jig\":1}",
         "jig: expected a string, found integer", "/jig"},
        {"{\"kind\":\"task\",\"task\":1,\"attempt\":1,\"jig\":\"x\",\"params\":{}}",
         "params: expected a string, found map", "/params"},
        {"{\"kind\":\"log\",\"task\":1,\"attempt\":1,\"stream\":3,\"chunk\":\"\"}", "from 1 to 2",
         "/stream"},
        {"{\"kind\":\"result\",\"task\":1,\"attempt\":1,\"seq\":1,\"outcome\":\"fine\"}",
         "expected an outcome", "/outcome"},
        {"{\"kind\":\"result\",\"task\":1,\"attempt\":1,\"seq\":1,\"outcome\":\"ok\",\"phase\":"
         "\"pre\"}",
         "expected a phase", "/phase"},
        {"{\"kind\":\"result\",\"task\":1,\"attempt\":1,\"seq\":1,\"outcome\":\"ok\",\"phase\":1}",
         "expected a phase", "/phase"},
        {"{\"kind\":\"task\",\"task\":1,\"attempt\":1,\"jig\":\"x\",\"tests\":{}}",
         "tests: expected a string, found map", "/tests"},
        {"{\"kind\":\"result\",\"task\":1,\"attempt\":1,\"seq\":1,\"outcome\":\"ok\",\"truncated\":"
         "1}",
         "expected true or false", "/truncated"},
        {"{\"kind\":\"result\",\"task\":1,\"attempt\":1,\"seq\":1,\"outcome\":\"ok\","
         "\"exit_code\":2147483648}",
         "exit_code must be from", "/exit_code"},
        {"{\"kind\":\"hello\",\"worker\":\"w\",\"capacity\":1,\"jigs\":\"noop\"}",
         "expected a list", "/jigs"},
        {"{\"kind\":\"hello\",\"worker\":\"w\",\"capacity\":1,\"jigs\":[1]}",
         "expected a list of strings", "/jigs"},
        {"{\"kind\":\"beat\",\"worker\":\"w\",\"held\":{}}", "expected a list", "/held"},
        {"{\"kind\":\"beat\",\"worker\":\"w\",\"held\":[1]}", "expected a pair", "/held"},
        {"{\"kind\":\"beat\",\"worker\":\"w\",\"held\":[[1]]}", "expected a pair", "/held"},
        {"{\"kind\":\"beat\",\"worker\":\"w\",\"held\":[[1,2,3]]}", "expected a pair", "/held"},
        {"{\"kind\":\"beat\",\"worker\":\"w\",\"held\":[[\"1\",2]]}", "expected an integer",
         "/held"},
        {"{\"kind\":\"beat\",\"worker\":\"w\",\"held\":[[1,-2]]}", "must be from 0", "/held"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        SCOPED_ARENA(mem);
        struct taskmsg m = {.task = 99};
        struct err e = {0};
        ok(taskmsg_parse(&mem, str_of(cases[i].json), &m, &e) < 0, "refused: %s", cases[i].json);
        has_text(e.text, cases[i].text, "says: %s", cases[i].text);
        if (cases[i].at[0])
            is_text(e.at, cases[i].at, "and where");
        is_int(m.task, 99, "and the message is untouched");
    }
}

static void test_digest(void)
{
    char one[DIGEST_HEX], two[DIGEST_HEX], three[DIGEST_HEX];
    struct taskmsg m = {.params = str_of("{}"), .data = str_of("{ }")};
    taskmsg_digest(&m, one);
    taskmsg_digest(&m, two);
    is_text(one, two, "equal texts have equal digests");
    m.tests = str_of("{\"pre\":{\"cmd\":\"x\"}}");
    taskmsg_digest(&m, two);
    ok(strcmp(one, two) != 0, "tests count");
    m.no_op = true;
    taskmsg_digest(&m, three);
    ok(strcmp(two, three) != 0, "and that nothing is to be changed");
    m.tests = (struct str){0};
    taskmsg_digest(&m, two);
    ok(strcmp(one, two) != 0 && strcmp(two, three) != 0, "that alone, too");
    m.no_op = false;
    taskmsg_digest(&(struct taskmsg){.params = str_of("{}")}, three);
    is_text(three, "5e8625a56952d3d39795be1b8d93ae17",
            "a message without them keeps the digest that it had");
    m.under = str_of("0a");
    taskmsg_digest(&m, two);
    ok(strcmp(one, two) != 0, "a document under the data counts");
    m.over = m.under;
    m.under = (struct str){0};
    taskmsg_digest(&m, three);
    ok(strcmp(two, three) != 0, "over them it is another one");
    m = (struct taskmsg){.params = str_of("{}{"), .data = str_of(" }")};
    taskmsg_digest(&m, three);
    ok(strcmp(one, three) != 0, "the border between parameters and data counts");
    taskmsg_digest(&(struct taskmsg){0}, three);
    is_int(strlen(three), DIGEST_HEX - 1, "nothing has a digest too");
}

int main(void)
{
    test_round_trips();
    test_form();
    test_tolerance();
    test_refusals();
    test_digest();
    return tap_done();
}
