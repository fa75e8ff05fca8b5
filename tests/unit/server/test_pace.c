/* test_pace.c - what is learnt from durations, and what of it is kept */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pace.h"
#include "tap.h"

static void test_key(void)
{
    uint64_t key = pace_key("web", "install", "shell");
    ok(key != 0 && key <= INT64_MAX, "a key is a number that the store takes");
    ok(key == pace_key("web", "install", "shell"), "it is the same whenever it is asked for");
    ok(key != pace_key("web", "install", "puppet"), "what runs it makes another one of it");
    ok(key != pace_key("db", "install", "shell"), "so does the role");
    ok(pace_key("ab", "c", "") != pace_key("a", "bc", ""), "texts do not run together");
    ok(pace_key(NULL, "install", NULL) == pace_key("", "install", ""), "none is an empty one");
}

static void test_mean(void)
{
    struct pace *p = pace_new();
    struct row_pace row = {0};
    is_int(pace_expected_us(p, 7), 0, "nothing is known at first");
    ok(pace_learn(p, 7, 1000000, &row), "the first run is worth a row");
    is_int(row.expected_us, 1000000, "and is what is expected");
    (void)pace_learn(p, 7, 3000000, &row);
    is_int(pace_expected_us(p, 7), 2000000, "the second is half of it");
    for (int i = 0; i < 200; i++)
        (void)pace_learn(p, 7, 10000000, &row);
    ok(pace_expected_us(p, 7) > 9999000, "what lies far back is forgotten");
    uint64_t before = pace_expected_us(p, 7);
    (void)pace_learn(p, 7, 0, &row);
    is_int(pace_expected_us(p, 7), (int64_t)(before - (before - PACE_LEAST_US) / PACE_SHARE),
           "one run moves it by an eighth of the way, and none takes no time");
    is_int(pace_expected_us(p, 8), 0, "others are not concerned");
    pace_free(p);
}

static int count_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)row;
    (void)e;
    ++*(int *)arg;
    return 0;
}

static void test_rows(void)
{
    struct pace *p = pace_new();
    struct store *s;
    struct err e = {0};
    struct row_pace row;
    int due = 0, rows = 0;
    store_open(&(struct store_options){0}, &s, &e);
    for (int i = 1; i <= 256; i++)
        if (pace_learn(p, 7, (uint64_t)i * 1000, &row)) {
            due++;
            struct row_op op = {ROWS_PACE, ROW_PUT, &row};
            is_int(store_commit(s, &op, 1, &e), 0, "run %d is worth a row", i);
        }
    is_int(due, 6 + 4, "rows: 1 2 4 8 16 32, then every 64th");
    is_int(store_each(s, ROWS_PACE, count_row, &rows, &e), 0, "they are read");
    is_int(rows, 1, "one row for a definition");
    struct pace *again = pace_new();
    is_int(pace_load(again, s, &e), 0, "a restart reads them");
    ok(pace_expected_us(again, 7) == pace_expected_us(p, 7), "and expects the same");
    (void)pace_learn(again, 7, 1, &row);
    (void)pace_learn(p, 7, 1, &row);
    ok(pace_expected_us(again, 7) == pace_expected_us(p, 7), "it learns on where it stopped");
    pace_free(again);
    pace_free(p);
    store_close(s);
}

int main(void)
{
    test_key();
    test_mean();
    test_rows();
    return tap_done();
}
