/* test_documents.c - documents that messages name, under the virtual clock
 *
 * Asked for once, waited for, checked, shared, kept while there is room; and what a run returned is
 * told as far as it differs from what it was sent.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "worker/rig.h"

static const char *const below = "{\"a\":1,\"m\":{\"x\":1}}", *const above =
                                                                  "{\"peers\":{\"n\":{}}}";

static const char *digest_for(struct rig *r, const char *content)
{
    struct digest d = digest_of(content, strlen(content));
    char hex[DIGEST_HEX];
    digest_hex(&d, hex);
    return arena_strdup(&r->mem, hex);
}

static void send_task(struct rig *r, uint32_t task, uint32_t attempt, uint32_t ask,
                      const char *params, const char *under, const char *over)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                  .task = task,
                                  .attempt = attempt,
                                  .ask = ask,
                                  .jig = str_of("test"),
                                  .params = str_of(params),
                                  .data = str_of("{\"m\":{\"y\":2}}"),
                                  .under = str_of(under),
                                  .over = str_of(over),
                                  .grace_ms = 200});
}

static void send_document(struct rig *r, const char *digest, const char *content)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_DOCUMENT,
                                  .document = str_of(digest),
                                  .content = str_of(content),
                                  .missing = !*content});
}

static void test_once(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    const char *d = digest_for(&r, below);
    send_task(&r, 1, 1, 0, "{}", d, "");
    send_task(&r, 2, 1, 0, "{}", d, "");
    is_int(rig_count(&r, TASKMSG_FETCH), 1, "a document is asked for once");
    const struct taskmsg *m = &r.got.at[r.got.n - 1];
    ok(m->task == 1 && m->attempt == 1 && str_is(m->document, d), "for one of those who need it");
    is_int(worker_counts(r.w).queued, 2, "both wait");
    rig_step(&r, 1000);
    m = &r.got.at[r.got.n - 1];
    ok(m->kind == TASKMSG_BEAT && m->n_held == 2, "and are held");
    send_document(&r, d, below);
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "when it is there both run");
    send_document(&r, d, below);
    send_task(&r, 3, 1, 0, "{}", d, "");
    is_int(rig_count(&r, TASKMSG_RESULT), 3, "who needs it later runs at once");
    is_int(rig_count(&r, TASKMSG_FETCH), 1, "it is kept");
    rig_done(&r);
}

static void test_seen(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    const char *under = digest_for(&r, below), *over = digest_for(&r, above);
    send_task(&r, 1, 1, 0,
              "{\"returns\":{\"a\":1,\"m\":{\"x\":1,\"y\":3},\"new\":4},\"whole\":true}", under,
              over);
    send_document(&r, over, above);
    is_int(rig_outcome(&r, 1, 1), -1, "it waits for all");
    send_document(&r, under, below);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "and runs");
    ok(str_is(rig_result(&r, 1, 1)->returns, "{\"m\":{\"y\":3},\"new\":4}"),
       "it returned what differs from all that it saw");
    ok(str_is(rig_result(&r, 1, 1)->gone, "[[\"peers\"]]"),
       "a whole document also tells what is gone");
    send_task(&r, 2, 1, 0, "{\"returns\":{\"a\":1,\"m\":{\"y\":3}}}", under, over);
    ok(str_is(rig_result(&r, 2, 1)->returns, "{\"m\":{\"y\":3}}") &&
           rig_result(&r, 2, 1)->gone.n == 0,
       "additions tell only what is there");
    send_task(&r, 3, 1, 0, "{\"returns\":{\"a\":1}}", under, "");
    is_int(rig_result(&r, 3, 1)->returns.n, 0, "what only passed through is not returned");
    send_task(&r, 4, 1, 0, "{\"returns\":{\"m\":{\"y\":2},\"peers\":{}}}", "", over);
    ok(rig_result(&r, 4, 1)->returns.n == 0, "above alone is seen, too");
    rig_done(&r);
}

static void test_cancel(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    const char *d = digest_for(&r, below);
    send_task(&r, 1, 1, 0, "{}", d, "");
    rig_cancel(&r, 1, 1, 100);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "a run that waits answers a cancel");
    send_document(&r, d, below);
    is_int(rig_count(&r, TASKMSG_RESULT), 1, "what comes then starts nothing");
    send_task(&r, 2, 1, 0, "{}", d, "");
    is_int(rig_count(&r, TASKMSG_FETCH), 2, "and is not kept");
    send_task(&r, 2, 2, 0, "{\"sleep_ms\":60000,\"ignore_term\":true}", d, "");
    is_int(rig_outcome(&r, 2, 1), OUTCOME_CANCELLED, "a later attempt ends one that waits");
    send_document(&r, d, below);
    is_int(worker_counts(r.w).running, 1, "and runs when it has what it needs");
    send_task(&r, 2, 3, 0, "{}", digest_for(&r, above), "");
    is_int(rig_outcome(&r, 2, 2), -1, "one that runs is told to end");
    rig_step(&r, 300);
    is_int(rig_outcome(&r, 2, 2), OUTCOME_CANCELLED, "and does");
    is_int(rig_outcome(&r, 2, 3), -1, "its successor waits for its document, not only for it");
    send_document(&r, digest_for(&r, above), above);
    is_int(rig_outcome(&r, 2, 3), OUTCOME_OK, "and runs");
    send_task(&r, 3, 1, 0, "{}", "0123456789abcdef0123456789abcdef", "");
    rig_done(&r);
}

static void test_missing(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    const char *d = digest_for(&r, below);
    send_task(&r, 1, 1, 0, "{}", d, "");
    send_task(&r, 2, 1, 0, "{}", d, "");
    send_document(&r, d, "");
    is_int(rig_outcome(&r, 1, 1), OUTCOME_AGAIN, "who cannot be told what it sees says: not yet");
    is_int(rig_outcome(&r, 2, 1), OUTCOME_AGAIN, "all of them");
    send_task(&r, 1, 1, 1, "{}", d, "");
    is_int(rig_count(&r, TASKMSG_FETCH), 2, "asked again it asks again");
    send_document(&r, d, below);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "and runs");
    rig_done(&r);
}

static void test_unreliable(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    const char *d = digest_for(&r, below), *list = digest_for(&r, "[1");
    send_task(&r, 1, 1, 0, "{}", d, "");
    send_task(&r, 2, 1, 0, "{}", list, "");
    log_set_level(LOG_ERROR);
    send_document(&r, d, above);
    is_int(rig_outcome(&r, 1, 1), -1, "what does not have its digest is not taken");
    send_document(&r, list, "[1");
    is_int(rig_outcome(&r, 2, 1), -1, "nor what is no JSON");
    log_set_level(LOG_INFO);
    rig_forget(&r);
    rig_step(&r, 3000);
    is_int(rig_count(&r, TASKMSG_FETCH), 0, "it is patient");
    rig_step(&r, 1000);
    is_int(rig_count(&r, TASKMSG_FETCH), 2, "and asks again, for each once");
    rig_forget(&r);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_HELLO});
    is_int(rig_count(&r, TASKMSG_FETCH), 2, "a server that has come up is asked at once");
    send_document(&r, d, below);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "then it comes");
    rig_forget(&r);
    rig_task(&r, 3, 1, 0, "test", "{}");
    send_task(&r, 4, 1, 0, "{}", "this is longer than any digest that there is", "");
    is_int(rig_outcome(&r, 4, 1), OUTCOME_REFUSED, "what is no digest is refused");
    rig_done(&r);
}

static void test_room(void)
{
    struct rig r;
    const struct worker_options o = {
        .name = "w", .capacity = 4, .beat_ms = 1000, .document_bytes = strlen(below) + 1};
    rig_init(&r, true, &o);
    const char *one = digest_for(&r, below), *two = digest_for(&r, above);
    send_task(&r, 1, 1, 0, "{}", one, "");
    send_document(&r, one, below);
    send_task(&r, 2, 1, 0, "{}", two, "");
    send_document(&r, two, above);
    is_int(rig_count(&r, TASKMSG_FETCH), 2, "each was asked for");
    send_task(&r, 3, 1, 0, "{}", two, "");
    is_int(rig_count(&r, TASKMSG_FETCH), 2, "the younger is still here");
    send_task(&r, 4, 1, 0, "{}", one, "");
    is_int(rig_count(&r, TASKMSG_FETCH), 3, "the older had to go");
    rig_done(&r);
}

int main(void)
{
    test_once();
    test_seen();
    test_cancel();
    test_missing();
    test_unreliable();
    test_room();
    return tap_done();
}
