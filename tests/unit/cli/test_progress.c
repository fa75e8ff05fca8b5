/* test_progress.c - pictures of operations, and frames on a terminal of our own */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/progress_i.h"
#include "tap.h"

/* --- a terminal: enough of one to see what a painter's bytes leave on a screen --- */

enum { ROWS = 12, COLUMNS = 40 };
struct screen {
    char cell[ROWS][COLUMNS + 1];
    int row, column;
    bool hidden;
    int scrolled, unknown;
};

static void screen_init(struct screen *s)
{
    *s = (struct screen){0};
    for (int r = 0; r < ROWS; r++)
        memset(s->cell[r], ' ', COLUMNS);
}

static void erase(struct screen *s, int row, int from)
{
    memset(s->cell[row] + from, ' ', (size_t)(COLUMNS - from));
}

static void screen_newline(struct screen *s)
{
    s->column = 0;
    if (++s->row < ROWS)
        return;
    s->row = ROWS - 1;
    s->scrolled++;
    memmove(s->cell[0], s->cell[1], sizeof s->cell - sizeof s->cell[0]);
    erase(s, ROWS - 1, 0);
}

static const char *screen_command(struct screen *s, const char *p)
{
    bool private = *p == '?';
    int n = 0;
    for (p += private; *p >= '0' && *p <= '9'; p++)
        n = n * 10 + *p - '0';
    if (private && n == 25) {
        s->hidden = *p == 'l';
    } else if (*p == 'A') {
        s->row = s->row > n ? s->row - n : 0;
    } else if (*p == 'K') {
        erase(s, s->row, s->column);
    } else if (*p == 'H') {
        s->row = s->column = 0;
    } else if (*p == 'J') {
        erase(s, s->row, n == 2 ? 0 : s->column);
        for (int r = n == 2 ? 0 : s->row + 1; r < ROWS; r++)
            erase(s, r, 0);
    } else if (*p != 'm') {
        s->unknown++;
    }
    return p + 1;
}

static void screen_feed(struct screen *s, const char *p)
{
    while (*p) {
        if (p[0] == '\033' && p[1] == '[') {
            p = screen_command(s, p + 2);
        } else if (*p == '\n') {
            screen_newline(s);
            p++;
        } else if (*p == '\r') {
            s->column = 0;
            p++;
        } else {
            if (s->column == COLUMNS)
                screen_newline(s);
            s->cell[s->row][s->column++] = *p++;
        }
    }
}

/* The screen without trailing spaces and empty lines at its end. */
static const char *screen_text(const struct screen *s, struct buf *b)
{
    buf_clear(b);
    for (int r = 0; r < ROWS; r++) {
        size_t n = COLUMNS;
        while (n && s->cell[r][n - 1] == ' ')
            n--;
        buf_put(b, s->cell[r], n);
        buf_putc(b, '\n');
    }
    while (b->len > 1 && b->data[b->len - 1] == '\n' && b->data[b->len - 2] == '\n')
        b->data[--b->len] = '\0';
    return b->data;
}

static void paint(struct screen *s, struct painter *p, const char *frame, int columns)
{
    SCOPED_BUF(out);
    painter_paint(p, &out, frame, columns);
    screen_feed(s, out.data);
}

static void test_painter(void)
{
    struct screen s;
    struct painter p = {0};
    SCOPED_BUF(b);
    SCOPED_BUF(out);
    screen_init(&s);
    screen_feed(&s, "$ anneal watch\n");
    paint(&s, &p, "one 1\ntwo 1\nthree 1\n", COLUMNS);
    is_text(screen_text(&s, &b), "$ anneal watch\none 1\ntwo 1\nthree 1\n", "a first frame");
    ok(s.hidden, "the cursor is hidden");
    paint(&s, &p, "one 22\ntwo\nthree\nfour\n", COLUMNS);
    is_text(screen_text(&s, &b), "$ anneal watch\none 22\ntwo\nthree\nfour\n",
            "a larger frame replaces it, shorter lines leave nothing behind");
    paint(&s, &p, "only\n", COLUMNS);
    is_text(screen_text(&s, &b), "$ anneal watch\nonly\n", "a smaller frame leaves nothing behind");
    painter_clear(&p, &out);
    buf_puts(&out, "operation 3 succeeded\n");
    screen_feed(&s, out.data);
    paint(&s, &p, "next\n", COLUMNS);
    is_text(screen_text(&s, &b), "$ anneal watch\noperation 3 succeeded\nnext\n",
            "a line stays above the frame");
    for (int i = 0; i < 30; i++)
        paint(&s, &p, "a\nb\nc\n", COLUMNS);
    is_text(screen_text(&s, &b), "$ anneal watch\noperation 3 succeeded\na\nb\nc\n",
            "thirty frames later");
    is_int(s.scrolled, 0, "nothing scrolled");
    paint(&s, &p, "narrow\n", COLUMNS / 2);
    is_text(screen_text(&s, &b), "narrow\n", "a narrower terminal is cleared");
    buf_clear(&out);
    painter_end(&p, &out);
    screen_feed(&s, buf_str(&out).s);
    ok(!s.hidden, "the cursor is shown at the end");
    is_text(screen_text(&s, &b), "narrow\n", "the last frame stays");
    is_int(s.unknown, 0, "no command that our terminal does not know");
    buf_clear(&out);
    painter_end(&p, &out);
    painter_clear(&p, &out);
    is_text(buf_str(&out).s, "", "a painter that drew nothing has nothing to undo");
}

static void test_painter_bottom(void)
{
    struct screen s;
    struct painter p = {0};
    SCOPED_BUF(b);
    screen_init(&s);
    for (int i = 0; i < ROWS - 1; i++)
        screen_feed(&s, "old\n");
    for (int i = 0; i < 5; i++)
        paint(&s, &p, "a\nb\nc\n", COLUMNS);
    has_text(screen_text(&s, &b), "old\na\nb\nc\n", "frames at the bottom of the screen");
    is_int(s.scrolled, 3, "scroll once");
}

/* --- drawing --- */

static const char op_json[] =
    "{\"id\":14,\"kind\":\"bind\",\"title\":\"web tier\",\"state\":\"running\",\"held\":false,"
    "\"created_at\":\"2023-11-14T22:12:20.000Z\",\"ended_at\":null,\"eta_ms\":190000,"
    "\"progress\":{\"total\":200,\"done\":100,\"skipped\":4,\"failed\":1,\"running\":8,\"waiting\":"
    "2,"
    "\"ready\":5,\"pending\":80,\"cancelled\":0}}";
static const char task_json[] =
    "{\"id\":812,\"name\":\"install nginx\",\"node\":\"web1.example.org\",\"operation\":14,"
    "\"state\":\"RUNNING\",\"reason\":\"\",\"attempt\":2,\"started_at\":\"2023-11-14T22:13:15."
    "900Z\"}";

static struct value *parsed(struct arena *mem, const char *json)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(mem, json, strlen(json), NULL, &v, &e))
        printf("Bail out! %s\n", e.text);
    return v;
}

static void test_draw(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    const int64_t now = 1700000000000;
    struct progress_op op = progress_op_read(&mem, parsed(&mem, op_json));
    struct progress_task t[3], failed;
    for (int i = 0; i < 3; i++)
        t[i] = progress_task_read(&mem, parsed(&mem, task_json));
    failed = t[0];
    failed.id = 700;
    failed.reason = "exit";
    failed.name = "a task with a name that is longer than its column";
    t[2].operation = 15;
    is_int(op.total, 200, "counts are read");
    is_int(op.created_ms, now - 60000, "times are read");
    is_int(progress_percent(&op), 52, "percent of done and skipped");
    struct progress p = {
        .ops = &op, .n_ops = 1, .running = t, .n_running = 3, .failed = &failed, .n_failed = 1};
    const struct look look = {.columns = 80};
    progress_draw(&b, &look, 24, &p, now);
    is_text(b.data,
            "operation 14  bind  web tier  1m00s\n"
            "  #############!------------  52%  104/200  ETA 3m10s  8 running  1 failed  2 w~\n"
            "  x a task with a name that is longer than its column web1.example.org exit  an~\n"
            "  * install nginx         web1.example.org               4.1s\n"
            "  * install nginx         web1.example.org               4.1s\n"
            "    and 6 more running\n",
            "an operation with running and failed tasks");
    buf_clear(&b);
    p.lost = "http://x closed the stream of events";
    progress_draw(&b, &look, 5, &p, now);
    has_text(b.data, "http://x closed the stream of events; trying again\noperation 14", "a loss");
    int lines = 0;
    for (const char *s = b.data; (s = strchr(s, '\n')); s++)
        lines++;
    ok(lines <= 5, "no more lines than allowed (%d)", lines);

    buf_clear(&b);
    struct progress_op many[20];
    for (int i = 0; i < 20; i++) {
        many[i] = op;
        many[i].id = i;
    }
    p = (struct progress){.ops = many, .n_ops = 20, .all = true};
    progress_draw(&b, &look, 11, &p, now);
    has_text(b.data, "and 15 more operations\n", "operations beyond the screen are counted");
    buf_clear(&b);
    p = (struct progress){.all = true};
    progress_draw(&b, &look, 11, &p, now);
    has_text(b.data, "no open operations", "nothing to draw");
}

/* Where it is told what became of its tasks, that is said: what failed, and what never ran. */
static void test_outcome(struct arena *mem, struct progress_op *op)
{
    static const struct {
        const char *told, *want;
    } cases[] = {
        {"{\"done\":0,\"failed\":1,\"never_ran\":3,\"undone\":1,\"failures\":[{\"task\":2,\"name\":"
         "\"create\",\"role\":\"machine\",\"node\":\"n1\",\"reason\":\"exit\"}]}",
         "0 of 4 tasks done, 1 failed (create on n1), 3 never ran, 1 undone"},
        {"{\"done\":1,\"failed\":2,\"never_ran\":0,\"undone\":0,\"failures\":[{\"task\":2,\"name\":"
         "\"tell\",\"role\":\"x\",\"node\":null,\"reason\":\"exit\"},{\"task\":3}]}",
         "1 of 3 tasks done, 2 failed (tell, and 1 more)"},
        {"{\"done\":1,\"failed\":0,\"never_ran\":1,\"undone\":0,\"failures\":[]}",
         "1 of 2 tasks done, 1 never ran"},
        {"null", "104 of 200 tasks done, 1 failed, 7 cancelled"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_BUF(b);
        const char *json = arena_printf(mem, "{\"outcome\":%s}", cases[i].told);
        op->outcome = progress_op_read(mem, parsed(mem, json)).outcome;
        progress_summary(&b, op);
        is_text(b.data, arena_printf(mem, "operation 14 failed after 3m12s: %s", cases[i].want),
                "%s", cases[i].told);
    }
}

static void test_lines(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    struct progress_op op = progress_op_read(&mem, parsed(&mem, op_json));
    progress_line(&b, &op);
    is_text(b.data, "operation 14 running: 52%, 104 of 200 tasks, 8 running, 2 waiting, 1 failed",
            "a line for logs");
    ok(!progress_op_ended(&op), "it goes on");
    op.state = "failed";
    op.ended_ms = op.created_ms + 192000;
    op.cancelled = 7;
    ok(progress_op_ended(&op), "it ended");
    buf_clear(&b);
    progress_summary(&b, &op);
    is_text(b.data, "operation 14 failed after 3m12s: 104 of 200 tasks done, 1 failed, 7 cancelled",
            "a failure in one line");
    test_outcome(&mem, &op);
    op = (struct progress_op){
        .id = 3, .state = "succeeded", .created_ms = -1, .ended_ms = -1, .percent = -1, .total = 1};
    buf_clear(&b);
    progress_summary(&b, &op);
    is_text(b.data, "operation 3 succeeded: 1 task", "a success in one line");
    op.total = 0;
    is_int(progress_percent(&op), 100, "an ended operation without tasks is complete");
    op.state = "running";
    is_int(progress_percent(&op), 0, "a running one is not");
    op.total = 3;
    op.done = 5;
    is_int(progress_percent(&op), 100, "never more than all");
    op.percent = 17;
    is_int(progress_percent(&op), 17, "what the server says of the work goes before a count");
    struct progress p = {.ops = &op, .n_ops = 1};
    const struct look look = {.columns = 60, .utf8 = true};
    op = (struct progress_op){.id = 3,
                              .kind = "rerun",
                              .title = "rerun",
                              .state = "cancelled",
                              .held = true,
                              .total = 4,
                              .done = 1,
                              .cancelled = 3,
                              .created_ms = -1,
                              .ended_ms = -1,
                              .percent = -1,
                              .eta_ms = 5};
    buf_clear(&b);
    progress_draw(&b, &look, 10, &p, 0);
    has_text(b.data, "operation 3  rerun  cancelled  held\n", "a title is not repeated");
    has_text(b.data, "25%  1/4  3 cancelled\n", "an ended one has no ETA");
    op.percent = 50;
    buf_clear(&b);
    progress_draw(&b, &look, 10, &p, 0);
    has_text(b.data, "  \u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u00b7",
             "the bar is as long as the work that is done");
}

int main(void)
{
    test_painter();
    test_painter_bottom();
    test_draw();
    test_lines();
    return tap_done();
}
