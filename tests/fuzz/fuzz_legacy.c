/* fuzz_legacy.c - any bytes as a condition in the older condition language */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_condition(import_legacy_condition, data, size);
    return 0;
}
