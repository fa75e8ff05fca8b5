/* remote_read.c - the two answers that a server gives a worker */
/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/remote_i.h"

#include "base/json.h"

static int read_map(struct arena *mem, struct str json, struct value **ret, struct err *e)
{
    int r = json_parse(mem, json.s, json.n, NULL, ret, e);
    if (r >= 0 && (*ret)->kind != VALUE_MAP)
        r = err_set(e, ERR_INVALID, "a map is wanted");
    return r < 0 ? err_wrap(e, "the server's answer") : 0;
}

static int read_number(const struct value *map, const char *key, uint64_t *ret, struct err *e)
{
    const struct value *v = value_get(map, key);
    if (!value_is(v, VALUE_INT) || v->i < 0)
        return err_set(e, ERR_INVALID, "the server's answer: %s must be a number", key);
    *ret = (uint64_t)v->i;
    return 0;
}

int remote_batch_read(struct arena *mem, struct str json, struct remote_batch *ret, struct err *e)
{
    struct value *v;
    struct remote_batch b = {0};
    int r = read_map(mem, json, &v, e);
    if (r < 0 || (r = read_number(v, "first", &b.first, e)) < 0)
        return r;
    const struct value *list = value_get(v, "messages");
    if (!b.first || !value_is(list, VALUE_LIST))
        return err_set(e, ERR_INVALID, "the server's answer: messages, counted from 1, are wanted");
    struct str *at = arena_new(mem, struct str, list->n);
    for (; b.n < list->n; b.n++) {
        if (list->items[b.n].kind != VALUE_STRING)
            return err_set(e, ERR_INVALID, "the server's answer: a message is a text");
        at[b.n] = value_as_str(&list->items[b.n]);
    }
    b.messages = at;
    *ret = b;
    return 0;
}

int remote_taken_read(struct arena *mem, struct str json, uint64_t *ret_taken, struct err *e)
{
    struct value *v;
    int r = read_map(mem, json, &v, e);
    return r < 0 ? r : read_number(v, "taken", ret_taken, e);
}
