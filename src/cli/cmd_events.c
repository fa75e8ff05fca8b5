/* cmd_events.c - the journal, as it was and as it grows */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/yaml.h"
#include "cli/table_i.h"

enum { EVENTS_DEFAULT = 50, EVENTS_PAGE = 100 /* what every server gives unasked */ };

struct event_out {
    struct cli *c;
    struct look look;
    uint64_t left; /* of --limit */
};

static void change_draw(struct pen *pen, const struct value *ch)
{
    const char *from = value_as_text(value_get(ch, "from"), "");
    const char *to = value_as_text(value_get(ch, "to"), "");
    const char *reason = value_as_text(value_get(ch, "reason"), "");
    pen_put(pen, STYLE_PLAIN, "  %s/%" PRId64, value_as_text(value_get(ch, "object"), "?"),
            value_as_int(value_get(ch, "id"), 0));
    if (*from)
        pen_put(pen, term_state_style(from), " %s", from);
    if (*to) {
        pen_put(pen, STYLE_DIM, "%s", *from ? "->" : " ");
        pen_put(pen, term_state_style(to), "%s", to);
    }
    if (*reason)
        pen_put(pen, STYLE_DIM, " (%s)", reason);
}

/* "  dead_after=20s probe_count=3": what was told is all there is to see of such an event. */
static void settings_draw(struct pen *pen, const struct value *input)
{
    static const char unit[] = "_ms";
    const char *gap = "  ";
    for (uint32_t i = 0; value_is(input, VALUE_MAP) && i < input->n; i++, gap = " ") {
        const char *name = input->members[i].key;
        int64_t n = value_as_int(&input->members[i].v, 0);
        size_t len = strlen(name), tail = sizeof unit - 1;
        if (len > tail && !strcmp(name + len - tail, unit)) { /* as a setting is written */
            bool whole = n % 1000 == 0;
            pen_put(pen, STYLE_PLAIN, "%s%.*s=%" PRId64 "%s", gap, (int)(len - tail), name,
                    whole ? n / 1000 : n, whole ? "s" : "ms");
        } else {
            pen_put(pen, STYLE_PLAIN, "%s%s=%" PRId64, gap, name, n);
        }
    }
}

/* "1042  12:03:04.120  result  worker-1  task/5 RUNNING->DONE" */
static void event_draw(struct event_out *o, const struct value *ev, struct buf *b)
{
    struct pen pen = {.b = b, .look = &o->look};
    const char *at = value_as_text(value_get(ev, "at"), "");
    const struct value *changes = value_get(ev, "changes");
    pen_put(&pen, STYLE_DIM, "%8" PRId64, value_as_int(value_get(ev, "id"), 0));
    pen_put(&pen, STYLE_PLAIN, "  %.12s", strlen(at) > 11 ? at + 11 : at);
    pen_put(&pen, STYLE_BOLD, "  %s", value_as_text(value_get(ev, "kind"), "?"));
    const char *actor = value_as_text(value_get(ev, "actor"), "");
    if (*actor)
        pen_put(&pen, STYLE_DIM, "  %s", actor);
    if (!strcmp(value_as_text(value_get(ev, "kind"), ""), "settings.set"))
        settings_draw(&pen, value_get(ev, "input"));
    for (uint32_t i = 0; value_is(changes, VALUE_LIST) && i < changes->n; i++)
        change_draw(&pen, &changes->items[i]);
    pen_end(&pen);
}

static void event_put(struct event_out *o, const struct value *ev)
{
    SCOPED_BUF(b);
    switch (o->c->format) {
    case OUT_TABLE: event_draw(o, ev, &b); break;
    case OUT_JSON:
        json_write(&b, ev, 0);
        buf_putc(&b, '\n');
        break;
    case OUT_YAML:
        buf_puts(&b, "---\n");
        yaml_write(&b, ev);
        break;
    case OUT_NAME: buf_printf(&b, "%" PRId64 "\n", value_as_int(value_get(ev, "id"), 0)); break;
    }
    cli_put(o->c, &b);
}

static void gap_say(struct cli *c, const struct value *gap)
{
    if (value_is(gap, VALUE_MAP))
        cli_warn(c, "events %" PRId64 " to %" PRId64 " are no longer kept",
                 value_as_int(value_get(gap, "from"), 0), value_as_int(value_get(gap, "to"), 0));
}

/* Pages until there is nothing newer; *since ends as the last number seen. */
static int events_list(struct event_out *o, uint64_t *since, struct err *e)
{
    while (o->left) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(path);
        const struct value *v;
        char text[24];
        buf_puts(&path, "/v1/events");
        snprintf(text, sizeof text, "%" PRIu64, *since);
        http_query(&path, "since", text);
        snprintf(text, sizeof text, "%" PRIu64, o->left);
        http_query(&path, "limit", o->left < EVENTS_PAGE ? text : NULL);
        int rc = cli_get_in(o->c, &mem, path.data, &v, e);
        if (rc)
            return rc;
        gap_say(o->c, value_get(v, "gap"));
        const struct value *items = value_get(v, "items"), *next = value_get(v, "next");
        for (uint32_t i = 0; value_is(items, VALUE_LIST) && i < items->n && o->left; i++) {
            event_put(o, &items->items[i]);
            *since = (uint64_t)value_as_int(value_get(&items->items[i], "id"), (int64_t)*since);
            o->left--;
        }
        if (!value_is(next, VALUE_INT) || next->i < 0)
            break;
        *since = (uint64_t)next->i;
    }
    return 0;
}

/* --- following --- */

static int event_arrived(void *arg, const struct http_event *ev, struct err *e)
{
    struct event_out *o = arg;
    SCOPED_ARENA(mem);
    struct value *v;
    struct err bad;
    (void)e;
    if (json_parse(&mem, ev->data.s, ev->data.n, NULL, &v, &bad)) {
        cli_warn(o->c, "event %s cannot be read: %s", ev->id, bad.text);
        return 0;
    }
    if (!strcmp(ev->type, "gap")) {
        gap_say(o->c, v);
        return 0;
    }
    event_put(o, v);
    (void)fflush(o->c->env->out);
    if (o->left)
        o->left--;
    return 0;
}

static void link_changed(void *arg, const struct err *lost)
{
    struct event_out *o = arg;
    if (lost && !o->c->quiet)
        cli_warn(o->c, "%s; trying again", lost->text);
}

static int events_follow(struct event_out *o, uint64_t since, struct err *e)
{
    SCOPED(http_events) *s = NULL;
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, since);
    const struct http_events_options opt = {
        .path = "/v1/events", .since = text, .fn = event_arrived, .state = link_changed, .arg = o};
    int rc = http_events_open(o->c->http, &opt, &s, e);
    if (rc)
        return rc;
    while (o->left && (rc = http_events_wait(s, -1, e)) > 0)
        ;
    return rc < 0 ? rc : 0;
}

/* Where to begin if nobody says: so that the last few are shown. */
static int since_default(struct cli *c, uint64_t *ret_since, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, "/v1/status", &v, e);
    if (rc)
        return rc;
    int64_t last = value_as_int(value_get(v, "journal"), 0);
    uint64_t shown = cli_number(c, "limit", EVENTS_DEFAULT);
    *ret_since = (uint64_t)last > shown ? (uint64_t)last - shown : 0;
    return 0;
}

int cmd_events(struct cli *c, struct err *e)
{
    struct event_out o = {.c = c, .look = cli_look(c, false), .left = cli_limit(c)};
    uint64_t since = cli_number(c, "since", 0);
    int rc = cli_has(c, "since") ? cli_connect(c, e) : since_default(c, &since, e);
    if (!rc)
        rc = events_list(&o, &since, e);
    (void)fflush(c->env->out);
    if (!rc && cli_has(c, "follow"))
        rc = events_follow(&o, since, e);
    return rc;
}
