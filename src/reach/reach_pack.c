/* reach_pack.c - a chain as a tar archive
 *
 * The ustar format, written here so that bytes depend on nothing but the chain: fixed names of our
 * own, owner 0, one time, no extension records.  The two FIFOs of a chain travel in it too, and the
 * directories that the runner needs, which saves the node a program each.  The runner, if it
 * travels along, is the first member: without it an archive is the same bytes but those.  The last
 * member is "go": an archive that was cut between two members unpacks without complaint, and must
 * not be taken for whole.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/digest.h"
#include "base/text.h"
#include "reach/reach_i.h"

enum { BLOCK = 512, TAR_FILE = '0', TAR_DIRECTORY = '5', TAR_FIFO = '6', TAR_TIME = 1000000000 };

struct ustar { /* POSIX.1-1988: every field is text, numbers octal */
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "a header is a block");

void reach_name_make(struct reach_name *ret_name)
{
    unsigned char raw[24];
    ssize_t n = getrandom(raw, sizeof raw, 0); /* up to 256 bytes are never short */
    if (n != (ssize_t)sizeof raw)
        abort();
    text_hex(raw, 8, ret_name->chain);
    text_hex(raw + 8, 16, ret_name->nonce);
}

struct str reach_runner_text(void)
{
    return (struct str){reach_runner_sh, reach_runner_sh_n};
}

const char *reach_runner_digest(char ret_hex[33])
{
    struct digest d = digest_of(reach_runner_sh, reach_runner_sh_n);
    digest_hex(&d, ret_hex);
    return ret_hex;
}

void reach_step_digest(const struct reach_step *s, char ret_hex[33])
{
    struct digest_state all;
    ret_hex[0] = '\0';
    if (!s->input.n && !s->puts_n)
        return;
    digest_begin(&all);
    if (s->input.n)
        digest_add(&all, s->input.s, s->input.n);
    for (size_t i = 0; i < s->puts_n; i++)
        if (s->puts[i].content.n)
            digest_add(&all, s->puts[i].content.s, s->puts[i].content.n);
    struct digest d = digest_end(&all);
    digest_hex(&d, ret_hex);
}

static void head_put(struct buf *b, const char *path, char type, unsigned mode, size_t size)
{
    struct ustar h = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    unsigned sum = 0;
    size_t n = strlen(path);
    assert(n < sizeof h.name); /* all names are ours, or short (reach_group.c) */
    memcpy(h.name, path, n);
    snprintf(h.mode, sizeof h.mode, "%07o", mode);
    snprintf(h.uid, sizeof h.uid, "%07o", 0);
    snprintf(h.gid, sizeof h.gid, "%07o", 0);
    snprintf(h.size, sizeof h.size, "%011zo", size);
    snprintf(h.mtime, sizeof h.mtime, "%011o", TAR_TIME);
    memset(h.sum, ' ', sizeof h.sum); /* counts as blanks in itself */
    for (size_t i = 0; i < sizeof h; i++)
        sum += ((const unsigned char *)&h)[i];
    snprintf(h.sum, sizeof h.sum, "%06o", sum); /* six digits, NUL, and the blank that is there */
    buf_put(b, &h, sizeof h);
}

static void member_head(struct buf *b, const char *chain, const char *name, char type,
                        unsigned mode, size_t size)
{
    char path[160];
    snprintf(path, sizeof path, "anneal/chains/%s/%s", chain, name);
    head_put(b, path, type, mode, size);
}

static void member_of(struct buf *b, const char *chain, const char *name, unsigned mode,
                      struct str content)
{
    static const char zeros[BLOCK];
    member_head(b, chain, name, TAR_FILE, mode, content.n);
    buf_put(b, content.s, content.n);
    buf_put(b, zeros, (BLOCK - content.n % BLOCK) % BLOCK);
}

static void member(struct buf *b, const char *chain, const char *name, struct str content)
{
    member_of(b, chain, name, 0600, content);
}

size_t reach_pack_runner(struct buf *b, const struct reach_name *name)
{
    size_t before = b->len;
    char file[64], hex[33];
    snprintf(file, sizeof file, "runner.%s", reach_runner_digest(hex));
    member(b, name->chain, file, reach_runner_text());
    return b->len - before;
}

void reach_pack_end(struct buf *b)
{
    static const char end[2 * BLOCK];
    buf_put(b, end, sizeof end);
}

static void pack_step(struct buf *b, const struct reach_step *s, size_t k, const char *chain)
{
    char name[96];
    struct reach_group g = {0};
    if (s->kind == REACH_SCRIPT) {
        snprintf(name, sizeof name, "s%zu", k);
        member(b, chain, name, s->script);
    }
    if (s->input.n) {
        snprintf(name, sizeof name, "i%zu", k);
        member(b, chain, name, s->input);
    }
    while (reach_group_next(s, &g))
        for (size_t i = g.first; i < g.first + g.n; i++) {
            if (g.n == 1)
                snprintf(name, sizeof name, "f%zu.%zu", k, i + 1);
            else
                snprintf(name, sizeof name, "p%zu.%zu/%s", k, g.first + 1,
                         reach_group_name(&s->puts[i]));
            member(b, chain, name, s->puts[i].content);
        }
}

/* Saturates: nothing near the limit is ever packed. */
static void add(size_t *total, size_t n)
{
    *total = n > REACH_ARCHIVE_MAX || *total > REACH_ARCHIVE_MAX ? REACH_ARCHIVE_MAX + 1
                                                                 : *total + n + 2 * BLOCK;
}

static size_t contents(const struct reach_step *steps, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const struct reach_step *s = &steps[i];
        add(&total, s->kind == REACH_SCRIPT ? s->script.n : 0);
        add(&total, s->input.n);
        for (size_t k = 0; k < s->puts_n; k++)
            add(&total, s->puts[k].content.n);
    }
    return total;
}

int reach_pack(const struct reach_step *steps, size_t n, const struct reach_name *name,
               bool with_runner, struct buf *b, struct err *e)
{
    SCOPED_BUF(code);
    assert(strlen(name->chain) + 1 == sizeof name->chain);
    assert(strlen(name->nonce) + 1 == sizeof name->nonce);
    int rc = reach_code_check(steps, n, e);
    if (rc < 0)
        return rc;
    if (contents(steps, n) > REACH_ARCHIVE_MAX)
        return err_set(e, ERR_TOO_LARGE, "a chain of more than %d bytes", (int)REACH_ARCHIVE_MAX);
    reach_code_write(&code, steps, n, name);
    buf_reserve(b, contents(steps, n) + code.len + reach_runner_sh_n + 16 * BLOCK);
    if (with_runner)
        reach_pack_runner(b, name);
    head_put(b, "anneal/records/", TAR_DIRECTORY, 0700, 0);
    member_head(b, name->chain, "", TAR_DIRECTORY, 0700, 0);
    member(b, name->chain, "chain", buf_str(&code));
    member_head(b, name->chain, "log", TAR_FIFO, 0600, 0);
    member_head(b, name->chain, "ev", TAR_FIFO, 0600, 0);
#ifdef REACH_SESSION_LOADER
    member_of(b, name->chain, "session", 0700,
              (struct str){(const char *)reach_session, reach_session_n});
#endif
    for (size_t i = 0; i < n; i++)
        pack_step(b, &steps[i], i + 1, name->chain);
    member(b, name->chain, "go", (struct str){"", 0});
    reach_pack_end(b);
    return 0;
}
