/* test_dirscan.c - a file of one name in each directory of some, read again when it changed */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/scratch.h"

#include "sys/dirscan.h"

static void put(const char *root, const char *dir, const char *name, const char *text)
{
    struct err e;
    char *d = fs_join(root, dir), *f = fs_join(d, name);
    if (fs_mkdirs(d, 0755, &e) < 0 || fs_write_atomic(f, text, strlen(text), 0644, &e) < 0)
        note("%s", e.text);
    free(d);
    free(f);
}

int main(void)
{
    char *a = scratch_new(), *b = scratch_new();
    SCOPED_BUF(path);
    struct dirscan d;
    buf_printf(&path, "%s:/no/such/place::%s", b, a);
    dirscan_init(&d, path.data, "x.yaml", 100);
    ok(dirscan_refresh(&d) && d.at.n == 0, "nothing is there, which is news once");
    ok(!dirscan_refresh(&d), "and not again");
    put(a, "two", "x.yaml", "2");
    put(a, "one", "x.yaml", "1");
    put(a, "none", "y.yaml", "no");
    put(b, "three", "x.yaml", "3");
    ok(dirscan_refresh(&d), "new ones are seen");
    is_int(d.at.n, 3, "those that have the file");
    is_text(d.at.at[0].text.data, "3", "in the order of the list,");
    is_text(d.at.at[1].text.data, "1", "then by name");
    has_text(d.at.at[1].dir, "/one", "with their directory");
    ok(!dirscan_refresh(&d), "nothing has changed");
    put(a, "one", "x.yaml", "1b");
    ok(dirscan_refresh(&d) && !strcmp(d.at.at[1].text.data, "1b"), "a changed one is read again");
    SCOPED_BUF(large);
    for (int i = 0; i < 200; i++)
        buf_putc(&large, 'x');
    put(a, "one", "x.yaml", large.data);
    ok(dirscan_refresh(&d) && d.at.at[1].bad && d.at.at[1].err.code == ERR_TOO_LARGE,
       "one that is too large is an entry with its reason");
    char *one = fs_join(a, "two"), *gone = fs_join(a, "nowhere");
    struct err e;
    dirscan_one(&d, one);
    ok(d.at.n == 1 && !strcmp(d.at.at[0].text.data, "2"), "one alone");
    dirscan_one(&d, gone);
    ok(d.at.n == 1 && d.at.at[0].bad && d.at.at[0].err.code == ERR_NOT_FOUND, "that is not there");
    fs_remove_tree(one, &e);
    ok(dirscan_refresh(&d) && d.at.n == 2, "one that went is seen");
    free(one);
    free(gone);
    dirscan_done(&d);
    scratch_end(a);
    scratch_end(b);
    return tap_done();
}
