/* backup_members.c - what a backup consists of, by name, and a pass over one
 *
 * The list of names is closed.  An archive may come from anywhere: what it holds besides is not
 * unpacked and ignored, it is a reason to refuse all of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "plugin/plugin_versions.h"
#include "server/backup_i.h"

static bool digits_take(const char **at)
{
    const char *from = *at;
    while (isdigit((unsigned char)**at))
        ++*at;
    return *at > from && *at - from <= 10;
}

/* logs/<task / 1000>/<task>.<attempt>.log */
static bool log_known(const char *name)
{
    const char *at = name;
    return digits_take(&at) && *at++ == '/' && digits_take(&at) && *at++ == '.' &&
           digits_take(&at) && strcmp(at, ".log") == 0;
}

static const char *below(const char *name, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(name, dir, n) == 0 && name[n] == '/' ? name + n + 1 : NULL;
}

bool backup_member_known(const char *name)
{
    static const char *const files[] = {
#define X(file) file,
        BACKUP_FILES(X)
#undef X
            BACKUP_ABOUT,
        BACKUP_STORE,
        BACKUP_SETTINGS
    };
    const char *rest;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(name, files[i]) == 0)
            return true;
    if ((rest = below(name, BACKUP_RESOURCES)))
        return resource_digest_good(str_of(rest));
    rest = below(name, BACKUP_LOGS);
    return rest && log_known(rest);
}

/* --- the first member --- */

void backup_about_write(struct buf *b, const struct backup_about *a)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "format");
    jsonw_u64(&w, a->format);
    jsonw_key(&w, "version");
    jsonw_text(&w, a->version);
    jsonw_key(&w, "made_ms");
    jsonw_u64(&w, a->made_ms);
    jsonw_key(&w, "journal");
    jsonw_u64(&w, a->journal);
    jsonw_key(&w, "fence");
    jsonw_u64(&w, a->fence);
    jsonw_key(&w, "note");
    jsonw_text(&w, "a backup of anneald; it holds the keys of that server: keep it as a secret");
    jsonw_end(&w);
    buf_putc(b, '\n');
}

static int about_number(const struct value *v, const char *key, uint64_t *ret, struct err *e)
{
    int64_t n = value_as_int(value_get(v, key), -1);
    if (n < 0)
        return err_set(e, ERR_CORRUPT, "%s has no %s", BACKUP_ABOUT, key);
    *ret = (uint64_t)n;
    return 0;
}

int backup_about_read(struct str text, struct backup_about *ret, struct err *e)
{
    SCOPED_ARENA(mem);
    struct value *v;
    struct backup_about a = {0};
    struct err why;
    if (json_parse(&mem, text.s, text.n, NULL, &v, &why) < 0)
        return err_set(e, ERR_CORRUPT, "%s: %s", BACKUP_ABOUT, why.text);
    int rc = about_number(v, "format", &a.format, e);
    snprintf(a.version, sizeof a.version, "%.*s", (int)sizeof a.version - 1,
             value_as_text(value_get(v, "version"), "?"));
    if (rc == 0 && a.format != BACKUP_FORMAT) {
        err_set(e, ERR_REFUSED, "it has format %" PRIu64 ", made by anneald %s", a.format,
                a.version);
        return err_hint(e, "restore it with that version, or a newer one");
    }
    if (rc == 0)
        rc = about_number(v, "journal", &a.journal, e);
    if (rc == 0)
        rc = about_number(v, "fence", &a.fence, e);
    if (rc == 0)
        rc = about_number(v, "made_ms", &a.made_ms, e);
    if (rc == 0)
        *ret = a;
    return rc;
}

static int about_take(struct archive_in *in, const struct archive_member *m,
                      struct backup_about *ret, struct err *e)
{
    char text[BACKUP_ABOUT_BYTES];
    size_t n;
    if (strcmp(m->name, BACKUP_ABOUT) != 0)
        return err_set(e, ERR_INVALID, "it is no backup: its first member is %s and not %s",
                       m->name, BACKUP_ABOUT);
    if (m->bytes > sizeof text)
        return err_set(e, ERR_CORRUPT, "%s is larger than %d bytes", m->name, BACKUP_ABOUT_BYTES);
    int rc = archive_read(in, text, sizeof text, &n, e);
    return rc < 0 ? rc : backup_about_read((struct str){text, n}, ret, e);
}

/* --- a pass --- */

static void member_count(struct backup_seen *seen, const struct archive_member *m)
{
    seen->bytes += m->bytes;
    seen->resources += below(m->name, BACKUP_RESOURCES) != NULL;
    seen->logs += below(m->name, BACKUP_LOGS) != NULL;
    seen->key |= strcmp(m->name, "secret.key") == 0;
    seen->authority |= strcmp(m->name, "ca.key") == 0;
}

int backup_pass(struct archive_in *in, backup_member_f *fn, void *arg, struct backup_seen *ret,
                struct err *e)
{
    struct archive_member m;
    struct backup_seen seen = {0};
    bool store = false;
    int rc = archive_next(in, &m, e);
    if (rc == 0)
        return err_set(e, ERR_CORRUPT, "the archive is empty");
    if (rc > 0) {
        member_count(&seen, &m);
        rc = about_take(in, &m, &seen.about, e);
    }
    while (rc >= 0 && (rc = archive_next(in, &m, e)) > 0) {
        if (!backup_member_known(m.name)) {
            err_set(e, ERR_CORRUPT, "%s does not belong into a backup", m.name);
            return err_hint(e, "take another backup: nothing was changed");
        }
        store |= strcmp(m.name, BACKUP_STORE) == 0;
        member_count(&seen, &m);
        if (fn)
            rc = fn(arg, in, &m, e);
    }
    if (rc == 0 && !store)
        rc = err_set(e, ERR_CORRUPT, "there is no store in the backup");
    if (rc < 0)
        return rc;
    seen.digest = archive_digest(in);
    *ret = seen;
    return 0;
}
