/* fuzz_rsync_count.c - any output: the same counts in one piece and in many */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz.h"

#include "jig/rsync_i.h"

static struct rsync_count count(const uint8_t *data, size_t size, size_t piece)
{
    struct rsync_count c = {0};
    for (size_t i = 0; i < size; i += piece) {
        size_t n = size - i < piece ? size - i : piece;
        char *exact = malloc(n);
        memcpy(exact, data + i, n);
        rsync_count_feed(&c, exact, n);
        free(exact);
    }
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rsync_count a = count(data, size, size ? size : 1), b = count(data, size, 3);
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    fuzz_must(a.sent == b.sent && a.made == b.made && a.changed == b.changed &&
                  a.deleted == b.deleted && a.bytes == b.bytes,
              "pieces do not matter");
    fuzz_must(a.sent + a.made + a.changed + a.deleted <= lines, "a line counts once");
    return 0;
}
