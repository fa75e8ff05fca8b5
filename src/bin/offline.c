/* offline.c - restore, verify, forget: anneald without serving */
/* SPDX-License-Identifier: Apache-2.0 */
#include "offline.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
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

int offline_restore(const struct opts *o, const char *from)
{
    struct err e;
    char *to = fs_join(o->data_dir, "anneal.db");
    int r = fs_mkdirs(o->data_dir, 0700, &e);
    if (r >= 0)
        r = store_restore(from, to, &e);
    /* Locks tell of attempts that the restored store has not heard of, and would refuse lower
     * numbers. */
    char *run = fs_join(o->data_dir, "run");
    if (r >= 0 && fs_exists(run))
        r = fs_remove_tree(run, &e);
    if (r >= 0)
        printf("restored %s from %s\n", to, from);
    free(run);
    free(to);
    return r < 0 ? offline_complain(&e) : 0;
}

/* The store of a data directory, which must be there. */
static int store_find(const struct opts *o, char **ret_path, struct err *e)
{
    char *path = fs_join(o->data_dir, "anneal.db");
    int r = 0;
    if (!fs_exists(path))
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
        r = verify_store(path, o, &events, &e);
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
