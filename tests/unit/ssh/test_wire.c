/* test_wire.c - messages of the multiplexing protocol: what is read, what is written */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ssh/ssh_mux_i.h"
#include "tap.h"

#define BYTES(s) (s), sizeof(s) - 1

static void reads(const char *p, size_t n, int used, enum ssh_mux_kind kind, uint32_t a, uint32_t b,
                  const char *text, const char *what)
{
    struct ssh_mux_msg m = {.kind = SSH_MUX_KIND_COUNT};
    is_int(ssh_mux_read(p, n, &m), used, "%s: %d bytes", what, used);
    if (used <= 0) {
        is_int(m.kind, SSH_MUX_KIND_COUNT, "%s: nothing is written", what);
        return;
    }
    is_int(m.kind, kind, "%s: kind", what);
    is_int(m.a, a, "%s: first number", what);
    is_int(m.b, b, "%s: second number", what);
    ok(str_is(m.text, text), "%s: text \"%s\"", what, text);
    for (size_t cut = 0; cut < (size_t)used; cut++)
        if (ssh_mux_read(p, cut, &m) != 0)
            ok(false, "%s: %zu bytes of it are no message", what, cut);
}

static void test_read(void)
{
    reads(BYTES("\0\0\0\x8\0\0\0\x1\0\0\0\x4"), 12, SSH_MUX_HELLO, 4, 0, "", "hello");
    reads(BYTES("\0\0\0\xc\x80\0\0\x6\0\0\0\x1\0\0\0\x7tail"), 16, SSH_MUX_OPENED, 1, 7, "",
          "opened, with more behind it");
    reads(BYTES("\0\0\0\xc\x80\0\0\x4\0\0\0\x7\0\0\0\xff"), 16, SSH_MUX_EXIT, 7, 255, "", "exit");
    reads(BYTES("\0\0\0\xc\x80\0\0\x5\0\0\0\x1\0\0\x10\0"), 16, SSH_MUX_ALIVE, 1, 4096, "",
          "alive");
    reads(BYTES("\0\0\0\xe\x80\0\0\x3\0\0\0\x1\0\0\0\x2no"), 18, SSH_MUX_FAILED, 1, 0, "no",
          "failed");
    reads(BYTES("\0\0\0\xc\x80\0\0\x2\0\0\0\x1\0\0\0\0"), 16, SSH_MUX_DENIED, 1, 0, "", "denied");
    reads(BYTES("\0\0\0\x4\x80\0\0\x99"), 8, SSH_MUX_OTHER, 0, 0, "", "unknown");
    reads(BYTES("\0\0\0\x3\0\0\0"), -1, 0, 0, 0, "", "too short for a type");
    reads(BYTES("\0\0\0\x4\0\0\0\x1"), -1, 0, 0, 0, "", "a hello without version");
    reads(BYTES("\0\0\0\x8\x80\0\0\x4\0\0\0\x7"), -1, 0, 0, 0, "", "an exit without status");
    reads(BYTES("\0\0\0\xe\x80\0\0\x3\0\0\0\x1\0\0\0\x3no!!"), -1, 0, 0, 0, "",
          "a text longer than its message");
    reads(BYTES("\xff\xff\xff\xff\0\0\0\x1"), -1, 0, 0, 0, "", "longer than any message");
}

static void test_write(void)
{
    static const char session[] = "\0\0\0\x2a\x10\0\0\x2\0\0\0\x5\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\xff\xff\xff\xff\0\0\0\0\0\0\0\x2"
                                  "ls";
    SCOPED_BUF(b);
    ssh_mux_put_hello(&b);
    reads(b.data, b.len, 12, SSH_MUX_HELLO, SSH_MUX_VERSION, 0, "", "our hello");
    buf_clear(&b);
    ssh_mux_put_session(&b, 5, "ls");
    ok(str_eq(buf_str(&b), (struct str){session, sizeof session - 1}), "a session is asked for");
    buf_clear(&b);
    ssh_mux_put_alive_check(&b, 9);
    ok(str_eq(buf_str(&b), (struct str){"\0\0\0\x8\x10\0\0\x4\0\0\0\x9", 12}),
       "and a sign of life");
}

int main(void)
{
    test_read();
    test_write();
    return tap_done();
}
