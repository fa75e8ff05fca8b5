/* page.c - one shape for every list: {"items": [...], "next": cursor | null, "total": N}
 *
 * A list is offered to its page in rising order of ids.  The cursor is the last id shown, so that
 * what is added or removed between two pages neither repeats nor hides anything else.  It is
 * written so that nobody is tempted to count with it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/text.h"
#include "server/server_i.h"

enum { LIMIT_DEFAULT = 100, CURSOR_DIGITS = 16 };

/* Exactly as page_end() wrote it. */
static int cursor_read(struct str text, uint64_t *ret_id, struct err *e)
{
    uint64_t id = 0;
    bool good = text.n == CURSOR_DIGITS;
    for (size_t i = 0; good && i < text.n; i++) {
        char c = text.s[i];
        bool digit = c >= '0' && c <= '9';
        good = digit || (c >= 'a' && c <= 'f');
        id = id << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    if (good) {
        *ret_id = id;
        return 0;
    }
    err_set(e, ERR_INVALID, "this is no cursor of ours");
    err_at(e, "?after");
    return err_hint(e, "give the \"next\" of the page before as it was");
}

int page_begin(struct page *p, const struct server_call *c, struct err *e)
{
    const struct value *limit = value_get(c->query, "limit");
    const struct value *after = value_get(c->query, "after");
    uint64_t n = LIMIT_DEFAULT;

    *p = (struct page){.items = value_list(c->mem)};
    if (limit && (text_u64(value_as_str(limit), UINT32_MAX, &n, e) < 0 || n == 0)) {
        err_set(e, ERR_INVALID, "a page has at least one item");
        return err_at(e, "?limit");
    }
    p->limit = (uint32_t)n;
    return after ? cursor_read(value_as_str(after), &p->after, e) : 0;
}

bool page_wants(struct page *p, uint64_t id)
{
    p->total++;
    if (id <= p->after)
        return false;
    if (p->n == p->limit) {
        p->more = true;
        return false;
    }
    p->last = id;
    p->n++;
    return true;
}

void page_add(struct page *p, const struct server_call *c, const struct value *item)
{
    value_add(c->mem, p->items, item);
}

void page_end(struct page *p, const struct server_call *c, struct server_reply *r)
{
    struct value *v = value_map(c->mem);
    const char *next = p->more ? arena_printf(c->mem, "%0*" PRIx64, CURSOR_DIGITS, p->last) : NULL;
    value_set(c->mem, v, "items", p->items);
    value_put_text(c->mem, v, "next", next);
    value_put_int(c->mem, v, "total", (int64_t)p->total);
    r->body = v;
}
