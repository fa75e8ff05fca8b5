/* fuzz.h - what every fuzz target shares
 *
 * A target is one function over bytes.  replay_main.c calls it with the files of its corpus in
 * every test run, mutate_main.c with damaged ones in the long run, and libFuzzer with inputs that
 * it invents (-Dfuzz=true).  To add one:
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
