/* test_spool.c - what is kept while nobody listens: order, disk, limits, what an earlier process
 * left */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queue/spool_i.h"
#include "sys/fs.h"
#include "tap.h"
#include "words.h"
#include "workdir.h"

static struct spool *spool_at(const char *dir, size_t memory, size_t disk)
{
    struct spool_options o = {
        .dir = dir, .memory_bytes = memory, .spool_bytes = disk, .words = &words};
    struct spool *s = NULL;
    struct err e = {0};
    is_int(spool_open(&o, &s, &e), 0, "a spool %s", e.text);
    return s;
}

static void put(struct spool *s, const char *text)
{
    spool_put(s, str_of(text));
}

/* All of it, in batches of n, as "a,b;c,d;". */
static void takes(struct spool *s, size_t n, const char *wanted, const char *label)
{
    SCOPED_BUF(b);
    struct letters batch = {0};
    for (;;) {
        spool_take(s, 1 << 20, n, &batch);
        if (!batch.list.n)
            break;
        for (size_t i = 0; i < batch.list.n; i++) {
            buf_put(&b, batch.list.at[i].bytes, batch.list.at[i].n);
            buf_putc(&b, i + 1 < batch.list.n ? ',' : ';');
        }
        spool_done(s, &batch, batch.list.n);
    }
    is_text(buf_str(&b).s, wanted, "%s", label);
    ok(spool_empty(s), "%s: and no more", label);
    letters_done(&batch);
}

static uint64_t size_of(const char *dir, const char *name)
{
    struct stat st = {0};
    char *path = fs_join(dir, name);
    (void)stat(path, &st);
    free(path);
    return (uint64_t)st.st_size;
}

static void test_order(void)
{
    char *dir = workdir_new("spool");
    struct spool *s = spool_at(dir, 0, 0);
    struct letters batch = {0};
    struct err e;
    put(s, "l1 a");
    put(s, "r1");
    put(s, "s1");
    put(s, "h");
    put(s, "s2");
    put(s, "r1");
    put(s, "h");
    takes(s, 2, "l1 a,r1;h,s2;", "as it came, each once, and the newest state last");
    put(s, "r1");
    takes(s, 9, "r1;", "what was done with may be said again");

    put(s, "l1 b");
    put(s, "r2");
    spool_take(s, 1 << 20, 1, &batch);
    put(s, "h");
    put(s, "r3");
    is_int(spool_keep(s, &batch, &e), 0, "the server is away: it is kept");
    ok(size_of(dir, "results.spool") > 0, "on disk");
    put(s, "r4");
    is_int(spool_keep(s, &batch, &e), 0, "and what comes then");
    put(s, "r3");
    spool_done(s, &batch, 1);
    takes(s, 9, "r2,r3,r4,h;", "then results come first, each once");
    is_int(size_of(dir, "results.spool"), 0, "and the disk is empty again");
    put(s, "l1 c");
    put(s, "r5");
    takes(s, 9, "l1 c,r5;", "after that the order is as it was");

    spool_take(s, 1, 9, &batch);
    is_int(batch.list.n, 0, "nothing is nothing");
    put(s, "r6");
    put(s, "r7");
    spool_take(s, 1, 9, &batch);
    is_int(batch.list.n, 1, "a batch has a size, but is never empty");
    is_int(spool_keep(s, &batch, &e), 0, "kept while it is under way");
    spool_done(s, &batch, 1);
    takes(s, 9, "r7;", "what arrived is not read again");
    letters_done(&batch);
    spool_close(s);
    free(dir);
}

static void test_next_process(void)
{
    char *dir = workdir_new("spool");
    struct spool *s = spool_at(dir, 0, 0);
    struct letters batch = {0};
    struct err e;
    put(s, "l1 x");
    put(s, "r1");
    put(s, "r2");
    spool_take(s, 1 << 20, 2, &batch);
    is_int(spool_keep(s, &batch, &e), 0, "kept, one of it under way");
    letters_done(&batch);
    spool_close(s);

    char *path = fs_join(dir, "results.spool");
    int fd = open(path, O_WRONLY | O_APPEND);
    ok(fd >= 0 && write(fd, "SPL1\377\377", 6) == 6, "half a record, as a crash leaves it");
    close(fd);
    s = spool_at(dir, 0, 0);
    put(s, "hello");
    put(s, "r2");
    put(s, "r3");
    takes(s, 9, "r1,r2,r3,hello;", "the next process says what was left first");
    spool_close(s);

    s = spool_at(dir, 0, 0);
    takes(s, 9, "", "and the one after it nothing");
    spool_close(s);
    ok(truncate(path, 0) == 0, "emptied");
    fd = open(path, O_WRONLY);
    ok(fd >= 0 && write(fd, "rubbish that is no record at all", 32) == 32, "rubbish");
    close(fd);
    s = spool_at(dir, 0, 0);
    takes(s, 9, "", "is nothing");
    is_int(size_of(dir, "results.spool"), 0, "and is cut off");
    spool_close(s);
    free(path);
    free(dir);
}

static void test_limits(void)
{
    char *dir = workdir_new("spool"), line[101];
    struct spool *s = spool_at(dir, 1000, 3000);
    struct letters batch = {0};
    struct err e;
    memset(line, 'x', sizeof line - 1);
    line[100] = '\0';
    for (int i = 0; i < 60; i++) {
        memcpy(line, i < 50 ? "l1" : "l2", 2);
        put(s, line);
    }
    memcpy(line, "r1", 2);
    put(s, line);
    is_int(spool_keep(s, &batch, &e), -ERR_LIMIT, "the disk's share is full of output");
    ok(size_of(dir, "logs.spool") <= 3000, "and no more than that");
    uint64_t dropped = spool_dropped(s);
    ok(dropped > 1000, "the rest was dropped");
    struct letters all = {0};
    uint64_t said = 0, lines = 0;
    for (size_t was = 1; all.list.n != was;) {
        was = all.list.n;
        spool_take(s, 1 << 20, 1000, &all);
    }
    is_text(all.list.at[0].bytes, line, "results come first, from memory too");
    for (size_t i = 1; i < all.list.n; i++) {
        const char *told = strstr(all.list.at[i].bytes, "dropped ");
        said += told ? strtoull(told + 8, NULL, 10) : 0;
        lines += !told;
    }
    is_int(said, dropped, "a line for each says how much is missing");
    is_int(lines * 100 + said, 6000, "and nothing went unsaid");
    spool_done(s, &all, all.list.n);
    letters_done(&all);
    spool_close(s);
    free(dir);
}

int main(void)
{
    test_order();
    test_next_process();
    test_limits();
    return tap_done();
}
