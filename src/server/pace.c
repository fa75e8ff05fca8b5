/* pace.c - moving means of durations, by definition */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pace.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/map.h"

struct pace_mean {
    uint64_t expected_us, runs;
};
struct pace {
    struct u64map by_key; /* -> index into means */
    VEC(struct pace_mean) means;
};

struct pace *pace_new(void)
{
    return xcalloc(1, sizeof(struct pace));
}

void pace_free(struct pace *p)
{
    if (!p)
        return;
    u64map_done(&p->by_key);
    vec_done(&p->means);
    free(p);
}

/* Each text with its end, so that no two triples read the same. */
static void key_add(struct digest_state *s, const char *text)
{
    const char *t = text ? text : "";
    digest_add(s, t, strlen(t) + 1);
}

uint64_t pace_key(const char *role, const char *name, const char *type)
{
    struct digest_state s;
    uint64_t key;
    digest_begin(&s);
    key_add(&s, role);
    key_add(&s, name);
    key_add(&s, type);
    struct digest d = digest_end(&s);
    memcpy(&key, d.b, sizeof key);
    key &= INT64_MAX; /* as the store counts */
    return key ? key : 1;
}

static struct pace_mean *mean_of(struct pace *p, uint64_t key)
{
    uintptr_t at;
    if (!u64map_get(&p->by_key, key, &at)) {
        at = p->means.n;
        (void)vec_add(&p->means);
        u64map_put(&p->by_key, key, at);
    }
    return &p->means.at[at];
}

static int load_pace(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_pace *r = row;
    (void)t;
    (void)e;
    *mean_of(arg, r->id) = (struct pace_mean){r->expected_us, r->runs};
    return 0;
}

int pace_load(struct pace *p, struct store *from, struct err *e)
{
    return store_each(from, ROWS_PACE, load_pace, p, e);
}

uint64_t pace_expected_us(const struct pace *p, uint64_t key)
{
    uintptr_t at;
    return u64map_get(&p->by_key, key, &at) ? p->means.at[at].expected_us : 0;
}

bool pace_learn(struct pace *p, uint64_t key, uint64_t ran_us, struct row_pace *ret_row)
{
    struct pace_mean *m = mean_of(p, key);
    int64_t ran = (int64_t)(ran_us > PACE_LEAST_US ? ran_us : PACE_LEAST_US);
    m->runs++;
    int64_t share = m->runs < PACE_SHARE ? (int64_t)m->runs : PACE_SHARE;
    m->expected_us = (uint64_t)((int64_t)m->expected_us + (ran - (int64_t)m->expected_us) / share);
    if (m->runs % PACE_EVERY != 0 && (m->runs & (m->runs - 1)) != 0)
        return false;
    *ret_row = (struct row_pace){
        .id = key, .tenant = 1, .realm = 1, .expected_us = m->expected_us, .runs = m->runs};
    return true;
}
