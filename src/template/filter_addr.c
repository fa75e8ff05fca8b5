/* filter_addr.c - functions on IPv4 and IPv6 addresses and networks, text in and text out
 *
 * An address is a number of 32 or 128 bits.  Results are written in the usual short form.  A
 * network is "10.1.0.0/16"; bits behind the prefix are ignored, so that "10.1.2.3/16" names the
 * same one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/text.h"

typedef unsigned __int128 addr_bits;
struct addr {
    addr_bits n;
    unsigned bits;   /* 32 or 128 */
    unsigned prefix; /* of a network; `bits` if none was written */
    bool net;        /* a prefix was written */
};

static bool addr_read(struct str s, struct addr *ret)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char raw[16];
    const char *slash = memchr(s.s, '/', s.n);
    size_t n = slash ? (size_t)(slash - s.s) : s.n;
    uint64_t prefix = 0;
    if (n >= sizeof text || memchr(s.s, '\0', s.n))
        return false;
    memcpy(text, s.s, n);
    text[n] = '\0';
    bool v6 = strchr(text, ':');
    *ret = (struct addr){.bits = v6 ? 128 : 32, .net = slash != NULL};
    if (inet_pton(v6 ? AF_INET6 : AF_INET, text, raw) != 1)
        return false;
    for (unsigned i = 0; i < ret->bits / 8; i++)
        ret->n = ret->n << 8 | raw[i];
    ret->prefix = ret->bits;
    if (!slash)
        return true;
    struct str digits = {slash + 1, s.n - n - 1};
    if (digits.n > 3 || text_u64(digits, ret->bits, &prefix, NULL) < 0)
        return false;
    ret->prefix = (unsigned)prefix;
    return true;
}

/* All ones in the bits behind the prefix. */
static addr_bits host_mask(const struct addr *a)
{
    unsigned host = a->bits - a->prefix;
    return host == 128 ? ~(addr_bits)0 : ((addr_bits)1 << host) - 1;
}

static int give_addr(struct eval *ev, addr_bits n, unsigned bits, struct slot *ret)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char raw[16];
    for (unsigned i = bits / 8; i-- > 0; n >>= 8)
        raw[i] = (unsigned char)n;
    inet_ntop(bits == 128 ? AF_INET6 : AF_INET, raw, text, sizeof text);
    return give_text(ev, str_of(text), ret);
}

enum want { WANT_ADDR, WANT_NET, WANT_EITHER };

static int addr_arg(struct eval *ev, const struct value *v, const char *name, enum want want,
                    struct addr *ret)
{
    static const char *const phrases[] = {"an address", "a network", "an address or a network"};
    struct str s = value_as_str(v);
    if (v->kind != VALUE_STRING)
        return eval_wrong(ev, v, name, "text");
    if (!addr_read(s, ret) || (want == WANT_ADDR && ret->net) || (want == WANT_NET && !ret->net))
        return eval_fail(ev, ERR_INVALID, "%s: \"%.*s\" is not %s", name, expr_shown(s), s.s,
                         phrases[want]);
    return 0;
}

int expr_fn_cidr_contains(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct addr net, a;
    int rc = addr_arg(ev, args[0].v, "net", WANT_NET, &net);
    if (rc >= 0)
        rc = addr_arg(ev, args[1].v, "addr", WANT_EITHER, &a);
    if (rc < 0)
        return rc;
    bool in = a.bits == net.bits && a.prefix >= net.prefix &&
              ((a.n ^ net.n) & ~host_mask(&net)) == 0;
    return give_bool(ev, in, ret);
}

int expr_fn_cidr_host(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct addr net;
    const struct value *v = args[1].v;
    int rc = addr_arg(ev, args[0].v, "net", WANT_NET, &net);
    if (rc < 0)
        return rc;
    if (v->kind != VALUE_INT)
        return eval_wrong(ev, v, "n", "an integer");
    addr_bits mask = host_mask(&net);
    uint64_t back = v->i < 0 ? ~(uint64_t)v->i : (uint64_t)v->i; /* -1 is the last */
    if (back > mask)
        return eval_fail(ev, ERR_INVALID, "%s has no address number %lld",
                         value_as_str(args[0].v).s, (long long)v->i);
    addr_bits host = v->i < 0 ? mask - back : back;
    return give_addr(ev, (net.n & ~mask) | host, net.bits, ret);
}

int expr_fn_cidr_network(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct addr net;
    int rc = addr_arg(ev, args[0].v, "net", WANT_NET, &net);
    return rc < 0 ? rc : give_addr(ev, net.n & ~host_mask(&net), net.bits, ret);
}

int expr_fn_cidr_prefix(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct addr net;
    int rc = addr_arg(ev, args[0].v, "net", WANT_NET, &net);
    return rc < 0 ? rc : give_int(ev, net.prefix, ret);
}

static addr_bits addr_last(unsigned bits)
{
    return host_mask(&(struct addr){.bits = bits});
}

int expr_fn_addr_next(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct addr a;
    int rc = addr_arg(ev, args[0].v, "addr", WANT_ADDR, &a);
    if (rc < 0)
        return rc;
    if (a.n == addr_last(a.bits))
        return eval_fail(ev, ERR_INVALID, "there is no address behind %s", args[0].v->s);
    return give_addr(ev, a.n + 1, a.bits, ret);
}

static int bits_order(const void *pa, const void *pb)
{
    const addr_bits *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* The addresses of `taken` that lie in the range, sorted; the caller frees. */
static int taken_read(struct eval *ev, const struct value *taken, const struct addr *first,
                      const struct addr *last, addr_bits **ret_at, uint32_t *ret_n)
{
    const struct value *items;
    uint32_t n, in = 0;
    if (taken->kind != VALUE_LIST && taken->kind != VALUE_MAP)
        return eval_wrong(ev, taken, "taken", "a list or a map");
    int rc = eval_each(ev, taken, &items, &n);
    if (rc < 0)
        return rc;
    addr_bits *at = xcalloc((size_t)n + 1, sizeof *at);
    for (uint32_t i = 0; rc >= 0 && i < n; i++) {
        struct addr a;
        rc = addr_arg(ev, &items[i], "taken", WANT_EITHER, &a);
        if (rc >= 0 && a.bits == first->bits && a.n >= first->n && a.n <= last->n)
            at[in++] = a.n;
    }
    qsort(at, in, sizeof *at, bits_order);
    *ret_at = at;
    *ret_n = in;
    return rc;
}

int expr_fn_address_free(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct addr first, last;
    addr_bits *taken = NULL;
    uint32_t count = 0;
    int rc = addr_arg(ev, args[0].v, "first", WANT_ADDR, &first);
    if (rc >= 0)
        rc = addr_arg(ev, args[1].v, "last", WANT_ADDR, &last);
    if (rc >= 0 && first.bits != last.bits)
        rc = eval_fail(ev, ERR_INVALID, "first and last are addresses of two kinds");
    if (rc >= 0 && first.n > last.n)
        rc = eval_fail(ev, ERR_INVALID, "first lies behind last");
    if (rc >= 0)
        rc = taken_read(ev, args[2].v, &first, &last, &taken, &count);
    addr_bits next = first.n;
    bool full = false;
    for (uint32_t i = 0; rc >= 0 && i < count && taken[i] <= next && !full; i++) {
        full = next == last.n && taken[i] == next;
        next += !full && taken[i] == next;
    }
    free(taken);
    if (rc < 0)
        return rc;
    return full ? give_undefined(ev, ret) : give_addr(ev, next, first.bits, ret);
}
