/* golden_facts.h - facts of the study of Coopr, each with what it means for us
 *
 * A file of facts is read from $ANNEAL_TEST_DATA/golden/coopr, by default ../shared beside the
 * tree. Every fact of it must have a check here, found by its words, and every check must find its
 * fact: a fact that is added or reworded fails the test.  What we do otherwise on purpose is an
 * exception, with its reason printed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GOLDEN_FACTS_H
#define TESTS_GOLDEN_FACTS_H

#include "server/server_rig.h"

struct golden_fact {
    const char *given, *expect; /* as the file has them; of several steps, all as one list */
    void (*check)(void);        /* NULL: an exception */
    const char *otherwise;      /* what of it does not hold here, and why; NULL: all of it does */
};
struct golden_count {
    unsigned ran, passed, excepted, skipped;
};

static const char *golden_given(struct arena *mem, const struct value *fact)
{
    const struct value *steps = value_get(fact, "steps");
    SCOPED_BUF(b);
    for (uint32_t i = 0; steps && i < steps->n; i++)
        buf_printf(&b, "%s%s", i ? "; " : "", value_as_text(&steps->items[i], ""));
    return steps ? arena_strdup(mem, buf_str(&b).s) : value_as_text(value_get(fact, "given"), "");
}

static void golden_run(const struct golden_fact *f, struct golden_count *n)
{
    int failed = tap_failed_;
    if (f->check)
        f->check();
    n->ran += f->check != NULL;
    n->passed += f->check && tap_failed_ == failed;
    n->excepted += !f->check;
    if (f->otherwise)
        note("excepted: %s: %s", f->expect, f->otherwise);
}

/* False: the data are not here. */
static bool golden_file(const char *name, const char *kind, const struct golden_fact *facts,
                        size_t n_facts, struct golden_count *n)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct value *doc = NULL;
    struct err e = {0};
    const char *data = getenv("ANNEAL_TEST_DATA"), *top = getenv("ANNEAL_TOP");
    const char *path = arena_printf(&mem, "%s%s/golden/coopr/%s.json",
                                    data  ? ""
                                    : top ? top
                                          : ".",
                                    data ? data : "/../shared", name);
    if (fs_read(path, 1 << 20, &text, &e) < 0) {
        n->skipped++;
        skip(arena_printf(&mem, "no %s", path));
        return false;
    }
    is_int(json_parse(&mem, text.data, text.len, NULL, &doc, &e), 0, "%s is read", name);
    is_text(value_as_text(value_get(doc, "kind"), ""), kind, "%s is about %s", name, kind);
    const struct value *list = value_get(doc, "facts");
    is_int(list ? list->n : 0, (int64_t)n_facts, "%s: each fact has a check", name);
    for (uint32_t i = 0; list && i < list->n; i++) {
        const char *given = golden_given(&mem, &list->items[i]);
        const char *expect = value_as_text(value_get(&list->items[i], "expect"), "");
        size_t k = 0;
        while (k < n_facts && strcmp(facts[k].given, given) != 0)
            k++;
        if (!ok(k < n_facts && !strcmp(facts[k].expect, expect), "%s: \"%s\" is known", name,
                given)) {
            note("it expects: %s", expect);
            continue;
        }
        note("%s: %s", name, given);
        golden_run(&facts[k], n);
    }
    return true;
}

#endif
