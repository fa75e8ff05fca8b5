/* fuzz_schema.c - JSON {"schema": S, "value": V}: bounded, whatever S and V are
 *
 * A default of a schema that passes its own check satisfies that schema, and what is filled in is
 * filled in once.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "fuzz.h"
#include "model/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(a);
    struct value *in;
    struct err e = {0};
    if (json_parse(&a, (const char *)data, size, NULL, &in, &e))
        return 0;
    const struct value *schema = value_get(in, "schema"), *v = value_get(in, "value");
    int good = schema_check_self(NULL, schema, &e);
    fuzz_must(good == 0 || (good == -(int)e.code && e.text[0]), "a refusal says why");
    int fits = schema_check(schema, v, &e);
    fuzz_must(fits == 0 || (fits == -(int)e.code && e.text[0]), "a refusal says why");
    if (fits < 0)
        (void)schema_pointer_get(v, e.at);
    const struct value *full = schema_defaults(&a, schema, v);
    if (!full)
        return 0;
    fuzz_must(value_equal(full, schema_defaults(&a, schema, full)), "defaults are filled in once");
    if (good == 0 && value_get(schema, "default"))
        fuzz_must(schema_check(schema, value_get(schema, "default"), &e) != -ERR_INVALID,
                  "a default satisfies its schema");
    return 0;
}
