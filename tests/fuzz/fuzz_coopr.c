/* fuzz_coopr.c - any bytes as Coopr's entities: refused, or a catalog that loads
 *
 * The bytes are the text of a.json; a line "%% PATH" begins another file.  What an import writes
 * must be free of errors, but for circles, which the source has if the result has them, and limits.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "catalog/import.h"
#include "catalog/kinds.h"
#include "catalog_files.h"

static void check_result(const struct catalog_import *import)
{
    struct catalog_source source = {import->files, import->n_files};
    struct catalog_report report = {0};
    SCOPED(catalog) *c = NULL;
    struct err e;

    int rc = catalog_load(&source, NULL, 1, &report, &c, &e);
    for (size_t i = 0; i < report.entries.n; i++) {
        const struct catalog_entry *entry = &report.entries.at[i];
        bool allowed = entry->severity != CATALOG_ERROR || entry->err.code == ERR_CYCLE ||
                       entry->err.code == ERR_LIMIT;
        if (!allowed)
            fprintf(stderr, "# %s: %s\n", entry->err.at, entry->err.text);
        fuzz_must(allowed, "what is imported loads");
    }
    if (rc == 0) {
        fuzz_must(catalog_roles_written(c) == import->counts.roles, "all services");
        fuzz_must(c->n_templates == import->counts.templates &&
                      c->n_hardware == import->counts.hardware &&
                      c->n_images == import->counts.images &&
                      c->n_providers == import->counts.providers,
                  "all that was counted");
    }
    catalog_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct catalog_file files[FUZZ_FILES];
    SCOPED(catalog_import) *import = NULL;
    SCOPED_BUF(shown);
    struct err e;
    char *exact = malloc(size ? size : 1);

    memcpy(exact, data, size);
    struct catalog_source source = {files, files_split("a.json", exact, size, files)};
    int rc = catalog_import_coopr(&source, &import, &e);
    fuzz_must(rc == 0 || (rc == -(int)e.code && e.text[0]), "a refusal says why");
    free(exact); /* nor may a result point into the source */
    if (import) {
        check_result(import);
        catalog_import_write(&shown, import);
        fuzz_must(shown.len > 0, "there is always something to show");
    }
    return 0;
}
