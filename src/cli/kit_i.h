/* kit_i.h - the conformance kit: a plugin in a directory, held against its descriptor and the
 * protocol
 *
 *   kit_call.c   one call: the program is started, told something, listened to, and ended
 *   kit.c        what is tried, in which order, and what is expected
 *
 * What it tries comes from tests.yaml beside plugin.yaml: fields, and calls with what each shall
 * come to.  "$SCRATCH" in it is a directory that is made for the run and removed after it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_KIT_I_H
#define CLI_KIT_I_H

#include "base/alloc.h"
#include "base/err.h"
#include "base/value.h"
#include "plugin/plugin.h"
#include "plugin/plugin_lines.h"

enum { KIT_CALL_MS = 30 * 1000, KIT_TERM_MS = 5000 };

enum kit_mark { KIT_PASS, KIT_FAIL, KIT_SKIP };
struct kit_point {
    enum kit_mark mark;
    const char *what, *why;
};
struct kit {
    struct arena *mem;
    const struct plugin *plugin;
    const char *scratch;       /* "$SCRATCH" */
    const struct value *tests; /* tests.yaml, a map */
    struct buf heard;          /* all that all calls have said, on both outputs */
    VEC(struct kit_point) points;
    size_t failed;
};
/* ERR_NOT_FOUND and the like if there is nothing to check; what fails is a point of k, no error. */
int kit_run(struct kit *k, struct arena *mem, const char *dir, struct err *e);
void kit_done(struct kit *k);

/* One call with this input.  With `term` it is told to end as soon as it runs. */
struct kit_heard {
    struct plugin_verdict verdict;
    int status;     /* 128 + n: signal n */
    bool late;      /* it had to be killed */
    bool unstarted; /* verdict.text says why */
    bool strays;    /* it said what is no line of the protocol */
    bool refused;   /* it said so itself, by an error or by its status */
};
void kit_call(struct kit *k, struct str input, uint64_t limit_ms, bool term, struct kit_heard *ret);

#endif
