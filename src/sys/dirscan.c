/* dirscan.c - a file of one name in each directory of some directories */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/dirscan.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "sys/fs.h"

enum { SEEN_ANY = 1 };

void dirscan_init(struct dirscan *d, const char *path, const char *name, size_t max_bytes)
{
    *d = (struct dirscan){.path = xstrdup(path), .name = xstrdup(name), .max_bytes = max_bytes};
}

static void entries_drop(struct dirscan *d)
{
    for (size_t i = 0; i < d->at.n; i++) {
        free(d->at.at[i].dir);
        buf_done(&d->at.at[i].text);
    }
    vec_clear(&d->at);
}

void dirscan_done(struct dirscan *d)
{
    entries_drop(d);
    vec_done(&d->at);
    free(d->path);
    free(d->name);
}

/* --- every candidate, in order --- */

typedef void each_f(struct dirscan *d, const char *dir, const char *file, const struct stat *st,
                    uint64_t *seen);

static void each_inside(struct dirscan *d, const char *root, each_f *fn, uint64_t *seen)
{
    char **names;
    size_t n;
    if (fs_list(root, &names, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        char *dir = fs_join(root, names[i]), *file = fs_join(dir, d->name);
        struct stat st;
        if (stat(file, &st) == 0)
            fn(d, dir, file, &st, seen);
        free(file);
        free(dir);
        free(names[i]);
    }
    free(names);
}

static void each(struct dirscan *d, each_f *fn, uint64_t *seen)
{
    const char *at = d->path;
    while (*at) {
        size_t n = strcspn(at, ":");
        if (n > 0) {
            char *root = xstrndup(at, n);
            each_inside(d, root, fn, seen);
            free(root);
        }
        at += n + (at[n] == ':');
    }
}

/* --- looking and reading --- */

static void mix_entry(struct dirscan *d, const char *dir, const char *file, const struct stat *st,
                      uint64_t *seen)
{
    (void)d;
    (void)dir;
    *seen = mix64(*seen, digest_64(file, strlen(file)));
    *seen = mix64(*seen, (uint64_t)st->st_ino);
    *seen = mix64(*seen, (uint64_t)st->st_size);
    *seen = mix64(*seen, (uint64_t)st->st_mode);
    *seen = mix64(*seen, (uint64_t)st->st_mtim.tv_sec);
    *seen = mix64(*seen, (uint64_t)st->st_mtim.tv_nsec);
}

static void read_entry(struct dirscan *d, const char *dir, const char *file, const struct stat *st,
                       uint64_t *seen)
{
    struct dirscan_entry *x = vec_add(&d->at);
    char *real = realpath(dir, NULL);
    (void)st;
    (void)seen;
    x->dir = xstrdup(real ? real : dir);
    x->bad = fs_read(file, d->max_bytes, &x->text, &x->err) < 0;
    free(real);
}

bool dirscan_refresh(struct dirscan *d)
{
    uint64_t seen = SEEN_ANY;
    each(d, mix_entry, &seen);
    seen += seen == 0;
    if (seen == d->seen)
        return false;
    d->seen = seen;
    entries_drop(d);
    each(d, read_entry, &seen);
    return true;
}

void dirscan_one(struct dirscan *d, const char *dir)
{
    char *file = fs_join(dir, d->name);
    entries_drop(d);
    read_entry(d, dir, file, NULL, NULL);
    free(file);
}
