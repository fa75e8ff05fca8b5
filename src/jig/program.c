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

void program_words_base(struct program_words *w, struct arena *mem,
                        const struct reach_variable *own, size_t own_n)
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
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const char *value = getenv(ours[i].name);
        bool said = false;
        for (size_t k = 0; k < own_n; k++)
            said = said || !strcmp(own[k].name, ours[i].name);
        value = value ? value : ours[i].otherwise;
        if (value && !said)
            ADD(w, "%s=%s", ours[i].name, value);
    }
}

void program_words_env(struct program_words *w, struct arena *mem, const struct task_request *req)
{
    struct program_env env = {0};
    program_env_task(&env, mem, req);
    program_words_base(w, mem, NULL, 0);
    for (size_t i = 0; i < env.n; i++)
        ADD(w, "%s=%s", env.at[i].name, env.at[i].value);
}

void program_env_add(struct program_env *env, const char *name, const char *value)
{
    if (env->n == env->cap) {
        env->cap = env->cap ? 2 * env->cap : 16;
        struct reach_variable *more = arena_new(env->mem, struct reach_variable, env->cap);
        if (env->n)
            memcpy(more, env->at, env->n * sizeof *more);
        env->at = more;
    }
    env->at[env->n++] = (struct reach_variable){name, value};
}

void program_env_task(struct program_env *env, struct arena *mem, const struct task_request *req)
{
    const struct taskmsg *m = req->msg;
    env->mem = mem;
    program_env_add(env, "ANNEAL_TASK", arena_printf(mem, "%" PRIu32, m->task));
    program_env_add(env, "ANNEAL_ATTEMPT", arena_printf(mem, "%" PRIu32, m->attempt));
    program_env_add(env, "ANNEAL_ASK", arena_printf(mem, "%" PRIu32, m->ask));
    program_env_add(env, "ANNEAL_KEY", arena_strndup(mem, m->key.s, m->key.n));
    program_env_add(env, "ANNEAL_NODE", arena_strndup(mem, m->node.s, m->node.n));
    program_env_add(env, "ANNEAL_ADDRESS", arena_strndup(mem, m->address.s, m->address.n));
}

void program_step_fill(const struct task_request *req, struct arena *mem, struct reach_step *s)
{
    const struct value *own = value_get(req->params, "env");
    const char *key = arena_strndup(mem, req->msg->key.s, req->msg->key.n);
    struct program_env env = {.mem = mem};
    SCOPED_BUF(input);
    for (uint32_t i = 0; own && i < own->n; i++)
        program_env_add(&env, own->members[i].key, own->members[i].v.s);
    program_env_task(&env, mem, req);
    program_env_flat(&env, mem, req);
    s->env = env.at;
    s->env_n = env.n;
    s->cwd = value_as_text(value_get(req->params, "cwd"), NULL);
    program_input_write(&input, req);
    s->input = (struct str){arena_strndup(mem, input.data, input.len), input.len};
    s->boot_key = *key ? key : NULL;
}

void program_input_write(struct buf *b, const struct task_request *req)
{
    const struct taskmsg *m = req->msg;
    buf_puts(b, "{\"params\":");
    program_input_raw(b, m->params);
    buf_puts(b, ",\"data\":");
    program_input_raw(b, m->data);
    program_input_about(b, m);
    buf_puts(b, "}\n");
}

int program_env_check(const struct value *env, struct err *e)
{
    for (uint32_t i = 0; env && i < env->n; i++) {
        const struct member *m = &env->members[i];
        bool good = m->key_n > 0 && (m->key[0] < '0' || m->key[0] > '9');
        for (uint32_t k = 0; k < m->key_n; k++)
            good = good && (m->key[k] == '_' || (m->key[k] >= '0' && m->key[k] <= '9') ||
                            ((m->key[k] | 32) >= 'a' && (m->key[k] | 32) <= 'z'));
        if (good && strncmp(m->key, "ANNEAL_", 7))
            continue;
        int rc = err_set(e, ERR_INVALID, "\"%s\" %s", m->key,
                         good ? "is set by Anneal itself" : "is no name of a variable");
        err_at(e, "/env/%s", m->key);
        return rc;
    }
    return 0;
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
