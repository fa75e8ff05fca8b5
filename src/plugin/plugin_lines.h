/* plugin_lines.h - what a plugin says on its standard output, line by line, and what it amounts to
 *
 * Bytes come in as they were read, in any pieces.  Lines for people go out at once, through a
 * function; the answer is kept.  A plugin that does not keep to the protocol is told apart from one
 * that fails: its run has failed either way, but the text says who is to blame.
 *
 * Everything is bounded: a line, all lines together, what is logged of lines that were not
 * understood.  Past a bound feeding says that the plugin is to be ended, and ignores the rest.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PLUGIN_LINES_H
#define PLUGIN_PLUGIN_LINES_H

#include "base/err.h"
#include "base/mask.h"
#include "base/value.h"
#include "model/taskmsg.h"

enum {
    LINES_LINE_BYTES = 1 << 20,
    LINES_ALL_BYTES = 8 << 20,
    LINES_STRAY_LOGGED = 20, /* lines that are none of ours: so many are logged, */
    LINES_STRAY_SHOWN = 200, /* so many bytes of each, */
    LINES_STRAY_MOST = 100,  /* and with one more it is ended */
    LINES_TEXT_BYTES = 256,
    LINES_AGAIN_MOST_S = 7 * 24 * 3600,
};

struct plugin_lines {
    struct arena *mem;                       /* of the answer */
    struct mask *mask;                       /* what must not be told; NULL: nothing */
    void (*log)(void *ctx, struct str text); /* one line, with its newline */
    void *ctx;
    struct buf line; /* that is being read */
    size_t bytes;    /* of all */
    uint32_t number, strays;
    bool over;                    /* past a bound */
    char fault[LINES_TEXT_BYTES]; /* the first thing that it must not do, "" for none */
    struct value *result;         /* NULL: none */
    bool again, error;
    uint64_t again_ms;
    char text[LINES_TEXT_BYTES]; /* of its error, or what it waits for */
};
/* Texts are masked before they are cut or kept: no part of a secret gets through. */
void plugin_lines_init(struct plugin_lines *l, struct arena *mem, struct mask *mask,
                       void (*log)(void *ctx, struct str text), void *ctx);
void plugin_lines_done(struct plugin_lines *l);
/* False: it is to be ended. */
bool plugin_lines_feed(struct plugin_lines *l, struct str bytes);
/* Nothing more comes; a last line may lack its newline. */
void plugin_lines_end(struct plugin_lines *l);

struct plugin_verdict {
    enum outcome outcome; /* OK, AGAIN or FAILED */
    uint64_t again_ms;
    const struct value *returns; /* OK: a map */
    char text[LINES_TEXT_BYTES];
};
/* With the exit status (128 + n for signal n) and the last line of standard error. */
void plugin_lines_judge(const struct plugin_lines *l, int status, const char *last_line,
                        struct plugin_verdict *ret);

#endif
