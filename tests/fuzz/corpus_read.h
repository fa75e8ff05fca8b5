/* corpus_read.h - the files of a corpus directory, in the order of their names */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_CORPUS_READ_H
#define TESTS_FUZZ_CORPUS_READ_H

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "fuzz.h"

struct corpus_file {
    char *name;
    struct buf bytes;
};
struct corpus {
    struct corpus_file *files;
    size_t n;
};

static int corpus_is_input(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static inline bool corpus_file_read(const char *dir, struct corpus_file *f)
{
    SCOPED_BUF(path);
    char piece[65536];
    size_t n;
    buf_printf(&path, "%s/%s", dir, f->name);
    FILE *file = fopen(path.data, "rb");
    if (!file)
        return false;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_put(&f->bytes, piece, n);
    bool good = !ferror(file);
    fclose(file);
    return good;
}

/* Ends the program with a word if there is nothing to read. */
static inline struct corpus corpus_read(const char *dir)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, corpus_is_input, alphasort);
    if (n <= 0) {
        fprintf(stderr, "%s: %s\n", dir, n < 0 ? strerror(errno) : "no inputs");
        exit(1);
    }
    struct corpus c = {xcalloc((size_t)n, sizeof *c.files), (size_t)n};
    for (size_t i = 0; i < c.n; i++) {
        c.files[i].name = xstrdup(names[i]->d_name);
        if (!corpus_file_read(dir, &c.files[i])) {
            fprintf(stderr, "%s/%s: %s\n", dir, c.files[i].name, strerror(errno));
            exit(1);
        }
        free(names[i]);
    }
    free(names);
    return c;
}

static inline void corpus_done(struct corpus *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->files[i].name);
        buf_done(&c->files[i].bytes);
    }
    free(c->files);
}

#endif
