/* puppet_i.h - what a run of puppet did */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_PUPPET_I_H
#define JIG_PUPPET_I_H

#include "jig/jig_i.h"

enum { PUPPET_NAMES_MAX = 32, PUPPET_NAME_BYTES = 200 };

struct puppet_report {
    bool complete; /* there was a summary */
    uint64_t total, changed, failed, out_of_sync, skipped;
    double seconds;
    const char *names[PUPPET_NAMES_MAX]; /* of those that failed, the first ones */
    size_t names_n;
};
/* Any text; what is not found is 0. */
void puppet_report_read(struct puppet_report *ret_r, struct str text, struct arena *mem);

#endif
