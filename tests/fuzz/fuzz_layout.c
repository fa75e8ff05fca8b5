/* fuzz_layout.c - JSON {"template": T, "existing": L, "services": [...], "nodes": [min, max], ...}
 *
 * Whatever they are: refused with words, or an answer that is one.  A layout has as many nodes as
 * were asked for and every service that was, and its document is read back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "planner/layout_bed.h"

enum { STEPS = 3000, MOST = 64 };

static struct catalog_names names_of(struct arena *a, const struct value *list)
{
    uint32_t n = value_is(list, VALUE_LIST) ? (list->n < MOST ? list->n : MOST) : 0;
    struct str *names = arena_new(a, struct str, n);
    for (uint32_t i = 0; i < n; i++)
        names[i] = value_as_str(&list->items[i]);
    return (struct catalog_names){names, n};
}

static void kinds_check(struct arena *a, const struct layout_request *req,
                        const struct layout_answer *answer)
{
    const struct layout_node *nodes;
    struct catalog_names services;
    uint64_t count = 0;
    uint32_t n;
    fuzz_must(layout_services(a, req, &services, NULL) == 0, "services of an answer are known");
    for (uint32_t i = 0; i < answer->n_kinds; i++)
        count += answer->kinds[i].count;
    fuzz_must(count >= req->nodes_min && count <= req->nodes_max, "as many as were asked for");
    for (uint32_t s = 0; s < services.n; s++) {
        bool there = false;
        for (uint32_t i = 0; i < answer->n_kinds; i++)
            for (uint32_t k = 0; k < answer->kinds[i].n_services; k++)
                there |= answer->kinds[i].count &&
                         str_eq(answer->kinds[i].services[k], services.at[s]);
        fuzz_must(there, "every service is on a node");
    }
    fuzz_must(layout_nodes_read(a, layout_answer_value(a, answer), &nodes, &n, NULL) == 0 &&
                  n == answer->n_kinds,
              "a layout is read back");
}

static void answer_check(struct arena *a, const struct layout_request *req,
                         const struct layout_answer *answer)
{
    struct value *v = layout_answer_value(a, answer);
    fuzz_must(value_is(value_get(v, "status"), VALUE_STRING), "an answer has a status");
    if (answer->status == SOLVER_SOLVED)
        kinds_check(a, req, answer);
    for (uint32_t i = 0; i < answer->n_conflict; i++)
        fuzz_must(answer->conflict[i].text.n > 0, "a reason has words");
    for (uint32_t i = 0; i < answer->n_relaxation; i++)
        fuzz_must(answer->relaxation[i].text.n > 0, "a remedy has words");
    fuzz_must(answer->status != SOLVER_UNSATISFIABLE || answer->n_conflict > 0,
              "what cannot be has a reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct layout_bed b = {0};
    struct value *in;
    struct err e = {0};
    arena_init(&b.mem);
    if (json_parse(&b.mem, (const char *)data, size, NULL, &in, NULL) < 0 ||
        bed_load(&b, "template: shop\ndefaults: {services: [db], provider: acme}\n") < 0) {
        bed_done(&b);
        return 0;
    }
    const struct value *nodes = value_get(in, "nodes");
    struct layout_request req = {
        .catalog = b.c,
        .template = b.t,
        .services = names_of(&b.mem, value_get(in, "services")),
        .involved = names_of(&b.mem, value_get(in, "involved")),
        .hardware = value_as_str(value_get(in, "hardware")),
        .image = value_as_str(value_get(in, "image")),
        .comparator = value_as_str(value_get(in, "comparator")),
        .nodes_min = (uint32_t)value_as_int(value_at(nodes, "0"), 1),
        .nodes_max = (uint32_t)value_as_int(value_at(nodes, "1"), 9),
        .give_up = (uint32_t)value_as_int(value_get(in, "give_up"), 0),
        .max_steps = STEPS,
    };
    int rc = 0;
    if (value_get(in, "template"))
        rc = catalog_template_read(&b.mem, value_get(in, "template"), &req.template, &e);
    if (rc >= 0 && value_get(in, "existing"))
        rc = layout_nodes_read(&b.mem, value_get(in, "existing"), &req.existing, &req.n_existing,
                               &e);
    if (rc >= 0)
        rc = layout_solve(&b.mem, &req, &b.a, &e);
    fuzz_must(rc >= 0 || (rc == -(int)e.code && e.text[0]), "a refusal says why");
    if (rc >= 0)
        answer_check(&b.mem, &req, b.a);
    bed_done(&b);
    return 0;
}
