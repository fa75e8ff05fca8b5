/* import_job.h - an import in a test: files in, a catalog and a report out */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_IMPORT_JOB_H
#define TEST_IMPORT_JOB_H

#include "catalog/import.h"
#include "catalog_files.h"

struct job {
    struct files in;
    struct catalog_import *out;
    struct catalog *cat;
    struct catalog_report report;
    struct buf text; /* the report of the import */
    struct err e;
    int rc;
};

static inline void job_file(struct job *j, const char *path, const char *text)
{
    files_add(&j->in, path, text, strlen(text));
}

/* What was imported, with j->rc, is loaded. */
static inline int job_load(struct job *j)
{
    if (j->rc)
        return j->rc;
    catalog_import_write(&j->text, j->out);
    struct catalog_source source = {j->out->files, j->out->n_files};
    return catalog_load(&source, NULL, 1, &j->report, &j->cat, &j->e);
}

static inline void job_done(struct job *j)
{
    catalog_unref(j->cat);
    catalog_report_done(&j->report);
    catalog_import_free(j->out);
    files_done(&j->in);
    buf_done(&j->text);
    *j = (struct job){0};
}

static inline const char *made(const struct job *j, const char *path)
{
    for (size_t i = 0; j->out && i < j->out->n_files; i++)
        if (str_is(j->out->files[i].path, path))
            return j->out->files[i].text.s;
    return "";
}

static inline bool told(const struct job *j, const char *line)
{
    return j->text.data && strstr(j->text.data, line);
}

#endif
