/* archive_head.c - headers of members: POSIX ustar, and only what we write ourselves
 *
 * A size of 8 GiB and more does not fit into eleven octal digits: such a number is written in
 * binary, as GNU tar does and every tar of today reads.  What a header says besides name and size
 * is the same in all of them and must be so when it is read: there is nothing else to trust.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "archive/archive_i.h"

enum { HEAD_FILE = '0', BINARY_MARK = 0x80, BINARY_BYTES = 8 };
static const uint64_t octal_most = (1ull << 33) - 1; /* eleven digits */

struct ustar { /* POSIX.1-1988: every field is text, numbers octal */
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == ARCHIVE_BLOCK, "a header is a block");

bool archive_name_good(struct str name)
{
    size_t part = 0; /* bytes of this component */
    if (!name.n || name.n > ARCHIVE_NAME_MAX)
        return false;
    for (size_t i = 0; i <= name.n; i++) {
        char c = i < name.n ? name.s[i] : '/';
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '-';
        if (plain) {
            part++;
            continue;
        }
        struct str last = {name.s + i - part, part};
        if (c != '/' || !part || str_is(last, ".") || str_is(last, ".."))
            return false;
        part = 0;
    }
    return true;
}

static void number_write(char *field, size_t n, uint64_t v)
{
    if (v <= octal_most || n < 12) {
        snprintf(field, n, "%0*llo", (int)n - 1, (unsigned long long)v);
        return;
    }
    memset(field, 0, n);
    field[0] = (char)BINARY_MARK;
    for (size_t i = 0; i < BINARY_BYTES; i++)
        field[n - 1 - i] = (char)(v >> (8 * i));
}

/* The one way in which number_write() writes it. */
static bool number_read(const char *field, size_t n, uint64_t *ret)
{
    uint64_t v = 0;
    if ((uint8_t)field[0] == BINARY_MARK) {
        for (size_t i = 1; i < n - BINARY_BYTES; i++)
            if (field[i])
                return false;
        for (size_t i = n - BINARY_BYTES; i < n; i++)
            v = v << 8 | (uint8_t)field[i];
        *ret = v;
        return v > octal_most;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (field[i] < '0' || field[i] > '7')
            return false;
        v = v << 3 | (uint64_t)(field[i] - '0');
    }
    *ret = v;
    return field[n - 1] == '\0';
}

static void head_fill(struct ustar *h, const struct archive_member *m, uint64_t made_s)
{
    unsigned sum = 0;
    *h = (struct ustar){.type = HEAD_FILE, .magic = "ustar", .version = {'0', '0'}};
    memcpy(h->name, m->name, strlen(m->name));
    number_write(h->mode, sizeof h->mode, 0600);
    number_write(h->uid, sizeof h->uid, 0);
    number_write(h->gid, sizeof h->gid, 0);
    number_write(h->size, sizeof h->size, m->bytes);
    number_write(h->mtime, sizeof h->mtime, made_s);
    memset(h->sum, ' ', sizeof h->sum); /* counts as blanks in itself */
    for (size_t i = 0; i < sizeof *h; i++)
        sum += ((const uint8_t *)h)[i];
    snprintf(h->sum, sizeof h->sum, "%06o", sum); /* six digits, NUL, and the blank that is there */
}

void archive_head_write(uint8_t ret_block[ARCHIVE_BLOCK], const struct archive_member *m,
                        uint64_t made_s)
{
    struct ustar h;
    head_fill(&h, m, made_s);
    memcpy(ret_block, &h, sizeof h);
}

int archive_head_read(const uint8_t block[ARCHIVE_BLOCK], struct archive_member *ret_member,
                      struct err *e)
{
    struct ustar h, again;
    struct archive_member m = {0};
    uint64_t made_s;
    memcpy(&h, block, sizeof h);
    size_t n = strnlen(h.name, sizeof h.name);
    if (memcmp(h.magic, "ustar", sizeof h.magic) != 0 || n == sizeof h.name)
        return err_set(e, ERR_CORRUPT, "no header of a member is where one should be");
    if (!archive_name_good((struct str){h.name, n}))
        return err_set(e, ERR_CORRUPT,
                       "a member has a name that no member of a backup has: it is absolute, leads "
                       "out, or has odd characters");
    memcpy(m.name, h.name, n);
    if (h.type != HEAD_FILE)
        return err_set(e, ERR_CORRUPT, "%s is not a plain file", m.name);
    if (!number_read(h.size, sizeof h.size, &m.bytes) ||
        !number_read(h.mtime, sizeof h.mtime, &made_s))
        return err_set(e, ERR_CORRUPT, "the header of %s is damaged", m.name);
    head_fill(&again, &m, made_s);
    if (memcmp(&h, &again, sizeof h) != 0)
        return err_set(e, ERR_CORRUPT, "the header of %s is damaged", m.name);
    *ret_member = m;
    return 0;
}

bool archive_block_empty(const uint8_t block[ARCHIVE_BLOCK])
{
    for (size_t i = 0; i < ARCHIVE_BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

size_t archive_padding(uint64_t bytes)
{
    return (size_t)((ARCHIVE_BLOCK - bytes % ARCHIVE_BLOCK) % ARCHIVE_BLOCK);
}
