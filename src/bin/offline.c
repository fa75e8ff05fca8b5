/* offline.c - restore, verify, forget: anneald without serving */
/* SPDX-License-Identifier: Apache-2.0 */
#include "offline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/alloc.h"
#include "base/text.h"
#include "server/backup.h"
#include "server/sealed.h"
#include "server/verify.h"
#include "store/store.h"
#include "sys/fs.h"

int offline_complain(const struct err *e)
{
    char text[1400];
    fprintf(stderr, "anneald: %s\n", err_format(e, text, sizeof text));
    return err_exit(e->code);
}

/* The file without the end of its line. */
static int passphrase_read(const char *file, struct buf *ret, struct err *e)
{
    int r = fs_read(file, ARCHIVE_PASSPHRASE_MAX + 2, ret, e);
    while (r >= 0 && ret->len && strchr("\r\n", ret->data[ret->len - 1]))
        ret->data[--ret->len] = '\0';
    if (r >= 0 && (r = archive_passphrase_check(buf_str(ret), e)) < 0)
        err_at(e, "%s", file);
    return r;
}

int offline_restore(const struct opts *o, const char *from, const char *passphrase_file)
{
    SCOPED_BUF(passphrase);
    SCOPED_BUF(lines);
    struct err e;
    int r = passphrase_file ? passphrase_read(passphrase_file, &passphrase, &e) : 0;
    struct backup_from f = {
        .archive = from, .data_dir = o->data_dir, .passphrase = buf_str(&passphrase)};
    if (r >= 0)
        r = backup_restore(&f, &lines, &e);
    if (passphrase.data)
        explicit_bzero(passphrase.data, passphrase.cap);
    if (r < 0)
        return offline_complain(&e);
    fputs(lines.data, stdout);
    return 0;
}

/* The store of a data directory: there, and not half restored. */
static int store_find(const struct opts *o, char **ret_path, struct err *e)
{
    char *path = fs_join(o->data_dir, "anneal.db");
    int r = backup_unfinished(o->data_dir, e);
    if (r >= 0 && !fs_exists(path))
        r = err_set(e, ERR_NOT_FOUND, "there is no store in %s", o->data_dir);
    if (r >= 0)
        *ret_path = path;
    else
        free(path);
    return r;
}

int offline_verify(const struct opts *o)
{
    struct err e;
    char *path = NULL;
    uint64_t events = 0;
    int r = store_find(o, &path, &e);
    if (r >= 0)
        r = verify_store(path, &events, &e);
    free(path);
    if (r < 0)
        return offline_complain(&e);
    printf("%s replayed from the last checkpoint %s what is stored\n",
           text_count(events, "event").s, events == 1 ? "gives" : "give");
    return 0;
}

int offline_forget(const struct opts *o)
{
    SCOPED_BUF(lines);
    struct err e;
    struct store *s = NULL;
    char *path = NULL;
    int r = store_find(o, &path, &e);
    if (r >= 0)
        r = store_open(&(struct store_options){.path = path}, &s, &e);
    if (r >= 0)
        r = sealed_forget(s, o->data_dir, &lines, &e);
    store_close(s);
    free(path);
    if (r < 0)
        return offline_complain(&e);
    if (lines.len)
        printf("these values were taken away and must be given again:\n%s", lines.data);
    else
        printf("every sealed value opens: nothing was taken away\n");
    return 0;
}
