/* face_pool.c - the switches an operator has: jigs on and off, pools sized, opened and closed */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "server/server_i.h"

int server_jig_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                     struct err *e)
{
    uintptr_t id;
    struct jig_view v;
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!strmap_get(&s->inv.jig_by_name, str_of(c->id[0]), &id) ||
        !anneal_jig(s->engine, (uint32_t)id, &v))
        return face_not_found_near(e, "jig", c->id[0], &s->inv.jig_by_name);
    struct inv_named *jig = &s->inv.jigs.at[id];
    if ((rc = face_match(c, jig->rev, "jig", jig->name, e)) < 0)
        return rc;
    struct event ev = {.kind = EVENT_JIG_SET,
                       .id = (uint32_t)id,
                       .flag = value_as_bool(value_get(c->body, "active"), v.active),
                       .n = v.slots};
    struct commit_note note = server_note(c, NULL);
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    jig->rev++;
    r->body = view_jig(s, c->mem, (uint32_t)id);
    r->rev = jig->rev;
    r->group = commit_open_group(s->commit);
    return 0;
}

/* ---- pools ---- */

static uint32_t body_u32(const struct server_call *c, const char *key, uint32_t otherwise)
{
    return (uint32_t)value_as_int(value_get(c->body, key), otherwise);
}

/* Checked before anything changes: what is not there has no revision to match. */
static int pool_new_check(const struct server_call *c, struct err *e)
{
    const char *name = c->id[0];
    if (c->if_match && c->if_match[0] != '*') {
        err_set(e, ERR_STALE, "there is no pool %s, so it has no revision %s", name, c->if_match);
        return err_hint(e, "use If-Match * to make it");
    }
    if (!text_is_name(str_of(name))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a name for a pool", name);
        err_at(e, "{pool}");
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit");
    }
    if (!value_get(c->body, "size")) {
        err_set(e, ERR_REFUSED, "a new pool needs a size");
        return err_at(e, "/size");
    }
    return 0;
}

static void note_name(struct buf *b, const char *name)
{
    buf_puts(b, "{\"name\":");
    json_write_string(b, str_of(name));
    buf_putc(b, '}');
}

/* The note is the inventory's column in the engine's row.  The row is written whole, texts
 * included, in place of the old one: an update taken from the engine when the group closes would
 * not know the note. */
static int pool_apply(struct server *s, const struct server_call *c, struct event *ev, bool exists,
                      struct str name, struct str text, struct err *e)
{
    struct row_pool fixed = {.id = ev->id, .name = name, .note = text};
    struct commit_note note = server_note(c, &fixed);
    SCOPED_BUF(more);
    note_name(&more, name.s);
    note.more = buf_str(&more);
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (exists)
        commit_row(s->commit, ROWS_POOL, ROW_DELETE, &fixed);
    return server_apply(s, ev, &note, NULL, e);
}

static void pool_remember(struct inv_named *pool, struct str text)
{
    free(pool->note);
    pool->note = text.n ? xstrndup(text.s, text.n) : NULL;
    pool->rev++;
}

int server_pool_put(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    uintptr_t found;
    struct pool_view v = {0};
    const struct value *asked = value_get(c->body, "note");
    bool exists = strmap_get(&s->inv.pool_by_name, str_of(c->id[0]), &found);
    uint32_t id = exists ? (uint32_t)found : anneal_pool_end(s->engine);
    int rc = server_writable(s, e);
    if (rc >= 0)
        rc = exists ? face_match(c, s->inv.pools.at[id].rev, "pool", c->id[0], e)
                    : pool_new_check(c, e);
    if (rc < 0)
        return rc;
    (void)anneal_pool(s->engine, id, &v);
    const char *kept = exists ? s->inv.pools.at[id].note : NULL;
    struct str text = value_as_str(asked);
    if (!asked && kept)
        text = str_of(arena_strdup(c->mem, kept));
    struct event ev = {.kind = EVENT_POOL_SET,
                       .id = id,
                       .n = body_u32(c, "size", v.size),
                       .extra = body_u32(c, "elsewhere", v.elsewhere),
                       .flag = value_as_bool(value_get(c->body, "closed"), v.closed)};
    if ((rc = pool_apply(s, c, &ev, exists, str_of(c->id[0]), text, e)) < 0)
        return rc;
    if (exists)
        pool_remember(&s->inv.pools.at[id], text);
    else
        inventory_add_pool(&s->inv, id, str_of(c->id[0]), text);
    r->body = view_pool(s, c->mem, id);
    r->rev = s->inv.pools.at[id].rev;
    if (!exists)
        r->location = arena_printf(c->mem, "/v1/pools/%s", c->id[0]);
    r->group = commit_open_group(s->commit);
    return 0;
}
