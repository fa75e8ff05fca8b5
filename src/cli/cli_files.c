/* cli_files.c - a directory of text files as one value
 *
 * What a catalog is made of travels as a map from path to text.  Names that begin with a dot are
 * left out (version control, editors); everything else must be UTF-8 text within the limits, or the
 * whole read fails with the file's name: a catalog with a hole in it must not be loaded.  Symbolic
 * links to files are followed, links to directories are not, so that no walk is endless.
 *
 * Who imports from elsewhere says which files are wanted; the others may be anything.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "catalog/catalog.h"
#include "sys/fs.h"

struct walk {
    struct arena *mem;
    const char *root;
    bool (*wanted)(struct str path); /* NULL: every file */
    struct value *files;
    VEC(const char *) todo; /* directories below root, "" for root itself */
    size_t bytes;
};

static int file_take(struct walk *w, const char *path, const char *full, struct err *e)
{
    SCOPED_BUF(b);
    if (w->files->n >= CATALOG_MAX_FILES)
        return err_set(e, ERR_TOO_LARGE, "%s holds more than %d files", w->root, CATALOG_MAX_FILES);
    int rc = fs_read(full, CATALOG_MAX_FILE_BYTES, &b, e);
    if (rc)
        return rc;
    if (!text_utf8_valid(buf_str(&b).s, b.len)) {
        err_set(e, ERR_INVALID, "%s is not UTF-8 text", full);
        return err_hint(e, "a catalog holds text; give its name a leading dot to leave a file out");
    }
    w->bytes += b.len;
    if (w->bytes > CATALOG_MAX_BYTES)
        return err_set(e, ERR_TOO_LARGE, "%s holds more than %d bytes", w->root, CATALOG_MAX_BYTES);
    value_set(w->mem, w->files, path, value_str(w->mem, buf_str(&b)));
    return 0;
}

static int entry_take(struct walk *w, const char *dir, const char *name, struct err *e)
{
    struct stat st;
    const char *path = *dir ? arena_printf(w->mem, "%s/%s", dir, name) : arena_strdup(w->mem, name);
    const char *full = arena_printf(w->mem, "%s/%s", w->root, path);
    if (lstat(full, &st))
        return err_set(e, ERR_IO, "cannot look at %s: %m", full);
    if (S_ISDIR(st.st_mode)) {
        vec_push(&w->todo, path);
        return 0;
    }
    if (S_ISLNK(st.st_mode) && (stat(full, &st) || S_ISDIR(st.st_mode)))
        return 0;
    if (!S_ISREG(st.st_mode) || (w->wanted && !w->wanted(str_of(path))))
        return 0;
    return file_take(w, path, full, e);
}

static int dir_take(struct walk *w, const char *dir, struct err *e)
{
    char **names;
    size_t n;
    const char *full = *dir ? arena_printf(w->mem, "%s/%s", w->root, dir) : w->root;
    int rc = fs_list(full, &names, &n, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (!rc && names[i][0] != '.')
            rc = entry_take(w, dir, names[i], e);
        free(names[i]);
    }
    free(names);
    return rc;
}

int cli_read_tree(struct arena *mem, const char *dir, struct value **ret_files, struct err *e)
{
    return cli_read_tree_of(mem, dir, NULL, ret_files, e);
}

int cli_read_tree_of(struct arena *mem, const char *dir, bool (*wanted)(struct str path),
                     struct value **ret_files, struct err *e)
{
    struct walk w = {.mem = mem, .root = dir, .wanted = wanted, .files = value_map(mem)};
    int rc = 0;
    if (!fs_is_dir(dir))
        return err_set(e, ERR_NOT_FOUND, "%s is not a directory", dir);
    vec_push(&w.todo, "");
    while (!rc && w.todo.n)
        rc = dir_take(&w, w.todo.at[--w.todo.n], e);
    vec_done(&w.todo);
    if (!rc)
        *ret_files = w.files;
    return rc;
}

struct catalog_source cli_tree_source(struct arena *mem, const struct value *files)
{
    struct catalog_file *list = arena_new(mem, struct catalog_file, files->n);
    for (uint32_t i = 0; i < files->n; i++)
        list[i] = (struct catalog_file){{files->members[i].key, files->members[i].key_n},
                                        value_as_str(&files->members[i].v)};
    return (struct catalog_source){list, files->n};
}

/* --- and back --- */

int cli_dir_vacant(const char *dir, struct err *e)
{
    char **names;
    size_t n;
    if (!fs_exists(dir))
        return 0;
    if (!fs_is_dir(dir))
        return err_set(e, ERR_EXISTS, "%s is no directory", dir);
    int rc = fs_list(dir, &names, &n, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    if (!n)
        return 0;
    err_set(e, ERR_EXISTS, "%s is not empty", dir);
    return err_hint(e, "name a new directory");
}

/* Below the directory it is written to: no part of it leads up or to the root. */
static bool path_stays_below(struct str path)
{
    while (path.n) {
        const char *slash = memchr(path.s, '/', path.n);
        struct str part = {path.s, slash ? (size_t)(slash - path.s) : path.n};
        if (part.n == 0 || str_is(part, ".") || str_is(part, "..") || memchr(part.s, 0, part.n))
            return false;
        if (!slash)
            return true;
        path = (struct str){slash + 1, path.n - part.n - 1};
    }
    return false;
}

int cli_write_file(struct arena *mem, const char *dir, struct str path, struct str text,
                   struct err *e)
{
    if (!path_stays_below(path))
        return err_set(e, ERR_INVALID, "\"%.*s\" is no path below %s", (int)path.n, path.s, dir);
    char *full = arena_printf(mem, "%s/%.*s", dir, (int)path.n, path.s);
    char *slash = strrchr(full, '/');
    *slash = '\0';
    int rc = fs_mkdirs(full, 0755, e);
    *slash = '/';
    return rc ? rc : fs_write_atomic(full, text.s, text.n, 0644, e);
}
