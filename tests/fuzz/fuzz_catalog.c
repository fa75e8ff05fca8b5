/* fuzz_catalog.c - any bytes as a catalog: a report, or a generation that holds together
 *
 * The bytes are the text of barclamp.yaml; a line "%% PATH" begins another file.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "catalog/catalog.h"
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
    catalog_report_done(&report);
    return 0;
}
