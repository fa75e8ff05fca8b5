/* cmd_diff.c - what differs between two snapshots, for people
 *
 * One line for each noderole: + comes, - goes, ~ changes, * is concerned though nobody asked for
 * it, ! is in the way; what that means for it stands below, indented.  Everything is in the order
 * of names, as the server gives it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* --- data: values as `a.b: 1`, one a line; what is a map is gone into, as deep as it goes --- */

enum { SIDES = 3 };

struct leaf { /* the same place in documents that are compared; NULL: not there */
    const struct value *side[SIDES];
    const char *path;
};
typedef VEC(struct leaf) leaves_v;

static bool differs(const struct leaf *l, size_t sides)
{
    for (size_t i = 1; i < sides; i++)
        if (!l->side[0] != !l->side[i] || (l->side[0] && !value_equal(l->side[0], l->side[i])))
            return true;
    return false;
}

/* Maps, or nothing, on all sides; of maps that are all empty there is nothing to go into. */
static bool can_go_into(const struct leaf *l, size_t sides)
{
    bool any = !*l->path;
    for (size_t i = 0; i < sides; i++) {
        if (l->side[i] && !value_is(l->side[i], VALUE_MAP))
            return false;
        any |= l->side[i] && l->side[i]->n;
    }
    return any;
}

static bool known_before(const struct leaf *l, size_t sides, const char *key)
{
    for (size_t i = 0; i < sides; i++)
        if (value_get(l->side[i], key))
            return true;
    return false;
}

static void go_into(struct cli *c, struct leaf l, size_t sides, leaves_v *todo)
{
    for (size_t s = 0; s < sides; s++)
        for (uint32_t i = 0; l.side[s] && i < l.side[s]->n; i++) {
            const char *key = l.side[s]->members[i].key;
            struct leaf below = {.path = *l.path ? arena_printf(&c->mem, "%s.%s", l.path, key)
                                                 : key};
            if (known_before(&l, s, key))
                continue;
            for (size_t k = 0; k < sides; k++)
                below.side[k] = value_get(l.side[k], key);
            vec_push(todo, below);
        }
}

static int by_path(const void *x, const void *y)
{
    const struct leaf *p = x, *q = y;
    return text_natural_order(str_of(p->path), str_of(q->path));
}

/* The places where documents differ, by name. */
static void leaves_find(struct cli *c, struct leaf documents, size_t sides, leaves_v *ret)
{
    leaves_v todo = {0};
    for (size_t i = 0; i < sides; i++)
        if (value_is(documents.side[i], VALUE_NULL))
            documents.side[i] = NULL;
    vec_push(&todo, documents);
    while (todo.n) {
        struct leaf l = todo.at[--todo.n];
        if (!differs(&l, sides))
            continue;
        if (can_go_into(&l, sides))
            go_into(c, l, sides, &todo);
        else
            vec_push(ret, l);
    }
    vec_done(&todo);
    if (ret->n > 1)
        qsort(ret->at, ret->n, sizeof *ret->at, by_path);
}

static const char *shown(struct cli *c, const struct value *v)
{
    SCOPED_BUF(b);
    if (!v)
        return "-";
    json_write(&b, v, 0);
    return arena_strdup(&c->mem, buf_str(&b).s);
}

void diff_data_say(struct cli *c, const struct value *before, const struct value *after)
{
    leaves_v found = {0};
    leaves_find(c, (struct leaf){{before, after}, ""}, 2, &found);
    for (size_t i = 0; i < found.n; i++) {
        const struct value *was = found.at[i].side[0], *now = found.at[i].side[1];
        if (was && now)
            cli_say(c, "      %s: %s -> %s", found.at[i].path, shown(c, was), shown(c, now));
        else
            cli_say(c, "      %s %s: %s", now ? "+" : "-", found.at[i].path,
                    shown(c, now ? now : was));
    }
    vec_done(&found);
}

/* --- lines --- */

static void names_say(struct cli *c, const char *what, const struct value *names)
{
    for (uint32_t i = 0; value_is(names, VALUE_LIST) && i < names->n; i++)
        cli_say(c, "      %s %s", what, value_as_text(&names->items[i], ""));
}

void diff_name_say(struct cli *c, const char *mark, const struct value *v, const char *more)
{
    const char *node = value_as_text(value_get(v, "node"), NULL);
    int64_t noderole = value_as_int(value_get(v, "noderole"), 0);
    cli_say(c, "  %s %s%s%s%s%s%s", mark, value_as_text(value_get(v, "role"), ""),
            node ? "@" : " (the whole deployment)", node ? node : "",
            noderole ? arena_printf(&c->mem, "  noderole %" PRId64, noderole) : "",
            more ? "  " : "", more ? more : "");
}

static void change_say(struct cli *c, const struct value *v)
{
    const char *what = value_as_text(value_get(v, "change"), "");
    diff_name_say(c, *what == 'a' ? "+" : *what == 'r' ? "-" : "~", v, NULL);
    if (*what != 'r') {
        diff_data_say(c, value_get(v, "before"), value_get(v, "after"));
        names_say(c, "needs", value_get(v, "gains"));
        names_say(c, "no longer needs", value_get(v, "losses"));
    }
}

void diff_touched_say(struct cli *c, const char *mark, const struct value *list, const char *home)
{
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++) {
        const struct value *v = &list->items[i], *why = value_get(v, "why");
        const char *deployment = value_as_text(value_get(v, "deployment"), home);
        diff_name_say(c, mark, v,
                      strcmp(deployment, home) != 0
                          ? arena_printf(&c->mem, "in deployment %s", deployment)
                          : NULL);
        names_say(c, "needs", value_get(v, "gains"));
        names_say(c, "no longer needs", value_get(v, "losses"));
        for (uint32_t k = 0; value_is(why, VALUE_LIST) && k < why->n; k++) {
            const char *word = value_as_text(&why->items[k], "");
            if (!strcmp(word, "definition"))
                cli_say(c, "      is defined otherwise by the catalog");
            else if (!strcmp(word, "data"))
                cli_say(c, "      sees other data");
        }
    }
}

void diff_lost_say(struct cli *c, const struct value *lost)
{
    for (uint32_t i = 0; value_is(lost, VALUE_LIST) && i < lost->n; i++)
        diff_name_say(c, "!", &lost->items[i],
                      arena_printf(&c->mem, "cannot come back: %s",
                                   value_as_text(value_get(&lost->items[i], "text"), "")));
}

/* --- conflicts --- */

static bool among(const struct value *side, const char *name)
{
    const struct value *names = value_get(side, "needs");
    for (uint32_t i = 0; value_is(names, VALUE_LIST) && i < names->n; i++)
        if (!strcmp(value_as_text(&names->items[i], ""), name))
            return true;
    return false;
}

/* Needs that not all sides have; each is told by the first side that has it. */
static void needs_say(struct cli *c, const struct value *const sides[SIDES])
{
    for (size_t s = 0; s < SIDES; s++) {
        const struct value *names = value_get(sides[s], "needs");
        for (uint32_t i = 0; value_is(names, VALUE_LIST) && i < names->n; i++) {
            const char *name = value_as_text(&names->items[i], "");
            bool has[SIDES], told = false;
            for (size_t k = 0; k < SIDES; k++) {
                has[k] = among(sides[k], name);
                told |= k < s && has[k];
            }
            if (!told && !(has[0] && has[1] && has[2]))
                cli_say(c, "      needs %s: before %s, theirs %s, yours %s", name,
                        has[0] ? "yes" : "no", has[1] ? "yes" : "no", has[2] ? "yes" : "no");
        }
    }
}

static void conflict_say(struct cli *c, const struct value *v)
{
    const struct value *sides[SIDES] = {value_get(v, "base"), value_get(v, "head"),
                                        value_get(v, "proposal")};
    static const char *const words[SIDES] = {"before", "theirs", "yours"};
    leaves_v found = {0};
    diff_name_say(c, "!", v, "changed by you and, since this was proposed, by others");
    for (size_t i = 0; i < SIDES; i++)
        if (!value_is(sides[i], VALUE_MAP))
            cli_say(c, "      %s: not bound", words[i]);
    leaves_find(c,
                (struct leaf){{value_get(sides[0], "data"), value_get(sides[1], "data"),
                               value_get(sides[2], "data")},
                              ""},
                SIDES, &found);
    for (size_t i = 0; i < found.n; i++)
        cli_say(c, "      %s: before %s, theirs %s, yours %s", found.at[i].path,
                shown(c, found.at[i].side[0]), shown(c, found.at[i].side[1]),
                shown(c, found.at[i].side[2]));
    vec_done(&found);
    needs_say(c, sides);
}

/* --- the verb --- */

static const char *side_name(struct cli *c, const struct value *v)
{
    return value_is(v, VALUE_MAP)
               ? arena_printf(&c->mem, "%s %" PRId64, value_as_text(value_get(v, "state"), ""),
                              value_as_int(value_get(v, "number"), 0))
               : "nothing";
}

static uint32_t list_length(const struct value *v, const char *key)
{
    const struct value *list = value_get(v, key);
    return value_is(list, VALUE_LIST) ? list->n : 0;
}

static void refusal_say(struct cli *c, const struct value *v)
{
    const char *hint = value_as_text(value_get(v, "hint"), NULL);
    if (!value_is(v, VALUE_MAP))
        return;
    cli_say(c, "  ! it cannot be committed like this: %s", value_as_text(value_get(v, "text"), ""));
    if (hint)
        cli_say(c, "      %s", hint);
}

/* A number of the history, head or proposal. */
static int side_check(struct cli *c, size_t arg, struct err *e)
{
    const char *s = cli_arg(c, arg);
    uint64_t number;
    if (!s || !strcmp(s, "head") || !strcmp(s, "proposal") ||
        text_u64(str_of(s), UINT32_MAX, &number, e) == 0)
        return 0;
    err_set(e, ERR_INVALID, "%s is head, proposal or a number of the history, not \"%.64s\"",
            c->line.verb->args[arg].name, s);
    return err_hint(e, "`anneal deployment history %s` lists what there is", cli_arg(c, 0));
}

/* Why nothing is shown, if nothing is. */
static const char *nothing_to_show(const struct value *from, const struct value *to)
{
    if (!value_is(to, VALUE_MAP))
        return "nothing is proposed, and nothing was committed yet";
    if (value_is(from, VALUE_MAP) && value_equal(from, to))
        return "nothing differs: it is the same snapshot";
    return "nothing differs";
}

int diff_show(struct cli *c, const char *side_from, const char *side_to, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(path);
    buf_puts(&path, http_path(&c->mem, "/v1/deployments/%s/diff", cli_arg(c, 0)));
    http_query(&path, "from", side_from);
    http_query(&path, "to", side_to);
    int rc = cli_get(c, path.data, &v, e);
    if (rc || cli_print_data(c, v, "changes.role"))
        return rc;
    const struct value *from = value_get(v, "from"), *to = value_get(v, "to");
    int64_t was = value_as_int(value_get(from, "catalog"), 0);
    int64_t now = value_as_int(value_get(to, "catalog"), 0);
    cli_say(c, "%s: from %s to %s", cli_arg(c, 0), side_name(c, from), side_name(c, to));
    if (was && now && was != now)
        cli_say(c, "  catalog: generation %" PRId64 " -> %" PRId64, was, now);
    for (uint32_t i = 0; i < list_length(v, "changes"); i++)
        change_say(c, &value_get(v, "changes")->items[i]);
    diff_touched_say(c, "*", value_get(v, "touched"), cli_arg(c, 0));
    for (uint32_t i = 0; i < list_length(v, "conflicts"); i++)
        conflict_say(c, &value_get(v, "conflicts")->items[i]);
    diff_lost_say(c, value_get(v, "lost"));
    refusal_say(c, value_get(v, "refused"));
    if (!list_length(v, "changes") && !list_length(v, "touched") && !list_length(v, "conflicts") &&
        (was == now || !was || !now))
        cli_say(c, "  %s", nothing_to_show(from, to));
    return 0;
}

int cmd_deployment_diff(struct cli *c, struct err *e)
{
    if (side_check(c, 1, e) || side_check(c, 2, e))
        return -ERR_INVALID;
    return diff_show(c, cli_arg(c, 1), cli_arg(c, 2), e);
}
