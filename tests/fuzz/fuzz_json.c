/* fuzz_json.c - any bytes: an error that can be shown, or a tree that survives writing and reading
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "fuzz_values.h"

static void round_trip(struct arena *a, const struct value *v, int indent)
{
    SCOPED_BUF(first);
    SCOPED_BUF(second);
    struct value *back;
    json_write(&first, v, indent);
    fuzz_must(json_parse(a, first.data, first.len, NULL, &back, NULL) == 0,
              "what is written reads");
    fuzz_must(value_equal(v, back), "and reads equal");
    json_write(&second, back, indent);
    fuzz_must(str_eq(buf_str(&first), buf_str(&second)), "and is written the same");
}

static void canonical(struct arena *a, const struct value *v)
{
    SCOPED_BUF(first);
    SCOPED_BUF(second);
    struct value *back;
    json_write_canonical(&first, v);
    fuzz_must(json_parse(a, first.data, first.len, NULL, &back, NULL) == 0, "canonical text reads");
    json_write_canonical(&second, back);
    fuzz_must(str_eq(buf_str(&first), buf_str(&second)), "the canonical form is a fixed point");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(a);
    struct value *v;
    struct err e;
    struct json_options o = {.name = "fuzz"};
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = json_parse(&a, exact, size, &o, &v, &e);
    free(exact); /* nor may the tree point into the text */
    if (rc) {
        fuzz_check_err(rc, &e);
        return 0;
    }
    fuzz_check_tree(v);
    round_trip(&a, v, 0);
    round_trip(&a, v, 1);
    canonical(&a, v);
    fuzz_must(value_equal(v, value_copy(&a, v)), "a copy is equal");
    fuzz_must(value_diff(&a, v, v, NULL) == NULL, "nothing differs from itself");
    return 0;
}
