/* test_log.c - one line per call, whatever is in it */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "tap.h"

static void keep(void *arg, const char *line, size_t n)
{
    buf_put(arg, line, n);
}

/* The last line without its time and line end. */
static const char *tail(struct buf *b)
{
    if (b->len && b->data[b->len - 1] == '\n')
        b->data[--b->len] = '\0';
    const char *space = b->data ? strchr(b->data, ' ') : NULL;
    return space ? space + 1 : "";
}

static void test_format(void)
{
    SCOPED_BUF(b);
    log_set_sink(-1, keep, &b);
    log_line(LOG_INFO, "noderole", LOGI("id", 12), LOGT("to", "ACTIVE"), LOGI("low", INT64_MIN));
    int y, mo, d, h, mi, s, ms, used = 0;
    int got = sscanf(b.data, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &y, &mo, &d, &h, &mi, &s, &ms,
                     &used);
    ok(got == 7 && used == 25 && y >= 2024, "a line starts with the time in UTC");
    ok(b.data[b.len - 1] == '\n', "and ends with a line end");
    is_text(tail(&b), "info noderole id=12 to=ACTIVE low=-9223372036854775808", "fields");
    buf_clear(&b);
    log_line(LOG_WARN, "bare");
    is_text(tail(&b), "warn bare", "no fields");
    buf_clear(&b);
    log_line(LOG_ERROR, "odd", LOGT("a", "two words"), LOGT("b", "say \"hi\" \\"), LOGT("c", ""),
             LOGT("d", "x\ny\tz\r\x01\x7f"), LOGT("e", "\xC3\xA9\xFF"), LOGT("f", "k=v"),
             LOGT("g", NULL));
    is_text(
        tail(&b),
        "error odd a=\"two words\" b=\"say \\\"hi\\\" \\\\\" c=\"\" d=\"x\\ny\\tz\\r\\x01\\x7f\""
        " e=\"\xC3\xA9\\xff\" f=\"k=v\" g=-",
        "values are quoted and escaped");
    buf_clear(&b);
    log_line(LOG_INFO, "forged\n2024-01-01T00:00:00.000Z error gotcha");
    ok(strchr(tail(&b), '\n') == NULL, "an event cannot make a second line");
    buf_clear(&b);
    log_line(LOG_INFO, "login", LOGS("token", ((struct secret){"hunter2"})));
    is_text(tail(&b), "info login token=***", "a secret stays one");
    log_set_sink(2, NULL, NULL);
}

static void test_cut(void)
{
    static char text[10000];
    SCOPED_BUF(b);
    log_set_sink(-1, keep, &b);
    for (int lead = 0; lead < 8; lead++) {
        memset(text, 'a', sizeof text - 1);
        for (int i = lead; i + 3 < (int)sizeof text; i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 3);
        buf_clear(&b);
        log_line(LOG_INFO, "long", LOGT("text", text), LOGT("more", "x"));
        ok(b.len <= 4096 && b.len > 4080 && !strcmp(b.data + b.len - 4, "...\n") &&
               ((unsigned char)b.data[b.len - 5] & 0xC0) == 0x80,
           "a long value is cut at a character and marked (%d)", lead);
    }
    memset(text, 'a', sizeof text - 1);
    buf_clear(&b);
    log_line(LOG_INFO, "long", LOGT("text", text));
    is_int(b.len, 4096, "a long word fills the line");
    log_set_sink(2, NULL, NULL);
}

static void test_err_lines(void)
{
    SCOPED_BUF(b);
    struct err e;
    log_set_sink(-1, keep, &b);
    err_set(&e, ERR_CYCLE, "role db needs itself");
    log_err(LOG_WARN, "catalog", &e);
    is_text(tail(&b), "warn catalog code=cycle text=\"role db needs itself\"", "an error");
    err_at(&e, "a.yaml:1:2");
    err_line(&e, "db:", 3);
    err_hint(&e, "remove it");
    buf_clear(&b);
    log_err(LOG_WARN, "catalog", &e);
    is_text(tail(&b),
            "warn catalog code=cycle at=a.yaml:1:2 text=\"role db needs itself\" line=db: "
            "hint=\"remove it\"",
            "an error with everything");
    buf_clear(&b);
    log_err(LOG_WARN, "catalog", NULL);
    is_text(tail(&b), "warn catalog", "no error");
    log_set_sink(2, NULL, NULL);
}

static void test_level(void)
{
    SCOPED_BUF(b);
    log_set_sink(-1, keep, &b);
    is_int(log_get_level(), LOG_INFO, "info is the default level");
    log_line(LOG_DEBUG, "hidden");
    log_err(LOG_DEBUG, "hidden", NULL);
    is_int(b.len, 0, "debug is hidden");
    log_set_level(LOG_DEBUG);
    log_line(LOG_DEBUG, "shown");
    is_text(tail(&b), "debug shown", "until it is asked for");
    log_set_level(LOG_ERROR);
    buf_clear(&b);
    log_line(LOG_WARN, "hidden");
    log_line((enum log_level)9, "hidden");
    is_int(b.len, 0, "only errors");
    log_set_level(LOG_INFO);
    log_set_sink(2, NULL, NULL);
}

static void *log_many(void *arg)
{
    for (int i = 0; i < 500; i++)
        log_line(LOG_INFO, "thread", LOGT("who", arg),
                 LOGT("fill", "................................"));
    return NULL;
}

static void test_fd(void)
{
    int fd = memfd_create("log", 0);
    pthread_t threads[4];
    static const char *const who[] = {"a", "b", "c", "d"};
    log_set_sink(fd, NULL, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, log_many, (void *)(uintptr_t)who[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    FILE *f = fdopen(dup(fd), "r");
    char line[4096];
    int lines = 0, whole = 0;
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        lines++;
        whole += strstr(line, " info thread who=") != NULL &&
                 !strcmp(line + strlen(line) - 3, "..\n");
    }
    fclose(f);
    is_int(lines, 2000, "four threads, all lines arrive");
    is_int(whole, 2000, "and all are whole");
    close(fd);
    errno = 77;
    log_line(LOG_INFO, "to a closed descriptor");
    is_int(errno, 77, "a failed write is silent and leaves errno alone");
    log_set_sink(2, NULL, NULL);
}

int main(void)
{
    test_format();
    test_cut();
    test_err_lines();
    test_level();
    test_fd();
    return tap_done();
}
