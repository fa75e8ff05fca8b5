/* fuzz_catalog.c - any bytes as a catalog: a report, or a generation that holds together
 *
 * The bytes are the text of barclamp.yaml; a line "%% PATH" begins another file.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "catalog/catalog.h"
#include "catalog/kinds.h"
#include "catalog_files.h"

static void check_role(const struct catalog *c, const struct catalog_role *r)
{
    bool built_in = r->barclamp == CATALOG_NONE;
    fuzz_must(built_in || (r->jig < c->n_jigs && r->barclamp < c->n_barclamps),
              "a role's jig and barclamp");
    fuzz_must(c->names[r->name_id].role == (uint32_t)(r - c->roles), "a role's own name");
    for (uint32_t i = 0; i < r->n_requires; i++) {
        fuzz_must(r->requires[i].name < c->n_names, "a name that is required");
        uint32_t role = c->names[r->requires[i].name].role;
        fuzz_must(role == CATALOG_NONE || c->roles[role].cohort < r->cohort, "stands below");
    }
    for (uint32_t i = 0; i < r->n_uses; i++)
        fuzz_must(r->uses[i].name < c->n_names, "a name that is used");
    for (uint32_t i = 0; i < r->n_wants; i++)
        fuzz_must(r->wants[i].path.n &&
                      (r->wants[i].name == CATALOG_NONE || r->wants[i].name < c->n_names),
                  "what is read");
    for (uint32_t i = 0; i < r->n_attributes; i++)
        fuzz_must(r->attribute_list[i].path.n > 0, "an attribute lives somewhere");
    fuzz_must(!built_in || r->group || (str_is(r->name, CATALOG_MACHINE) && !r->fault),
              "the machine");
    fuzz_must(!r->fault || (c->barclamps[r->barclamp].lenient && r->fault[0]), "an excused fault");
    for (uint32_t i = 0; i < r->n_provides; i++)
        fuzz_must(c->names[r->provides[i]].n_providers > 0, "a name that is provided");
    fuzz_must(r->n_actions > 0 && (r->actions[0].n_steps > 0) != (built_in && !r->group),
              "something to do");
    for (uint32_t i = 0; i < r->n_actions; i++) {
        const struct catalog_action *a = &r->actions[i];
        for (uint32_t k = 0; k < a->n_steps; k++) {
            const struct catalog_step *s = &a->steps[a->order[k]];
            fuzz_must(s->task < c->n_tasks && s->jig < c->n_jigs, "a step");
            for (uint32_t o = 0; o < s->n_after; o++)
                fuzz_must(s->after[o] < a->n_steps, "after another");
        }
    }
}

static void check_depends(const struct catalog *c, const struct catalog_role *r)
{
    fuzz_must(r->version.n || r->fault || r->barclamp == CATALOG_NONE ||
                  !c->barclamps[r->barclamp].version.n,
              "a version");
    for (uint32_t i = 0; i < r->n_depends; i++)
        fuzz_must(r->depends[i].name_id < c->n_names ||
                      (r->depends[i].name_id == CATALOG_NONE && !r->depends[i].required),
                  "what a service depends on");
    for (uint32_t i = 0; i < r->n_demands; i++)
        fuzz_must(r->demands[i].milli >= 0, "what it demands");
}

static void check_offers(const struct catalog *c, const struct catalog_kind *k,
                         const struct catalog_offer *o, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        fuzz_must(o[i].provider < c->n_providers || k->fault, "a provider that is there");
}

static void check_provider(const struct catalog *c, const struct catalog_provider *p)
{
    for (int i = 0; i < PROVIDER_ACTION_COUNT; i++)
        for (uint32_t k = 0; k < p->actions[i].n_steps; k++) {
            const struct catalog_step *s = &p->actions[i].steps[p->actions[i].order[k]];
            fuzz_must(s->task < c->n_tasks && s->jig < c->n_jigs, "a provider's step");
        }
}

/* What can be resolved can be read back, and is the same. */
static void check_template(const struct catalog *c, const struct catalog_template *t)
{
    SCOPED_ARENA(mem);
    const struct catalog_template *whole = NULL, *back = NULL;
    struct err e;

    int rc = catalog_template_resolve(c, t->kind.name, &mem, &whole, &e);
    fuzz_must(rc == 0 || (rc == -(int)e.code && e.text[0]), "a refusal says why");
    if (rc < 0)
        return;
    fuzz_must(whole->services.n && whole->provider.n, "what must be there");
    fuzz_must(catalog_template_read(&mem, whole->body, &back, &e) == 0, "is read back");
    fuzz_must(value_equal(whole->body, back->body), "as it was");
}

static void check_kinds(const struct catalog *c)
{
    for (uint32_t i = 0; i < c->n_hardware; i++)
        check_offers(c, &c->hardware[i].kind, c->hardware[i].offers, c->hardware[i].n_offers);
    for (uint32_t i = 0; i < c->n_images; i++)
        check_offers(c, &c->images[i].kind, c->images[i].offers, c->images[i].n_offers);
    for (uint32_t i = 0; i < c->n_providers; i++)
        check_provider(c, &c->providers[i]);
    for (uint32_t i = 0; i < c->n_templates; i++)
        check_template(c, &c->templates[i]);
    fuzz_must(c->n_comparators >= 3, "comparators that are built in");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct catalog_file files[FUZZ_FILES];
    struct catalog_report report = {0};
    SCOPED(catalog) *c = NULL;
    SCOPED_BUF(shown);
    struct err e;
    char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    struct catalog_source source = {files, files_split("barclamp.yaml", exact, size, files)};
    int rc = catalog_load(&source, NULL, 1, &report, &c, &e);
    free(exact); /* nor may a generation point into the files */
    catalog_report_write(&shown, &report);
    fuzz_must((rc < 0) == (report.n_errors > 0), "refused if and only if there is an error");
    fuzz_must(rc == 0 || (rc == -(int)e.code && e.text[0]), "a refusal says why");
    fuzz_must(shown.len > 0, "there is always something to show");
    for (uint32_t i = 0; c && i < c->n_roles; i++)
        check_role(c, &c->roles[i]);
    for (uint32_t i = 0; c && i < c->n_roles; i++)
        check_depends(c, &c->roles[i]);
    if (c)
        check_kinds(c);
    catalog_report_done(&report);
    return 0;
}
