/* event.c - names of events and their journal form
 *
 * A kind's mask of fields says what is written and what must be read back, so that adding a kind is
 * one line in event.h.  Digests are written as hex text, since JSON numbers end at 2^53 for many
 * readers.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

struct kind_info {
    const char *name;
    unsigned fields;
};
static const struct kind_info kinds[EVENT_KIND_COUNT] = {
#define X(id, text, mask) [EVENT_##id] = {text, mask},
    EVENT_KINDS(X) INVENTORY_KINDS(X)
#undef X
};

const char *event_kind_name(enum event_kind k)
{
    return k < EVENT_KIND_COUNT && kinds[k].name ? kinds[k].name : "?";
}

static unsigned event_kind_fields(enum event_kind k)
{
    return k < EVENT_KIND_COUNT ? kinds[k].fields : 0;
}

static void put_hex(struct jsonw *w, const char *key, uint64_t v)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, v);
    jsonw_key(w, key);
    jsonw_text(w, text);
}

static void put_num(struct jsonw *w, const char *key, uint64_t v)
{
    jsonw_key(w, key);
    jsonw_u64(w, v);
}

void event_write(struct buf *b, const struct event *ev)
{
    unsigned f = event_kind_fields(ev->kind);
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_map(&w);
    if (f & EVF_ID)
        put_num(&w, "id", ev->id);
    if (f & EVF_ATTEMPT)
        put_num(&w, "attempt", ev->attempt);
    if (f & EVF_N)
        put_num(&w, "n", ev->n);
    if (f & EVF_FLAG)
        put_num(&w, "flag", ev->flag);
    if (f & EVF_EXTRA)
        put_num(&w, "extra", ev->extra);
    if ((f & EVF_A) && ev->a)
        put_hex(&w, "a", ev->a);
    if ((f & EVF_B) && ev->b)
        put_hex(&w, "b", ev->b);
    if ((f & EVF_MS) && ev->ms)
        put_num(&w, "ms", ev->ms);
    if ((f & EVF_EXIT) && ev->exit_code) {
        jsonw_key(&w, "exit");
        jsonw_i64(&w, ev->exit_code);
    }
    if ((f & EVF_PHASE) && ev->phase)
        put_num(&w, "phase", ev->phase);
    if ((f & EVF_LAST) && ev->last)
        put_num(&w, "last", 1);
    if ((f & EVF_BUDGET) && ev->n)
        put_num(&w, "budget", ev->n);
    if ((f & EVF_RETURNED) && ev->returned)
        put_num(&w, "returned", 1);
    if ((f & EVF_NOW) && ev->now)
        put_num(&w, "now", 1);
    if (f & EVF_OP)
        put_num(&w, "op", ev->op);
    if (f & EVF_IDS) {
        jsonw_key(&w, "ids");
        jsonw_list(&w);
        for (uint32_t i = 0; i < ev->n_ids; i++)
            jsonw_u64(&w, ev->ids[i]);
        jsonw_end(&w);
    }
    if (f & EVF_SETTINGS) {
#define PUT(x, name, otherwise) put_num(&w, #name, ev->settings.name);
        ENGINE_SETTINGS(PUT, )
#undef PUT
    }
    jsonw_end(&w);
}

static int get_num(const struct value *map, const char *key, uint64_t most, bool must,
                   uint64_t *ret, struct err *e)
{
    const struct value *v = value_get(map, key);
    *ret = 0;
    if (!v && !must)
        return 0;
    if (!value_is(v, VALUE_INT) || v->i < 0 || (uint64_t)v->i > most)
        return err_set(e, ERR_CORRUPT, "event field \"%s\" is not a number up to %" PRIu64, key,
                       most);
    *ret = (uint64_t)v->i;
    return 0;
}

static int get_hex(const struct value *map, const char *key, uint64_t *ret, struct err *e)
{
    const struct value *v = value_get(map, key);
    char *end;
    *ret = 0;
    if (!v)
        return 0;
    if (!value_is(v, VALUE_STRING) || v->n != 16)
        return err_set(e, ERR_CORRUPT, "event field \"%s\" is not a digest", key);
    *ret = strtoull(v->s, &end, 16);
    return *end ? err_set(e, ERR_CORRUPT, "event field \"%s\" is not a digest", key) : 0;
}

static int get_ids(struct arena *a, const struct value *map, struct event *ev, struct err *e)
{
    const struct value *v = value_get(map, "ids");
    if (!value_is(v, VALUE_LIST))
        return err_set(e, ERR_CORRUPT, "event field \"ids\" is not a list");
    uint32_t *ids = arena_new(a, uint32_t, v->n ? v->n : 1);
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->items[i].kind != VALUE_INT || v->items[i].i < 0 || v->items[i].i > UINT32_MAX)
            return err_set(e, ERR_CORRUPT, "event field \"ids\" holds something else than ids");
        ids[i] = (uint32_t)v->items[i].i;
    }
    ev->ids = ids;
    ev->n_ids = v->n;
    return 0;
}

int event_parse(struct arena *a, struct str json, struct event *ev, struct err *e)
{
    unsigned f = event_kind_fields(ev->kind);
    struct value *map;
    uint64_t n;
    int r = json_parse(a, json.s, json.n, NULL, &map, e);
    if (r < 0)
        return r;
#define GET(bit, field, key, most, must)                                                           \
    if ((f & (bit)) && r >= 0) {                                                                   \
        r = get_num(map, key, most, must, &n, e);                                                  \
        ev->field = (__typeof__(ev->field))n;                                                      \
    }
    GET(EVF_ID, id, "id", UINT32_MAX, true)
    GET(EVF_ATTEMPT, attempt, "attempt", UINT32_MAX, true)
    GET(EVF_N, n, "n", UINT32_MAX, true)
    GET(EVF_FLAG, flag, "flag", UINT8_MAX, true)
    GET(EVF_EXTRA, extra, "extra", UINT32_MAX, true)
    GET(EVF_MS, ms, "ms", INT64_MAX, false)
    GET(EVF_PHASE, phase, "phase", UINT8_MAX, false)
    GET(EVF_LAST, last, "last", 1, false)
    GET(EVF_RETURNED, returned, "returned", 1, false)
    GET(EVF_NOW, now, "now", 1, false)
    GET(EVF_BUDGET, n, "budget", UINT32_MAX, false)
    GET(EVF_OP, op, "op", UINT32_MAX, true)
#undef GET
    if ((f & EVF_A) && r >= 0)
        r = get_hex(map, "a", &ev->a, e);
    if ((f & EVF_B) && r >= 0)
        r = get_hex(map, "b", &ev->b, e);
    if ((f & EVF_EXIT) && r >= 0)
        ev->exit_code = (int32_t)value_as_int(value_get(map, "exit"), 0);
    if ((f & EVF_IDS) && r >= 0)
        r = get_ids(a, map, ev, e);
#define GET(x, name, otherwise)                                                                    \
    if ((f & EVF_SETTINGS) && r >= 0)                                                              \
        r = get_num(map, #name, INT64_MAX, false, &ev->settings.name, e);
    ENGINE_SETTINGS(GET, )
#undef GET
    return r;
}
