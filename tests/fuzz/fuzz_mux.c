/* fuzz_mux.c - any bytes: no message, or one that lies inside them, whatever comes behind it */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "ssh/ssh_mux_i.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ssh_mux_msg m, again;
    char *exact = malloc(size ? size : 1); /* the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    size_t at = 0;
    int used;
    while ((used = ssh_mux_read(exact + at, size - at, &m)) > 0) {
        fuzz_must((size_t)used <= size - at && used >= 8, "a message lies inside the bytes");
        fuzz_must(m.kind < SSH_MUX_KIND_COUNT, "of a known kind");
        fuzz_must(!m.text.n || (m.text.s >= exact + at && m.text.s + m.text.n <= exact + at + used),
                  "its text lies inside the message");
        fuzz_must(ssh_mux_read(exact + at, (size_t)used, &again) == used && again.a == m.a &&
                      again.b == m.b && str_eq(again.text, m.text),
                  "and does not depend on what comes behind");
        fuzz_must(ssh_mux_read(exact + at, (size_t)used - 1, &again) == 0,
                  "a byte less is not complete");
        at += (size_t)used;
    }
    fuzz_must(used == 0 || used == -1, "the rest is incomplete or no message");
    free(exact);
    return 0;
}
