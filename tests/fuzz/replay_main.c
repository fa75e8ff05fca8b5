/* replay_main.c - runs a fuzz target over the files of a corpus directory, as TAP
 *
 * For builds without libFuzzer: what was once found stays found.  A file is announced before it
 * runs, so that after a crash the last comment names it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "fuzz.h"

static int is_input(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static bool read_whole(const char *path, struct buf *ret)
{
    char piece[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        buf_put(ret, piece, n);
    bool good = !ferror(f);
    fclose(f);
    return good;
}

int main(int argc, char **argv)
{
    struct dirent **names = NULL;
    int n, failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
        return 2;
    }
    n = scandir(argv[1], &names, is_input, alphasort);
    if (n <= 0) {
        fprintf(stderr, "%s: %s\n", argv[1], n < 0 ? strerror(errno) : "no inputs");
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        SCOPED_BUF(path);
        SCOPED_BUF(input);
        buf_printf(&path, "%s/%s", argv[1], names[i]->d_name);
        printf("# %s\n", names[i]->d_name);
        fflush(stdout);
        bool good = read_whole(path.data, &input) &&
                    LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&input).s, input.len) == 0;
        printf("%sok %d - %s\n", good ? "" : "not ", i + 1, names[i]->d_name);
        failed += !good;
        free(names[i]);
    }
    free(names);
    return failed ? 1 : 0;
}
