/* catalog_files.h - catalogs for tests: from texts in the program, or from a directory */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CATALOG_FILES_H
#define TESTS_CATALOG_FILES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "catalog/catalog.h"

struct files {
    struct arena mem;
    VEC(struct catalog_file) at;
};

static inline void files_done(struct files *f)
{
    vec_done(&f->at);
    arena_done(&f->mem);
}

static inline void files_add(struct files *f, const char *path, const char *text, size_t n)
{
    struct catalog_file file = {str_of(arena_strdup(&f->mem, path)),
                                {arena_strndup(&f->mem, text, n), n}};
    vec_push(&f->at, file);
}

static inline struct catalog_source files_source(const struct files *f)
{
    return (struct catalog_source){f->at.at, f->at.n};
}

/* Every regular file below dir; false if dir cannot be read. */
__attribute__((unused)) static bool files_read(struct files *f, const char *dir, const char *below)
{
    DIR *d = opendir(arena_printf(&f->mem, "%s/%s", dir, below));
    if (!d)
        return false;
    for (struct dirent *entry = readdir(d); entry; entry = readdir(d)) {
        const char *name =
            arena_printf(&f->mem, "%s%s%s", below, *below ? "/" : "", entry->d_name);
        const char *path = arena_printf(&f->mem, "%s/%s", dir, name);
        struct stat st;
        if (entry->d_name[0] == '.' || stat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            files_read(f, dir, name);
            continue;
        }
        FILE *in = fopen(path, "rb");
        char *text = xcalloc(1, (size_t)st.st_size + 1);
        size_t n = in ? fread(text, 1, (size_t)st.st_size, in) : 0;
        files_add(f, name, text, n);
        free(text);
        if (in)
            fclose(in);
    }
    closedir(d);
    return true;
}

#endif
