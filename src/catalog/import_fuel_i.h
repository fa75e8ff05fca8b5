/* import_fuel_i.h - one import of Fuel's task files in the making */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_IMPORT_FUEL_I_H
#define CATALOG_IMPORT_FUEL_I_H

#include "catalog/import_i.h"

#define FUEL_BARCLAMP "fuel"

struct fuel_graph {
    const char *name;
    struct strmap ids; /* of tasks that are kept */
    uint32_t n_files;
};
struct fuel {
    struct crow x;
    VEC(struct fuel_graph) graphs;
    struct crow_names graph_names;
    struct strmap file_names; /* of the result */
};

/* A task of the source as a vertex that loads; NULL, and told about, if nothing of it can stay. */
const struct value *fuel_task(struct fuel *f, struct fuel_graph *g, const struct value *v);

#endif
