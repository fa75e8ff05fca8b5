/* fuzz_selector.c - any bytes: refused with a place, or a selector that matches the same way twice
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/selector.h"

static struct str label(void *ctx, struct str key)
{
    (void)ctx;
    return key.n % 2 ? (struct str){"r1", 2} : (struct str){0};
}

static bool in_group(void *ctx, struct str group)
{
    (void)ctx;
    return group.n % 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(a);
    const struct selector *s = NULL;
    struct err e;
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = selector_parse(&a, (struct str){exact, size}, &s, &e);
    free(exact); /* nor may the selector point into the text */
    if (rc < 0) {
        fuzz_must(e.code == ERR_SYNTAX || e.code == ERR_LIMIT, "a refusal of one of two kinds");
        fuzz_must(e.text[0], "that says why");
        return 0;
    }
    struct selector_node node = {{"db1.example.net", 15}, label, in_group, NULL};
    enum selector_word kind;
    struct str key, text;
    size_t words = 0;
    fuzz_must(selector_match(s, &node) == selector_match(s, &node), "matching has no memory");
    while (selector_word_at(s, words, &kind, &key, &text)) {
        fuzz_must(text.n > 0 && (kind == SELECTOR_LABEL) == (key.n > 0), "words have text");
        words++;
    }
    fuzz_must(words > 0 && words <= SELECTOR_MAX_TERMS, "there are words");
    return 0;
}
