/* fuzz.h - what every fuzz target shares
 *
 * A target is one function over bytes.  libFuzzer calls it with inputs it invents (-Dfuzz=true),
 * and replay_main.c with the files of the target's corpus in every ordinary test run. To add one:
 * write fuzz_<name>.c, put inputs into corpus/<name>/, add a line to meson.build.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 0; aborts where a promise is broken. */
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As assert(), but never compiled out and naming the promise rather than the expression. */
#define fuzz_must(cond, promise)                                                                   \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, (promise));         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
