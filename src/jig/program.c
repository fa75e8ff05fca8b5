/* program.c - programs under the runner: what all jigs give them and make of them
 *
 * The environment is built from nothing: the server's own may hold its secrets, and a task must not
 * depend on how the server was started.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "jig/program_i.h"

#define ADD(w, ...) vec_push((w), arena_printf(mem, __VA_ARGS__))
#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

/* --- what it is given --- */

char *program_lock_path(const struct jig_env *env, uint32_t task)
{
    struct buf b = {0};
    buf_printf(&b, "%s/%s/%" PRIu32, env->run_dir, JIG_LOCK_DIR, task);
    return buf_take(&b, NULL);
}

void program_words_runner(struct program_words *w, struct arena *mem, const struct jig_env *env,
                          const char *lock_path, const struct task_request *req, uint32_t step,
                          bool leaves)
{
    vec_push(w, env->runner);
    vec_push(w, "--lock");
    vec_push(w, lock_path);
    vec_push(w, "--task");
    ADD(w, "%" PRIu32, req->msg->task);
    vec_push(w, "--attempt");
    ADD(w, "%" PRIu32, req->msg->attempt);
    vec_push(w, "--ask");
    ADD(w, "%" PRIu32, req->msg->ask);
    vec_push(w, "--step");
    ADD(w, "%" PRIu32, step);
    vec_push(w, "--grace");
    ADD(w, "%" PRIu64, req->msg->grace_ms < UINT32_MAX ? req->msg->grace_ms : UINT32_MAX);
    vec_push(w, "--parent");
    ADD(w, "%d", (int)getpid());
    if (leaves) {
        vec_push(w, "--leaves");
        vec_push(w, "1");
    }
    vec_push(w, "--");
}

void program_words_env(struct program_words *w, struct arena *mem, const struct task_request *req,
                       const struct value *env)
{
    static const struct {
        const char *name, *otherwise;
    } ours[] = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                {"HOME", "/"},
                {"LANG", "C.UTF-8"},
                {"TZ", NULL},
                {"TMPDIR", NULL},
                {"USER", NULL},
                {"LOGNAME", NULL}};
    const struct taskmsg *m = req->msg;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const char *value = getenv(ours[i].name);
        value = value ? value : ours[i].otherwise;
        if (value && !value_get(env, ours[i].name))
            ADD(w, "%s=%s", ours[i].name, value);
    }
    for (uint32_t i = 0; env && i < env->n; i++)
        ADD(w, "%s=%s", env->members[i].key, env->members[i].v.s);
    ADD(w, "ANNEAL_TASK=%" PRIu32, m->task);
    ADD(w, "ANNEAL_ATTEMPT=%" PRIu32, m->attempt);
    ADD(w, "ANNEAL_ASK=%" PRIu32, m->ask);
    ADD(w, "ANNEAL_KEY=%.*s", (int)m->key.n, m->key.n ? m->key.s : "");
    ADD(w, "ANNEAL_NODE=%.*s", (int)m->node.n, m->node.n ? m->node.s : "");
    ADD(w, "ANNEAL_ADDRESS=%.*s", (int)m->address.n, m->address.n ? m->address.s : "");
}

void program_input_raw(struct buf *b, struct str json)
{
    if (json.n)
        buf_put(b, json.s, json.n);
    else
        buf_puts(b, "{}");
}

void program_input_about(struct buf *b, const struct taskmsg *m)
{
    struct jsonw w;
    buf_puts(b, ",\"task\":");
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "id");
    jsonw_u64(&w, m->task);
    jsonw_key(&w, "name");
    jsonw_str(&w, m->name);
    jsonw_key(&w, "attempt");
    jsonw_u64(&w, m->attempt);
    jsonw_key(&w, "ask");
    jsonw_u64(&w, m->ask);
    jsonw_key(&w, "key");
    jsonw_str(&w, m->key);
    jsonw_end(&w);
    buf_puts(b, ",\"node\":");
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "name");
    jsonw_str(&w, m->node);
    jsonw_key(&w, "address");
    jsonw_str(&w, m->address);
    jsonw_end(&w);
}

/* --- what it leaves --- */

bool program_refused(const char *lock_path, const struct run_record *id, int runner,
                     const char *last_line, struct jig_result *r)
{
    struct run_record rec;
    int found = runlock_read_path(lock_path, &rec);
    int order = found > 0 ? runlock_order(&rec, id) : -1;
    if (order == 0 && rec.runner == runner && rec.state != RUN_HELD)
        return false; /* ours: the program itself exited so */
    bool same = found > 0 && rec.attempt == id->attempt && rec.ask == id->ask;
    if (same && (order > 0 || (order == 0 && rec.state != RUN_HELD))) {
        r->outcome = OUTCOME_LOST;
        SAY(r, "this attempt was started before and its end was not seen");
    } else if (order > 0) {
        r->outcome = OUTCOME_REFUSED;
        SAY(r, "attempt %" PRIu32 " was started after this one", rec.attempt);
    } else {
        r->outcome = OUTCOME_FAILED;
        SAY(r, "not started: %s", last_line);
    }
    return true;
}
