/* layout_name.c - what the nodes of a cluster are called
 *
 * A name is a host name: its first label at most 63 bytes of letters, digits and inner hyphens that
 * begin with a letter.  Of a cluster's name what DNS lets be stays; the number is never cut.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "planner/layout.h"

enum { LABEL_MOST = 63, NAME_MOST = 253 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int layout_node_name(struct buf *b, struct str cluster, uint64_t number, struct str domain,
                     struct err *e)
{
    SCOPED_BUF(tail);
    SCOPED_BUF(head);
    if (domain.n && !text_is_dns_suffix(domain)) {
        err_set(e, ERR_INVALID, "\"%.*s\" is no domain", (int)domain.n, domain.s);
        (void)err_hint(e, "labels of letters, digits and inner hyphens, with dots between");
        return -ERR_INVALID;
    }
    domain = domain.n ? domain : str_of("local");
    buf_putc(&tail, '-');
    buf_u64(&tail, number);
    size_t room = LABEL_MOST - tail.len;
    room = room + tail.len + 1 + domain.n > NAME_MOST ? NAME_MOST - tail.len - 1 - domain.n : room;
    for (size_t i = 0; i < cluster.n && head.len < room; i++) {
        char c = lower(cluster.s[i]);
        if (is_letter(c) || (head.len && is_digit(c)))
            buf_putc(&head, c);
        else if (head.len)
            buf_putc(&head, '-');
    }
    while (head.len && head.data[head.len - 1] == '-')
        head.len--;
    if (!head.len)
        buf_puts(&head, "node");
    buf_put(b, head.data, head.len);
    buf_put(b, tail.data, tail.len);
    buf_putc(b, '.');
    for (size_t i = 0; i < domain.n; i++)
        buf_putc(b, lower(domain.s[i]));
    return 0;
}
