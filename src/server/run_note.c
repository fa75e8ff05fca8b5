/* run_note.c - what runs that go on wait for, in their workers' words
 *
 * A node that cannot be reached while a task runs there, for instance.  Soft state: a worker says
 * it again to whoever comes up, and nothing depends on it but what people read.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "model/rows.h"
#include "server/server_i.h"

enum { NOTE_MAX_BYTES = 500, NOTES_MAX = 100000 };

static uint64_t key_of(uint32_t task, uint32_t attempt)
{
    return (uint64_t)task << ATTEMPT_BITS | attempt;
}

void run_note_drop(struct server *s, uint32_t task, uint32_t attempt)
{
    uintptr_t at;
    if (s->run_notes.live == 0 || !u64map_get(&s->run_notes, key_of(task, attempt), &at))
        return;
    (void)u64map_del(&s->run_notes, key_of(task, attempt));
    free((char *)at);
}

void run_note_set(struct server *s, uint32_t task, uint32_t attempt, struct str text)
{
    run_note_drop(s, task, attempt);
    if (text.n == 0 || s->run_notes.live >= NOTES_MAX ||
        !anneal_attempt_open(s->engine, task, attempt))
        return;
    char *kept = xstrndup(text.s, text.n < NOTE_MAX_BYTES ? text.n : NOTE_MAX_BYTES);
    (void)u64map_put(&s->run_notes, key_of(task, attempt), (uintptr_t)kept);
}

const char *run_note_get(const struct server *s, uint32_t task, uint32_t attempt)
{
    uintptr_t at;
    return u64map_get(&s->run_notes, key_of(task, attempt), &at) ? (const char *)at : NULL;
}

void run_notes_done(struct server *s)
{
    for (size_t i = 0; i < s->run_notes.n; i++)
        if (s->run_notes.at[i].live)
            free((char *)s->run_notes.at[i].val);
    u64map_done(&s->run_notes);
    s->run_notes = (struct u64map){0};
}
