/* err.h - what went wrong, where, and what to do about it
 *
 * Two kinds of failure exist.  A programmer's mistake is an assert, kept on in release.  Everything
 * else is an int: 0 or a positive count on success, -code on failure, with the details in a
 * struct err that the caller owns.  The table below is the only list of codes; HTTP status, exit
 * code and the problem+json "type" all come from it.
 *
 * err_set() formats and always returns -code, so that a function can end with it.  User text is
 * always an argument, never the format.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

/* clang-format off */
/*        id                 name              http  exit */
#define ERR_TABLE(X)                                                                               \
    X(ERR_INVALID,      "invalid",        400, 2)                                                  \
    X(ERR_SYNTAX,       "syntax",         400, 2)                                                  \
    X(ERR_UNAUTHORIZED, "unauthorized",   401, 3)                                                  \
    X(ERR_FORBIDDEN,    "forbidden",      403, 3)                                                  \
    X(ERR_NOT_FOUND,    "not-found",      404, 4)                                                  \
    X(ERR_METHOD,       "method",         405, 2)                                                  \
    X(ERR_CONFLICT,     "conflict",       409, 5)                                                  \
    X(ERR_EXISTS,       "exists",         409, 5)                                                  \
    X(ERR_STALE,        "stale",          412, 5)                                                  \
    X(ERR_TOO_LARGE,    "too-large",      413, 2)                                                  \
    X(ERR_MEDIA,        "media-type",     415, 2)                                                  \
    X(ERR_CYCLE,        "cycle",          422, 6)                                                  \
    X(ERR_REFUSED,      "refused",        422, 6)                                                  \
    X(ERR_UNKNOWN_NAME, "unknown-name",   422, 6)                                                  \
    X(ERR_NEED_MATCH,   "need-if-match",  428, 5)                                                  \
    X(ERR_LIMIT,        "limit",          429, 7)                                                  \
    X(ERR_INTERNAL,     "internal",       500, 1)                                                  \
    X(ERR_IO,           "io",             500, 1)                                                  \
    X(ERR_CORRUPT,      "corrupt",        500, 8)                                                  \
    X(ERR_BUSY,         "busy",           503, 7)                                                  \
    X(ERR_UNREACHABLE,  "unreachable",    503, 9)                                                  \
    X(ERR_TIMEOUT,      "timeout",        504, 10)                                                 \
    X(ERR_FAILED,       "failed",         500, 11)                                                 \
    X(ERR_DISK_FULL,    "disk-full",      507, 8)

enum errcode {
    ERR_NONE,
#define X(id, name, http, exit) id,
    ERR_TABLE(X)
#undef X
    ERR_COUNT
};
/* clang-format on */

struct err {
    enum errcode code;
    int sys;        /* errno or a library's code, 0 if none */
    char at[192];   /* where: "roles/db.yaml:12:3", or a JSON pointer "/labels/rack" */
    char text[512]; /* what */
    char line[160]; /* the offending source line itself, "" if there is none */
    char hint[256]; /* the remedy, "" if none is known */
};

/* Sets code and text, clears the rest; returns -code.  e may be NULL. */
int err_set(struct err *e, enum errcode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As err_set with errno (or another code) recorded and its text appended. */
int err_sys(struct err *e, enum errcode code, int sys, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Additions to an error already set; each returns -e->code so that "return err_hint(...)" works.
 * With e NULL the code is not known and -ERR_INTERNAL is returned: where the code matters, keep
 * err_set's. */
int err_at(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_line(struct err *e, const char *line, size_t n);
/* Puts "prefix: " before the text: context, added once per layer. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_clear(struct err *e);

const char *err_name(enum errcode code);
int err_http(enum errcode code);
int err_exit(enum errcode code);
/* "at: text\n    line\n  hint" into buf, never more than n bytes; returns buf. */
char *err_format(const struct err *e, char *buf, size_t n);

#endif
