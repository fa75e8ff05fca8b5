/* runclock.c - how long ago something of an earlier run of the server really was
 *
 * Engine time stands still while no server runs, so it cannot tell how long ago an attempt of the
 * run before began.  CLOCK_BOOTTIME can, as long as the machine has not booted since: a file of the
 * data directory says of each run at which engine time it began and what was added to that clock.
 * The wall clock would not do: it may have been set back.
 *
 * Whatever is missing or wrong errs on the side of longer ago, or unknown: a line that could not be
 * written leaves the one before it, whose clock is further back.  Lines of another boot, or of
 * another history (the fence), do not count.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/server_i.h"
#include "sys/fs.h"

enum { LINES_MOST = 64, FILE_MAX = 16384, BOOT_MAX = 64 };

static bool boot_id(char ret_id[BOOT_MAX])
{
    SCOPED_BUF(b);
    struct err e;
    if (fs_read("/proc/sys/kernel/random/boot_id", 4096, &b, &e) < 0 || b.len < 2 ||
        b.len >= BOOT_MAX)
        return false;
    memcpy(ret_id, b.data, b.len);
    ret_id[b.data[b.len - 1] == '\n' ? b.len - 1 : b.len] = '\0';
    return !strpbrk(ret_id, " \n");
}

static void lines_read(struct server *s, const char *path, const char *boot)
{
    SCOPED_BUF(b);
    struct err e;
    char *rest = NULL;
    if (fs_read(path, FILE_MAX, &b, &e) < 0)
        return;
    buf_putc(&b, '\0');
    for (char *line = strtok_r(b.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char id[BOOT_MAX];
        uint64_t fence;
        struct run_clock c;
        if (sscanf(line, "%63s %" SCNu64 " %" SCNu64 " %" SCNd64, id, &fence, &c.from_ms,
                   &c.offset_ms) == 4 &&
            strcmp(id, boot) == 0 && fence == s->fence)
            vec_push(&s->run_clocks, c);
    }
}

static void lines_write(const struct server *s, const char *path, const char *boot)
{
    SCOPED_BUF(b);
    struct err e;
    size_t first = s->run_clocks.n > LINES_MOST ? s->run_clocks.n - LINES_MOST : 0;
    for (size_t i = first; i < s->run_clocks.n; i++)
        buf_printf(&b, "%s %" PRIu64 " %" PRIu64 " %" PRId64 "\n", boot, s->fence,
                   s->run_clocks.at[i].from_ms, s->run_clocks.at[i].offset_ms);
    if (fs_write_atomic(path, b.data, b.len, 0600, &e) < 0)
        log_err(LOG_DEBUG, "run.clock", &e);
}

void run_clock_open(struct server *s)
{
    char boot[BOOT_MAX];
    s->run_started_ms = server_now(s);
    vec_clear(&s->run_clocks);
    if (!s->data_dir || !boot_id(boot))
        return;
    char *path = fs_join(s->data_dir, "run.clock");
    lines_read(s, path, boot);
    vec_push(&s->run_clocks, ((struct run_clock){s->run_started_ms, s->clock_offset_ms}));
    lines_write(s, path, boot);
    free(path);
}

uint64_t run_clock_since(const struct server *s, uint64_t engine_ms)
{
    if (engine_ms > s->run_started_ms)
        return server_now(s) - engine_ms + 1;
    /* Engine time goes on where the last group left it: what began at our first moment began in the
     * run before. */
    for (size_t i = s->run_clocks.n; i-- > 1;) {
        const struct run_clock *before = &s->run_clocks.at[i - 1];
        if (before->from_ms >= engine_ms)
            continue;
        int64_t began = (int64_t)engine_ms - before->offset_ms;
        int64_t now = (int64_t)loop_now_ms(s->loop);
        return began <= now && now - began < UINT32_MAX ? (uint64_t)(now - began) + 1 : UINT32_MAX;
    }
    return UINT32_MAX;
}
