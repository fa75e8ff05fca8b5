/* fuzz_macro.c - any bytes as a text with macros: refused when it is read, or expanded the same way
 * every time
 *
 * What is checked without a cluster must be what is found with one, and expanding for a node twice
 * must give the same.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "template/macro.h"

#define S(text)                                                                                    \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

static const struct str services[] = {S("a"), S("b"), S("zookeeper-server")};
static const struct macro_address addresses[] = {{S("bind_v4"), S("10.0.0.1")},
                                                 {S("access_v4"), S("10.9.0.1")}};
static const struct macro_node nodes[] = {
    {S("n2"), 1, S("h2"), addresses, 2, services, 3},
    {S("n1"), 2, S("h1"), addresses, 1, services, 1},
    {S("n3"), 3, S(""), NULL, 0, services + 1, 1},
};
static const struct macro_view view = {S("ann"), nodes, 3};

static void expand_twice(const struct value *v, struct macro_cluster *c, uint32_t self, bool good)
{
    SCOPED_ARENA(mem);
    const struct value *one = NULL, *two = NULL;
    struct err e;

    int rc = macro_value_expand(&mem, v, c, self, &one, &e);
    fuzz_must(good || rc == -ERR_SYNTAX, "what cannot be read is never expanded");
    fuzz_must(!good || rc == 0 || rc == -ERR_REFUSED || rc == -ERR_LIMIT, "why not");
    fuzz_must(rc == 0 || (e.text[0] && !strcmp(e.at, "/0")), "a refusal says what and where");
    fuzz_must(macro_value_expand(&mem, v, c, self, &two, &e) == rc, "the same again");
    fuzz_must(rc < 0 || value_equal(one, two), "and the same text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    char *exact = malloc(size ? size : 1);
    struct strmap known = {0};
    struct err e;

    memcpy(exact, data, size);
    struct str text = {exact, size};
    int rc = macro_text_validate(text, NULL, &e);
    fuzz_must(rc == 0 || (rc == -ERR_SYNTAX && e.text[0]), "a text is read, or refused with why");
    strmap_put(&known, str_of("a"), 0);
    int named = macro_text_validate(text, &known, &e);
    fuzz_must(rc == 0 ? named == 0 || named == -ERR_UNKNOWN_NAME : named < 0, "services");
    strmap_done(&known);
    (void)macro_check(text, &e);
    struct value *list = value_list(&mem);
    value_add(&mem, list, value_str(&mem, text));
    free(exact); /* nothing may point into it */
    SCOPED(macro_cluster) *c = macro_cluster_new(&view);
    for (uint32_t self = 0; self < view.n_nodes; self++)
        expand_twice(list, c, self, rc == 0);
    return 0;
}
