/* test_fs.c - whole files, directories, locks; every refusal names its path */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sys/scratch.h"

static void test_read_write(const char *dir)
{
    struct err e = {0};
    struct buf b = {0};
    struct stat st;
    char *path = fs_join(dir, "file");
    is_int(fs_write_atomic(path, "hello\0x", 7, 0640, &e), 0, "write");
    is_int(stat(path, &st), 0, "it is there");
    is_int(st.st_mode & 07777, 0640, "with its mode");
    is_int(fs_read(path, 7, &b, &e), 0, "read up to exactly the limit");
    ok(b.len == 7 && !memcmp(b.data, "hello\0x", 8), "the same bytes, NUL-terminated");
    is_int(fs_read(path, 6, &b, &e), -ERR_TOO_LARGE, "one byte more than the limit is refused");
    is_int(b.len, 7, "and the buffer is untouched");
    is_int(fs_write_atomic(path, "", 0, 0600, &e), 0, "replace by an empty file");
    is_int(fs_read(path, 10, &b, &e), 0, "which reads");
    ok(b.len == 0 && b.data[0] == '\0', "as empty text");
    is_int(fs_read("/proc/self/status", 1 << 20, &b, &e), 0, "a file of unknown size reads whole");
    has_text(b.data, "Threads:", "to its end");
    is_int(fs_read(dir, 10, &b, &e), -ERR_INVALID, "a directory is no file");
    is_int(fs_read("/no/such", 10, &b, &e), -ERR_NOT_FOUND, "a missing file is not found");
    has_text(e.text, "/no/such", "and named");
    char *fifo = fs_join(dir, "fifo");
    is_int(mkfifo(fifo, 0600), 0, "a FIFO without a writer");
    is_int(fs_read(fifo, 10, &b, &e), -ERR_INVALID, "is refused, not waited for");
    is_int(fs_write_atomic("/no/such/file", "x", 1, 0600, &e), -ERR_NOT_FOUND, "no place to write");
    char *sub = fs_join(dir, "sub");
    is_int(fs_mkdirs(sub, 0700, &e), 0, "a directory in the way");
    is_int(fs_write_atomic(sub, "x", 1, 0600, &e), -ERR_IO, "cannot be replaced by a file");
    buf_done(&b);
    free(sub);
    free(fifo);
    free(path);
}

/* A file size limit stands in for a full disk. */
static void test_no_room(const char *dir)
{
    struct err e = {0};
    char *path = fs_join(dir, "large");
    struct rlimit old, small = {4096, RLIM_INFINITY};
    char *bytes = xcalloc(1, 10000);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = fs_write_atomic(path, bytes, 10000, 0600, &e);
    setrlimit(RLIMIT_FSIZE, &old);
    ok(rc < 0, "a write that does not fit fails");
    ok(!fs_exists(path), "and leaves nothing under the name");
    char **names;
    size_t n;
    is_int(fs_list(dir, &names, &n, &e), 0, "list");
    for (size_t i = 0; i < n; i++) {
        ok(strncmp(names[i], "large.", 6) != 0, "no temporary file is left (%s)", names[i]);
        free(names[i]);
    }
    free(names);
    free(bytes);
    free(path);
}

static void test_directories(const char *dir)
{
    struct err e = {0};
    char **names;
    size_t n;
    char *deep = fs_join(dir, "a/b/c"), *file = fs_join(dir, "a/b/x"), *top = fs_join(dir, "a"),
         *under = fs_join(dir, "a/b/x/y"), *mid = fs_join(dir, "a/b/");
    is_int(fs_mkdirs(deep, 0750, &e), 0, "make three levels");
    is_int(fs_mkdirs(deep, 0750, &e), 0, "making them again is fine");
    ok(fs_is_dir(deep) && !fs_is_dir(file) && !fs_exists(file), "what is there and what is not");
    is_int(fs_write_atomic(file, "x", 1, 0600, &e), 0, "a file");
    ok(fs_exists(file) && !fs_is_dir(file), "a file is no directory");
    is_int(fs_mkdirs(file, 0700, &e), -ERR_NOT_FOUND, "a file in the way at the end");
    ok(fs_mkdirs(under, 0700, &e) < 0, "a file in the way before it");
    is_int(fs_list(mid, &names, &n, &e), 0, "list");
    ok(n == 2 && !strcmp(names[0], "c") && !strcmp(names[1], "x"), "sorted, without dots");
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    is_int(fs_list(file, &names, &n, &e), -ERR_NOT_FOUND, "a file cannot be listed");
    is_int(fs_list(deep, &names, &n, &e), 0, "an empty directory lists");
    is_int(n, 0, "as nothing");
    free(names);

    char *link = fs_join(dir, "a/link"), *kept = fs_join(dir, "kept");
    is_int(fs_mkdirs(kept, 0700, &e), 0, "a directory outside the tree");
    is_int(symlink(kept, link), 0, "linked to from inside");
    is_int(fs_remove_tree(top, &e), 0, "remove the tree");
    ok(!fs_exists(top) && fs_is_dir(kept), "the link goes, what it names stays");
    is_int(fs_remove_tree(top, &e), 0, "removing what is not there is fine");
    is_int(fs_remove_tree(kept, &e), 0, "an empty one");
    is_int(fs_remove_tree("/proc/self/status", &e), -ERR_FORBIDDEN, "what cannot be removed");
    ok(fs_remove_tree("/proc/self/task", &e) < 0, "a tree that cannot be emptied");
    free(link);
    free(kept);
    free(mid);
    free(under);
    free(top);
    free(file);
    free(deep);
}

static void test_lock(const char *dir)
{
    struct err e = {0};
    char *path = fs_join(dir, "lock"), text[64];
    int fd = fs_lock(path, &e);
    ok(fd >= 0, "a lock");
    pid_t child = fork();
    if (child == 0) {
        struct err other = {0};
        close(fd); /* the inherited description would keep the lock; a spawned child has none */
        int rc = fs_lock(path, &other);
        snprintf(text, sizeof text, "locked by process %d", (int)getppid());
        _exit(rc == -ERR_BUSY && strstr(other.text, text) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    is_int(status, 0, "another process is refused and told who has it");
    close(fd);
    fd = fs_lock(path, &e);
    ok(fd >= 0, "closing gives it back");
    ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "children do not inherit it");
    close(fd);
    is_int(fs_lock("/no/such/lock", &e), -ERR_NOT_FOUND, "no place for a lock");
    free(path);
}

static void test_join(void)
{
    char *a = fs_join("/x", "y"), *b = fs_join("/x/", "y"), *c = fs_join("", "y");
    is_text(a, "/x/y", "join");
    is_text(b, "/x/y", "join with a slash");
    is_text(c, "y", "join with nothing");
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    char *dir = scratch_new();
    test_read_write(dir);
    test_no_room(dir);
    test_directories(dir);
    test_lock(dir);
    test_join();
    scratch_end(dir);
    return tap_done();
}
