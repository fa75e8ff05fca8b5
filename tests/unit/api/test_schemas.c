/* test_schemas.c - every component is a schema we understand, and enums are the model's lists */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"
#include "model/states.h"
#include "tap.h"

static bool is_request(const char *name)
{
    for (size_t i = 0; i < api_route_count(); i++) {
        const struct api_route *r = api_route_at(i);
        if (r->request && !strcmp(r->request, name))
            return true;
    }
    return false;
}

static void test_components(const struct api_book *b)
{
    for (uint32_t i = 0; i < b->schemas->n; i++) {
        const struct member *m = &b->schemas->members[i];
        struct err e;
        int r = schema_check_self(&b->env, &m->v, &e);
        ok(r == 0, "%s is a schema", m->key);
        if (r < 0)
            note("%s at %s", e.text, e.at);
        if (!is_request(m->key) || !strcmp(m->key, "Document"))
            continue;
        const struct value *more = value_get(&m->v, "additionalProperties");
        ok(value_is(more, VALUE_BOOL) && !more->b, "%s refuses unknown fields", m->key);
        const struct value *required = value_get(&m->v, "required");
        for (uint32_t k = 0; required && k < required->n; k++)
            ok(value_get_str(value_get(&m->v, "properties"), value_as_str(&required->items[k])),
               "  and %s is a property", required->items[k].s);
    }
}

static void enum_is(const struct api_book *b, const char *name, const char *const *words, size_t n)
{
    const struct value *list = value_get(book_schema(b, name), "enum");
    bool same = value_is(list, VALUE_LIST) && list->n == n;
    for (size_t i = 0; same && i < n; i++)
        same = str_is(value_as_str(&list->items[i]), words[i]);
    ok(same, "%s is the model's list of %zu", name, n);
}

static void test_enums(const struct api_book *b)
{
    const char *words[64];
    for (unsigned i = 0; i < NODEROLE_STATE_COUNT; i++)
        words[i] = noderole_state_name((enum noderole_state)i);
    enum_is(b, "NoderoleState", words, NODEROLE_STATE_COUNT);
    for (unsigned i = 0; i < TASK_STATE_COUNT; i++)
        words[i] = task_state_name((enum task_state)i);
    enum_is(b, "TaskState", words, TASK_STATE_COUNT);
    for (unsigned i = 0; i < OPERATION_STATE_COUNT; i++)
        words[i] = operation_state_name((enum operation_state)i);
    enum_is(b, "OperationState", words, OPERATION_STATE_COUNT);
    for (unsigned i = 0; i < ALIVE_STATE_COUNT; i++)
        words[i] = alive_state_name((enum alive_state)i);
    enum_is(b, "AliveState", words, ALIVE_STATE_COUNT);
    for (unsigned i = 0; i < REASON_COUNT; i++)
        words[i] = reason_name((enum reason)i);
    enum_is(b, "Reason", words, REASON_COUNT);
    enum_is(b, "Scope", (const char *const[]){"announce", "read", "operate", "admin"}, 4);
}

/* Every $ref, wherever it stands, leads somewhere; every component but the top ones is used. */
static void refs_check(const struct api_book *b, const struct value *v, unsigned *ret_bad)
{
    if (value_is(v, VALUE_LIST))
        for (uint32_t i = 0; i < v->n; i++)
            refs_check(b, &v->items[i], ret_bad);
    if (!value_is(v, VALUE_MAP))
        return;
    for (uint32_t i = 0; i < v->n; i++) {
        const char *text = value_as_text(&v->members[i].v, "");
        if (!strcmp(v->members[i].key, "$ref") &&
            !value_get(b->schemas, text + strlen("#/components/schemas/"))) {
            note("%s leads nowhere", text);
            (*ret_bad)++;
        }
        refs_check(b, &v->members[i].v, ret_bad);
    }
}

int main(void)
{
    SCOPED(api_book) *b = book_new();
    unsigned bad = 0;
    test_components(b);
    test_enums(b);
    refs_check(b, b->schemas, &bad);
    is_int(bad, 0, "every reference leads somewhere");
    return tap_done();
}
