/* face_backup.c - the request for a backup, and how it goes
 *
 * The archive is written by this server, on its own machine, into the one directory that its
 * settings name: a request gives a name and no path.  It holds the keys of the installation, so
 * only the first tenant's administrators may ask for one.  The work is the background thread's; its
 * record is its own from submitting to completion, but for what is atomic in it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive/archive.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "server/server_i.h"
#include "server/tenants.h"
#include "sys/fs.h"

/* --- the directory --- */

char *backup_dir(const struct server *s)
{
    return s->opts->backup_dir[0] ? xstrdup(s->opts->backup_dir) : fs_join(s->data_dir, "backups");
}

/* One that somebody named must be there: what should be mounted and is not is no place for it. */
static int dir_ready(const struct server *s, const char *dir, struct err *e)
{
    if (!s->opts->backup_dir[0])
        return fs_mkdirs(dir, 0700, e);
    if (fs_is_dir(dir))
        return 0;
    err_set(e, ERR_CONFLICT, "backup_dir %s is not there", dir);
    return err_hint(e, "is it mounted? the server does not make it by itself");
}

void backup_open(struct server *s)
{
    char *dir = backup_dir(s);
    backup_tidy(s->data_dir, dir);
    s->backup_good_ms = backup_newest_ms(dir);
    free(dir);
}

/* --- the job --- */

static void backup_work(void *arg)
{
    struct server *s = arg;
    struct backup_job *j = &s->backup;
    struct backup_wish w = {.data_dir = s->data_dir,
                            .path = j->path,
                            .passphrase = buf_str(&j->passphrase),
                            .settings = buf_str(&j->settings),
                            .logs = j->logs,
                            .now_ms = j->began_ms};
    if (backup_make(&w, &j->watch, &j->made, &j->failure) >= 0)
        err_clear(&j->failure);
}

void backup_job_done(struct backup_job *j)
{
    if (j->passphrase.data)
        sodium_memzero(j->passphrase.data, j->passphrase.cap);
    buf_done(&j->passphrase);
    buf_done(&j->settings);
}

static void journal_made(struct server *s)
{
    struct backup_job *j = &s->backup;
    SCOPED_ARENA(mem);
    SCOPED_BUF(more);
    struct err e;
    char hex[DIGEST_HEX];
    struct event ev = {.kind = EVENT_BACKUP};
    struct commit_note note = {
        .actor = j->who.name, .tenant = TENANT_FIRST, .wall_ms = j->ended_ms};
    struct value *v = value_map(&mem);
    if (server_writable(s, &e) < 0)
        return; /* it was made all the same */
    digest_hex(&j->made.digest, hex);
    value_put_text(&mem, v, "name", j->name);
    value_put_int(&mem, v, "bytes", (int64_t)j->made.bytes);
    value_put_text(&mem, v, "digest", hex);
    value_put_int(&mem, v, "journal", (int64_t)j->made.journal);
    json_write(&more, v, 0);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
}

static void backup_done(void *arg)
{
    struct server *s = arg;
    struct backup_job *j = &s->backup;
    j->running = false;
    j->ended = true;
    j->ended_ms = server_wall_ms();
    backup_job_done(j);
    if (j->failure.code != ERR_NONE) {
        log_err(LOG_ERROR, "store.backup", &j->failure);
        return;
    }
    s->backup_good_ms = j->ended_ms;
    log_line(LOG_INFO, "store.backup", LOGT("path", j->path), LOGI("bytes", j->made.bytes));
    journal_made(s);
}

/* --- the request --- */

static int name_take(const struct server_call *c, char *ret, size_t n, struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), NULL);
    time_t now = time(NULL);
    struct tm tm;
    if (!name) {
        gmtime_r(&now, &tm);
        strftime(ret, n, "anneal-%Y%m%dt%H%M%Sz", &tm);
        return 0;
    }
    if (!text_is_name(str_of(name))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a name for a backup", name);
        err_at(e, "/name");
        return err_hint(e, "lower-case letters, digits and . _ -; the server adds the directory, "
                           "which is its setting backup_dir");
    }
    snprintf(ret, n, "%s", name);
    return 0;
}

static int path_take(const struct server *s, const char *name, bool sealed, struct backup_job *j,
                     struct err *e)
{
    char *dir = backup_dir(s);
    int rc = dir_ready(s, dir, e);
    if (rc >= 0 && snprintf(j->path, sizeof j->path, "%s/%s%s", dir, name,
                            sealed ? ".tar.sealed" : ".tar") >= (int)sizeof j->path)
        rc = err_set(e, ERR_INVALID, "the name of the backup is too long");
    free(dir);
    if (rc < 0 || !fs_exists(j->path))
        return rc;
    err_set(e, ERR_EXISTS, "%s is there already", j->path);
    err_at(e, "/name");
    return err_hint(e, "a backup never overwrites: choose another name");
}

static int may_back_up(const struct server *s, const struct server_call *c, struct err *e)
{
    if (c->who->tenant != TENANT_FIRST)
        return err_set(e, ERR_FORBIDDEN, "a backup holds the keys of all: only tenant %s makes one",
                       tenant_name(s, TENANT_FIRST));
    if (!s->backup.running)
        return 0;
    err_set(e, ERR_CONFLICT, "a backup to %s is under way", s->backup.path);
    return err_hint(e, "`anneal status` tells when it has ended");
}

static void job_begin(struct server *s, const struct server_call *c, const char *name,
                      struct str passphrase)
{
    struct backup_job *j = &s->backup;
    j->running = true;
    j->ended = false;
    j->began_ms = server_wall_ms();
    j->made = (struct backup_made){0};
    j->watch.done = j->watch.total = 0;
    j->logs = value_as_bool(value_get(c->body, "logs"), false);
    err_clear(&j->failure);
    snprintf(j->name, sizeof j->name, "%s", name);
    j->who = *c->who;
    buf_put(&j->passphrase, passphrase.s, passphrase.n);
    opts_write(s->opts, &j->settings);
    pool_submit(s->background, backup_work, backup_done, s);
}

int server_admin_backup(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const struct value *secret = value_get(c->body, "passphrase");
    struct str passphrase = value_as_str(secret);
    char name[sizeof s->backup.name];
    struct value *v = value_map(c->mem);
    int rc = may_back_up(s, c, e);
    if (rc >= 0)
        rc = name_take(c, name, sizeof name, e);
    if (rc >= 0 && secret && (rc = archive_passphrase_check(passphrase, e)) < 0)
        err_at(e, "/passphrase");
    if (rc >= 0)
        rc = path_take(s, name, passphrase.n > 0, &s->backup, e);
    if (rc < 0)
        return rc;
    job_begin(s, c, name, passphrase);
    value_put_text(c->mem, v, "name", s->backup.name);
    value_put_text(c->mem, v, "path", s->backup.path);
    value_put_text(c->mem, v, "state", "running");
    r->body = v;
    r->accepted = true;
    return 0;
}

struct value *backup_value(const struct server *s, struct arena *a)
{
    const struct backup_job *j = &s->backup;
    struct value *v = value_map(a);
    bool failed = !j->running && j->failure.code != ERR_NONE, good = !j->running && !failed;
    char hex[DIGEST_HEX];
    if (!j->running && !j->ended)
        return value_null(a);
    digest_hex(&j->made.digest, hex);
    value_put_text(a, v, "name", j->name);
    value_put_text(a, v, "path", j->path);
    value_put_text(a, v, "state", j->running ? "running" : failed ? "failed" : "done");
    value_put_int(a, v, "bytes_done", (int64_t)j->watch.done);
    value_put_int(a, v, "bytes_total", (int64_t)j->watch.total);
    value_put_int(a, v, "bytes", good ? (int64_t)j->made.bytes : 0);
    value_put_text(a, v, "digest", good ? hex : NULL);
    value_put_int(a, v, "journal", good ? (int64_t)j->made.journal : 0);
    value_put_text(a, v, "ended_at", view_time(a, j->running ? 0 : j->ended_ms));
    value_put_text(a, v, "error", failed ? j->failure.text : NULL);
    value_put_text(a, v, "hint", failed && j->failure.hint[0] ? j->failure.hint : NULL);
    return v;
}
