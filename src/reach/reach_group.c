/* reach_group.c - files that are put in one go
 *
 * A file by itself costs its node two programs: one writes it beside its place, one renames it.
 * Files that follow each other, go into the same directory and get the same mode and owner are
 * written into a directory beside their places and renamed from there, all by five programs,
 * however many they are.  They travel under their own names, so these must fit an archive.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reach/reach_i.h"

enum { NAME_MOST = 50, FILES_LEAST = 3, FILES_MOST = 500 };

const char *reach_group_name(const struct reach_put *p)
{
    return strrchr(p->path, '/') + 1;
}

size_t reach_group_directory(const struct reach_put *p)
{
    return (size_t)(strrchr(p->path, '/') - p->path);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool fits(const struct reach_put *p)
{
    const char *name = reach_group_name(p);
    return *name && strlen(name) <= NAME_MOST && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool alike(const struct reach_put *a, const struct reach_put *b)
{
    size_t n = reach_group_directory(a);
    return n == reach_group_directory(b) && memcmp(a->path, b->path, n) == 0 &&
           a->mode == b->mode && a->dir_mode == b->dir_mode && same_text(a->owner, b->owner) &&
           same_text(a->group, b->group);
}

static bool has_path(const struct reach_put *puts, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(puts[i].path, path) == 0)
            return true;
    return false;
}

bool reach_group_next(const struct reach_step *s, struct reach_group *g)
{
    g->first += g->n;
    g->n = 1;
    if (g->first >= s->puts_n)
        return false;
    const struct reach_put *puts = s->puts + g->first;
    size_t left = s->puts_n - g->first, n = 1;
    if (s->kind != REACH_PUT || !fits(puts))
        return true;
    while (n < left && n < FILES_MOST && fits(&puts[n]) && alike(puts, &puts[n]) &&
           !has_path(puts, n, puts[n].path))
        n++;
    g->n = n < FILES_LEAST ? 1 : n;
    return true;
}
