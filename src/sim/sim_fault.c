/* sim_fault.c - names of faults, as options and summaries show them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include <string.h>

static const char *const names[SIM_FAULT_COUNT] = {
#define X(id, name, weight) [SIM_##id] = name,
    SIM_FAULTS(X)
#undef X
};

const char *sim_fault_name(enum sim_fault f)
{
    return f < SIM_FAULT_COUNT ? names[f] : "?";
}

bool sim_faults_parse(const char *text, uint64_t *ret_faults)
{
    uint64_t faults = 0;
    if (!strcmp(text, "all") || !strcmp(text, "none")) {
        *ret_faults = *text == 'a' ? SIM_FAULTS_ALL : 0;
        return true;
    }
    while (*text) {
        size_t n = strcspn(text, ",");
        int f = 0;
        while (f < SIM_FAULT_COUNT && !str_eq((struct str){text, n}, str_of(names[f])))
            f++;
        if (f == SIM_FAULT_COUNT)
            return false;
        faults |= 1ull << f;
        text += n + (text[n] == ',');
    }
    *ret_faults = faults;
    return true;
}

void sim_faults_write(struct buf *b, uint64_t faults)
{
    bool first = true;
    if (faults == 0 || faults == SIM_FAULTS_ALL) {
        buf_puts(b, faults ? "all" : "none");
        return;
    }
    for (int f = 0; f < SIM_FAULT_COUNT; f++)
        if (faults >> f & 1) {
            buf_printf(b, "%s%s", first ? "" : ",", names[f]);
            first = false;
        }
}
