/* cmd_why.c - reasons, followed to the object that somebody can act on
 *
 * The server answers with the nearest reasons and, further out, with the reasons of those.  What is
 * near is drawn; a reason that is another task or noderole is asked about in turn, each object
 * once, so that the tree shows who waits for whom and its leaves say what to do.  The tree is
 * walked with a list of our own: its shape is the user's graph.  The data formats give the server's
 * answer as it is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "cli/table_i.h"

enum { DEPTH_DEFAULT = 6, DEPTH_MOST = 32, ASKED_MOST = 64 };

struct why_line { /* one reason in the tree */
    int depth;
    bool last; /* of its siblings */
    const struct value *reason;
};
struct why {
    struct cli *c;
    int depth;
    int asked;
    struct strmap seen; /* kind/id that is explained already */
    struct strmap told; /* reasons that stand in the tree already */
    const char *summary;
    VEC(struct why_line) todo; /* a stack: children before the next sibling */
    bool open[DEPTH_MOST + 2]; /* a sibling follows at that depth: draw the line down */
    struct buf out;
    struct look look;
};

static int why_get(struct cli *c, const char *kind, const char *id, const struct value **ret_v,
                   struct err *e)
{
    return cli_get(c, http_path(&c->mem, "/v1/why/%s/%s", kind, id), ret_v, e);
}

/* --- what is asked about --- */

static bool all_digits(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

/* A bare word: asks as each kind that it may be, takes the first, and names the others. */
static int why_guess(struct cli *c, const char *word, const struct value **ret_v, struct err *e)
{
    static const char *const numbers[] = {"noderole", "task", "operation", NULL};
    static const char *const names[] = {"node", "role", "jig", "pool", NULL};
    const char *const *kinds = all_digits(word) ? numbers : names;
    const char *taken = NULL;
    SCOPED_BUF(also);
    for (; *kinds; kinds++) {
        const struct value *v;
        int rc = why_get(c, *kinds, word, &v, e);
        if (rc && rc != -ERR_NOT_FOUND)
            return rc;
        if (rc)
            continue;
        if (taken) {
            buf_printf(&also, "%s%s/%s", also.len ? ", " : "", *kinds, word);
            continue;
        }
        taken = *kinds;
        *ret_v = v;
    }
    if (!taken) {
        if (all_digits(word))
            err_set(e, ERR_NOT_FOUND, "there is no noderole, task or operation %s", word);
        else
            err_set(e, ERR_NOT_FOUND, "no node, role, jig or pool is called \"%s\"", word);
        return err_hint(e, "`anneal help why` says what can be asked about");
    }
    if (!c->quiet && c->format == OUT_TABLE)
        cli_warn(c, "took \"%s\" for %s/%s%s%s", word, taken, word,
                 also.len ? "; there is also " : "", buf_str(&also).s);
    return 0;
}

/* A kind that why knows nothing of.  What else can be shown is said with the command that does. */
static int kind_unknown(const char *kind, const char *name, const char *kinds, struct err *e)
{
    SCOPED_BUF(list);
    const char *w;
    size_t n;
    while (verbs_word_next(&kinds, &w, &n))
        buf_printf(&list, "%s%.*s", list.len ? ", " : "", (int)n, w);
    err_set(e, ERR_INVALID, "why can be asked about a %s, not about a \"%s\"", list.data, kind);
    if (verbs_find(kind, "show"))
        return err_hint(e, "`anneal %s show %s` shows what there is to know", kind, name);
    if (verbs_find(kind, "list"))
        return err_hint(e, "`anneal %s list` shows what there is to know", kind);
    return err_hint(e, "`anneal help why` has examples");
}

static bool kind_is_known(const char *kind, const char *kinds)
{
    const char *w;
    size_t n;
    while (verbs_word_next(&kinds, &w, &n))
        if (strlen(kind) == n && !strncmp(kind, w, n))
            return true;
    return false;
}

static int why_ask(struct cli *c, const char *object, const struct value **ret_v, struct err *e)
{
    const char *slash = strchr(object, '/');
    if (!slash)
        return strchr(object, '@') ? why_get(c, "binding", object, ret_v, e)
                                   : why_guess(c, object, ret_v, e);
    if (!slash[1])
        return err_set(e, ERR_INVALID, "\"%s\" names no %.*s", object, (int)(slash - object),
                       object);
    const char *kind = arena_strndup(&c->mem, object, (size_t)(slash - object));
    const char *kinds = c->line.verb->args[0].words;
    if (!kind_is_known(kind, kinds))
        return kind_unknown(kind, slash + 1, kinds, e);
    return why_get(c, kind, slash + 1, ret_v, e);
}

/* --- the tree --- */

/* "noderole/7" for what a reason or an answer is about; NULL if it names nothing. */
static const char *why_key(struct cli *c, const struct value *v)
{
    const char *kind = value_as_text(value_get(v, "object"), NULL);
    const char *name = value_as_text(value_get(v, "name"), NULL);
    int64_t id = value_as_int(value_get(v, "id"), 0);
    bool by_id = kind &&
                 (!strcmp(kind, "noderole") || !strcmp(kind, "task") || !strcmp(kind, "operation"));
    if (!kind || (by_id ? !id : !name && !id))
        return NULL;
    if (!by_id && name)
        return arena_printf(&c->mem, "%s/%s", kind, name);
    return arena_printf(&c->mem, "%s/%" PRId64, kind, id);
}

/* True the first time that this reason is given for this object: once is enough for a reader. */
static bool reason_is_new(struct why *w, const struct value *reason)
{
    const char *key = why_key(w->c, reason);
    const char *told = arena_printf(&w->c->mem, "%s %s", key ? key : "",
                                    value_as_text(value_get(reason, "text"), ""));
    return strmap_put(&w->told, str_of(told), 1);
}

/* The nearest reasons of an answer, but those that stand in the tree already. */
static void why_push(struct why *w, const struct value *reasons, int depth)
{
    VEC(const struct value *) near = {0};
    for (uint32_t i = 0; value_is(reasons, VALUE_LIST) && i < reasons->n; i++)
        if (!value_as_int(value_get(&reasons->items[i], "depth"), 0) &&
            reason_is_new(w, &reasons->items[i]))
            vec_push(&near, &reasons->items[i]);
    for (size_t i = near.n; i-- > 0;) {
        const struct why_line l = {.depth = depth, .last = i == near.n - 1, .reason = near.at[i]};
        vec_push(&w->todo, l);
    }
    vec_done(&near);
}

static void branch_draw(struct why *w, struct pen *pen, const struct why_line *l)
{
    bool utf8 = w->look.utf8;
    pen_put(pen, STYLE_PLAIN, "  ");
    for (int d = 0; d < l->depth; d++)
        pen_put(pen, STYLE_DIM, "%s", w->open[d] ? (utf8 ? "\u2502  " : "|  ") : "   ");
    pen_put(pen, STYLE_DIM, "%s",
            utf8 ? (l->last ? "\u2514\u2500 " : "\u251c\u2500 ") : (l->last ? "`- " : "|- "));
}

/* A command, under the reason that it belongs to. */
static void command_draw(struct why *w, struct pen *pen, int depth, enum style style,
                         const char *mark, const char *command)
{
    if (!*command)
        return;
    pen_put(pen, STYLE_PLAIN, "  ");
    for (int d = 0; d <= depth; d++)
        pen_put(pen, STYLE_DIM, "%s", w->open[d] ? (w->look.utf8 ? "\u2502  " : "|  ") : "   ");
    pen_put(pen, style, "  %s %s", mark, command);
    pen_end(pen);
}

static void reason_draw(struct why *w, const struct why_line *l, const char *key)
{
    struct pen pen = {.b = &w->out, .look = &w->look};
    const char *text = value_as_text(value_get(l->reason, "text"), "");
    const char *remedy = value_as_text(value_get(l->reason, "remedy"), "");
    branch_draw(w, &pen, l);
    if (!*text)
        text = value_as_text(value_get(l->reason, "rule"), "?");
    bool said = key && !strcmp(text, w->summary); /* by the first line */
    if (!said)
        pen_put(&pen, STYLE_PLAIN, "%s", text);
    if (key)
        pen_put(&pen, STYLE_BOLD, "%s%s", said ? "" : "  ", key);
    pen_end(&pen);
    w->open[l->depth] = !l->last;
    command_draw(w, &pen, l->depth, STYLE_GOOD, w->look.utf8 ? "\u2192" : "->", remedy);
    command_draw(w, &pen, l->depth, STYLE_DIM,
                 "see:", value_as_text(value_get(l->reason, "see"), ""));
}

/* The reasons of a task or noderole that a reason names, unless they are known or the tree is deep
 * enough.  What else a reason may name (a node, a pool, a jig) is something to act on, not
 * something that waits. */
static int reason_follow(struct why *w, const struct why_line *l, const char *key, struct err *e)
{
    const struct value *v;
    bool waits = key && (!strncmp(key, "task/", 5) || !strncmp(key, "noderole/", 9));
    if (!waits || l->depth + 1 >= w->depth || w->asked >= ASKED_MOST ||
        !strmap_put(&w->seen, str_of(key), 1))
        return 0;
    w->asked++;
    const char *slash = strchr(key, '/');
    int rc = why_get(w->c, arena_strndup(&w->c->mem, key, (size_t)(slash - key)), slash + 1, &v, e);
    if (rc == -ERR_NOT_FOUND) /* gone meanwhile */
        return 0;
    if (!rc)
        why_push(w, value_get(v, "reasons"), l->depth + 1);
    return rc;
}

static void why_head(struct why *w, const struct value *v)
{
    struct pen pen = {.b = &w->out, .look = &w->look};
    const char *key = why_key(w->c, v), *name = value_as_text(value_get(v, "name"), "");
    const char *state = value_as_text(value_get(v, "state"), "");
    pen_put(&pen, STYLE_BOLD, "%s", key ? key : name);
    if (key && *name && !strstr(key, name))
        pen_put(&pen, STYLE_PLAIN, " (%s)", name);
    if (*state)
        pen_put(&pen, term_state_style(state), " %s", state);
    pen_put(&pen, STYLE_PLAIN, ": %s", w->summary);
    pen_end(&pen);
}

static int why_walk(struct why *w, const struct value *v, struct err *e)
{
    const char *key = why_key(w->c, v);
    int rc = 0;
    if (key)
        (void)strmap_put(&w->seen, str_of(key), 1);
    w->summary = value_as_text(value_get(v, "summary"), "");
    why_head(w, v);
    why_push(w, value_get(v, "reasons"), 0);
    while (!rc && w->todo.n) {
        const struct why_line l = w->todo.at[--w->todo.n];
        key = why_key(w->c, l.reason);
        reason_draw(w, &l, key);
        rc = reason_follow(w, &l, key, e);
    }
    return rc;
}

int cmd_why(struct cli *c, struct err *e)
{
    const struct value *v;
    uint64_t depth = cli_number(c, "depth", DEPTH_DEFAULT);
    struct why w = {.c = c, .look = cli_look(c, false)};
    w.look.columns = 0; /* a remedy is copied, so it must be whole */
    w.depth = depth < DEPTH_MOST ? (int)depth : DEPTH_MOST;
    int rc = why_ask(c, cli_arg(c, 0), &v, e);
    if (rc || cli_print_data(c, v, "summary"))
        return rc;
    rc = why_walk(&w, v, e);
    if (!rc)
        cli_put(c, &w.out);
    strmap_done(&w.seen);
    strmap_done(&w.told);
    vec_done(&w.todo);
    buf_done(&w.out);
    return rc;
}
