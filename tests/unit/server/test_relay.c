/* test_relay.c - workers elsewhere: invited, joined, and their lines: numbers, lost answers, lives
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/enlist.h"
#include "server/relay.h"
#include "server/server_rig.h"

#define HELLO                                                                                      \
    "{\\\"kind\\\":\\\"hello\\\",\\\"worker\\\":\\\"x\\\",\\\"capacity\\\":4,"                     \
    "\\\"jigs\\\":[\\\"test\\\"]}"

struct line_rig {
    struct rig g;
    struct caller who;
    struct buf json;
    unsigned woken;
};

static void woken(void *arg)
{
    ((struct line_rig *)arg)->woken++;
}

static int line_call(struct line_rig *l, bool poll, bool again, const char *body)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(&l->g.mem, body, strlen(body), NULL, &v, &e) < 0)
        return -1000;
    struct server_call c = {.mem = &l->g.mem, .who = &l->who, .id = {"w7"}, .body = v};
    buf_clear(&l->json);
    err_clear(&l->g.err);
    return poll ? server_worker_poll(l->g.server, &c, again, woken, l, &l->json, &l->g.err)
                : server_worker_messages(l->g.server, &c, &l->json, &l->g.err);
}

/* What comes by a poll after this number, as {"first":N,"messages":M}. */
static int poll_after(struct line_rig *l, const char *life, unsigned after, bool again)
{
    return line_call(
        l, true, again,
        arena_printf(&l->g.mem, "{\"life\":\"%s\",\"after\":%u,\"wait_ms\":30000}", life, after));
}

static int say(struct line_rig *l, const char *life, unsigned first, const char *messages)
{
    int rc = line_call(l, false, false,
                       arena_printf(&l->g.mem, "{\"life\":\"%s\",\"first\":%u,\"messages\":[%s]}",
                                    life, first, messages));
    rig_turn(&l->g);
    return rc;
}

static void says(struct line_rig *l, const char *life, unsigned first, const char *messages,
                 unsigned taken, const char *label)
{
    is_int(say(l, life, first, messages), 0, "%s: taken %s", label, l->g.err.text);
    is_text(buf_str(&l->json).s, arena_printf(&l->g.mem, "{\"taken\":%u}", taken), "%s: up to %u",
            label, taken);
}

static const char *token_of(struct rig *g, const char *body)
{
    rig_do(g, server_worker_token, "WorkerToken", (struct rig_ask){.body = body});
    return rig_text(g, "secret");
}

static const char *joined(struct rig *g, const char *name, const char *secret, const char *more)
{
    const char *body = arena_printf(&g->mem, "{'secret': '%s', 'name': '%s'%s}", secret, name,
                                    more);
    rig_do(g, server_worker_join, "WorkerJoined", (struct rig_ask){.body = body});
    rig_settle(g);
    return rig_text(g, "credential");
}

static void refused(struct rig *g, const char *name, const char *secret, enum errcode code,
                    const char *words)
{
    const char *body = arena_printf(&g->mem, "{'secret': '%s', 'name': '%s'}", secret, name);
    rig_refuse(g, server_worker_join, code, words, (struct rig_ask){.body = body});
}

static void test_joining(void)
{
    struct rig g;
    struct caller who;
    rig_open(&g);
    const char *secret = token_of(&g, "{'name': 'w7', 'labels': {'rack': 'r1'}}");
    refused(&g, "w8", secret, ERR_REFUSED, "w7");
    refused(&g, "embedded", secret, ERR_INVALID, "embedded");
    refused(&g, "W 7", secret, ERR_INVALID, "not a name");
    refused(&g, "w7", "anj_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ERR_REFUSED,
            "anneal worker token");
    refused(&g, "w7", "rubbish", ERR_REFUSED, "no token to join with");
    const char *credential = joined(&g, "w7", secret, ", 'labels': {'os': 'any', 'rack': 'x'}");
    is_int(server_authenticate(g.server, credential, &who, &g.err), 0, "the credential is good");
    is_int(who.scope, SCOPE_WORKER, "for a worker's line");
    is_text(who.name, "w7", "that of w7");
    ok(!scope_reaches(SCOPE_WORKER, SCOPE_READ) && !scope_reaches(SCOPE_ADMIN, SCOPE_WORKER) &&
           scope_reaches(SCOPE_WORKER, SCOPE_WORKER),
       "and for nothing else, nor is anything else good for it");
    ok(server_authenticate(g.server, secret, &who, &g.err) < 0, "the token to join is no token");
    refused(&g, "w7", secret, ERR_REFUSED, "used already");
    rig_do(&g, server_worker_get, "Worker", (struct rig_ask){.id = "w7"});
    is_text(rig_text(&g, "labels.rack"), "r1", "labels of the invitation count");
    is_text(rig_text(&g, "labels.os"), "any", "with its own");
    is_text(rig_text(&g, "state"), "silent", "it has not said anything yet");
    rig_restart(&g);
    is_int(server_authenticate(g.server, credential, &who, &g.err), 0, "after a restart too");
    refused(&g, "w7", secret, ERR_REFUSED, "used already");

    const char *again = joined(&g, "w7", token_of(&g, "{}"), "");
    ok(server_authenticate(g.server, credential, &who, &g.err) < 0,
       "whoever joins again has another credential");
    has_text(g.err.hint, "anneal worker token", "and the old one is told what to do");
    is_int(server_authenticate(g.server, again, &who, &g.err), 0, "the new one is good");
    rig_list(&g, server_worker_list, "Worker", (struct rig_ask){0}, 1);

    g.if_match = "*";
    rig_do(&g, server_worker_patch, "Worker",
           (struct rig_ask){.id = "w7", .body = "{'draining': true}"});
    ok(enlist_draining(g.server, "w7"), "it drains");
    rig_settle(&g);
    rig_restart(&g);
    ok(enlist_draining(g.server, "w7"), "still");
    g.if_match = "1";
    rig_refuse(&g, server_worker_delete, ERR_STALE, "w7", (struct rig_ask){.id = "w7"});
    g.if_match = "*";
    rig_refuse(&g, server_worker_delete, ERR_NOT_FOUND, "w9", (struct rig_ask){.id = "w9"});
    g.if_match = "*";
    rig_do(&g, server_worker_delete, NULL, (struct rig_ask){.id = "w7"});
    rig_settle(&g);
    ok(server_authenticate(g.server, again, &who, &g.err) < 0, "removed is removed");
    rig_worker(&g, 4);
    g.if_match = "*";
    rig_refuse(&g, server_worker_delete, ERR_CONFLICT, "worker_enabled",
               (struct rig_ask){.id = "embedded"});
    rig_close(&g);
}

static void line_open(struct line_rig *l)
{
    *l = (struct line_rig){.who = {.token = 1, .tenant = 1, .scope = SCOPE_WORKER, .name = "w7"}};
    rig_open(&l->g);
    joined(&l->g, "w7", token_of(&l->g, "{}"), "");
}

static void line_close(struct line_rig *l)
{
    rig_close(&l->g);
    buf_done(&l->json);
}

static void test_line(void)
{
    struct line_rig l;
    line_open(&l);
    says(&l, "life-one", 1, "\"" HELLO "\"", 1, "a life begins");
    const struct worker_info *w = workers_find(l.g.server, "w7");
    is_int(w->capacity, 4, "its words arrive, under the name that it proved");
    says(&l, "life-one", 1, "\"" HELLO "\"", 1, "said again");
    says(&l, "life-one", 1, "\"" HELLO "\",\"" HELLO "\"", 2, "one old, one new");
    is_int(say(&l, "life-one", 4, "\"x\""), -ERR_CONFLICT, "a gap is refused");
    has_text(l.g.err.hint, "new life", "with the remedy");
    is_int(say(&l, "life-two", 2, "\"x\""), -ERR_CONFLICT, "and the middle of another life");
    is_int(poll_after(&l, "life-two", 0, false), -ERR_CONFLICT, "a poll of another life too");

    is_int(poll_after(&l, "life-one", 0, false), 0, "the server has answered");
    SCOPED_BUF(first);
    buf_put(&first, l.json.data, l.json.len);
    has_text(first.data, "{\"first\":1,\"messages\":[\"{", "with number 1");
    is_int(poll_after(&l, "life-one", 0, false), 0, "that answer was lost");
    is_text(buf_str(&l.json).s, first.data, "it is given again");
    unsigned n = 0;
    for (const char *p = first.data; (p = strstr(p, "kind")); p++)
        n++;
    is_int(poll_after(&l, "life-one", n + 1, false), -ERR_CONFLICT, "what was not sent yet");
    is_int(poll_after(&l, "life-one", n, false), 1, "now there is nothing: it waits");
    is_int(poll_after(&l, "life-one", n, false), 1, "a second poll waits too");
    is_int(l.woken, 1, "and ends the first one");
    is_int(poll_after(&l, "life-one", n - 1, false), -ERR_CONFLICT, "what has arrived is gone");
    is_int(poll_after(&l, "life-one", n, true), 0, "asked again it answers");
    has_text(buf_str(&l.json).s, "\"messages\":[]", "with nothing");
    says(&l, "life-one", 3, "\"" HELLO "\"", 3, "a word");
    is_int(l.woken, 2, "wakes the poll that waits");
    is_int(poll_after(&l, "life-one", n, true), 0, "which then");
    has_text(buf_str(&l.json).s, arena_printf(&l.g.mem, "{\"first\":%u,\"messages\":[\"{", n + 1),
             "has something");

    l.who.scope = SCOPE_ADMIN;
    is_int(say(&l, "life-one", 4, "\"x\""), -ERR_FORBIDDEN, "nobody else has a line");
    l.who = (struct caller){.tenant = 1, .scope = SCOPE_WORKER, .name = "w8"};
    is_int(poll_after(&l, "life-one", n, false), -ERR_FORBIDDEN, "not even another worker");
    line_close(&l);
}

static void test_lives(void)
{
    struct line_rig l;
    line_open(&l);
    says(&l, "life-one", 1, "\"" HELLO "\"", 1, "a life");
    is_int(poll_after(&l, "life-one", 0, false), 0, "that was answered");
    says(&l, "life-two", 1, "\"" HELLO "\"", 1, "the next one ends it");
    is_int(say(&l, "life-one", 2, "\"x\""), -ERR_CONFLICT, "for good");
    is_int(poll_after(&l, "life-two", 0, false), 0, "its numbers");
    has_text(buf_str(&l.json).s, "{\"first\":1,", "begin anew");
    rig_restart(&l.g);
    says(&l, "life-two", 17, "\"" HELLO "\"", 17, "a server that comes up goes on with it");
    is_int(poll_after(&l, "life-two", 5, false), -ERR_CONFLICT, "from where its line began");
    rig_restart(&l.g);
    (void)poll_after(&l, "life-two", 5, false);
    says(&l, "life-two", 30, "\"" HELLO "\"", 30, "also if the poll came first");
    is_int(poll_after(&l, "life-two", 5, true), 0, "whose numbers");
    has_text(buf_str(&l.json).s, "{\"first\":6,", "go on");
    l.woken = 0;
    (void)poll_after(&l, "life-two", 5, false);
    relay_hang_up(l.g.server, "w7");
    ok(!workers_attached(l.g.server, "w7"), "a line that is ended leads nowhere");
    relay_hang_up(l.g.server, "w7");
    server_worker_poll_cancel(l.g.server, woken, &l);
    line_close(&l);
}

int main(void)
{
    test_joining();
    test_line();
    test_lives();
    return tap_done();
}
