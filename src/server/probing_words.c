/* probing_words.c - what looking for a node came to, for people: with a node, and in `why`
 *
 * Silences are counted by the engine; here is what it does not know: since when, at which
 * addresses, the last error, and answers that are no sight of the node, each with its remedy.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "server/data_i.h"
#include "server/probing.h"

enum { GRAVITY_TIME = 1, GRAVITY_PERSON = 3 }; /* as why_say() wants them */

static void put_time(const struct server *s, struct arena *mem, struct value *v, const char *key,
                     uint64_t engine_ms)
{
    value_put_text(mem, v, key, view_time(mem, view_wall(s, engine_ms)));
}

struct value *probing_view(struct server *s, struct arena *mem, uint32_t node)
{
    struct pulse_look l;
    if (!pulse_look(s->pulse, node, &l) || (!l.tried_ms && !l.seen_ms))
        return value_null(mem);
    struct value *v = value_map(mem);
    value_put_text(mem, v, "result", l.tried_ms ? probe_end_name(l.end) : NULL);
    put_time(s, mem, v, "at", l.tried_ms);
    value_put_text(mem, v, "text", *l.text ? l.text : NULL);
    put_time(s, mem, v, "seen_at", l.seen_ms);
    value_put_text(mem, v, "seen_by", l.how);
    put_time(s, mem, v, "silent_since", l.since_ms);
    return v;
}

/* "10.0.0.1, 10.0.0.2", or its name: what is tried. */
static const char *addresses(struct server *s, struct arena *mem, uint32_t node)
{
    SCOPED_BUF(b);
    const struct value *list = value_get(data_node_get(s, node)->facts, "addresses");
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", value_as_text(&list->items[i], ""));
    return b.len ? arena_strndup(mem, b.data, b.len) : s->inv.nodes.at[node].name;
}

static const char *ago(const struct server *s, struct arena *mem, uint64_t engine_ms)
{
    char span[16];
    uint64_t now = server_now(s);
    text_duration_show(now > engine_ms ? now - engine_ms : 0, span);
    return arena_strndup(mem, span, strlen(span));
}

const char *probing_words(struct server *s, struct arena *mem, uint32_t node)
{
    struct pulse_look l;
    if (!pulse_look(s->pulse, node, &l) || !l.tried_ms || l.end == PROBE_ANSWERS)
        return "";
    if (l.end == PROBE_SILENT)
        return arena_printf(mem, ": it has not answered for %s, tried at %s: %s",
                            ago(s, mem, l.since_ms), addresses(s, mem, node), l.text);
    return arena_printf(mem, ": %s", l.text);
}

bool probing_untrusted(const struct server *s, uint32_t node)
{
    struct pulse_look l;
    return pulse_look(s->pulse, node, &l) && l.tried_ms && l.end == PROBE_HOST_KEY;
}

/* Of one that is looked for and was not reached, or not yet. */
static const char *missed_remedy(struct arena *mem, const char *name, enum alive_state alive,
                                 bool tried)
{
    if (alive == ALIVE_DEAD)
        return arena_printf(
            mem, "power on %s or repair its network; its return is noticed by itself", name);
    if (tried)
        return arena_printf(
            mem, "power on %s, or correct its address: anneal node set %s --address ADDRESS", name,
            name);
    return arena_printf(mem, "anneal node show %s", name);
}

/* That it is alive need only be said of a node that nobody looks for, and of one that a person
 * called dead though it answers. */
const char *probing_remedy(struct server *s, struct arena *mem, uint32_t node)
{
    const char *name = s->inv.nodes.at[node].name;
    struct node_view v = {0};
    struct pulse_look l = {0};
    bool watched = s->pulse && data_node_get(s, node)->by_ssh;
    (void)pulse_look(s->pulse, node, &l);
    (void)anneal_node(s->engine, node, &v);
    if (v.alive == ALIVE_AWAY)
        return arena_printf(mem, "anneal node show %s", name);
    if (!watched || (l.tried_ms && l.end == PROBE_ANSWERS))
        return arena_printf(mem, "anneal node report %s alive", name);
    if (l.tried_ms && l.end == PROBE_HOST_KEY)
        return arena_printf(mem, "anneal node trust %s", name);
    if (l.tried_ms && l.end == PROBE_AUTH)
        return arena_printf(mem, "anneal node set %s --access user=USER --access identity=KEY",
                            name);
    return missed_remedy(mem, name, (enum alive_state)v.alive, l.tried_ms && l.end == PROBE_SILENT);
}

/* An answer of something, which is no sight of the node. */
static void say_refused(struct why_answer *w, const struct why_head *about,
                        const struct pulse_look *l)
{
    const char *name = about->name, *what = "it answers, but cannot be asked which machine it is";
    if (l->end == PROBE_HOST_KEY)
        what = "it answers with a host key that is not trusted, and nothing is done there";
    else if (l->end == PROBE_AUTH)
        what = "it answers, but does not let us in";
    why_say(w, l->end == PROBE_UNABLE ? GRAVITY_TIME : GRAVITY_PERSON, probe_end_name(l->end),
            about, arena_printf(w->mem, "node %s: %s: %s", name, what, l->text),
            l->end == PROBE_UNABLE ? arena_printf(w->mem, "anneal node show %s", name)
                                   : probing_remedy(w->server, w->mem, about->id));
}

void probing_why_on(struct why_answer *w, uint32_t node)
{
    struct server *s = w->server;
    struct node_view v;
    struct pulse_look l;
    if (!node || !anneal_node(s->engine, node, &v) || v.alive != ALIVE_ALIVE ||
        !pulse_look(s->pulse, node, &l) || !l.tried_ms)
        return; /* that it is not alive is told by the engine, with what helps */
    struct why_head about = {.object = "node", .name = s->inv.nodes.at[node].name, .id = node};
    if (l.end == PROBE_HOST_KEY || l.end == PROBE_AUTH)
        say_refused(w, &about, &l);
}

void probing_why(struct why_answer *w, uint32_t node)
{
    struct server *s = w->server;
    struct why_head about = {.object = "node", .name = s->inv.nodes.at[node].name, .id = node};
    struct node_view v = {0};
    struct pulse_look l;
    (void)anneal_node(s->engine, node, &v);
    if (!pulse_look(s->pulse, node, &l) || !l.tried_ms || l.end == PROBE_ANSWERS)
        return;
    if (l.end != PROBE_SILENT) {
        say_refused(w, &about, &l);
        return;
    }
    if (v.alive != ALIVE_ALIVE)
        return; /* said with that it is not */
    struct engine_settings by;
    char limit[16];
    (void)anneal_settings(s->engine, &by);
    text_duration_show(by.dead_after_ms, limit);
    why_say(w, GRAVITY_TIME, "silent", &about,
            arena_printf(w->mem, "node %s is silent%s; it is taken for dead after %s", about.name,
                         probing_words(s, w->mem, node), limit),
            arena_printf(w->mem, "anneal node show %s", about.name));
}
