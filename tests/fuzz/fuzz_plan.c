/* fuzz_plan.c - any bytes: refused, or a plan whose only encoding they are, and that can be moved
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "model/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(plan) *p = NULL;
    SCOPED(plan) *back = NULL;
    SCOPED_BUF(again);
    SCOPED_BUF(moved);
    struct err e;
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = plan_decode((struct str){exact, size}, &p, &e);
    free(exact); /* nor may the plan point into the bytes */
    if (rc < 0) {
        fuzz_must(rc == -ERR_CORRUPT && e.text[0], "a refusal says why");
        return 0;
    }
    plan_encode(&again, p);
    fuzz_must(again.len == size && !memcmp(again.data, data, size), "there is one way to write it");
    if (p->rebased)
        return 0;
    plan_rebase(p, 10, 20, 30, 40, 50);
    plan_encode(&moved, p);
    fuzz_must(plan_decode(buf_str(&moved), &back, NULL) == 0, "it is a plan when moved to its ids");
    return 0;
}
