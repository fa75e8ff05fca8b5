/* data_doc.c - documents parsed once, and what else looks at data share
 *
 * Texts are the inventory's and desired state's; trees made of them are kept here until the text
 * changes or there are too many.  Trees are never freed singly: a look that borrowed one keeps it.
 *
 * Data of deployment roles are found in the maps of heads.  To find them without walking maps of a
 * million entries, each head's map is kept as it was last looked at, and what differs since then is
 * looked through: that costs the changes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/schema.h"

struct data *data_new(void)
{
    static const struct sight_lens nobody;
    struct data *d = xcalloc(1, sizeof *d);
    arena_init(&d->parsed);
    arena_init(&d->lens_mem);
    d->cache = sight_cache_new();
    d->nothing = sight_inputs_of(&nobody, NULL, &d->parsed);
    return d;
}

void data_free(struct server *s)
{
    struct data *d = s->data;
    if (!d)
        return;
    for (size_t i = 0; i < d->heads.n; i++)
        desire_unref(s->desire, d->heads.at[i]);
    sight_cache_free(d->cache);
    data_sent_done(&d->young);
    data_sent_done(&d->old);
    u64map_done(&d->peers);
    u64map_done(&d->slot_of);
    u64map_done(&d->documents);
    u64map_done(&d->shared);
    strmap_done(&d->wanted);
    vec_done(&d->slots);
    vec_done(&d->nodes);
    vec_done(&d->heads);
    vec_done(&d->lenses);
    arena_done(&d->parsed);
    arena_done(&d->lens_mem);
    free(d);
    s->data = NULL;
}

void data_trim(struct data *d)
{
    bool full = d->parsed_bytes > DATA_PARSED_BYTES;
    if (d->looks > 0 || !(full || d->cache_stale))
        return;
    sight_cache_reset(d->cache);
    u64map_done(&d->peers);
    d->cache_stale = false;
    if (!full)
        return;
    u64map_done(&d->slot_of);
    u64map_done(&d->documents);
    vec_clear(&d->slots);
    vec_clear(&d->nodes);
    arena_reset(&d->parsed);
    d->parsed_bytes = 0;
}

/* --- layers, nodes, documents of desired state --- */

static const struct value *parse(struct data *d, struct str text)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(&d->parsed, text.s, text.n, NULL, &v, &e) < 0)
        return NULL; /* what was stored was checked; and nobody can run with half of it */
    d->parsed_bytes += text.n;
    return v;
}

static struct data_slot *slot_get(struct data *d, uint32_t noderole)
{
    uintptr_t i = d->slots.n;
    if (!u64map_get(&d->slot_of, noderole, &i)) {
        (void)vec_add(&d->slots);
        u64map_put(&d->slot_of, noderole, i);
    }
    return &d->slots.at[i];
}

const struct value *data_layer_get(struct server *s, uint32_t noderole, enum data_layer layer)
{
    const char *text = *data_layer_text(&s->inv.noderoles.at[noderole], layer);
    if (!text)
        return NULL;
    struct data_slot *slot = slot_get(s->data, noderole);
    if (!(slot->made & 1u << layer)) {
        slot->at[layer] = parse(s->data, str_of(text));
        slot->made |= (uint8_t)(1u << layer);
    }
    return slot->at[layer];
}

void data_layer_forget(struct server *s, uint32_t noderole)
{
    uintptr_t i;
    if (u64map_get(&s->data->slot_of, noderole, &i))
        s->data->slots.at[i] = (struct data_slot){0};
    s->data->cache_stale = true;
    s->data->version++;
}

/* What is said of a node and may be of use to a task: not notes, nor what changes with each boot.
 */
static const struct value *facts_of(struct data *d, const struct inv_node *n)
{
    static const char *const hidden[] = {"note", "maintenance", "machine_id", "boot_id", "access"};
    const struct value *body = n->body ? parse(d, str_of(n->body)) : NULL;
    struct value *facts = value_map(&d->parsed);
    value_put_text(&d->parsed, facts, "name", n->name);
    for (uint32_t i = 0; value_is(body, VALUE_MAP) && i < body->n; i++) {
        const struct member *m = &body->members[i];
        bool shown = m->v.kind != VALUE_NULL && strcmp(m->key, "name") != 0;
        for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++)
            shown = shown && strcmp(m->key, hidden[k]) != 0;
        if (shown)
            value_set(&d->parsed, facts, m->key, &m->v);
    }
    return facts;
}

/* What a worker is told of how to reach it. */
static struct str access_of(struct data *d, const struct inv_node *n, const struct value *facts)
{
    const struct value *body = n->body ? parse(d, str_of(n->body)) : NULL;
    const struct value *said = value_get(body, "access"),
                       *addresses = value_get(facts, "addresses");
    SCOPED_BUF(text);
    if (!said && !addresses)
        return str_of("");
    struct value *all = value_map(&d->parsed);
    if (addresses)
        value_set(&d->parsed, all, "addresses", addresses);
    for (uint32_t i = 0; value_is(said, VALUE_MAP) && i < said->n; i++)
        value_set(&d->parsed, all, said->members[i].key, &said->members[i].v);
    json_write_canonical(&text, all);
    return (struct str){arena_strndup(&d->parsed, text.data, text.len), text.len};
}

static bool by_ssh(const struct server *s, struct data *d, const struct inv_node *n)
{
    const struct value *body = n->body ? parse(d, str_of(n->body)) : NULL;
    struct str via = value_as_str(value_at(body, "access.via"));
    return str_is(via.n ? via : str_of(s->opts->node_access), "ssh");
}

const struct data_node *data_node_get(struct server *s, uint32_t node)
{
    struct data *d = s->data;
    const struct inv_node *n = &s->inv.nodes.at[node];
    while (d->nodes.n <= node)
        (void)vec_add(&d->nodes);
    struct data_node *made = &d->nodes.at[node];
    if (made->made && made->rev == n->rev)
        return made;
    SCOPED_BUF(text);
    const struct value *facts = facts_of(d, n);
    struct value *doc = value_map(&d->parsed);
    value_set(&d->parsed, doc, "node", facts);
    json_write_canonical(&text, doc);
    d->parsed_bytes += text.len;
    const char *address = value_as_text(value_at(facts, "addresses.0"), NULL);
    *made = (struct data_node){
        .rev = n->rev,
        .made = true,
        .facts = facts,
        .text = {arena_strndup(&d->parsed, text.data, text.len), text.len},
        .address = str_of(address ? address : arena_strdup(&d->parsed, n->name)),
        .access = access_of(d, n, facts),
        .by_ssh = by_ssh(s, d, n)};
    return made;
}

const struct value *data_document(struct server *s, uint64_t id)
{
    struct data *d = s->data;
    uintptr_t v;
    if (!id)
        return NULL;
    if (!u64map_get(&d->documents, id, &v)) {
        v = (uintptr_t)parse(d, desire_doc_text(s->desire, id));
        u64map_put(&d->documents, id, v);
    }
    return (const struct value *)v;
}

/* --- deployment roles --- */

struct shared_walk {
    struct data *data;
    uint32_t deployment;
};

static uint64_t shared_key(uint32_t deployment, uint32_t number)
{
    return (uint64_t)deployment << 32 | number;
}

static uint64_t entry_document(struct str bytes)
{
    SCOPED_ARENA(mem);
    struct snapshot_entry t = {0};
    struct err e;
    return snapshot_entry_decode(&mem, bytes, &t, &e) < 0 ? 0 : t.user;
}

static void shared_differs(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    struct shared_walk *w = ctx;
    uint64_t at = shared_key(w->deployment, snapshot_key_role(key));
    (void)old;
    if (snapshot_key_node(key) != 0)
        return;
    uint64_t doc = now ? entry_document(*now) : 0;
    if (doc)
        u64map_put(&w->data->shared, at, doc);
    else
        u64map_del(&w->data->shared, at);
    w->data->cache_stale = true;
}

void data_shared_sync(struct server *s)
{
    struct data *d = s->data;
    while (d->heads.n < s->inv.deployments.n)
        vec_push(&d->heads, (struct pmap *)NULL);
    for (uint32_t i = 1; i < d->heads.n; i++) {
        const struct snapshot *head = desire_head(s->desire, i);
        struct pmap *now = head ? head->root : NULL;
        if (now == d->heads.at[i])
            continue;
        pmap_diff(d->heads.at[i], now, shared_differs, &(struct shared_walk){d, i});
        desire_unref(s->desire, d->heads.at[i]);
        d->heads.at[i] = pmap_ref(now);
    }
}

const struct value *data_shared_get(struct server *s, uint32_t deployment, uint32_t role)
{
    uintptr_t doc;
    if (s->data->shared.live == 0)
        return NULL;
    uint32_t number = desire_role_find(s->desire, str_of(s->inv.role_names.at[role]));
    if (!number || !u64map_get(&s->data->shared, shared_key(deployment, number), &doc))
        return NULL;
    return data_document(s, doc);
}

const struct value *data_shared_entry(struct server *s, struct str bytes)
{
    return data_document(s, entry_document(bytes));
}

const struct value *data_shared_in(struct server *s, const struct pmap *m, uint32_t role)
{
    struct str bytes;
    uint32_t number = desire_role_find(s->desire, str_of(s->inv.role_names.at[role]));
    if (!number || !pmap_get(m, snapshot_key(number, 0), &bytes))
        return NULL;
    return data_shared_entry(s, bytes);
}

bool data_any(const struct server *s)
{
    return s->inv.documents > 0 || s->data->shared.live > 0;
}
