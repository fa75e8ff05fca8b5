/* ssh_mux_wire.c - messages of the multiplexing protocol, as bytes
 *
 * What a master sends is taken apart with all lengths checked; what is longer than any message of
 * the protocol, or too short for its type, is none.  Types that we do not ask for are passed over,
 * so that a later OpenSSH may say more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ssh/ssh_mux_i.h"

enum { HELLO = 0x00000001 };
static const uint32_t new_session = 0x10000002, alive_check = 0x10000004;
static const uint32_t no_escape = 0xffffffff;

static const struct {
    uint32_t type;
    enum ssh_mux_kind kind;
    bool b, text;
} answers[] = {
    {HELLO, SSH_MUX_HELLO, false, false},      {0x80000002, SSH_MUX_DENIED, false, true},
    {0x80000003, SSH_MUX_FAILED, false, true}, {0x80000004, SSH_MUX_EXIT, true, false},
    {0x80000005, SSH_MUX_ALIVE, true, false},  {0x80000006, SSH_MUX_OPENED, true, false},
};

static bool take_u32(struct str *s, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)s->s;
    if (s->n < 4)
        return false;
    *ret = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    s->s += 4;
    s->n -= 4;
    return true;
}

static bool take_text(struct str *s, struct str *ret)
{
    uint32_t n;
    if (!take_u32(s, &n) || n > s->n)
        return false;
    *ret = (struct str){s->s, n};
    s->s += n;
    s->n -= n;
    return true;
}

int ssh_mux_read(const char *p, size_t n, struct ssh_mux_msg *ret_m)
{
    struct str rest = {p, n};
    uint32_t length, type;
    struct ssh_mux_msg m = {.kind = SSH_MUX_OTHER, .text = {"", 0}};
    if (!take_u32(&rest, &length))
        return 0;
    if (length < 4 || length > SSH_MUX_MESSAGE_MAX)
        return -1;
    if (rest.n < length)
        return 0;
    rest.n = length;
    if (!take_u32(&rest, &type))
        return -1;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (answers[i].type != type)
            continue;
        m.kind = answers[i].kind;
        if (!take_u32(&rest, &m.a) || (answers[i].b && !take_u32(&rest, &m.b)) ||
            (answers[i].text && !take_text(&rest, &m.text)))
            return -1;
    }
    *ret_m = m;
    return (int)length + 4;
}

static void put_u32(struct buf *b, uint32_t v)
{
    const unsigned char bytes[4] = {v >> 24 & 0xff, v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff};
    buf_put(b, bytes, sizeof bytes);
}

static void put_text(struct buf *b, const char *s)
{
    size_t n = strlen(s);
    put_u32(b, (uint32_t)n);
    buf_put(b, s, n);
}

void ssh_mux_put_hello(struct buf *b)
{
    put_u32(b, 8);
    put_u32(b, HELLO);
    put_u32(b, SSH_MUX_VERSION);
}

/* No terminal, X11, agent or subsystem; no escape character, no kind of terminal, no environment.
 */
void ssh_mux_put_session(struct buf *b, uint32_t request, const char *command)
{
    enum { FLAGS = 4 };
    put_u32(b, (uint32_t)(4 + 4 + 4 + 4 * FLAGS + 4 + 4 + 4 + strlen(command)));
    put_u32(b, new_session);
    put_u32(b, request);
    put_text(b, "");
    for (int i = 0; i < FLAGS; i++)
        put_u32(b, 0);
    put_u32(b, no_escape);
    put_text(b, "");
    put_text(b, command);
}

void ssh_mux_put_alive_check(struct buf *b, uint32_t request)
{
    put_u32(b, 8);
    put_u32(b, alive_check);
    put_u32(b, request);
}
