/* test_golden.c - what loading says about whole catalogs, case by case
 *
 * tests/golden/catalog/<case>/in is a catalog, expect.txt the report followed, if it loads, by what
 * was loaded.  With --update as the last argument expect.txt is written instead; read the
 * difference as code.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog_files.h"
#include "kinds_write.h"

#include "base/json.h"
#include "model/plan.h"
#include "model/states.h"
#include "template/hook.h"

static int shell_params(const struct value *params, struct err *e)
{
    if (!value_is(value_get(params, "command"), VALUE_STRING)) {
        (void)err_set(e, ERR_INVALID, "\"command\" must be text");
        return err_at(e, "/command");
    }
    return 0;
}

static const struct catalog_check known[] = {
    {"shell", shell_params}, {"script", NULL}, {"noop", NULL}, {"test", NULL}};
static const struct catalog_checks checks = {known, sizeof known / sizeof *known};

static void names_write(struct buf *b, const struct catalog *c, const char *label,
                        const uint32_t *ids, uint32_t n)
{
    if (n)
        buf_printf(b, "    %s:", label);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(b, " %s", c->names[ids[i]].name.s);
    buf_puts(b, n ? "\n" : "");
}

static void wants_write(struct buf *b, const struct catalog *c, const char *label,
                        const struct catalog_want *w, uint32_t n)
{
    if (n)
        buf_printf(b, "    %s:", label);
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(
            b, " %s%s%s%s", c->names[w[i].name].name.s, w[i].jig == CATALOG_NONE ? "" : " by jig ",
            w[i].jig == CATALOG_NONE ? "" : c->jigs[w[i].jig].name.s, w[i].read ? " to read" : "");
        if (w[i].min)
            buf_printf(b, " (%u%s)", w[i].min, w[i].percent ? "%" : "");
    }
    buf_puts(b, n ? "\n" : "");
}

static void test_write(struct buf *b, const char *name, const struct graph_test *t)
{
    if (t->cmd.n)
        buf_printf(b, "        %s: %s, timeout %llu, retries %u, interval %llu\n", name, t->cmd.s,
                   (unsigned long long)t->timeout_ms, t->retries,
                   (unsigned long long)t->interval_ms);
}

static void action_write(struct buf *b, const struct catalog *c, const struct catalog_action *a)
{
    buf_printf(b, "    %s:\n", a->name.s);
    for (uint32_t i = 0; i < a->n_steps; i++) {
        const struct catalog_step *s = &a->steps[i];
        const struct catalog_task *t = &c->tasks[s->task];
        buf_printf(b,
                   "      %s by %s, repeat %s, hold %s, timeout %llu, deadline %llu, retries %u, "
                   "back-off %llu%s%s",
                   t->name.s, c->jigs[s->jig].name.s, repeat_name((enum repeat)s->repeat),
                   hold_name((enum hold)t->hold), (unsigned long long)t->timeout_ms,
                   (unsigned long long)t->deadline_ms, t->retries,
                   (unsigned long long)t->backoff_ms,
                   t->flags & DEF_F_TAKES_DOWN ? ", takes down" : "",
                   t->flags & DEF_F_SURVIVES_REBOOT ? ", survives reboot" : "");
        if ((t->flags | s->flags) & DEF_F_LASTING)
            buf_puts(b, ", lasting");
        for (uint32_t k = 0; k < t->n_returns; k++)
            buf_printf(b, ", returns %s", t->returns[k].s);
        for (uint32_t k = 0; k < t->n_pools; k++)
            buf_printf(b, ", pool %s", c->pools[t->pools[k]].name.s);
        for (uint32_t k = 0; k < s->n_after; k++)
            buf_printf(b, ", after %s", c->tasks[a->steps[s->after[k]].task].name.s);
        buf_puts(b, "\n        ");
        json_write_canonical(b, t->params);
        buf_puts(b, "\n");
        test_write(b, "test_pre", &t->test_pre);
        test_write(b, "test_post", &t->test_post);
    }
}

static void attributes_write(struct buf *b, const struct catalog_attribute *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!str_eq(list[i].name, list[i].path))
            buf_printf(b, "    %s is %s\n", list[i].name.s, list[i].path.s);
}

static void reads_write(struct buf *b, const struct catalog *c, const struct catalog_role *r)
{
    for (uint32_t i = 0; i < r->n_wants; i++) {
        const struct catalog_read *w = &r->wants[i];
        buf_printf(b, "    reads %.*s", (int)w->path.n, w->path.s);
        if (w->name != CATALOG_NONE)
            buf_printf(b, ", %.*s of %s", (int)w->attribute.n, w->attribute.s,
                       c->names[w->name].name.s);
        buf_printf(b, " (%u:%u)\n", w->where.line, w->where.column);
    }
}

static void hook_write(struct buf *b, const struct catalog_hooks *hooks, enum hook_event event)
{
    const struct hook *h = hooks->at[event];
    struct str s;
    enum hook_verb verb;
    uint32_t line, column;

    buf_printf(b, "    %s", hook_event_name(event));
    for (uint32_t i = 0; event == HOOK_ON_NODE_CHANGE && i < hooks->n_fields; i++)
        buf_printf(b, " of %s", hooks->fields[i].s);
    for (size_t i = 0; hook_read_at(h, i, &s); i++)
        buf_printf(b, "%s %.*s", i ? "," : ": reads", (int)s.n, s.s);
    for (size_t i = 0; hook_write_at(h, i, &verb, &s); i++)
        buf_printf(b, "; %s %.*s", hook_verb_name(verb), (int)s.n, s.s);
    for (size_t i = 0; hook_role_at(h, i, &s, &line, &column); i++)
        buf_printf(b, "; for %.*s at %u:%u", (int)s.n, s.s, line, column);
    buf_puts(b, "\n");
}

static void hooks_write(struct buf *b, const struct catalog_hooks *hooks)
{
    for (int i = 0; hooks && i < HOOK_EVENT_COUNT; i++)
        if (hooks->events >> i & 1)
            hook_write(b, hooks, (enum hook_event)i);
}

static void role_write(struct buf *b, const struct catalog *c, const struct catalog_role *r)
{
    if (r->barclamp == CATALOG_NONE) {
        buf_printf(b, "  %s, built in, cohort %u, %u tasks\n", r->name.s, r->cohort,
                   r->actions[0].n_steps);
        return;
    }
    buf_printf(b, "  %s of %s, jig %s, cohort %u, %s", r->name.s, c->barclamps[r->barclamp].name.s,
               c->jigs[r->jig].name.s, r->cohort, strategy_name((enum strategy)r->strategy));
    if (r->max)
        buf_printf(b, " %u", r->max);
    buf_printf(b, ", rerun %s", rerun_name((enum rerun)r->rerun));
    for (unsigned i = 0; i < ROLE_BIT_COUNT; i++)
        if (r->flags & 1u << i)
            buf_printf(b, ", %s", role_flag_name(i));
    buf_puts(b, "\n");
    wants_write(b, c, "requires", r->requires, r->n_requires);
    wants_write(b, c, "uses", r->uses, r->n_uses);
    names_write(b, c, "provides", r->provides, r->n_provides);
    names_write(b, c, "conflicts", r->conflicts, r->n_conflicts);
    service_write(b, r);
    attributes_write(b, r->attribute_list, r->n_attributes);
    reads_write(b, c, r);
    hooks_write(b, r->hooks);
    if (r->hook_events)
        buf_printf(b, "    events with hooks: %#x\n", r->hook_events);
    if (r->fault)
        buf_printf(b, "    cannot be bound: %s:%u:%u: %s\n", c->files[r->fault_where.file].s,
                   r->fault_where.line, r->fault_where.column, r->fault);
    buf_puts(b, "    defaults: ");
    json_write_canonical(b, r->defaults);
    buf_puts(b, "\n");
    for (uint32_t i = 0; i < r->n_actions; i++)
        action_write(b, c, &r->actions[i]);
}

static void catalog_write(struct buf *b, const struct catalog *c)
{
    buf_puts(b, "barclamps:");
    for (uint32_t i = 0; i < c->n_barclamps; i++)
        buf_printf(b, " %s %s%s", c->barclamps[i].name.s, c->barclamps[i].version.s,
                   c->barclamps[i].lenient ? " (lenient)" : "");
    buf_puts(b, "\n");
    for (uint32_t i = 0; i < c->n_barclamps; i++) {
        attributes_write(b, c->barclamps[i].attribute_list, c->barclamps[i].n_attributes);
        hooks_write(b, c->barclamps[i].hooks);
        if (c->barclamps[i].n_attributes) {
            buf_puts(b, "    defaults: ");
            json_write_canonical(b, c->barclamps[i].defaults);
            buf_puts(b, "\n");
        }
    }
    buf_puts(b, "jigs:");
    for (uint32_t i = 0; i < c->n_jigs; i++)
        buf_printf(b, " %s=%s%s%s", c->jigs[i].name.s, c->jigs[i].implementation.s,
                   c->jigs[i].active ? "" : " (off)",
                   c->jigs[i].reach == REACH_OUTSIDE ? " (outside)" : "");
    buf_puts(b, "\npools:");
    for (uint32_t i = 0; i < c->n_pools; i++)
        buf_printf(b, " %s=%u", c->pools[i].name.s, c->pools[i].size);
    buf_puts(b, "\nroles:\n");
    for (uint32_t i = 0; i < c->n_roles; i++)
        role_write(b, c, &c->roles[c->order[i]]);
    kinds_write(b, c);
}

static bool file_write(const char *path, struct str text)
{
    FILE *out = fopen(path, "wb");
    bool good = out && fwrite(text.s, 1, text.n, out) == text.n;
    return out ? fclose(out) == 0 && good : false;
}

static void case_run(const char *root, const char *name, bool update)
{
    struct files in = {0}, want = {0};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;
    SCOPED_BUF(got);

    const char *dir = arena_printf(&in.mem, "%s/%s/in", root, name);
    ok(files_read(&in, dir, ""), "%s: has a catalog", name);
    struct catalog_source source = files_source(&in);
    int r = catalog_load(&source, &checks, 1, &report, &c, &e);
    catalog_report_write(&got, &report);
    if (r == 0)
        catalog_write(&got, c);
    ok((r == 0) == (report.n_errors == 0), "%s: loads if and only if there is no error", name);
    dir = arena_printf(&in.mem, "%s/%s", root, name);
    if (update) {
        ok(file_write(arena_printf(&in.mem, "%s/expect.txt", dir), buf_str(&got)), "%s: updated",
           name);
    } else {
        const char *text = "";
        files_read(&want, dir, "");
        for (size_t i = 0; i < want.at.n; i++)
            if (str_is(want.at.at[i].path, "expect.txt"))
                text = want.at.at[i].text.s;
        is_text(got.data, text, "%s: report", name);
    }
    catalog_unref(c);
    catalog_report_done(&report);
    files_done(&in);
    files_done(&want);
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    bool update = argc > 2 && !strcmp(argv[2], "--update");
    char *names[256];
    size_t n = 0;

    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
    if (!ok(d != NULL, "the directory of cases is given"))
        return tap_done();
    for (struct dirent *entry = readdir(d); entry && n < 256; entry = readdir(d))
        if (entry->d_name[0] != '.')
            names[n++] = xstrdup(entry->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, name_compare);
    ok(n > 10, "there are cases");
    for (size_t i = 0; i < n; i++) {
        case_run(argv[1], names[i], update);
        free(names[i]);
    }
    return tap_done();
}
