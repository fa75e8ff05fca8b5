/* fake_rows.c - tables of maps, and what operations on them have in common
 *
 * An object is a map with rev and, where it has one, id and name.  Filters compare fields as text.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"

/* --- tables --- */

struct value *fake_row_add(struct server *s, enum fake_table t, const char *json)
{
    struct value *v;
    struct err e;
    if (json_parse(&s->mem, json, strlen(json), NULL, &v, &e) < 0) {
        fprintf(stderr, "fake: %s: %s\n", e.text, json);
        abort();
    }
    vec_push(&s->table[t], v);
    return v;
}

/* Text of a scalar field, as a filter or a path gives it. */
static bool field_is(const struct value *row, const char *field, struct str text)
{
    const struct value *v = value_get(row, field);
    char number[24];
    if (value_is(v, VALUE_INT)) {
        snprintf(number, sizeof number, "%" PRId64, v->i);
        return str_is(text, number);
    }
    return value_is(v, VALUE_STRING) && str_eq(value_as_str(v), text);
}

struct value *fake_row_find(struct server *s, enum fake_table t, const char *key)
{
    for (size_t i = 0; key && i < s->table[t].n; i++) {
        struct value *row = s->table[t].at[i];
        if (field_is(row, "id", str_of(key)) || field_is(row, "name", str_of(key)))
            return row;
    }
    return NULL;
}

void fake_row_drop(struct server *s, enum fake_table t, const struct value *row)
{
    for (size_t i = 0; i < s->table[t].n; i++)
        if (s->table[t].at[i] == row)
            s->table[t].at[i--] = s->table[t].at[--s->table[t].n];
}

/* --- what every operation does first --- */

int fake_begin(struct server *s, const struct server_call *c, const char *name, struct err *e)
{
    s->calls++;
    snprintf(s->last_call, sizeof s->last_call, "%s", name);
    buf_clear(&s->last_query);
    json_write(&s->last_query, c->query, 0);
    buf_clear(&s->last_body);
    json_write(&s->last_body, c->body, 0);
    buf_clear(&s->last_ids);
    for (unsigned i = 0; i < 3 && c->id[i]; i++)
        buf_printf(&s->last_ids, "%s%s", i ? "," : "", c->id[i]);
    if (!s->fail_code)
        return 0;
    int r = err_set(e, s->fail_code, "%s", s->fail_text);
    s->fail_code = ERR_NONE;
    return r;
}

int fake_lacks(const char *what, const char *key, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no %s \"%s\"", what, key);
}

int fake_begin_on(struct server *s, const struct server_call *c, const char *name,
                  enum fake_table t, const char *what, struct value **ret_row, struct err *e)
{
    int rc = fake_begin(s, c, name, e);
    struct value *row = fake_row_find(s, t, c->id[0]);
    if (rc < 0)
        return rc;
    if (!row)
        return fake_lacks(what, c->id[0], e);
    if (ret_row)
        *ret_row = row;
    return 0;
}

int fake_match(const struct server_call *c, const struct value *row, struct err *e)
{
    int64_t rev = value_as_int(value_get(row, "rev"), 0);
    if (!c->if_match || !strcmp(c->if_match, "*") || field_is(row, "rev", str_of(c->if_match)))
        return 0;
    err_set(e, ERR_STALE, "revision %s is stale, the current one is %" PRId64, c->if_match, rev);
    return err_hint(e, "read it again");
}

void fake_show(const struct value *row, struct server_reply *r)
{
    r->body = row;
    r->rev = (uint64_t)value_as_int(value_get(row, "rev"), 0);
}

void fake_changed(struct server *s, struct value *row, const char *kind, struct server_reply *r)
{
    value_put_int(&s->mem, row, "rev", value_as_int(value_get(row, "rev"), 0) + 1);
    r->group = fake_write(s, kind);
    fake_show(row, r);
}

/* --- lists --- */

static bool passes(const struct value *row, const struct value *query)
{
    for (uint32_t i = 0; query && i < query->n; i++) {
        const struct member *m = &query->members[i];
        if (!strcmp(m->key, "limit") || !strcmp(m->key, "after") || !strcmp(m->key, "selector"))
            continue;
        if (!field_is(row, m->key, value_as_str(&m->v)))
            return false;
    }
    return true;
}

static void bulk(struct server *s, struct arena *mem, struct value *items)
{
    for (; s->bulk; s->bulk--) {
        struct value *item = value_map(mem);
        value_put_int(mem, item, "id", s->bulk);
        value_put_text(mem, item, "text",
                       "0123456789012345678901234567890123456789012345678901234567890123456789");
        value_add(mem, items, item);
    }
}

int fake_list(struct server *s, const struct server_call *c, enum fake_table t,
              struct server_reply *r)
{
    struct value *page = value_map(c->mem), *items = value_list(c->mem);
    uint64_t limit = 100, after = 0, total = 0;
    const struct value *next = value_null(c->mem);

    (void)text_u64(value_as_str(value_get(c->query, "limit")), 100000, &limit, NULL);
    (void)text_u64(value_as_str(value_get(c->query, "after")), 100000, &after, NULL);
    for (size_t i = 0; i < s->table[t].n; i++) {
        if (!passes(s->table[t].at[i], c->query))
            continue;
        if (total >= after && items->n < limit)
            value_add(c->mem, items, s->table[t].at[i]);
        total++;
    }
    if (after + items->n < total) {
        char cursor[24];
        snprintf(cursor, sizeof cursor, "%" PRIu64, after + items->n);
        next = value_text(c->mem, cursor);
    }
    bulk(s, c->mem, items);
    value_set(c->mem, page, "items", items);
    value_set(c->mem, page, "next", next);
    value_put_int(c->mem, page, "total", (int64_t)total);
    r->body = page;
    return 0;
}

/* --- making and changing --- */

int fake_made(struct server *s, const struct server_call *c, struct value *row, const char *where,
              struct server_reply *r)
{
    const char *name = value_as_text(value_get(row, "name"), "");
    fake_show(row, r);
    r->group = fake_write(s, "node.changed");
    r->location = arena_printf(c->mem, "%s/%s", where, name);
    return 0;
}

/* Fields of the body laid over the row's. */
void fake_lay_over(struct server *s, struct value *row, const struct value *body, bool null_drops)
{
    for (uint32_t i = 0; body && i < body->n; i++) {
        const struct member *m = &body->members[i];
        struct value *v = value_copy(&s->mem, &m->v);
        if (null_drops && v->kind == VALUE_NULL)
            v = value_text(&s->mem, "");
        if (null_drops && v->kind == VALUE_MAP) { /* {"rack": null} removes one label */
            struct value *kept = value_map(&s->mem);
            for (uint32_t k = 0; k < v->n; k++)
                if (v->members[k].v.kind != VALUE_NULL)
                    value_set(&s->mem, kept, v->members[k].key, &v->members[k].v);
            v = kept;
        }
        value_set(&s->mem, row, m->key, v);
    }
}

int fake_patch(struct server *s, const struct server_call *c, enum fake_table t, const char *what,
               const char *kind, struct server_reply *r, struct err *e)
{
    struct value *row = fake_row_find(s, t, c->id[0]);
    if (!row)
        return fake_lacks(what, c->id[0], e);
    int rc = fake_match(c, row, e);
    if (rc < 0)
        return rc;
    fake_lay_over(s, row, c->body, true);
    fake_changed(s, row, kind, r);
    return 0;
}

/* --- answers that are always the same --- */

int fake_document(struct server *s, const struct server_call *c, const char *name, const char *json,
                  struct server_reply *r, struct err *e)
{
    int rc = fake_begin(s, c, name, e);
    struct value *v;
    if (rc < 0)
        return rc;
    if (json_parse(c->mem, json, strlen(json), NULL, &v, e) < 0)
        abort();
    r->body = v;
    return 0;
}
