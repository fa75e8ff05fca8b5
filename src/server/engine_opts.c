/* engine_opts.c - from the options of a server into the history of its engine
 *
 * A few options decide what events lead to.  The engine is told of them when they are others than
 * it was told last, by an event like any other, so that a replay meets them where the server did.
 *
 * A store that was told none has a history of another version, or none (store/store_migrate.c).  It
 * ends in a checkpoint, taken before the first event that tells: a replay begins there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/checkpoint.h"
#include "server/server_i.h"

struct engine_settings engine_opts_of(const struct opts *o)
{
    struct engine_settings s = {.dead_after_ms = o->dead_after,
                                .probe_count = o->probe_count,
                                .suspect_percent = o->suspect_percent,
                                .suspect_min = o->suspect_min};
    engine_settings_fill(&s);
    return s;
}

int engine_opts_tell(struct server *s, struct err *e)
{
    struct event ev = {.kind = EVENT_SETTINGS_SET, .settings = engine_opts_of(s->opts)};
    struct commit_note note = server_note(NULL, NULL);
    struct engine_settings told;
    bool any = anneal_settings(s->engine, &told);
    if (any && engine_settings_equal(&told, &ev.settings))
        return 0;
    int r = any ? 0 : checkpoint_history(s, e);
    return r < 0 ? r : server_apply(s, &ev, &note, NULL, e);
}
