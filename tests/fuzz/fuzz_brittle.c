/* fuzz_brittle.c - a target that breaks, to prove that the driver notices
 *
 * It aborts where a file of its corpus was damaged in a certain way, and hangs on nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = size ? memchr(data, '[', size) : NULL;
    fuzz_must(!at || !memchr(at, '\xff', size - (size_t)(at - data)), "no \\xff behind a [");
    return 0;
}
