/* weave_golden.h - what tests of Fuel's golden suites share: reading them, nodes, the run of a
 * suite
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WEAVE_GOLDEN_H
#define TESTS_WEAVE_GOLDEN_H

#include "tap.h"

#include "weave_bed.h"

/* How files were read there, and how ours are. */
#define IMPORTED "barclamp: t\nlenient: true\ngraphs: {requires: same-node}\n"
#define NATIVE   "barclamp: t\n"

struct tally {
    unsigned ran, passed;
};

static const char *text_at(const struct value *v, const char *key)
{
    return value_as_text(value_get(v, key), "");
}

HELPER struct str json_of(struct arena *a, const struct value *v)
{
    SCOPED_BUF(b);
    json_write(&b, v, 0);
    return (struct str){arena_strndup(a, b.data, b.len), b.len};
}

HELPER bool says(const struct value *list, const char *text)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        if (!strcmp(value_as_text(&list->items[i], ""), text))
            return true;
    return false;
}

/* --- nodes --- */

/* {"uid": ["tag", ...]} */
HELPER void nodes_by_uid(struct weave_bed *b, const struct value *nodes, bool deployed)
{
    for (uint32_t i = 0; nodes && i < nodes->n; i++) {
        const struct member *m = &nodes->members[i];
        const char *names = "";
        for (uint32_t k = 0; k < m->v.n; k++)
            names = arena_printf(&b->mem, "%s %s", names, value_as_text(&m->v.items[k], ""));
        bed_node(b, m->key, names);
        b->nodes.at[b->nodes.n - 1].deployed = deployed;
    }
}

/* {"role": ["node", ...]}, in the order in which nodes are named. */
HELPER void nodes_by_role(struct weave_bed *b, const struct value *roles)
{
    for (uint32_t i = 0; i < roles->n; i++)
        for (uint32_t k = 0; k < roles->members[i].v.n; k++)
            bed_node(b, value_as_text(&roles->members[i].v.items[k], ""), roles->members[i].key);
}

/* --- a suite --- */

typedef bool case_f(struct weave_bed *b, const struct value *suite, const struct value *c);

HELPER struct value *suite_read(struct arena *a, const char *data, const char *name)
{
    const char *path = arena_printf(a, "%s/golden/fuel/%s.json", data, name);
    FILE *f = fopen(path, "r");
    SCOPED_BUF(text);
    char chunk[65536];
    struct value *v = NULL;
    struct err e;
    if (!f)
        return NULL;
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_put(&text, chunk, n);
    fclose(f);
    if (json_parse(a, arena_strndup(a, text.data, text.len), text.len, NULL, &v, &e) < 0)
        ok(false, "%s: %s", path, e.text);
    return v;
}

HELPER void run_suite(const char *data, const char *name, case_f *run)
{
    SCOPED_ARENA(mem);
    struct tally t = {0};
    const struct value *suite = suite_read(&mem, data, name);
    const struct value *cases = value_get(suite, "cases");
    if (!suite) {
        skip("the facts about Fuel are not here");
        return;
    }
    for (uint32_t i = 0; i < cases->n; i++) {
        struct weave_bed b;
        bed_init(&b);
        bool good = run(&b, suite, &cases->items[i]);
        t.ran++;
        t.passed += ok(good, "%s: %s%s%s", name, text_at(&cases->items[i], "name"),
                       b.err.text[0] && !good ? ": " : "", good ? "" : b.err.text);
        bed_done(&b);
    }
    note("%s: %u cases ran, %u passed, 0 excepted, 0 skipped", name, t.ran, t.passed);
}

HELPER const char *golden_data(void)
{
    const char *data = getenv("ANNEAL_TEST_DATA");
    return data ? data : "../shared";
}

#endif
