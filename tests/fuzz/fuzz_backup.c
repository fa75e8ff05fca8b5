/* fuzz_backup.c - any bytes as a backup: refused with a reason, or members that belong into one
 *
 * Each input is read as it is, and once more with the checksums of what looks like headers put
 * right: damage in names and sizes then goes further than the first look.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/archive_i.h"
#include "server/backup_i.h"

struct seen {
    uint64_t bytes;
    uint32_t members;
};

static int member(void *arg, struct archive_in *in, const struct archive_member *m, struct err *e)
{
    struct seen *s = arg;
    char piece[1000];
    size_t n = 0;
    int rc;
    fuzz_must(archive_name_good(str_of(m->name)) && backup_member_known(m->name),
              "a name that is known");
    fuzz_must(m->name[0] != '/' && !strstr(m->name, ".."), "which leads nowhere else");
    s->members++;
    uint64_t got = 0;
    do {
        rc = archive_read(in, piece, sizeof piece, &n, e);
        got += rc == 0 ? n : 0;
    } while (rc == 0 && n > 0);
    fuzz_must(rc < 0 || got == m->bytes, "all of a member is read");
    s->bytes += got;
    return rc;
}

static void read_as(const uint8_t *data, size_t size)
{
    struct archive_in *in = NULL;
    struct backup_seen all;
    struct seen s = {0};
    struct err e = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_must(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0,
              "a file in memory");
    int rc = archive_open_fd(fd, "fuzz", (struct str){0}, &in, &e);
    if (rc == 0)
        rc = backup_pass(in, member, &s, &all, &e);
    archive_close(in);
    fuzz_must(rc == 0 || (rc == -(int)e.code && e.text[0]), "a refusal says why");
    fuzz_must(rc < 0 || (s.bytes <= size && s.members > 0 && all.about.format == BACKUP_FORMAT),
              "what is taken is whole");
}

/* docs: tar(5); the sum counts its own eight bytes as blanks. */
static void sums_repair(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + ARCHIVE_BLOCK <= size; at += ARCHIVE_BLOCK) {
        uint8_t *h = data + at;
        unsigned sum = 0;
        if (memcmp(h + 257, "ustar", 6) != 0)
            continue;
        memset(h + 148, ' ', 8);
        for (size_t i = 0; i < ARCHIVE_BLOCK; i++)
            sum += h[i];
        snprintf((char *)h + 148, 8, "%06o", sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    read_as(data, size);
    memcpy(copy, data, size);
    sums_repair(copy, size);
    read_as(copy, size);
    free(copy);
    return 0;
}
