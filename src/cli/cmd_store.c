/* cmd_store.c - the server's store: backup, check, restore; and the operator's word on silent nodes
 *
 * Copying and checking a large store takes minutes, so the server does both in the background and
 * status tells how it goes.  Whoever asked wants to know the end, so these verbs wait for it unless
 * told otherwise.  There is no event for it: this is the one place that asks again and again, with
 * pauses that grow.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress_i.h"
#include "cli/table_i.h"
#include "sys/fs.h"

enum { PAUSE_FIRST_MS = 20, PAUSE_MOST_MS = 1000 };

/* One line on a terminal that shows how far the backup is; nothing elsewhere. */
static void copy_show(struct cli *c, struct painter *p, const struct value *backup)
{
    SCOPED_BUF(frame);
    SCOPED_BUF(out);
    const struct look look = cli_look(c, true);
    int64_t total = value_as_int(value_get(backup, "bytes_total"), 0);
    int64_t done = value_as_int(value_get(backup, "bytes_done"), 0);
    if (!c->env->err_tty || c->quiet || total <= 0)
        return;
    done = done < total ? done : total; /* the total is an estimate */
    struct pen pen = {.b = &frame, .look = &look};
    pen_put(&pen, STYLE_PLAIN, "backing up  ");
    pen_bar(&pen, 30, done, 0, total);
    pen_put(&pen, STYLE_PLAIN, " %3d%%", (int)(done * 100 / total));
    pen_end(&pen);
    painter_paint(p, &out, frame.data, look.columns);
    (void)fwrite(out.data, 1, out.len, c->env->err);
    (void)fflush(c->env->err);
}

static void copy_hide(struct cli *c, struct painter *p)
{
    SCOPED_BUF(out);
    painter_clear(p, &out);
    painter_end(p, &out);
    (void)fwrite(buf_str(&out).s, 1, out.len, c->env->err);
}

/* Asks for status until the store is no longer busy with `what`: "backup" or "checking". */
static int store_await(struct cli *c, const char *what, const struct value **ret_store,
                       struct err *e)
{
    struct painter painter = {0};
    int rc, pause = PAUSE_FIRST_MS;
    for (;;) {
        const struct value *v;
        if ((rc = cli_get(c, "/v1/status", &v, e)))
            break;
        *ret_store = value_get(v, "store");
        const struct value *job = value_get(*ret_store, what);
        bool busy = value_is(job, VALUE_BOOL)
                        ? job->b
                        : !strcmp(value_as_text(value_get(job, "state"), ""), "running");
        if (!busy)
            break;
        copy_show(c, &painter, job);
        (void)poll(NULL, 0, pause);
        pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
    }
    copy_hide(c, &painter);
    return rc;
}

static bool job_goes_on(struct cli *c, const struct value *v)
{
    return !strcmp(value_as_text(value_get(v, "state"), ""), "running") && !cli_has(c, "no-wait");
}

/* The passphrase is a file's: an argument could be read by everybody on this machine. */
static int passphrase_put(struct cli *c, struct value *body, struct err *e)
{
    const char *file = cli_option(c, "passphrase-file");
    struct str text;
    int rc = file ? cli_read_text(c, file, &text, e) : 0;
    if (rc || !file)
        return rc;
    while (text.n && strchr("\r\n", text.s[text.n - 1]))
        text.n--;
    value_set(&c->mem, body, "passphrase", value_str(&c->mem, text));
    return 0;
}

static int backup_failed(const struct value *v, const char *path, struct err *e)
{
    const char *hint = value_as_text(value_get(v, "hint"), NULL);
    err_set(e, ERR_FAILED, "the backup to %s failed: %s", path,
            value_as_text(value_get(v, "error"), ""));
    return err_hint(e, "%s", hint ? hint : "the file is made on the server's machine, by anneald");
}

int cmd_admin_backup(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v, *store;
    char bytes[16];
    bool sealed = cli_option(c, "passphrase-file") != NULL;
    if (cli_arg(c, 0))
        value_put_text(&c->mem, body, "name", cli_arg(c, 0));
    if (cli_has(c, "logs"))
        value_put_bool(&c->mem, body, "logs", true);
    int rc = passphrase_put(c, body, e);
    if (!rc)
        rc = cli_send(c, "POST", "/v1/admin/backup", body, &v, e);
    if (rc)
        return rc;
    if (job_goes_on(c, v)) {
        if ((rc = store_await(c, "backup", &store, e)))
            return rc;
        v = value_get(store, "backup");
    }
    const char *path = value_as_text(value_get(v, "path"), "");
    if (value_as_text(value_get(v, "error"), NULL))
        return backup_failed(v, path, e);
    bytes_show(value_as_int(value_get(v, "bytes"), 0), bytes);
    if (!strcmp(value_as_text(value_get(v, "state"), "done"), "running"))
        cli_done(c, v, "path", "backup to %s under way; `anneal status` shows its end", path);
    else
        cli_done(c, v, "path", "backup written to %s and read back, %s; %s", path, bytes,
                 sealed ? "sealed" : "it holds the keys of the server: keep it as a secret");
    return 0;
}

/* What is in memory was checked at once, the file when its check has ended. */
static int check_end(struct cli *c, const struct value **v, struct err *e)
{
    const struct value *store;
    struct value *all = value_copy(&c->mem, *v), *found = value_list(&c->mem);
    int rc = store_await(c, "checking", &store, e);
    if (rc)
        return rc;
    const char *file = value_as_text(value_get(store, "check"), "ok");
    const struct value *before = value_get(*v, "findings");
    for (uint32_t i = 0; value_is(before, VALUE_LIST) && i < before->n; i++)
        value_add(&c->mem, found, &before->items[i]);
    if (strcmp(file, "ok") != 0 && !found->n)
        value_add(&c->mem, found, value_text(&c->mem, file));
    value_set(&c->mem, all, "findings", found);
    value_put_bool(&c->mem, all, "ok", !found->n);
    value_put_text(&c->mem, all, "state", "done");
    *v = all;
    return 0;
}

int cmd_admin_check(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_send(c, "POST", "/v1/admin/check", NULL, &v, e);
    if (!rc && job_goes_on(c, v))
        rc = check_end(c, &v, e);
    if (rc)
        return rc;
    bool good = value_as_bool(value_get(v, "ok"), false);
    const struct value *found = value_get(v, "findings");
    if (!cli_print_data(c, v, "ok")) {
        for (uint32_t i = 0; value_is(found, VALUE_LIST) && i < found->n; i++)
            cli_warn(c, "%s", value_as_text(&found->items[i], "?"));
        cli_say(c, good ? "the store is sound" : "the store is damaged");
    }
    if (!good)
        c->exit = err_exit(ERR_CORRUPT);
    return 0;
}

int cmd_admin_confirm_dead(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_send(c, "POST", "/v1/admin/confirm-dead", NULL, &v, e);
    if (!rc)
        cli_done(c, v, "suspect", "silent nodes are taken for dead");
    return rc;
}

/* The server program lies beside this one, or where system programs are installed. */
static int server_program(struct cli *c, const char **ret_path, struct err *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return err_set(e, ERR_IO, "cannot find out where this program is: %m");
    self[n] = '\0';
    const char *dir = dirname(self);
    const char *beside = arena_printf(&c->mem, "%s/anneald", dir);
    const char *system = arena_printf(&c->mem, "%s/../sbin/anneald", dir);
    *ret_path = !fs_exists(beside) && fs_exists(system) ? system : beside;
    return 0;
}

/* The store is the server's: this program only starts the one that knows it. */
int cmd_admin_restore(struct cli *c, struct err *e)
{
    const char *dir = cli_option(c, "data-dir"), *secret = cli_option(c, "passphrase-file");
    const char *program;
    char *argv[8] = {0};
    size_t n = 0;
    if (!dir)
        return err_set(e, ERR_INVALID, "--data-dir is missing: where shall the server's data be?");
    int rc = server_program(c, &program, e);
    if (rc)
        return rc;
    argv[n++] = arena_strdup(&c->mem, program);
    argv[n++] = arena_strdup(&c->mem, "--restore");
    argv[n++] = arena_strdup(&c->mem, cli_arg(c, 0));
    argv[n++] = arena_strdup(&c->mem, "--data-dir");
    argv[n++] = arena_strdup(&c->mem, dir);
    if (secret) {
        argv[n++] = arena_strdup(&c->mem, "--passphrase-file");
        argv[n++] = arena_strdup(&c->mem, secret);
    }
    (void)fflush(c->env->out);
    (void)fflush(c->env->err);
    if (c->env->exec(c->env->arg, program, argv) < 0) {
        err_sys(e, ERR_IO, errno, "cannot run %s", program);
        return err_hint(e, "anneald is expected in the directory of this program");
    }
    return 0;
}
