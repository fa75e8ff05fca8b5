/* fuzz_puppet_report.c - any text: numbers in bounds, names that are there, no more than fit */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz.h"

#include "jig/puppet_i.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    struct puppet_report r;
    char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    puppet_report_read(&r, (struct str){exact, size}, &mem);
    free(exact); /* nothing may point into it */
    fuzz_must(r.names_n <= PUPPET_NAMES_MAX, "names are bounded");
    for (size_t i = 0; i < r.names_n; i++)
        fuzz_must(strlen(r.names[i]) <= PUPPET_NAME_BYTES, "of bounded length");
    fuzz_must(r.total <= UINT32_MAX && r.failed <= UINT32_MAX, "counts are bounded");
    fuzz_must(r.seconds >= 0 && r.seconds < 1e9, "so is the time");
    return 0;
}
