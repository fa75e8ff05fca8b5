/* dir_case.h - a directory with files for commands that need no server */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DIR_CASE_H
#define TESTS_DIR_CASE_H

#include "base/str.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

static char *dir;

static void file_put(const char *name, const char *text)
{
    struct err e;
    SCOPED_BUF(p);
    buf_printf(&p, "%s/%s", dir, name);
    *strrchr(p.data, '/') = '\0';
    fs_mkdirs(p.data, 0755, &e);
    p.data[strlen(p.data)] = '/';
    if (fs_write_atomic(p.data, text, strlen(text), 0644, &e))
        printf("Bail out! %s\n", e.text);
}

#endif
