/* cmd_status.c - one screen that says what the cluster is doing and what needs a person
 *
 * Counts first, open operations next, and last what needs attention, each with the command that
 * shows more. Nothing there means nothing is wrong; --check turns that into an exit code for
 * monitoring.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/progress_i.h"
#include "cli/table_i.h"

static int64_t count_at(const struct value *v, const char *path)
{
    return value_as_int(value_at(v, path), 0);
}

static int64_t count_sum(const struct value *counts)
{
    int64_t n = 0;
    for (uint32_t i = 0; value_is(counts, VALUE_MAP) && i < counts->n; i++)
        n += value_as_int(&counts->members[i].v, 0);
    return n;
}

/* "nodes   42   40 alive  1 away  1 dead" */
static void counts_draw(struct pen *pen, const char *what, const struct value *counts)
{
    pen_put(pen, STYLE_DIM, "%s", what);
    pen_to(pen, 11);
    pen_put(pen, STYLE_BOLD, "%6" PRId64, count_sum(counts));
    const char *gap = "   ";
    for (uint32_t i = 0; value_is(counts, VALUE_MAP) && i < counts->n; i++) {
        int64_t n = value_as_int(&counts->members[i].v, 0);
        const char *state = counts->members[i].key;
        if (!n)
            continue;
        pen_put(pen, STYLE_PLAIN, "%s", gap);
        pen_put(pen, term_state_style(state), "%" PRId64 " %s", n, state);
        gap = "  ";
    }
    pen_end(pen);
}

/* ", last backup 3h12m ago", or how far it is. */
static void backup_draw(struct cli *c, struct pen *pen, const struct value *backup)
{
    static const struct field ended = {"", "ended_at", SHOW_AGE, 0};
    const char *state = value_as_text(value_get(backup, "state"), "");
    int64_t total = count_at(backup, "bytes_total"), done = count_at(backup, "bytes_done");
    if (!strcmp(state, "running"))
        pen_put(pen, STYLE_BUSY, ", backup under way (%d%%)",
                total > 0 ? (int)((done < total ? done : total) * 100 / total) : 0);
    else if (!strcmp(state, "done"))
        pen_put(pen, STYLE_PLAIN, ", last backup %s ago",
                field_cell(&c->mem, &ended, backup, c->env->wall_ms(c->env->arg), pen->look).s);
}

static void head_draw(struct cli *c, struct pen *pen, const struct value *v)
{
    char up[16], bytes[16];
    const char *check = value_as_text(value_at(v, "store.check"), NULL);
    text_duration_show((uint64_t)count_at(v, "uptime_ms"), up);
    bytes_show(count_at(v, "store.bytes"), bytes);
    pen_put(pen, STYLE_BOLD, "anneald %s", value_as_text(value_get(v, "version"), "?"));
    pen_put(pen, STYLE_PLAIN, " at %s, up %s", http_base(c->http), up);
    pen_end(pen);
    const char *state = value_as_text(value_get(v, "state"), "?");
    pen_put(pen, STYLE_DIM, "state");
    pen_to(pen, 11);
    pen_put(pen, term_state_style(state), "%s", state);
    pen_end(pen);
    pen_put(pen, STYLE_DIM, "catalog");
    pen_to(pen, 11);
    if (count_at(v, "catalog"))
        pen_put(pen, STYLE_PLAIN, "generation %" PRId64, count_at(v, "catalog"));
    else
        pen_put(pen, STYLE_WARN, "none loaded");
    pen_end(pen);
    pen_put(pen, STYLE_DIM, "store");
    pen_to(pen, 11);
    pen_put(pen, STYLE_PLAIN, "%s, event %" PRId64, bytes, count_at(v, "journal"));
    if (value_as_bool(value_at(v, "store.checking"), false))
        pen_put(pen, STYLE_BUSY, ", being checked");
    else if (check)
        pen_put(pen, strcmp(check, "ok") ? STYLE_BAD : STYLE_GOOD, ", check %s", check);
    backup_draw(c, pen, value_at(v, "store.backup"));
    pen_end(pen);
    pen_put(pen, STYLE_DIM, "workers");
    pen_to(pen, 11);
    pen_put(pen, count_at(v, "workers") ? STYLE_PLAIN : STYLE_WARN, "%6" PRId64,
            count_at(v, "workers"));
    pen_end(pen);
}

static void operations_draw(struct cli *c, struct pen *pen, const struct value *list)
{
    struct progress p = {0};
    if (!value_is(list, VALUE_LIST) || !list->n)
        return;
    p.ops = arena_new(&c->mem, struct progress_op, list->n);
    for (p.n_ops = 0; p.n_ops < list->n; p.n_ops++)
        p.ops[p.n_ops] = progress_op_read(&c->mem, &list->items[p.n_ops]);
    pen_end(pen);
    progress_draw(pen->b, pen->look, 40, &p, c->env->wall_ms(c->env->arg));
}

struct concern {
    int64_t n; /* 0: none */
    const char *one, *many, *remedy;
};

struct concerns {
    struct pen *pen;
    int found;
};

static void concern_draw(struct concerns *all, const struct concern *x)
{
    struct pen *pen = all->pen;
    if (!x->n)
        return;
    if (!all->found++) {
        pen_end(pen);
        pen_put(pen, STYLE_BOLD, "needs attention");
        pen_end(pen);
    }
    pen_put(pen, STYLE_BAD, "  ! ");
    if (x->n > 1)
        pen_put(pen, STYLE_PLAIN, "%" PRId64 " %s", x->n, x->many);
    else
        pen_put(pen, STYLE_PLAIN, "%s", x->one);
    pen_to(pen, 40);
    pen_put(pen, STYLE_DIM, "%s", x->remedy);
    pen_end(pen);
}

/* Nodes, as the server says; one of before counts the dead ones only. */
static void nodes_draw(struct concerns *all, const struct value *v)
{
    const struct value *list = value_get(v, "attention");
    if (!list)
        concern_draw(all, &(struct concern){count_at(v, "nodes.dead"), "1 node is dead",
                                            "nodes are dead", "anneal node list --alive dead"});
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        concern_draw(
            all, &(struct concern){1, value_as_text(value_get(&list->items[i], "text"), "?"), "",
                                   value_as_text(value_get(&list->items[i], "remedy"), "")});
}

/* Draws what needs attention; returns how many things do. */
static int concerns_draw(struct pen *pen, const struct value *v)
{
    struct concerns all = {.pen = pen};
    const char *check = value_as_text(value_at(v, "store.check"), "ok");
    bool idle = !count_sum(value_get(v, "tasks")) || count_at(v, "workers");
    const char *degraded = value_as_text(value_at(v, "store.degraded"), "");
    const char *backup = value_as_text(value_at(v, "store.backup.error"), "");
    const struct concern first[] = {
        {*degraded != '\0', "nothing can be written", "", degraded},
        {count_at(v, "noderoles.ERROR"), "1 noderole is in ERROR", "noderoles are in ERROR",
         "anneal noderole list --state ERROR"},
    };
    const struct concern rest[] = {
        {count_at(v, "tasks.FAILED"), "1 task failed", "tasks failed",
         "anneal task list --state FAILED"},
        {value_as_bool(value_get(v, "stalled"), false), "work is stalled", "", "anneal watch"},
        {value_as_bool(value_get(v, "suspect"), false), "many nodes fell silent at once", "",
         "anneal admin confirm-dead, if they are dead"},
        {!idle, "there is work but no worker", "", "anneal worker list"},
        {!count_at(v, "catalog"), "no catalog is loaded", "", "anneal catalog load DIR"},
        {strcmp(check, "ok") != 0, "the store is damaged", "", "anneal admin check"},
        {*backup != '\0', "the last backup failed", "", backup},
    };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        concern_draw(&all, &first[i]);
    nodes_draw(&all, v);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        concern_draw(&all, &rest[i]);
    return all.found;
}

int cmd_status(struct cli *c, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(b);
    int rc = cli_get(c, "/v1/status", &v, e);
    if (rc)
        return rc;
    struct look look = cli_look(c, false);
    struct pen pen = {.b = &b, .look = &look};
    head_draw(c, &pen, v);
    counts_draw(&pen, "nodes", value_get(v, "nodes"));
    counts_draw(&pen, "noderoles", value_get(v, "noderoles"));
    counts_draw(&pen, "tasks", value_get(v, "tasks"));
    operations_draw(c, &pen, value_get(v, "operations"));
    int concerns = concerns_draw(&pen, v);
    if (!cli_print_data(c, v, "version"))
        cli_put(c, &b);
    if (concerns && cli_has(c, "check"))
        c->exit = err_exit(ERR_FAILED);
    return 0;
}
