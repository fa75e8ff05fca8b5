/* journal.c - events as journal rows, and back
 *
 * The input is the event's own JSON; the changes are a compact list of [table, id, from, to,
 * reason] numbers, named again when somebody reads them.  A plan is stored beside its event, under
 * the same number.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "server/commit_i.h"

enum {
    CHANGES_MOST = 2000
}; /* published of one event; a loss may cause more, the states tell the rest */

static bool worth_telling(const struct change *ch)
{
    if (ch->from == ch->to)
        return false;
    if (ch->table == ROWS_TASK) /* READY is a matter of moments and not stored */
        return ch->to != TASK_READY && !(ch->from == TASK_READY && ch->to == TASK_PENDING);
    return ch->table == ROWS_NODEROLE || ch->table == ROWS_OPERATION || ch->table == ROWS_NODE;
}

static void write_changes(struct buf *b, const struct effects *fx)
{
    uint32_t told = 0;
    buf_putc(b, '[');
    for (size_t i = 0; i < fx->changes.n && told < CHANGES_MOST; i++) {
        const struct change *ch = &fx->changes.at[i];
        if (!worth_telling(ch))
            continue;
        if (told++)
            buf_putc(b, ',');
        buf_putc(b, '[');
        buf_u64(b, ch->table);
        buf_putc(b, ',');
        buf_u64(b, ch->id);
        buf_putc(b, ',');
        buf_u64(b, ch->from);
        buf_putc(b, ',');
        buf_u64(b, ch->to);
        buf_putc(b, ',');
        buf_u64(b, ch->reason);
        buf_putc(b, ']');
    }
    buf_putc(b, ']');
}

void commit_journal(struct commit *c, const struct event *ev, const struct commit_note *note)
{
    struct row_journal r = {.id = ++c->seq,
                            .tenant = note->tenant ? note->tenant : 1,
                            .realm = 1,
                            .at_ms = anneal_now(c->engine),
                            .wall_ms = note->wall_ms,
                            .kind = (uint8_t)ev->kind,
                            .actor = str_of(note->actor ? note->actor : "")};
    buf_clear(&c->scratch);
    event_write(&c->scratch, ev);
    if (note->more.n > 2) { /* {"id":1} and {"name":"x"} become one map */
        c->scratch.len--;
        if (c->scratch.len > 1)
            buf_putc(&c->scratch, ',');
        buf_put(&c->scratch, note->more.s + 1, note->more.n - 1);
    }
    size_t input = c->scratch.len;
    write_changes(&c->scratch, &c->fx);
    r.input = (struct str){c->scratch.data, input};
    r.changes = (struct str){c->scratch.data + input, c->scratch.len - input};
    commit_row(c, ROWS_JOURNAL, ROW_INSERT, &r);
    c->open->events++;
    c->open->last_seq = c->seq;
    if (ev->kind == EVENT_PLAN_APPLY) {
        SCOPED_BUF(body);
        plan_encode(&body, ev->plan);
        struct row_plan p = {.id = (uint32_t)c->seq,
                             .tenant = r.tenant,
                             .realm = 1,
                             .journal = c->seq,
                             .body = buf_str(&body)};
        commit_row(c, ROWS_PLAN, ROW_INSERT, &p);
    }
}

static const char *state_name(enum row_table t, int64_t s)
{
    switch ((int)t) {
    case ROWS_TASK: return task_state_name((enum task_state)s);
    case ROWS_NODEROLE: return noderole_state_name((enum noderole_state)s);
    case ROWS_OPERATION: return operation_state_name((enum operation_state)s);
    case ROWS_NODE: return alive_state_name((enum alive_state)s);
    default: return "?";
    }
}

static void expand_change(struct jsonw *w, const struct value *c)
{
    if (c->kind != VALUE_LIST || c->n != 5)
        return;
    enum row_table t = (enum row_table)c->items[0].i;
    jsonw_map(w);
    jsonw_key(w, "object");
    jsonw_text(w, t < ROWS_COUNT ? row_layouts[t].name : "?");
    jsonw_key(w, "id");
    jsonw_i64(w, c->items[1].i);
    jsonw_key(w, "from");
    jsonw_text(w, state_name(t, c->items[2].i));
    jsonw_key(w, "to");
    jsonw_text(w, state_name(t, c->items[3].i));
    if (c->items[4].i > 0) {
        jsonw_key(w, "reason");
        jsonw_text(w, reason_name((enum reason)c->items[4].i));
    }
    jsonw_end(w);
}

static void write_time(struct jsonw *w, uint64_t wall_ms)
{
    char text[40];
    struct tm tm;
    time_t s = (time_t)(wall_ms / 1000);
    gmtime_r(&s, &tm);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%03uZ", (unsigned)(wall_ms % 1000));
    jsonw_text(w, text);
}

void commit_event_json(struct buf *b, const struct row_journal *r)
{
    SCOPED_ARENA(mem);
    struct value *input = NULL, *changes = NULL;
    struct err e;
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "id");
    jsonw_u64(&w, r->id);
    jsonw_key(&w, "at");
    write_time(&w, r->wall_ms);
    jsonw_key(&w, "kind");
    jsonw_text(&w, event_kind_name((enum event_kind)r->kind));
    jsonw_key(&w, "actor");
    jsonw_str(&w, r->actor);
    jsonw_key(&w, "input");
    if (json_parse(&mem, r->input.s, r->input.n, NULL, &input, &e) >= 0) {
        const struct value *flag = value_get(input, "flag");
        if (r->kind == EVENT_RESULT && flag) /* for people: the outcome by its name */
            value_put_text(&mem, input, "outcome",
                           outcome_name((enum outcome)value_as_int(flag, 0)));
        jsonw_value(&w, input);
    } else {
        jsonw_null(&w);
    }
    jsonw_key(&w, "changes");
    jsonw_list(&w);
    if (json_parse(&mem, r->changes.s, r->changes.n, NULL, &changes, &e) >= 0)
        for (uint32_t i = 0; i < changes->n && changes->kind == VALUE_LIST; i++)
            expand_change(&w, &changes->items[i]);
    jsonw_end(&w);
    jsonw_end(&w);
}

int commit_event_parse(struct arena *a, const struct row_journal *r, struct event *ret_ev,
                       struct err *e)
{
    *ret_ev = (struct event){.kind = (enum event_kind)r->kind, .at_ms = r->at_ms};
    if (r->kind >= EVENT_KIND_COUNT)
        return err_set(e, ERR_CORRUPT, "journal %" PRIu64 ": no such kind of event", r->id);
    if (event_parse(a, r->input, ret_ev, e) < 0)
        return err_wrap(e, "journal %" PRIu64, r->id);
    return 0;
}
