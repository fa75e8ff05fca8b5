/* file_node.c - files on a node: one step tells what is there, another one writes what differs
 *
 * The first step costs one round trip whatever the number of files, and carries names only; the
 * second one is not sent if nothing differs.  What the second one finds changed since, it judges by
 * itself: it compares once more, on the node.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "jig/file_i.h"

void file_sum_step(const struct file_list *list, struct arena *mem, struct reach_step *s)
{
    const char **paths = arena_new(mem, const char *, list->n);
    for (size_t i = 0; i < list->n; i++)
        paths[i] = list->at[i].path;
    s->kind = REACH_SUM;
    s->paths = paths;
    s->paths_n = list->n;
}

static bool is_account(const char *wanted, struct str name, struct str number)
{
    return !wanted || str_is(name, wanted) || str_is(number, wanted);
}

static enum file_need need_of(const struct file_want *f, const struct reach_sum *now)
{
    char hex[DIGEST_HMAC_HEX];
    if (now->type == '-')
        return FILE_NEW;
    if (now->type != 'f' || now->size != f->data.n)
        return FILE_CONTENT;
    digest_sha256_hex(f->data, hex);
    return strcmp(hex, now->sha256) != 0 ? FILE_CONTENT
           : now->mode != f->mode        ? FILE_MODE
           : is_account(f->owner, now->owner, now->uid) &&
                   is_account(f->group, now->group, now->gid)
               ? FILE_SAME
               : FILE_OWNER;
}

int file_sum_read(const struct file_list *list, struct str result, struct arena *mem,
                  enum file_need **ret_needs, struct err *e)
{
    struct reach_sum *sums;
    enum file_need *needs = arena_new(mem, enum file_need, list->n);
    int rc = reach_sums_parse(mem, result, list->n, &sums, e);
    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        if (sums[i].type == 'd')
            rc = err_set(e, ERR_INVALID, "%.400s is a directory", list->at[i].path);
        needs[i] = need_of(&list->at[i], &sums[i]);
    }
    *ret_needs = needs;
    return rc;
}

bool file_put_step(const struct file_list *list, const enum file_need *needs, struct arena *mem,
                   struct reach_step *s)
{
    struct reach_put *puts = arena_new(mem, struct reach_put, list->n);
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct file_want *f = &list->at[i];
        if (needs && needs[i] == FILE_SAME)
            continue;
        puts[n++] = (struct reach_put){.path = f->path,
                                       .content = f->data,
                                       .mode = f->mode,
                                       .dir_mode = f->dir_mode,
                                       .owner = f->owner,
                                       .group = f->group};
    }
    s->kind = REACH_PUT;
    s->puts = puts;
    s->puts_n = n;
    return n > 0;
}
