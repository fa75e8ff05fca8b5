/* fuzz_batch.c - what a server answers a worker: refused, or messages that lie in the text */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>

#include "queue/remote_i.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    struct remote_batch b;
    struct err e;
    uint64_t taken;
    size_t bytes = 0;
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = remote_batch_read(&mem, (struct str){exact, size}, &b, &e);
    int rc2 = remote_taken_read(&mem, (struct str){exact, size}, &taken, NULL);
    free(exact); /* nor may messages point into the text */
    fuzz_must(rc2 == 0 || rc2 < 0, "a receipt is read or refused");
    if (rc < 0) {
        fuzz_must(e.code == (enum errcode) - rc && e.text[0], "a refusal says why");
        return 0;
    }
    fuzz_must(b.first > 0, "numbers begin with 1");
    for (size_t i = 0; i < b.n; i++)
        bytes += b.messages[i].n;
    fuzz_must(bytes <= size, "no message is longer than the text");
    return 0;
}
