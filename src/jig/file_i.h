/* file_i.h - files as the jigs upload_file, upload_files and copy_files want them
 *
 *   file_list.c   from parameters, or from a place on the worker's machine, to a list
 *   file_local.c  such a file on this machine: what is there, and writing it
 *   file_node.c   such files on a node: one step that tells what is there, one that writes the rest
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_FILE_I_H
#define JIG_FILE_I_H

#include "jig/jig_i.h"

enum {
    FILE_MAX_BYTES = 1024 * 1024,       /* of one whose text is a parameter */
    FILE_LIST_MAX = REACH_PATHS_MAX,    /* files of a list */
    FILE_LIST_BYTES = 16 * 1024 * 1024, /* of them all: they are held in memory */
};

struct file_want {
    const char *path;
    struct str data;
    unsigned mode, dir_mode;   /* dir_mode of missing parents; 0: they are not made */
    const char *owner, *group; /* name or number; NULL: as it comes */
};
struct file_list { /* texts and contents in an arena */
    struct file_want *at;
    size_t n, bytes;
};
enum file_need { FILE_SAME, FILE_NEW, FILE_CONTENT, FILE_MODE, FILE_OWNER };
const char *file_need_text(enum file_need need); /* "content", for "its content has changed" */

/* file_list.c */
/* Of one map of parameters: path, modes, owner and group are sound if they are there. */
int file_params_check(const struct value *params, const char *path_name, struct err *e);
/* A file by its parameters, with those of `all` where it says nothing; NULL: none. */
struct file_want file_want_of(const struct value *params, const struct value *all,
                              const char *otherwise_dir_mode);
int file_list_check(const struct value *params, bool copies, struct err *e);
/* copies: contents are read here.  ERR_NOT_FOUND, ERR_TOO_LARGE, ... */
int file_list_make(const struct value *params, bool copies, struct arena *mem,
                   struct file_list *ret_list, struct err *e);

/* file_local.c */
int file_local_examine(const struct file_want *f, enum file_need *ret_need, struct err *e);
int file_local_write(const struct file_want *f, struct err *e);

/* file_node.c */
void file_sum_step(const struct file_list *list, struct arena *mem, struct reach_step *s);
/* What a step that summed them says of each, in an array of list->n. */
int file_sum_read(const struct file_list *list, struct str result, struct arena *mem,
                  enum file_need **ret_needs, struct err *e);
/* Those that need something; false: none does. */
bool file_put_step(const struct file_list *list, const enum file_need *needs, struct arena *mem,
                   struct reach_step *s);

#endif
