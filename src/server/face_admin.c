/* face_admin.c - what an administrator asks of the server itself: backup, check, "they are dead
 * indeed"
 *
 * Copying and checking a large store takes minutes, so both run on the background thread; the
 * answer says that it has begun, and status.store tells how it goes.  A job's record is the
 * background thread's from submitting to completion, but for what is atomic in it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "server/server_i.h"
#include "sys/fs.h"

/* ---- backup ---- */

static void backup_progress(void *arg, int done, int total)
{
    struct admin_job *j = arg;
    j->done = done;
    j->total = total;
}

static void backup_work(void *arg)
{
    struct server *s = arg;
    struct admin_job *j = &s->backup;
    struct store_options reader = {.path = s->db_path, .read_only = true};
    struct store *from = NULL;
    struct stat st;
    int r = store_open(&reader, &from, &j->failure);
    if (r >= 0)
        r = store_backup(from, j->path, backup_progress, j, &j->failure);
    store_close(from);
    if (r >= 0 && stat(j->path, &st) == 0)
        j->bytes = (uint64_t)st.st_size;
    if (r >= 0)
        err_clear(&j->failure);
}

static void backup_done(void *arg)
{
    struct server *s = arg;
    struct admin_job *j = &s->backup;
    j->running = false;
    j->ended = true;
    j->ended_ms = server_wall_ms();
    if (j->failure.code != ERR_NONE)
        log_err(LOG_ERROR, "store.backup", &j->failure);
    else
        log_line(LOG_INFO, "store.backup", LOGT("path", j->path), LOGI("bytes", j->bytes));
}

static int backup_check(const struct server *s, struct str path, struct err *e)
{
    if (path.n == 0 || path.s[0] != '/' || path.n >= sizeof s->backup.path ||
        strlen(path.s) != path.n) {
        err_set(e, ERR_INVALID, "a backup goes to an absolute path on the server's machine");
        return err_at(e, "/path");
    }
    if (fs_exists(path.s)) {
        err_set(e, ERR_EXISTS, "%s is there already", path.s);
        err_at(e, "/path");
        return err_hint(e, "a backup never overwrites: choose another name");
    }
    if (s->backup.running) {
        err_set(e, ERR_CONFLICT, "a backup to %s is under way", s->backup.path);
        return err_hint(e, "`anneal status` tells when it has ended");
    }
    return 0;
}

int server_admin_backup(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    struct str path = face_body_text(c, "path");
    struct admin_job *j = &s->backup;
    struct value *v = value_map(c->mem);
    int rc = backup_check(s, path, e);
    if (rc < 0)
        return rc;
    j->running = true;
    j->ended = false;
    j->bytes = 0;
    j->done = j->total = 0;
    err_clear(&j->failure);
    snprintf(j->path, sizeof j->path, "%s", path.s);
    pool_submit(s->background, backup_work, backup_done, s);
    value_put_text(c->mem, v, "path", j->path);
    value_put_int(c->mem, v, "bytes", (int64_t)store_bytes(s->reader)); /* as large as it will be */
    value_put_text(c->mem, v, "state", "running");
    r->body = v;
    r->accepted = true;
    return 0;
}

/* ---- check ---- */

static void check_work(void *arg)
{
    struct server *s = arg;
    if (store_check_full(s->db_path, &s->check.failure) >= 0)
        err_clear(&s->check.failure);
}

static void check_done(void *arg)
{
    struct server *s = arg;
    struct admin_job *j = &s->check;
    bool good = j->failure.code == ERR_NONE;
    j->running = false;
    j->ended = true;
    j->ended_ms = server_wall_ms();
    s->check_state = good ? 2 : 3;
    snprintf(s->check_text, sizeof s->check_text, "%.*s", (int)sizeof s->check_text - 1,
             good ? "" : j->failure.text);
    if (good)
        log_line(LOG_INFO, "store.check", LOGT("result", "good"));
    else
        log_err(LOG_ERROR, "store.check", &j->failure);
}

void admin_check_start(struct server *s)
{
    if (s->check.running)
        return;
    s->check.running = true;
    err_clear(&s->check.failure);
    pool_submit(s->background, check_work, check_done, s);
}

/* The state in memory is checked at once, the file in the background: ok says that nothing is known
 * to be wrong. */
int server_admin_check(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct arena *a = c->mem;
    struct value *v = value_map(a), *findings = value_list(a);
    struct err found;
    (void)e;
    if (anneal_check(s->engine, &found) < 0) {
        log_err(LOG_ERROR, "engine.check", &found);
        value_add(a, findings, value_text(a, found.text));
    }
    if (s->check_state == 3)
        value_add(a, findings, value_text(a, s->check_text));
    admin_check_start(s);
    value_put_bool(a, v, "ok", findings->n == 0);
    value_set(a, v, "findings", findings);
    value_put_text(a, v, "state", "running");
    r->body = v;
    return 0;
}

/* ---- aliveness ---- */

int server_admin_confirm_dead(struct server *s, const struct server_call *c, struct server_reply *r,
                              struct err *e)
{
    struct event ev = {.kind = EVENT_DEAD_CONFIRM};
    struct commit_note note = server_note(c, NULL);
    struct value *v = value_map(c->mem);
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    value_put_bool(c->mem, v, "suspect", anneal_suspect(s->engine));
    r->body = v;
    r->group = commit_open_group(s->commit);
    return 0;
}
