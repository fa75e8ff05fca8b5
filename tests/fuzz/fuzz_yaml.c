/* fuzz_yaml.c - any bytes: an error that can be shown, or a tree that survives YAML and JSON */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/yaml.h"
#include "fuzz_values.h"

/* libfyaml 0.7.12 loses the buffer of a quoted scalar when an error follows it, as in the corpus
 * file leak-quoted.  That is not ours to fix, and nothing else of it may hide behind it: the unit
 * tests run without this. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml\n";
}

/* Aliases repeat text as well as values: a small budget keeps what is written below some megabytes.
 */
enum { FUZZ_VALUES = 2000 };

static void through_yaml(struct arena *a, const struct value *v)
{
    SCOPED_BUF(first);
    SCOPED_BUF(second);
    struct value *back;
    struct err e = {0};
    yaml_write(&first, v);
    int rc = yaml_parse(a, first.data, first.len, NULL, &back, &e);
    if (rc)
        fprintf(stderr, "%s: %s\n%s\n", e.at, e.text, first.data);
    fuzz_must(rc == 0, "what is written reads");
    if (!value_equal(v, back))
        fprintf(stderr, "%s\n", first.data);
    fuzz_must(value_equal(v, back), "and reads equal");
    yaml_write(&second, back);
    fuzz_must(str_eq(buf_str(&first), buf_str(&second)), "and is written the same");
}

static void through_json(struct arena *a, const struct value *v)
{
    SCOPED_BUF(b);
    struct value *back;
    json_write(&b, v, 0);
    fuzz_must(json_parse(a, b.data, b.len, NULL, &back, NULL) == 0, "what YAML says, JSON can say");
    fuzz_must(value_equal(v, back), "and means the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(a);
    struct value *v;
    struct err e;
    struct yaml_options o = {.name = "fuzz", .max_values = FUZZ_VALUES};
    char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    int rc = yaml_parse(&a, exact, size, &o, &v, &e);
    free(exact);
    if (rc) {
        fuzz_check_err(rc, &e);
        return 0;
    }
    fuzz_check_tree(v);
    through_yaml(&a, v);
    through_json(&a, v);
    return 0;
}
