/* kit.c - what a plugin is tried with, and what it must do
 *
 * Each check stands for a promise of docs/rfc/10-plugins.md that a worker relies on.  Calls run in
 * the order of tests.yaml, so that a later one finds what an earlier one made.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/yaml.h"
#include "sys/dirscan.h"
#include "sys/fs.h"

#define KIT_TESTS "tests.yaml"
enum { TESTS_BYTES = 256 * 1024 };

__attribute__((format(printf, 4, 5))) static void point(struct kit *k, enum kit_mark mark,
                                                        const char *what, const char *why, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, why);
    vsnprintf(text, sizeof text, why, ap);
    va_end(ap);
    k->failed += mark == KIT_FAIL;
    vec_push(&k->points,
             ((struct kit_point){mark, arena_strdup(k->mem, what), arena_strdup(k->mem, text)}));
}

/* --- reading --- */

static int descriptor_read(struct kit *k, const char *dir, struct err *e)
{
    struct dirscan d;
    dirscan_init(&d, "", PLUGIN_FILE, PLUGIN_MAX_BYTES);
    dirscan_one(&d, dir);
    const struct dirscan_entry *x = &d.at.at[0];
    int rc = x->bad ? -(int)x->err.code : 0;
    if (x->bad)
        *e = x->err;
    else
        rc = plugin_read(k->mem, str_of(x->dir), buf_str(&x->text), &k->plugin, e);
    dirscan_done(&d);
    return rc;
}

/* $SCRATCH is a directory that is empty at first and goes at the end, $PLUGIN that of the plugin.
 */
static void places_fill(struct buf *b, const char *text, const struct kit *k)
{
    const struct {
        const char *word, *place;
    } places[] = {{"$SCRATCH", k->scratch}, {"$PLUGIN", k->plugin->dir.s}};
    while (*text) {
        size_t i = 0, n = sizeof places / sizeof *places;
        while (i < n && strncmp(text, places[i].word, strlen(places[i].word)) != 0)
            i++;
        if (i < n) {
            buf_puts(b, places[i].place);
            text += strlen(places[i].word);
        } else {
            buf_putc(b, *text++);
        }
    }
}

static int tests_read(struct kit *k, struct err *e)
{
    char *path = fs_join(k->plugin->dir.s, KIT_TESTS);
    SCOPED_BUF(file);
    SCOPED_BUF(text);
    struct value *v = NULL;
    int rc = fs_read(path, TESTS_BYTES, &file, e);
    if (rc == -ERR_NOT_FOUND) {
        k->tests = value_map(k->mem);
        point(k, KIT_SKIP, KIT_TESTS, "%s", "there is none: only what needs no example is tried");
        rc = 0;
    } else if (rc >= 0) {
        places_fill(&text, buf_str(&file).s, k);
        struct yaml_options o = {.name = arena_strdup(k->mem, path)};
        rc = yaml_parse(k->mem, buf_str(&text).s, text.len, &o, &v, e);
        if (rc >= 0 && v->kind != VALUE_MAP)
            rc = err_set(e, ERR_INVALID, "%s: a map was expected", path);
        k->tests = v;
    }
    free(path);
    return rc < 0 ? rc : 0;
}

/* --- a call --- */

static const struct value *calls_of(const struct kit *k)
{
    static const struct value none = {.kind = VALUE_LIST};
    const struct value *calls = value_get(k->tests, "calls");
    return value_is(calls, VALUE_LIST) ? calls : &none;
}

static const struct value *call_of(const struct kit *k, struct str action)
{
    const struct value *calls = calls_of(k);
    for (uint32_t i = 0; i < calls->n; i++)
        if (str_eq(value_as_str(value_get(&calls->items[i], "action")), action))
            return &calls->items[i];
    return NULL;
}

static const struct plugin_type *type_of(const struct kit *k)
{
    struct str name = value_as_str(value_get(k->tests, "type"));
    if (name.n)
        return plugin_type_get(k->plugin, name);
    return k->plugin->n_types ? &k->plugin->types[0] : NULL;
}

static void put(struct arena *mem, struct value *doc, const struct value *call, const char *key)
{
    const struct value *v = value_get(call, key);
    value_set(mem, doc, key, v ? v : value_map(mem));
}

static struct str input_of(struct kit *k, struct str action, const struct value *call,
                           const char *key, bool dry_run)
{
    struct value *doc = value_map(k->mem), *task = value_map(k->mem), *node = value_map(k->mem);
    const struct plugin_type *t = type_of(k);
    const struct value *fields = value_get(k->tests, "fields");
    SCOPED_BUF(b);
    const struct value *all = t ? plugin_fields_defaults(k->mem, t) : value_map(k->mem);
    if (fields)
        all = value_merge(k->mem, all, fields);
    value_put_int(k->mem, doc, "protocol", PLUGIN_PROTOCOL);
    value_set(k->mem, doc, "plugin", value_str(k->mem, k->plugin->name));
    value_put_text(k->mem, doc, "type", t ? t->name.s : "");
    value_set(k->mem, doc, "action", value_str(k->mem, action));
    value_put_text(k->mem, doc, "key", key);
    value_put_bool(k->mem, doc, "dry_run", dry_run);
    value_set(k->mem, doc, "fields", all);
    put(k->mem, doc, call, "params");
    put(k->mem, doc, call, "data");
    value_put_int(k->mem, task, "id", 1);
    value_put_text(k->mem, task, "name", "check");
    value_put_int(k->mem, task, "attempt", 1);
    value_put_int(k->mem, task, "ask", 0);
    value_put_text(k->mem, task, "key", key);
    value_set(k->mem, doc, "task", task);
    value_put_text(k->mem, node, "name",
                   value_as_text(value_get(call, "node"), "check.example.net"));
    value_put_text(k->mem, node, "address", "192.0.2.1");
    value_set(k->mem, doc, "node", node);
    json_write(&b, doc, 0);
    buf_putc(&b, '\n');
    return (struct str){arena_strndup(k->mem, b.data, b.len), b.len};
}

static void ask(struct kit *k, struct str action, const struct value *call, const char *key,
                bool dry_run, struct kit_heard *ret)
{
    const struct plugin_action *a = plugin_action_get(k->plugin, action);
    kit_call(k, input_of(k, action, call, key, dry_run),
             a && a->timeout_ms ? a->timeout_ms : KIT_CALL_MS, false, ret);
}

static const char *came_to(const struct kit_heard *h)
{
    return h->late ? "it did not end in time" : h->verdict.text;
}

/* --- checks --- */

static void check_refuses(struct kit *k, const char *what, const struct kit_heard *h)
{
    if (h->late || h->unstarted)
        point(k, KIT_FAIL, what, "%s", came_to(h));
    else if (h->verdict.outcome != OUTCOME_FAILED)
        point(k, KIT_FAIL, what, "it answered as if all were well");
    else if (h->strays || !h->refused)
        point(k, KIT_FAIL, what, "%s", h->verdict.text);
    else
        point(k, KIT_PASS, what, "%s", h->verdict.text);
}

static void check_nonsense(struct kit *k)
{
    struct kit_heard h;
    ask(k, str_of("no-such-action"), NULL, "check-0", false, &h);
    check_refuses(k, "an unknown action is refused", &h);
    kit_call(k, str_of("this is not JSON\n"), KIT_CALL_MS, false, &h);
    check_refuses(k, "input that is not JSON is refused", &h);
    kit_call(k, str_of("\n"), KIT_CALL_MS, false, &h);
    check_refuses(k, "input that ends too early is refused", &h);
}

static void check_term(struct kit *k)
{
    static const char what[] = "it ends when it is told to";
    struct kit_heard h;
    /* As one that cannot do harm: what it would do is not known by its name. */
    kit_call(k, input_of(k, str_of("no-such-action"), NULL, "check-0", false), KIT_TERM_MS, true,
             &h);
    if (h.late)
        point(k, KIT_FAIL, what, "%d s after SIGTERM it was still there", KIT_TERM_MS / 1000);
    else
        point(k, KIT_PASS, what, "%s", "");
}

static void check_dry_run(struct kit *k, struct str action)
{
    const struct value *call = call_of(k, action);
    const char *what = arena_printf(k->mem, "%s: dry run", action.s);
    struct kit_heard h;
    if (!k->plugin->dry_run || !call)
        return;
    ask(k, action, call, arena_printf(k->mem, "dry-%s", action.s), true, &h);
    bool well = h.verdict.outcome == OUTCOME_OK || h.verdict.outcome == OUTCOME_AGAIN;
    point(k, well && !h.late ? KIT_PASS : KIT_FAIL, what, "%s", well ? "" : came_to(&h));
}

static const char *answer_text(struct kit *k, const struct kit_heard *h)
{
    SCOPED_BUF(b);
    if (h->verdict.returns)
        json_write_canonical(&b, h->verdict.returns);
    return arena_strdup(k->mem, buf_str(&b).s);
}

static void check_token(struct kit *k, const struct plugin_action *a, const struct value *call,
                        const char *key, const struct kit_heard *first)
{
    const char *what = arena_printf(k->mem, "%s: the same key, the same answer", a->name.s);
    struct kit_heard h;
    if (a->repeat != REPEAT_TOKEN || first->verdict.outcome != OUTCOME_OK)
        return;
    ask(k, a->name, call, key, false, &h);
    const char *was = answer_text(k, first), *is = answer_text(k, &h);
    if (h.verdict.outcome == OUTCOME_OK && !strcmp(was, is))
        point(k, KIT_PASS, what, "%s", "");
    else
        point(k, KIT_FAIL, what, "first %.120s, then %.120s", was, *is ? is : came_to(&h));
}

static void check_probe(struct kit *k, const struct plugin_action *a, const struct value *call,
                        const char *key, bool wanted)
{
    const char *what = arena_printf(k->mem, "%s: %s %s it", a->name.s, a->probe.s,
                                    wanted ? "then finds" : "does not yet find");
    struct kit_heard h;
    ask(k, a->probe, call, key, false, &h);
    const struct value *found = value_get(h.verdict.returns, "found");
    if (h.verdict.outcome != OUTCOME_OK || !value_is(found, VALUE_BOOL))
        point(k, KIT_FAIL, what, "%s",
              h.verdict.text[0] ? came_to(&h) : "no \"found\" in its result");
    else
        point(k, found->b == wanted ? KIT_PASS : KIT_FAIL, what, "found: %s",
              found->b ? "true" : "false");
}

static void check_call(struct kit *k, uint32_t i)
{
    static const struct {
        const char *word;
        enum outcome outcome;
    } words[] = {{"result", OUTCOME_OK}, {"again", OUTCOME_AGAIN}, {"error", OUTCOME_FAILED}};
    const struct value *call = &calls_of(k)->items[i];
    struct str action = value_as_str(value_get(call, "action"));
    const struct plugin_action *a = plugin_action_get(k->plugin, action);
    const char *expect = value_as_text(value_get(call, "expect"), "result");
    const char *key = value_as_text(value_get(call, "key"),
                                    arena_printf(k->mem, "check-%u", i + 1));
    const char *what = arena_printf(k->mem, "%s: %s", a ? a->name.s : "a call", expect);
    struct kit_heard h;
    size_t w = 0;
    while (w < 3 && strcmp(words[w].word, expect) != 0)
        w++;
    if (!a || w == 3) {
        point(k, KIT_FAIL, what,
              KIT_TESTS ": a call has an action of the descriptor, and expects "
                        "result, again or error");
        return;
    }
    bool probes = a->probe.n && w == 0;
    if (probes)
        check_probe(k, a, call, key, false);
    ask(k, action, call, key, false, &h);
    if (h.verdict.outcome == words[w].outcome && !h.late && !h.strays)
        point(k, KIT_PASS, what, "%.200s", h.verdict.text[0] ? h.verdict.text : answer_text(k, &h));
    else
        point(k, KIT_FAIL, what, "%.200s",
              h.verdict.text[0] || h.late ? came_to(&h) : answer_text(k, &h));
    check_token(k, a, call, key, &h);
    if (probes && h.verdict.outcome == OUTCOME_OK)
        check_probe(k, a, call, key, true);
}

static void check_secrets(struct kit *k)
{
    const struct plugin_type *t = type_of(k);
    const struct value *fields = value_get(k->tests, "fields");
    uint32_t tried = 0;
    for (uint32_t i = 0; t && i < t->n_fields; i++) {
        const struct value *v = value_get_str(fields, t->fields[i].name);
        if (!t->fields[i].sensitive || !value_is(v, VALUE_STRING) || !v->n)
            continue;
        bool told = memmem(buf_str(&k->heard).s, k->heard.len, v->s, v->n) != NULL;
        tried++;
        point(k, told ? KIT_FAIL : KIT_PASS,
              arena_printf(k->mem, "%s is in nothing that it says", t->fields[i].name.s), "%s",
              told ? "its value is in its output" : "");
    }
    if (!tried)
        point(k, KIT_SKIP, "secrets are in nothing that it says", "no sensitive field has a value");
}

static void checks(struct kit *k)
{
    char *program = fs_join(k->plugin->dir.s, k->plugin->executable.s);
    bool runs = access(program, X_OK) == 0;
    point(k, KIT_PASS, "the descriptor", "%s %s, type %s", k->plugin->name.s, k->plugin->version.s,
          plugin_kind_name(k->plugin->kind));
    point(k, runs ? KIT_PASS : KIT_FAIL, "the program", runs ? "%s" : "%s cannot be executed",
          k->plugin->executable.s);
    free(program);
    if (!runs)
        return;
    check_nonsense(k);
    check_term(k);
    for (uint32_t i = 0; i < k->plugin->n_actions; i++)
        check_dry_run(k, k->plugin->actions[i].name);
    for (uint32_t i = 0; i < calls_of(k)->n; i++)
        check_call(k, i);
    for (uint32_t i = 0; i < k->plugin->n_actions; i++)
        if (!call_of(k, k->plugin->actions[i].name))
            point(k, KIT_SKIP, arena_printf(k->mem, "%s: result", k->plugin->actions[i].name.s),
                  "no call of it in " KIT_TESTS);
    check_secrets(k);
}

int kit_run(struct kit *k, struct arena *mem, const char *dir, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    char *scratch = arena_printf(mem, "%s/anneal-plugin-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    *k = (struct kit){.mem = mem};
    int rc = descriptor_read(k, dir, e);
    if (rc < 0)
        return rc;
    if (!mkdtemp(scratch)) {
        err_sys(e, ERR_IO, errno, "cannot make the directory %s", scratch);
        return err_hint(e, "TMPDIR says where it is made");
    }
    k->scratch = scratch;
    rc = tests_read(k, e);
    if (rc >= 0)
        checks(k);
    (void)fs_remove_tree(scratch, NULL);
    return rc;
}

void kit_done(struct kit *k)
{
    vec_done(&k->points);
    buf_done(&k->heard);
}
