/* taskmsg_probe.c - lists of probes and of what came of them, to JSON and back
 *
 *   probes   [{"node", "node_id", "number", "access", "access_rev", "who"}]
 *   answers  [{"node", "node_id", "number", "end", "text", "machine_id", "boot_id"}]
 *
 * As everywhere in a message: what is zero or empty is left out, unknown members are ignored, a
 * wrong type is refused.  A node without a name, and an end that is none, are refused too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/taskmsg_i.h"

static const char *const end_names[PROBE_END_COUNT] = {
#define X(id, text) text,
    PROBE_ENDS(X)
#undef X
};

const char *probe_end_name(enum probe_end p)
{
    return p < PROBE_END_COUNT ? end_names[p] : "?";
}

/* ---- out ---- */

static void put_text(struct jsonw *w, const char *key, struct str s)
{
    if (s.n == 0)
        return;
    jsonw_key(w, key);
    jsonw_str(w, s);
}

static void put_number(struct jsonw *w, const char *key, uint64_t n)
{
    if (n == 0)
        return;
    jsonw_key(w, key);
    jsonw_u64(w, n);
}

static void put_head(struct jsonw *w, struct str node, uint32_t node_id, uint64_t number)
{
    jsonw_map(w);
    jsonw_key(w, "node");
    jsonw_str(w, node.s ? node : str_of(""));
    put_number(w, "node_id", node_id);
    put_number(w, "number", number);
}

void taskmsg_probes_write(struct jsonw *w, const char *name, const struct taskmsg *m)
{
    jsonw_key(w, name);
    jsonw_list(w);
    for (uint32_t i = 0; i < m->n_probes; i++) {
        const struct probe_ask *p = &m->probes[i];
        put_head(w, p->node, p->node_id, p->number);
        put_text(w, "access", p->access);
        put_number(w, "access_rev", p->access_rev);
        if (p->who) {
            jsonw_key(w, "who");
            jsonw_bool(w, true);
        }
        jsonw_end(w);
    }
    jsonw_end(w);
}

void taskmsg_answers_write(struct jsonw *w, const char *name, const struct taskmsg *m)
{
    jsonw_key(w, name);
    jsonw_list(w);
    for (uint32_t i = 0; i < m->n_answers; i++) {
        const struct probe_answer *p = &m->answers[i];
        put_head(w, p->node, p->node_id, p->number);
        jsonw_key(w, "end");
        jsonw_text(w, probe_end_name(p->end));
        put_text(w, "text", p->text);
        put_text(w, "machine_id", p->machine_id);
        put_text(w, "boot_id", p->boot_id);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* ---- in ---- */

struct item { /* one of a list, while it is read */
    const char *list;
    uint32_t at;
    const struct value *v;
    struct err *e;
};

static int refuse(const struct item *x, const char *what)
{
    int rc = err_set(x->e, ERR_INVALID, "%s: %s", x->list, what);
    err_at(x->e, "/%s/%u", x->list, x->at);
    return rc;
}

static int get_text(const struct item *x, const char *key, struct str *ret_s)
{
    const struct value *v = value_get(x->v, key);
    if (v && v->kind != VALUE_STRING)
        return refuse(x, "expected a string");
    if (v)
        *ret_s = value_as_str(v);
    return 0;
}

static int get_number(const struct item *x, const char *key, uint64_t *ret_n)
{
    const struct value *v = value_get(x->v, key);
    if (v && (v->kind != VALUE_INT || v->i < 0))
        return refuse(x, "expected a number from 0 on");
    *ret_n = v ? (uint64_t)v->i : 0;
    return 0;
}

static int get_head(const struct item *x, struct str *ret_node, uint32_t *ret_id,
                    uint64_t *ret_number)
{
    struct str node = {0};
    uint64_t id = 0;
    if (x->v->kind != VALUE_MAP)
        return refuse(x, "expected a map");
    if (get_number(x, "number", ret_number) < 0 || get_number(x, "node_id", &id) < 0)
        return -ERR_INVALID;
    if (id > UINT32_MAX)
        return refuse(x, "no node has so high a number");
    if (get_text(x, "node", &node) < 0)
        return -ERR_INVALID;
    if (node.n == 0)
        return refuse(x, "a node has a name");
    *ret_node = node;
    *ret_id = (uint32_t)id;
    return 0;
}

static int get_end(const struct item *x, enum probe_end *ret_end)
{
    struct str name = value_as_str(value_get(x->v, "end"));
    for (size_t i = 0; i < PROBE_END_COUNT; i++)
        if (str_is(name, end_names[i])) {
            *ret_end = (enum probe_end)i;
            return 0;
        }
    return refuse(x, "expected the end of a probe");
}

static int not_a_list(const char *name, struct err *e)
{
    int rc = err_set(e, ERR_INVALID, "%s: expected a list", name);
    err_at(e, "/%s", name);
    return rc;
}

int taskmsg_probes_read(struct arena *a, const char *name, const struct value *v, struct taskmsg *m,
                        struct err *e)
{
    if (v->kind != VALUE_LIST)
        return not_a_list(name, e);
    struct probe_ask *probes = arena_new(a, struct probe_ask, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        struct item x = {name, i, &v->items[i], e};
        const struct value *who = value_get(x.v, "who");
        if (get_head(&x, &probes[i].node, &probes[i].node_id, &probes[i].number) < 0 ||
            get_text(&x, "access", &probes[i].access) < 0 ||
            get_number(&x, "access_rev", &probes[i].access_rev) < 0)
            return -ERR_INVALID;
        if (who && who->kind != VALUE_BOOL)
            return refuse(&x, "expected true or false");
        probes[i].who = value_as_bool(who, false);
    }
    m->probes = probes;
    m->n_probes = v->n;
    return 0;
}

int taskmsg_answers_read(struct arena *a, const char *name, const struct value *v,
                         struct taskmsg *m, struct err *e)
{
    if (v->kind != VALUE_LIST)
        return not_a_list(name, e);
    struct probe_answer *answers = arena_new(a, struct probe_answer, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        struct item x = {name, i, &v->items[i], e};
        struct probe_answer *p = &answers[i];
        if (get_head(&x, &p->node, &p->node_id, &p->number) < 0 || get_end(&x, &p->end) < 0 ||
            get_text(&x, "text", &p->text) < 0 || get_text(&x, "machine_id", &p->machine_id) < 0 ||
            get_text(&x, "boot_id", &p->boot_id) < 0)
            return -ERR_INVALID;
    }
    m->answers = answers;
    m->n_answers = v->n;
    return 0;
}
