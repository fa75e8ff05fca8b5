/* backup_stage.c - is a store, with what lies beside it, one that a server could go on with?
 *
 * The same is asked of the copy that goes into a backup and of the one that comes out of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/map.h"
#include "plugin/plugin_versions.h"
#include "server/backup_i.h"
#include "server/restore.h"
#include "server/sealed.h"
#include "server/server_i.h"
#include "sys/fs.h"

enum { ROOM_LEFT_BYTES = 64 * 1024 * 1024 };

int backup_room(const char *dir, uint64_t bytes, struct err *e)
{
    struct statvfs fs;
    if (statvfs(dir, &fs) < 0)
        return 0; /* whoever writes there finds out */
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (free_bytes >= bytes + ROOM_LEFT_BYTES)
        return 0;
    err_set(e, ERR_DISK_FULL, "%" PRIu64 " MiB are needed in %s, and %" PRIu64 " MiB are free",
            (bytes + ROOM_LEFT_BYTES) >> 20, dir, free_bytes >> 20);
    return err_hint(e, "make room there, or choose another place; nothing was changed");
}

/* --- contents --- */

struct contents {
    struct strmap seen;
    backup_content_f *fn;
    void *arg;
};

static int content_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct contents *c = arg;
    const struct row_resource *r = row;
    (void)t;
    if (!resource_digest_good(r->digest))
        return err_set(e, ERR_CORRUPT, "resource %u is damaged", r->id);
    return strmap_put(&c->seen, r->digest, 1) ? c->fn(c->arg, r->digest, r->size_bytes, e) : 0;
}

int backup_contents_each(struct store *s, backup_content_f *fn, void *arg, struct err *e)
{
    struct contents c = {.fn = fn, .arg = arg};
    int rc = store_each(s, ROWS_RESOURCE, content_row, &c, e);
    strmap_done(&c.seen);
    return rc;
}

struct content_look {
    const char *dir;
    struct backup_sum *sum;
};

static int content_there(void *arg, struct str digest, uint64_t bytes, struct err *e)
{
    struct content_look *l = arg;
    SCOPED_BUF(path);
    struct stat st;
    buf_printf(&path, "%s/%s/%.*s", l->dir, BACKUP_RESOURCES, (int)digest.n, digest.s);
    l->sum->resources++;
    l->sum->resource_bytes += bytes;
    if (lstat(path.data, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == bytes)
        return 0;
    err_set(e, ERR_CONFLICT, "the content %.*s of a resource is not there, or not whole",
            (int)digest.n, digest.s);
    err_at(e, "%s", path.data);
    return err_hint(e, "`anneal resource list` shows whose it is: upload it again, or delete that "
                       "version");
}

/* --- the store --- */

static int meta_take(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct backup_sum *sum = arg;
    const struct row_meta *m = row;
    (void)t;
    (void)e;
    sum->journal = m->journal_seq;
    sum->fence = m->fence;
    return 0;
}

static int engine_comes_up(struct store *s, struct err *e)
{
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct row_meta meta;
    int rc = restore_engine(s, &a, &c, &meta, e);
    if (rc < 0)
        return rc;
    rc = anneal_check(a, e);
    commit_free(c);
    anneal_free(a);
    return rc;
}

int backup_store_check(const char *db, const char *dir, bool may_write, struct backup_sum *ret,
                       struct err *e)
{
    struct store_options o = {.path = db, .read_only = !may_write};
    struct backup_sum sum = {0};
    struct content_look look = {dir, &sum};
    struct sealed_count sealed;
    struct store *s = NULL;
    int rc = store_open(&o, &s, e);
    if (rc >= 0)
        rc = store_each(s, ROWS_META, meta_take, &sum, e);
    if (rc >= 0 && !sum.journal) /* SQLite takes the shortest of files for an empty database */
        rc = err_set(e, ERR_CORRUPT, "the store is empty");
    if (rc >= 0)
        rc = engine_comes_up(s, e);
    if (rc >= 0)
        rc = sealed_check(s, dir, &sealed, e);
    if (rc >= 0)
        rc = backup_contents_each(s, content_there, &look, e);
    store_close(s);
    if (rc >= 0)
        *ret = sum;
    return rc < 0 ? rc : 0;
}
