/* replay_main.c - runs a fuzz target over the files of a corpus directory, as TAP
 *
 * For builds without libFuzzer: what was once found stays found.  A file is announced before it
 * runs, so that after a crash the last comment names it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "corpus_read.h"

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
        return 2;
    }
    struct corpus c = corpus_read(argv[1]);
    printf("1..%zu\n", c.n);
    for (size_t i = 0; i < c.n; i++) {
        const struct corpus_file *f = &c.files[i];
        printf("# %s\n", f->name);
        fflush(stdout);
        bool good = LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&f->bytes).s, f->bytes.len) ==
                    0;
        printf("%sok %zu - %s\n", good ? "" : "not ", i + 1, f->name);
        failed += !good;
    }
    corpus_done(&c);
    return failed ? 1 : 0;
}
