/* test_archive.c - archives: what goes in comes out, and anything else is refused with its reason
 *
 * Damage is tried exhaustively: every bit of a small archive, every length of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_i.h"
#include "base/alloc.h"
#include "sys/fs.h"
#include "tap.h"
#include "workdir.h"

static const struct str nothing = {"", 0};
static const struct str words = {"correct horse battery staple", 28};

/* --- reading from memory --- */

static int memory_open(const void *bytes, size_t n, struct str passphrase, struct archive_in **ret,
                       struct err *e)
{
    int fd = memfd_create("archive", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) < 0) {
        printf("Bail out! no memory file\n");
        exit(1);
    }
    return archive_open_fd(fd, "memory", passphrase, ret, e);
}

/* To the end: how many members, or the refusal. */
static int read_all(const void *bytes, size_t n, struct str passphrase, struct err *e)
{
    struct archive_in *in = NULL;
    struct archive_member m;
    int rc = memory_open(bytes, n, passphrase, &in, e), members = 0;
    if (rc < 0)
        return rc;
    while ((rc = archive_next(in, &m, e)) > 0)
        members++;
    archive_close(in);
    return rc < 0 ? rc : members;
}

/* --- round trip --- */

static void write_one(const char *path, struct str passphrase, struct digest *ret)
{
    struct archive_out *out = NULL;
    struct err e = {0};
    struct digest d;
    int fd = memfd_create("member", MFD_CLOEXEC);
    char *large = xcalloc(1, 700000);
    for (size_t i = 0; i < 700000; i++)
        large[i] = (char)(i * 7 + i / 251);
    is_int(write(fd, large, 700000), 700000, "a large member");
    lseek(fd, 0, SEEK_SET);
    is_int(archive_create(path, passphrase, 1000000000, &out, &e), 0, "an archive is made");
    is_int(archive_put(out, "first.txt", str_of("hello\n"), &e), 0, "a text");
    is_int(archive_put(out, "empty", nothing, &e), 0, "an empty one");
    is_int(archive_put_file(out, "dir/large", fd, 700000, &d, &e), 0, "a file");
    struct digest own = digest_of(large, 700000);
    ok(memcmp(&own, &d, sizeof d) == 0, "with its digest");
    is_int(archive_put_file(out, "dir/none", fd, 0, &d, &e), 0, "nothing of a file");
    is_int(archive_finish(out, ret, &e), 0, "and an end");
    close(fd);
    free(large);
}

static void read_one(const char *path, struct str passphrase, const struct digest *wanted)
{
    static const char *const names[] = {"first.txt", "empty", "dir/large", "dir/none"};
    static const uint64_t sizes[] = {6, 0, 700000, 0};
    struct archive_in *in = NULL;
    struct archive_member m;
    struct err e = {0};
    char text[64];
    size_t n, i = 0;
    is_int(archive_open(path, passphrase, &in, &e), 0, "it opens");
    for (; archive_next(in, &m, &e) > 0 && i < 4; i++) {
        is_text(m.name, names[i], "member %zu", i);
        is_int(m.bytes, sizes[i], "has its size");
        if (i == 0) {
            is_int(archive_read(in, text, sizeof text, &n, &e), 0, "it is read");
            ok(n == 6 && memcmp(text, "hello\n", 6) == 0, "and is what was put in");
            is_int(archive_read(in, text, sizeof text, &n, &e), 0, "behind its end");
            is_int(n, 0, "there is nothing");
        }
    }
    is_int(i, 4, "all members are there");
    is_int(archive_next(in, &m, &e), 0, "the end stays the end");
    struct digest d = archive_digest(in);
    ok(memcmp(&d, wanted, sizeof d) == 0, "the file is the one that was written");
    archive_close(in);
}

static void test_round(const char *dir, struct str passphrase, const char *name)
{
    char *path = fs_join(dir, name);
    struct archive_out *out = NULL;
    struct digest d;
    struct stat st;
    struct err e = {0};
    note("%s", name);
    write_one(path, passphrase, &d);
    ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "it is its owner's only");
    read_one(path, passphrase, &d);
    is_int(archive_create(path, passphrase, 1, &out, &e), -ERR_EXISTS, "none is overwritten");
    free(path);
}

static int give_up(void *arg, uint64_t bytes, struct err *e)
{
    *(uint64_t *)arg += bytes;
    return *(uint64_t *)arg > 300000 ? err_set(e, ERR_BUSY, "enough") : 0;
}

static void test_given_up(const char *dir)
{
    char *path = fs_join(dir, "given-up.tar");
    struct archive_out *out = NULL;
    struct err e = {0};
    struct digest d;
    uint64_t seen = 0;
    int fd = memfd_create("member", MFD_CLOEXEC);
    is_int(ftruncate(fd, 1000000), 0, "a large member");
    archive_create(path, nothing, 1, &out, &e);
    archive_watch(out, give_up, &seen);
    is_int(archive_put_file(out, "large", fd, 1000000, &d, &e), -ERR_BUSY, "is given up halfway");
    ok(seen < 1000000, "after %d bytes", (int)seen);
    lseek(fd, 999990, SEEK_SET);
    is_int(archive_put_file(out, "short", fd, 11, &d, &e), -ERR_IO, "a file that became shorter");
    has_text(e.text, "shorter", "is told");
    archive_abandon(out);
    ok(!fs_exists(path), "and nothing is left of it");
    close(fd);
    free(path);
}

/* --- damage --- */

static void small(const char *path, struct buf *ret)
{
    struct archive_out *out = NULL;
    struct err e = {0};
    struct digest d;
    archive_create(path, nothing, 1000000000, &out, &e);
    archive_put(out, "about.json", str_of("{\"format\":1}\n"), &e);
    archive_put(out, "secret.key", str_of("00112233445566778899aabbccddeeff\n"), &e);
    archive_put(out, "resources/0123", str_of("content"), &e);
    archive_finish(out, &d, &e);
    is_int(fs_read(path, 1 << 20, ret, &e), 0, "a small archive");
    is_int(read_all(ret->data, ret->len, nothing, &e), 3, "is whole");
}

static void test_flips(const struct buf *b)
{
    char *copy = xcalloc(1, b->len);
    struct err e = {0};
    size_t taken = 0, wordless = 0, strange = 0;
    memcpy(copy, b->data, b->len);
    for (size_t i = 0; i < b->len; i++)
        for (int bit = 0; bit < 8; bit++) {
            copy[i] = (char)(b->data[i] ^ (1 << bit));
            int rc = read_all(copy, b->len, nothing, &e);
            taken += rc >= 0;
            strange += rc < 0 && rc != -ERR_CORRUPT;
            wordless += rc < 0 && (!e.text[0] || !e.hint[0] || strcmp(e.at, "memory") != 0);
            copy[i] = b->data[i];
        }
    is_int(taken, 0, "no bit of %zu bytes can be turned", b->len);
    is_int(wordless, 0, "each refusal says what, where and what to do");
    is_int(strange, 0, "and that it is damage");
    free(copy);
}

static void test_lengths(const struct buf *b)
{
    char *copy = xcalloc(1, b->len + 4096);
    struct err e = {0};
    size_t taken = 0, other = 0;
    memcpy(copy, b->data, b->len);
    for (size_t n = 0; n < b->len; n++) {
        taken += read_all(copy, n, nothing, &e) >= 0;
        other += !strstr(e.text, "cut off");
    }
    is_int(taken, 0, "no archive that was cut is taken");
    is_int(other, 0, "and each is told to be cut off");
    is_int(read_all(copy, b->len + 512, nothing, &e), -ERR_CORRUPT, "zeros behind the end");
    copy[b->len] = 'x';
    is_int(read_all(copy, b->len + 1, nothing, &e), -ERR_CORRUPT, "or anything else");
    has_text(e.text, "behind the end", "are told");
    free(copy);
}

/* --- members that no archive of ours has --- */

struct forged {
    const char *name, *content;
    char type;     /* 0: a plain file */
    uint64_t size; /* 0: of the content */
};

static void forge(struct buf *b, const struct forged *f)
{
    struct archive_member m = {.bytes = f->size ? f->size : strlen(f->content)};
    uint8_t block[ARCHIVE_BLOCK];
    unsigned sum = 0;
    static const char zeros[ARCHIVE_BLOCK];
    memcpy(m.name, f->name, strlen(f->name));
    archive_head_write(block, &m, 1);
    if (f->type) { /* and with a checksum that fits */
        block[156] = (uint8_t)f->type;
        memset(block + 148, ' ', 8);
        for (size_t i = 0; i < sizeof block; i++)
            sum += block[i];
        snprintf((char *)block + 148, 8, "%06o", sum);
    }
    buf_put(b, block, sizeof block);
    buf_puts(b, f->content);
    buf_put(b, zeros, archive_padding(strlen(f->content)));
}

static void manifest_of(struct buf *b, const struct forged *f)
{
    struct digest d = digest_of(f->content, strlen(f->content));
    char hex[DIGEST_HEX];
    digest_hex(&d, hex);
    buf_printf(b, "%s  %s\n", hex, f->name);
}

/* With a manifest and an end, as a careful forger would. */
static int forged_read(const struct forged *list, size_t n, struct err *e)
{
    SCOPED_BUF(b);
    SCOPED_BUF(manifest);
    for (size_t i = 0; i < n; i++) {
        forge(&b, &list[i]);
        manifest_of(&manifest, &list[i]);
    }
    forge(&b, &(struct forged){ARCHIVE_MANIFEST, manifest.data, 0, 0});
    static const char end[2 * ARCHIVE_BLOCK];
    buf_put(&b, end, sizeof end);
    return read_all(b.data, b.len, nothing, e);
}

static void test_forged(void)
{
    static const struct {
        struct forged f;
        const char *says;
    } cases[] = {
        {{"../etc/passwd", "x", 0, 0}, "leads out"},
        {{"/etc/passwd", "x", 0, 0}, "leads out"},
        {{"resources/../../etc/cron.d/x", "x", 0, 0}, "leads out"},
        {{"a/./b", "x", 0, 0}, "leads out"},
        {{"a//b", "x", 0, 0}, "leads out"},
        {{"a/", "x", 0, 0}, "leads out"},
        {{"..", "x", 0, 0}, "leads out"},
        {{"a b", "x", 0, 0}, "odd characters"},
        {{"a\nb", "x", 0, 0}, "odd characters"},
        {{"\xc3\xa4", "x", 0, 0}, "odd characters"},
        {{"link", "", '2', 0}, "not a plain file"},
        {{"hard", "", '1', 0}, "not a plain file"},
        {{"directory", "", '5', 0}, "not a plain file"},
        {{"device", "", '3', 0}, "not a plain file"},
        {{"long-name", "x", 'L', 0}, "not a plain file"},
        {{"pax", "x", 'x', 0}, "not a plain file"},
        {{"huge", "x", 0, 1ull << 40}, "more than the whole file"},
        {{"most", "x", 0, UINT64_MAX}, "more than the whole file"},
    };
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct forged list[] = {{"good", "fine", 0, 0}, cases[i].f};
        is_int(forged_read(list, 2, &e), -ERR_CORRUPT, "%s is refused", cases[i].f.name);
        has_text(e.text, cases[i].says, "for what it is");
    }
    struct forged twice[] = {{"same", "1", 0, 0}, {"same", "2", 0, 0}};
    is_int(forged_read(twice, 2, &e), -ERR_CORRUPT, "a member that is there twice is refused");
    has_text(e.text, "twice", "for that");
    struct forged good[] = {{"a", "1", 0, 0}, {"b.c/D_e-f", "2", 0, 0}};
    is_int(forged_read(good, 2, &e), 2, "the same without fault is taken");
}

/* The manifest is the list of all, in order. */
static int manifest_read_as(const char *lines, struct err *e)
{
    static const struct forged list[] = {{"a", "1", 0, 0}, {"b", "2", 0, 0}};
    static const char end[2 * ARCHIVE_BLOCK];
    SCOPED_BUF(b);
    forge(&b, &list[0]);
    forge(&b, &list[1]);
    if (lines)
        forge(&b, &(struct forged){ARCHIVE_MANIFEST, lines, 0, 0});
    buf_put(&b, end, sizeof end);
    return read_all(b.data, b.len, nothing, e);
}

static void test_manifest(void)
{
    SCOPED_BUF(one);
    SCOPED_BUF(two);
    SCOPED_BUF(all);
    struct err e = {0};
    manifest_of(&one, &(struct forged){"a", "1", 0, 0});
    manifest_of(&two, &(struct forged){"b", "2", 0, 0});
    buf_printf(&all, "%s%s", one.data, two.data);
    is_int(manifest_read_as(all.data, &e), 2, "a manifest names all members");
    is_int(manifest_read_as(NULL, &e), -ERR_CORRUPT, "without one there is no telling");
    has_text(e.text, "without a manifest", "which is told");
    is_int(manifest_read_as(one.data, &e), -ERR_CORRUPT, "one that lacks a member");
    has_text(e.text, "1 members, the archive 2", "is told with its numbers");
    is_int(manifest_read_as("", &e), -ERR_CORRUPT, "an empty one, too");
    buf_clear(&all);
    buf_printf(&all, "%s%s", two.data, one.data);
    is_int(manifest_read_as(all.data, &e), -ERR_CORRUPT, "members have an order");
    buf_clear(&all);
    buf_printf(&all, "%s%s%s", one.data, two.data, two.data);
    is_int(manifest_read_as(all.data, &e), -ERR_CORRUPT, "one that has too many");
    one.data[0] = one.data[0] == '0' ? '1' : '0';
    buf_clear(&all);
    buf_printf(&all, "%s%s", one.data, two.data);
    is_int(manifest_read_as(all.data, &e), -ERR_CORRUPT, "another digest");
    has_text(e.text, "a is damaged", "names the member");
    SCOPED_BUF(long_one);
    for (int i = 0; i < 1000; i++)
        buf_puts(&long_one, two.data);
    is_int(manifest_read_as(long_one.data, &e), -ERR_CORRUPT, "one that is far too long");
}

static void test_sizes(void)
{
    static const uint64_t sizes[] = {0, 1, 511, 512, (1ull << 33) - 1, 1ull << 33, 1ull << 45};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct archive_member m = {.name = "x", .bytes = sizes[i]}, back = {0};
        uint8_t block[ARCHIVE_BLOCK];
        struct err e;
        archive_head_write(block, &m, 1700000000);
        is_int(archive_head_read(block, &back, &e), 0, "a header");
        ok(back.bytes == sizes[i], "says %llu bytes", (unsigned long long)sizes[i]);
    }
}

/* --- seals --- */

static void test_sealed(const char *dir)
{
    char *path = fs_join(dir, "sealed.tar"), *plain = fs_join(dir, "plain.tar");
    struct err e = {0};
    SCOPED_BUF(b);
    SCOPED_BUF(p);
    fs_read(path, 1 << 24, &b, &e);
    fs_read(plain, 1 << 24, &p, &e);
    ok(!memmem(b.data, b.len, "first.txt", 9) && !memmem(b.data, b.len, "hello", 5),
       "neither names nor contents are to be seen");
    is_int(read_all(b.data, b.len, nothing, &e), -ERR_REFUSED, "without its passphrase");
    has_text(e.hint, "--passphrase-file", "it is asked for");
    is_int(read_all(p.data, p.len, words, &e), -ERR_REFUSED, "one for an archive that has none");
    has_text(e.text, "not sealed", "is told");
    is_int(read_all(b.data, b.len, str_of("correct horse battery stable"), &e), -ERR_CORRUPT,
           "a wrong one");
    has_text(e.hint, "passphrase", "is told to be that");
    size_t at[] = {20, 40, 60, 70000, b.len - 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        b.data[at[i]] ^= 4;
        is_int(read_all(b.data, b.len, words, &e), -ERR_CORRUPT, "byte %zu changed", at[i]);
        b.data[at[i]] ^= 4;
    }
    is_int(read_all(b.data, b.len - 1, words, &e), -ERR_CORRUPT, "the last byte is missing");
    size_t block = ARCHIVE_SEAL_BLOCK;
    is_int(read_all(b.data, ARCHIVE_SEAL_HEAD + 2 * block, words, &e), -ERR_CORRUPT,
           "cut between two blocks");
    has_text(e.text, "cut off", "is told");
    is_int(read_all(b.data, 30, words, &e), -ERR_CORRUPT, "cut in its head");
    SCOPED_BUF(more);
    buf_put(&more, b.data, b.len);
    buf_putc(&more, 'x');
    is_int(read_all(more.data, more.len, words, &e), -ERR_CORRUPT, "a byte behind its end");
    buf_clear(&more); /* two blocks in each other's place */
    buf_put(&more, b.data, ARCHIVE_SEAL_HEAD);
    buf_put(&more, b.data + ARCHIVE_SEAL_HEAD + block, block);
    buf_put(&more, b.data + ARCHIVE_SEAL_HEAD, block);
    buf_put(&more, b.data + ARCHIVE_SEAL_HEAD + 2 * block, b.len - ARCHIVE_SEAL_HEAD - 2 * block);
    is_int(read_all(more.data, more.len, words, &e), -ERR_CORRUPT, "blocks that changed places");
    is_int(read_all(b.data, b.len, words, &e), 4, "as it was, it opens");
    free(path);
    free(plain);
}

static void test_names(void)
{
    struct err e;
    ok(archive_name_good(str_of("resources/0123456789abcdef")), "a name");
    ok(!archive_name_good(nothing), "no name");
    char name[120];
    memset(name, 'a', sizeof name);
    ok(archive_name_good((struct str){name, ARCHIVE_NAME_MAX}), "a long name");
    ok(!archive_name_good((struct str){name, ARCHIVE_NAME_MAX + 1}), "one that is too long");
    is_int(archive_passphrase_check(words, &e), 0, "a passphrase");
    is_int(archive_passphrase_check(str_of("short"), &e), -ERR_INVALID, "one that is too short");
    ok(e.hint[0], "with a remedy");
}

int main(void)
{
    char *dir = workdir_new("archive"), *path = fs_join(dir, "small.tar");
    SCOPED_BUF(b);
    struct err e;
    test_names();
    test_sizes();
    test_round(dir, nothing, "plain.tar");
    test_round(dir, words, "sealed.tar");
    test_given_up(dir);
    small(path, &b);
    test_flips(&b);
    test_lengths(&b);
    test_forged();
    test_manifest();
    test_sealed(dir);
    fs_remove_tree(dir, &e);
    free(path);
    free(dir);
    return tap_done();
}
