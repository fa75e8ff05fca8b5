/* catalog_files.h - bytes as the files of a catalog: a line "%% PATH" begins another file */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_CATALOG_FILES_H
#define FUZZ_CATALOG_FILES_H

#include <string.h>

#include "base/str.h"
#include "catalog/catalog.h"

/* See fuzz_yaml.c. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml\n";
}

enum { FUZZ_FILES = 16 };

static size_t files_split(const char *first, const char *text, size_t size,
                          struct catalog_file files[FUZZ_FILES])
{
    size_t n = 1;
    const char *end = text + size;

    files[0] = (struct catalog_file){str_of(first), {text, size}};
    for (const char *at = text; at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next + 1 : end;
        if (next - at > 4 && !memcmp(at, "%% ", 3) && n < FUZZ_FILES) {
            files[n - 1].text.n = (size_t)(at - files[n - 1].text.s);
            files[n++] = (struct catalog_file){{at + 3, (size_t)(next - at) - 4},
                                               {next, (size_t)(end - next)}};
        }
        at = next;
    }
    return n;
}

#endif
