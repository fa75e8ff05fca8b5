/* fuzz_yaql.c - any bytes as a condition in YAQL */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_condition(import_yaql, data, size);
    return 0;
}
