/* phase_cover.c - a set of services less what follows from the rest
 *
 * Places rise from what is depended on to what depends on it, so whoever is looked at first from
 * the near end is led to by none that comes later: one pass, and what it leads to is gone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "planner/phase_i.h"

static const uint64_t *row_of(const struct phase_cover *c, uint32_t place)
{
    const struct phase_reach *r = &c->d->of[c->when];
    return (c->behind ? r->behind : r->ahead) + (size_t)place * c->d->words;
}

static bool part_fits(const struct phase_cover *c, uint32_t a, uint32_t b)
{
    const uint32_t *part = c->d->part;
    return c->parts == PHASE_ALL_PARTS || (c->parts == PHASE_OWN_PART) == (part[a] == part[b]);
}

/* Those of its own part that it leads to stay: they come before it no more than it before them. */
static void led_to_drop(const struct phase_cover *c, uint32_t place)
{
    const struct phase_reach *r = &c->d->of[c->when];
    const uint64_t *row = row_of(c, place);
    uint32_t number = r->number[place];
    for (uint32_t w = 0; w < c->d->words; w++)
        c->gone[w] |= row[w];
    if (c->parts != PHASE_OTHER_PARTS || c->d->part_size[c->d->part[number]] == 1)
        return;
    for (uint32_t p = 0; p < c->d->n; p++)
        if (phase_bit(row, p) && c->d->part[r->number[p]] == c->d->part[number])
            c->gone[p / 64] &= ~(UINT64_C(1) << (p % 64));
}

/* The next of what is left from the near end; PHASE_NIL: none. */
static uint32_t nearest(const struct phase_cover *c)
{
    for (uint32_t i = 0; i < c->d->words; i++) {
        uint32_t w = c->behind ? i : c->d->words - 1 - i;
        uint64_t bits = c->left[w] & ~c->gone[w];
        if (bits)
            return w * 64 + (c->behind ? (uint32_t)__builtin_ctzll(bits)
                                       : 63 - (uint32_t)__builtin_clzll(bits));
    }
    return PHASE_NIL;
}

uint32_t phase_cover_find(const struct phase_cover *c, uint32_t a, uint32_t *ret)
{
    const struct phase_reach *r = &c->d->of[c->when];
    const uint64_t *row = row_of(c, r->place[a]);
    uint32_t n = 0;
    for (uint32_t w = 0; w < c->d->words; w++) {
        c->left[w] = row[w] & c->among[w];
        c->gone[w] = 0;
    }
    for (uint32_t p; (p = nearest(c)) != PHASE_NIL;) {
        uint32_t b = r->number[p];
        c->left[p / 64] &= ~(UINT64_C(1) << (p % 64));
        if (!part_fits(c, a, b))
            continue;
        led_to_drop(c, p);
        ret[n++] = b;
    }
    sort_u32(ret, n);
    return n;
}

/* --- for people and tests --- */

bool phase_depends(const struct phase_deps *d, enum phase_when when, uint32_t a, uint32_t b)
{
    const struct phase_reach *r = &d->of[when];
    return phase_bit(r->ahead + (size_t)r->place[a] * d->words, r->place[b]);
}

uint32_t phase_deps_names(const struct phase_deps *d)
{
    return d->n;
}

struct str phase_deps_name(const struct phase_deps *d, uint32_t i)
{
    return d->names[i];
}

/* One that has room for what it needs; `among` empty. */
static struct phase_cover cover_new(const struct phase_deps *d, enum phase_when when, bool behind,
                                    struct arena *a, uint64_t **ret_among)
{
    *ret_among = arena_new(a, uint64_t, d->words);
    return (struct phase_cover){.d = d,
                                .when = when,
                                .behind = behind,
                                .among = *ret_among,
                                .left = arena_new(a, uint64_t, d->words),
                                .gone = arena_new(a, uint64_t, d->words)};
}

uint32_t phase_deps_direct(const struct phase_deps *d, enum phase_when when, uint32_t a,
                           uint32_t *ret)
{
    SCOPED_ARENA(mem);
    uint64_t *among;
    struct phase_cover c = cover_new(d, when, false, &mem, &among);
    for (uint32_t w = 0; w < d->words; w++)
        among[w] = UINT64_MAX;
    return phase_cover_find(&c, a, ret);
}

uint32_t phase_deps_waits(const struct phase_deps *d, const struct phase_service *services,
                          enum phase_kind phase, uint32_t a, uint32_t *ret)
{
    SCOPED_ARENA(mem);
    bool run = phase == PHASE_START || phase == PHASE_INITIALIZE || phase == PHASE_STOP ||
               phase == PHASE_ACTION;
    uint16_t wanted = (uint16_t)(phase == PHASE_INITIALIZE ? PHASE_F_START : 1u << phase);
    enum phase_when when = run ? PHASE_WHEN_RUN : PHASE_WHEN_INSTALL;
    uint64_t *among;
    struct phase_cover c = cover_new(d, when, phase == PHASE_STOP || phase == PHASE_REMOVE, &mem,
                                     &among);
    if (phase == PHASE_CONFIGURE) /* which has no order between services */
        return 0;
    for (uint32_t i = 0; i < d->n_services; i++)
        if (services[i].actions & wanted)
            phase_bit_set(among, d->of[when].place[i]);
    return phase_cover_find(&c, a, ret);
}
