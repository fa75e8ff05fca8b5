/* fuzz_solver.c - any problem: refused by name, or an answer that fits it, within its steps
 *
 * The input is read byte by byte into sizes, bounds, sets and nodes; what is missing reads as 0.
 * Most of what comes of it is in range, some is not, and then must be refused.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>

#include "solver/solver.h"

enum { SERVICES = 8, HARDWARE = 4, RESOURCES = 2, SETS = 4, ENTRIES = 4, STEPS = 200000 };

struct input {
    const uint8_t *at;
    size_t left;
};

static uint32_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static struct solver_set bits(struct input *in)
{
    return (struct solver_set){{byte(in)}};
}

struct made {
    struct solver_problem p;
    struct solver_service services[SERVICES];
    struct solver_hardware hardware[HARDWARE];
    int64_t amounts[SERVICES + HARDWARE][RESOURCES];
    struct solver_set together[SETS], apart[SETS];
    struct solver_ratio ratios[SETS];
    struct solver_spread spreads[SETS];
    struct solver_existing existing[ENTRIES];
    struct solver_key keys[SETS];
};

static void parts_make(struct made *m, struct input *in)
{
    struct solver_problem *p = &m->p;
    for (uint32_t i = 0; i < p->n_services; i++) {
        uint32_t flags = byte(in);
        m->services[i] = (struct solver_service){
            .min = flags & 1 ? byte(in) : 0,
            .max = flags & 2 ? byte(in) : SOLVER_ANY,
            .step = flags & 4 ? byte(in) % 5 : 0,
            .everywhere = flags & 8,
            .required = flags & 16,
            .hardware = flags & 32 ? bits(in) : solver_set_below(HARDWARE),
            .images = flags & 64 ? bits(in) : solver_set_below(HARDWARE),
            .demand = flags & 128 ? m->amounts[i] : NULL,
        };
        for (uint32_t r = 0; r < RESOURCES && flags & 128; r++)
            m->amounts[i][r] = byte(in);
    }
    for (uint32_t i = 0; i < p->n_hardware; i++) {
        m->hardware[i] = (struct solver_hardware){(int64_t)byte(in) << 8, m->amounts[SERVICES + i]};
        for (uint32_t r = 0; r < RESOURCES; r++)
            m->amounts[SERVICES + i][r] = 4 * byte(in);
    }
    for (uint32_t i = 0; i < p->n_together; i++)
        m->together[i] = bits(in);
    for (uint32_t i = 0; i < p->n_apart; i++)
        m->apart[i] = bits(in);
    for (uint32_t i = 0; i < p->n_ratios; i++)
        m->ratios[i] = (struct solver_ratio){byte(in), byte(in), byte(in), byte(in), byte(in) & 1};
    for (uint32_t i = 0; i < p->n_spreads; i++)
        m->spreads[i] = (struct solver_spread){byte(in), byte(in)};
    for (uint32_t i = 0; i < p->n_existing; i++)
        m->existing[i] = (struct solver_existing){.services = bits(in),
                                                  .hardware = byte(in),
                                                  .image = byte(in),
                                                  .value = byte(in) - 1,
                                                  .count = byte(in),
                                                  .keep = byte(in) & 1};
    for (uint32_t i = 0; i < p->n_keys; i++) {
        uint32_t b = byte(in);
        m->keys[i] = (struct solver_key){(enum solver_key_by)(b & 3), b >> 2 & 3, b & 16};
    }
}

static void problem_make(struct made *m, struct input *in)
{
    struct solver_problem *p = &m->p;
    memset(m, 0, sizeof *m);
    p->n_services = byte(in) % (SERVICES + 1);
    p->n_hardware = byte(in) % (HARDWARE + 1);
    p->n_images = byte(in) % (HARDWARE + 1);
    p->n_resources = byte(in) % (RESOURCES + 1);
    p->n_values = byte(in) % 4;
    p->n_together = byte(in) % (SETS + 1);
    p->n_apart = byte(in) % (SETS + 1);
    p->n_ratios = byte(in) % (SETS + 1);
    p->n_spreads = byte(in) % (SETS + 1);
    p->n_existing = byte(in) % (ENTRIES + 1);
    p->n_keys = byte(in) % (SETS + 1);
    p->nodes_min = byte(in) * (byte(in) + 1);
    p->nodes_max = p->nodes_min + byte(in);
    p->give_up = byte(in);
    p->involved = bits(in);
    p->services = m->services;
    p->hardware = m->hardware;
    p->together = m->together;
    p->apart = m->apart;
    p->ratios = m->ratios;
    p->spreads = m->spreads;
    p->existing = m->existing;
    p->keys = m->keys;
    parts_make(m, in);
}

/* What is there before is there afterwards: each entry's nodes are given up or among the kinds. */
static void existing_must(const struct solver_problem *p, const struct solver_answer *a)
{
    uint64_t given = 0;
    for (uint32_t i = 0; i < p->n_existing; i++) {
        uint64_t n = a->given_up[i];
        fuzz_must(!p->existing[i].keep || n == 0, "what is kept is not given up");
        given += n;
        for (uint32_t k = 0; k < a->n_kinds; k++) {
            const struct solver_kind *kind = &a->kinds[k];
            if (kind->existing != i)
                continue;
            n += kind->count;
            fuzz_must(!((kind->services.w[0] ^ p->existing[i].services.w[0]) & ~p->involved.w[0]),
                      "only services that are involved come and go");
        }
        fuzz_must(n == p->existing[i].count, "no node that exists is lost");
    }
    fuzz_must(given >= p->give_up, "as many are given up as were to be");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    struct input in = {data, size};
    struct made m;
    const struct solver_answer *a;
    const struct solver_options o = {STEPS, true, true};
    struct err e = {0};
    problem_make(&m, &in);
    int r = solver_solve(&mem, &m.p, &o, &a, &e);
    if (r < 0) {
        fuzz_must(e.code == ERR_INVALID || e.code == ERR_TOO_LARGE, "a refusal says why");
        fuzz_must(e.text[0], "a refusal has words");
        return 0;
    }
    fuzz_must(a->steps <= 8 * STEPS, "steps are bounded");
    if (a->has_layout) {
        fuzz_must(solver_layout_fits(&m.p, a->kinds, a->n_kinds, NULL), "a layout keeps the rules");
        existing_must(&m.p, a);
    }
    fuzz_must(a->status != SOLVER_SOLVED || a->has_layout, "what is solved has a layout");
    fuzz_must(a->status != SOLVER_UNSATISFIABLE || a->n_conflict, "what is refused has a conflict");
    return 0;
}
