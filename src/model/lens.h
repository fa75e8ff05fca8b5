/* lens.h - what a role's definition says of what its runs see: attributes, their schema, wants
 *
 * Tasks of a noderole keep the definition that they were made with until somebody commits another;
 * so does what they see.  A noderole therefore names the lens of the generation of the catalog that
 * it was last brought to, and a catalog that is only loaded changes nobody's inputs.
 *
 * A lens is a canonical text, so that generations that say the same give the same lens, and it is
 * kept once under 64 bits of its digest.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_LENS_H
#define MODEL_LENS_H

#include "model/sight.h"

struct lens_attribute {
    struct str name, path; /* keys with slashes between them */
};
struct lens_source { /* as a catalog has it */
    const struct lens_attribute *attributes;
    uint32_t n_attributes;
    const struct value *schema;   /* of all attributes together, at their paths */
    const struct value *defaults; /* as data: attributes without one are absent */
    const struct str *wants;      /* paths */
    uint32_t n_wants;
};
void lens_write(struct buf *b, const struct lens_source *from);
uint64_t lens_id(struct str text); /* never 0 */

struct lens {
    struct sight_lens sight;
    const struct value *schema, *defaults;
    struct sight_paths paths;   /* of all inputs */
    bool sees_node, sees_peers; /* some of them lead there */
};
/* The text stays the caller's; everything else is the arena's.  ERR_CORRUPT. */
int lens_read(struct arena *a, struct str text, struct lens *ret, struct err *e);
/* What a noderole is configured with: defaults, its own data over them, what schemas fill in;
 * checked. user NULL: none.  ERR_INVALID with the pointer of the field in e->at. */
int lens_data(struct arena *a, const struct value *schema, const struct value *defaults,
              const struct value *user, const struct value **ret, struct err *e);
/* May a noderole have these data of its own?  NULL: none.  ERR_INVALID with the pointer of the
 * field in e->at. */
int lens_check(const struct lens *l, const struct value *user, struct err *e);

#endif
