/* fuzz_taskmsg.c - any bytes: refused, or a message that survives writing and reading */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/taskmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(first);
    SCOPED_BUF(second);
    struct taskmsg m, back;
    struct err e;
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = taskmsg_parse(&a, (struct str){exact, size}, &m, &e);
    free(exact); /* nor may the message point into the text */
    if (rc < 0) {
        fuzz_must(e.code == (enum errcode) - rc && e.text[0], "a refusal says why");
        return 0;
    }
    taskmsg_write(&first, &m);
    fuzz_must(taskmsg_parse(&a, buf_str(&first), &back, NULL) == 0, "what is written reads");
    taskmsg_write(&second, &back);
    fuzz_must(str_eq(buf_str(&first), buf_str(&second)), "and is written the same");
    return 0;
}
