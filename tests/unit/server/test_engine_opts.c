/* test_engine_opts.c - what a server is started with becomes part of the history, once a change
 *
 * A store of before has, once its schema is up to date, a table without a row and no such event.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sqlite3.h>

#include "server/server_rig.h"
#include "server/verify.h"

#define ASK(...) ((struct rig_ask){__VA_ARGS__})

static const char *db_path(struct rig *g)
{
    return arena_printf(&g->mem, "%s/anneal.db", g->dir);
}

static int64_t ask_db(struct rig *g, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    int64_t n = -1;
    sqlite3_open(db_path(g), &db);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return n;
}

static void tell_db(struct rig *g, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    sqlite3_open(db_path(g), &db);
    ok(sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s", sql);
    if (why)
        printf("#   %s\n", why);
    sqlite3_free(why);
    sqlite3_close(db);
}

static int64_t settings_told(struct rig *g)
{
    return ask_db(g, arena_printf(&g->mem, "SELECT count(*) FROM journal WHERE kind = %d",
                                  EVENT_SETTINGS_SET));
}

static int verify(struct rig *g, uint64_t *ret_events, struct err *e)
{
    *e = (struct err){0};
    int r = verify_store(db_path(g), ret_events, e);
    if (r < 0)
        printf("#   %s\n", e->text);
    return r;
}

/* The node dies after a moment of silence: by the defaults it would not. */
static void node_dies(struct rig *g, const char *name)
{
    rig_do(g, server_node_create, "Node",
           ASK(.body = arena_printf(&g->mem, "{'name': '%s', 'alive': 'alive'}", name)));
    for (int i = 0; i < 1000; i++) {
        if (rig_call(g, server_node_report, ASK(.id = name, .body = "{'alive': 'silent'}")) < 0)
            break;
        rig_settle(g);
        if (strcmp(rig_text(g, "alive"), "dead") == 0)
            break;
    }
    is_text(rig_text(g, "alive"), "dead", "%s dies soon", name);
}

static void test_told_once(struct rig *g)
{
    uint64_t events;
    struct err e;
    rig_end(g);
    is_int(settings_told(g), 1, "the first start tells");
    is_int(ask_db(g, "SELECT kind FROM journal WHERE id = 1"), EVENT_SETTINGS_SET, "before all");
    is_int(ask_db(g, "SELECT dead_after_ms FROM settings"), 60000, "what it runs with");
    rig_start(g);
    rig_end(g);
    is_int(settings_told(g), 1, "one with the same settings does not");
    g->opts.dead_after = 1;
    g->opts.probe_count = 1;
    rig_start(g);
    node_dies(g, "n1");
    rig_end(g);
    is_int(settings_told(g), 2, "one with others does");
    is_int(verify(g, &events, &e), 0, "and who looks need not know them");
    g->opts.dead_after = 60000;
    g->opts.probe_count = 3;
    rig_start(g);
    rig_end(g);
    is_int(settings_told(g), 3, "and then others again");
    is_int(verify(g, &events, &e), 0, "in the middle of a history, too");
    is_int(ask_db(g, "SELECT count(*) FROM checkpoint"), 0, "no checkpoint was needed for that");
}

static void test_store_of_before(struct rig *g)
{
    uint64_t events = 0;
    struct err e;
    tell_db(g, arena_printf(&g->mem, "DELETE FROM settings; DELETE FROM journal WHERE kind = %d",
                            EVENT_SETTINGS_SET));
    is_int(verify(g, &events, &e), -ERR_REFUSED,
           "by which rules a store of before ran is not known");
    has_text(e.text, "the stored rows fit together", "what can be told is told");
    has_text(e.hint, "start anneald on it once", "and the remedy is told");
    int64_t last = ask_db(g, "SELECT journal_seq FROM meta");
    g->opts.dead_after = 2;
    rig_start(g);
    node_dies(g, "n2");
    rig_end(g);
    is_int(ask_db(g, "SELECT dead_after_ms FROM settings"), 2, "the first server tells it");
    is_int(ask_db(g, "SELECT max(seq) FROM checkpoint"), last, "behind all that was before");
    is_int(verify(g, &events, &e), 0, "from there it can be replayed");
    is_int(events, ask_db(g, "SELECT journal_seq FROM meta") - last, "and is");
    rig_start(g);
    rig_end(g);
    is_int(ask_db(g, "SELECT max(seq) FROM checkpoint"), last, "that was done once");
    is_int(settings_told(g), 1, "and told once");
    tell_db(g, "UPDATE node SET alive = 1 WHERE name = 'n2'");
    is_int(verify(g, &events, &e), -ERR_CORRUPT, "what is damaged is still found");
    rig_start(g);
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    test_told_once(&g);
    test_store_of_before(&g);
    rig_close(&g);
    return tap_done();
}
