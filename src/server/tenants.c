/* tenants.c - shares of the workers' places, and names */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants.h"

#include <stdlib.h>
#include <string.h>

/* ---- shares ---- */

static uint64_t sum_of(const uint32_t *wishes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += wishes[i];
    return sum;
}

/* Not enough for all: in proportion, whole, what is left over to those who lost most by rounding,
 * the first of equals. */
static void divide(uint32_t capacity, const uint32_t *wishes, size_t n, uint64_t sum,
                   uint32_t *ret_shares)
{
    uint64_t given = 0;
    for (size_t i = 0; i < n; i++) {
        ret_shares[i] = (uint32_t)((uint64_t)wishes[i] * capacity / sum);
        given += ret_shares[i];
    }
    for (; given < capacity; given++) {
        size_t best = n;
        uint64_t lost = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t due = (uint64_t)wishes[i] * capacity, has = (uint64_t)ret_shares[i] * sum;
            if (due > has && due - has > lost) {
                lost = due - has;
                best = i;
            }
        }
        if (best == n)
            return;
        ret_shares[best]++;
    }
}

void tenant_shares(uint32_t capacity, const uint32_t *wishes, size_t n, uint32_t *ret_shares)
{
    uint64_t sum = sum_of(wishes, n);
    uint32_t left = sum < capacity ? capacity - (uint32_t)sum : 1;
    if (sum > capacity)
        divide(capacity, wishes, n, sum, ret_shares);
    for (size_t i = 0; i < n; i++) {
        if (sum == 0)
            ret_shares[i] = TENANT_ALL;
        else if (wishes[i] == 0)
            ret_shares[i] = left;
        else if (sum <= capacity)
            ret_shares[i] = wishes[i];
        else if (ret_shares[i] == 0)
            ret_shares[i] = 1; /* little, but it goes on */
    }
}

void tenants_rebalance(struct server *s)
{
    uint32_t end = anneal_tenant_end(s->engine);
    uint32_t *wishes = xcalloc(2 * (size_t)end, sizeof *wishes), *shares = wishes + end;
    struct tenant_view v;
    struct err e;
    for (uint32_t id = 1; id < end; id++)
        wishes[id] = anneal_tenant(s->engine, id, &v) && !v.gone ? v.wish : 0;
    tenant_shares(anneal_capacity(s->engine, NULL), wishes + 1, end - 1, shares + 1);
    for (uint32_t id = 1; id < end; id++) {
        struct commit_note note = server_note(NULL, NULL);
        if (!anneal_tenant(s->engine, id, &v) || v.share == shares[id])
            continue;
        struct event ev = {
            .kind = EVENT_TENANT_SET, .id = id, .n = shares[id], .extra = v.wish, .flag = v.gone};
        (void)server_apply(s, &ev, &note, NULL, &e);
    }
    free(wishes);
}

/* ---- names ---- */

const char *tenant_name(const struct server *s, uint32_t id)
{
    return id < s->tenant_names.n ? s->tenant_names.at[id] : NULL;
}

uint32_t tenant_find(const struct server *s, const char *name)
{
    struct tenant_view v;
    for (uint32_t id = 1; id < s->tenant_names.n; id++)
        if (s->tenant_names.at[id] && strcmp(s->tenant_names.at[id], name) == 0 &&
            anneal_tenant(s->engine, id, &v) && !v.gone)
            return id;
    return 0;
}

void tenant_name_add(struct server *s, uint32_t id, struct str name)
{
    while (s->tenant_names.n <= id)
        (void)vec_add(&s->tenant_names);
    s->tenant_names.at[id] = xstrndup(name.s, name.n);
}

static int load_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_tenant *r = row;
    (void)t;
    (void)e;
    tenant_name_add(arg, r->id, r->name);
    return 0;
}

int tenants_load(struct server *s, struct err *e)
{
    return store_each(s->store, ROWS_TENANT, load_row, s, e);
}

void tenants_done(struct server *s)
{
    for (size_t i = 0; i < s->tenant_names.n; i++)
        free(s->tenant_names.at[i]);
    vec_done(&s->tenant_names);
}
