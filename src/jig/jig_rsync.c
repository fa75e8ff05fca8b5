/* jig_rsync.c - a tree of the worker's machine on the node: the jig rsync
 *
 *   src       absolute, a file or directory of the worker's machine; with a slash at its end it
 *             stands for what is in it
 *   dst       absolute, on the node; missing directories are made
 *   delete    true: what src does not have goes from dst, too
 *   excludes  [pattern...] of what is neither sent nor deleted
 *   checksum  true: files are compared by their content, not by size and time
 *   owners    true: owner and group are those of the source
 *   report    key under which what was done is returned; without it nothing is
 *
 * It runs here, under the runner, and reaches the node as everybody else does: the worker says how,
 * as an ssh configuration and a file of host keys, which are files of the run (jig.h, route).  No
 * value becomes part of a shell's text: names go as arguments, and to the other side over rsync's
 * own line (-s).
 *
 * 255 is ssh's own: the node was not reached, or does not let us in.  That is "not yet", as it is
 * for tasks on the node; what was sent before is not sent again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "jig/program_run_i.h"
#include "jig/rsync_i.h"
#include "sys/fs.h"

enum { RSYNC_UNREACHED = 255, RSYNC_AGAIN_MS = 5000, KNOWN_MAX = 64 * 1024 };

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

static int check_end(const struct value *params, const char *name, struct err *e)
{
    const struct value *v = value_get(params, name);
    if (!v)
        return err_set(e, ERR_INVALID, "an rsync needs src and dst");
    if (v->n && v->s[0] == '/' && v->n < PATH_MAX)
        return 0;
    int rc = jig_param_refuse(e, name, "must be an absolute path");
    if (strstr(v->s, "://") || strstr(v->s, "::"))
        err_hint(e, "the worker sends to the node: src is a path on the worker's machine");
    return rc;
}

static int rsync_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"src", PARAM_STRING},    {"dst", PARAM_STRING},
                                             {"delete", PARAM_BOOL},   {"excludes", PARAM_STRINGS},
                                             {"checksum", PARAM_BOOL}, {"owners", PARAM_BOOL},
                                             {"report", PARAM_STRING}};
    int rc = jig_params_check(params, table, sizeof table / sizeof *table, true, e);
    if (rc == 0)
        rc = check_end(params, "src", e);
    return rc < 0 ? rc : check_end(params, "dst", e);
}

/* --- what is run --- */

struct words {
    const char **at;
    size_t n;
};

static void word(struct words *w, const char *text)
{
    w->at[w->n++] = text;
}

static void options_put(struct words *w, struct arena *mem, const struct task_request *req)
{
    static const char *const always[] = {
        "rsync",    "-s",      "--recursive",         "--links",           "--perms", "--times",
        "--mkpath", "--stats", "--no-human-readable", "--out-format=%i %n"};
    static const struct {
        const char *param, *option;
    } flags[] = {{"delete", "--delete"}, {"checksum", "--checksum"}, {"owners", "-og"}};
    const struct value *excludes = value_get(req->params, "excludes");
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        word(w, always[i]);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (value_as_bool(value_get(req->params, flags[i].param), false))
            word(w, flags[i].option);
    for (uint32_t i = 0; excludes && i < excludes->n; i++)
        word(w, arena_printf(mem, "--exclude=%s", excludes->items[i].s));
    if (req->msg->no_op)
        word(w, "--dry-run");
}

/* Files of the run, by their numbers. */
enum { FILE_CONFIG, FILE_KNOWN, FILE_COUNT };

static void route_put(struct words *w, struct arena *mem, const struct jig_route *route,
                      const char *config_path)
{
    if (!route->address)
        return;
    word(w, arena_printf(mem, "--rsh=ssh -F '%s'", config_path));
    if (route->sudo)
        word(w, "--rsync-path=sudo -n rsync");
}

static const char *destination(struct arena *mem, const struct jig_route *route, const char *dst)
{
    if (!route->address)
        return dst;
    return arena_printf(mem, strchr(route->address, ':') ? "[%s]:%s" : "%s:%s", route->address,
                        dst);
}

/* --- what it says --- */

struct rsync_run { /* what is counted while it runs; lives as long as the run */
    struct rsync_count count;
    char *known_path; /* keys seen are told of if none was known; NULL: some were */
};

static void rsync_tap(struct jig_run *run, int fd, const char *p, size_t n)
{
    struct rsync_run *own = run->own;
    if (fd == 1)
        rsync_count_feed(&own->count, p, n);
}

static void rsync_own_free(void *arg)
{
    struct rsync_run *own = arg;
    free(own->known_path);
    free(own);
}

static void rsync_look(struct jig_run *run, struct arena *mem, struct reach_end *end)
{
    const struct rsync_run *own = run->own;
    const struct rsync_count *c = &own->count;
    struct err e;
    SCOPED_BUF(keys);
    const char *text = arena_printf(mem,
                                    "{\"sent\":%" PRIu64 ",\"made\":%" PRIu64
                                    ",\"changed\":%" PRIu64 ",\"deleted\":%" PRIu64
                                    ",\"bytes\":%" PRIu64 "}",
                                    c->sent, c->made, c->changed, c->deleted, c->bytes);
    end->result = str_of(text);
    if (own->known_path && fs_read(own->known_path, KNOWN_MAX, &keys, &e) == 0)
        run->env->learned(run->env->ctx, buf_str(&keys));
}

static void say_counts(const struct value *v, bool no_op, struct jig_result *r)
{
    static const char *const keys[] = {"sent", "made", "changed", "deleted"};
    SCOPED_BUF(b);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t n = value_as_int(value_get(v, keys[i]), 0);
        if (n)
            buf_printf(&b, "%s%" PRId64 " %s", b.len ? ", " : "", n, keys[i]);
    }
    SAY(r, "%s%s", no_op ? "no-op: would be: " : "", b.len ? b.data : "unchanged");
}

static void rsync_judge(const struct task_request *req, const struct reach_end *end,
                        const char *last_line, struct arena *mem, struct jig_result *r)
{
    const char *key = value_as_text(value_get(req->params, "report"), NULL);
    struct value *counts = NULL;
    struct err e;
    *r = (struct jig_result){.exit_code = end->status, .outcome = OUTCOME_OK};
    if (end->status == RSYNC_UNREACHED) {
        r->outcome = OUTCOME_AGAIN;
        r->again_ms = RSYNC_AGAIN_MS;
        SAY(r, "%s", last_line[0] ? last_line : "the node was not reached");
    } else if (end->status != 0) {
        r->outcome = OUTCOME_FAILED;
        program_failure_say(last_line, r);
    } else if (json_parse(mem, end->result.s, end->result.n, NULL, &counts, &e) == 0) {
        say_counts(counts, req->msg->no_op, r);
        if (key && !req->msg->no_op) {
            struct value *returns = value_map(mem);
            value_set(mem, returns, key, counts);
            r->returns = returns;
        }
    }
}

static int rsync_start(const struct jig_env *env, const struct task_request *req,
                       struct jig_run **ret_run, struct err *e)
{
    const struct value *excludes = value_get(req->params, "excludes");
    struct jig_run *run = program_run_new(rsync_judge, env, req);
    struct rsync_run *own = xcalloc(1, sizeof *own);
    SCOPED_ARENA(mem);
    struct jig_route route = {0};
    struct words w = {arena_new(&mem, const char *, (excludes ? excludes->n : 0) + 24), 0};
    char *config = program_run_file(run, "f.1"), *known = program_run_file(run, "f.2");
    run->own = own;
    run->own_free = rsync_own_free;
    run->tap = rsync_tap;
    run->look = rsync_look;
    if (strchr(config, '\'')) { /* it stands between such in an option */
        int bad = err_set(e, ERR_INVALID, "rsync cannot be given the path %s", config);
        program_run_free(run);
        free(config);
        free(known);
        return bad;
    }
    int rc = env->route ? env->route(env->ctx, known, &mem, &route, e) : 0;
    if (rc >= 0) {
        struct reach_put files[FILE_COUNT] = {
            [FILE_CONFIG] = {.content = route.config}, [FILE_KNOWN] = {.content = route.known}};
        struct program_env vars = {0};
        options_put(&w, &mem, req);
        route_put(&w, &mem, &route, config);
        word(&w, "--");
        word(&w, value_as_text(value_get(req->params, "src"), ""));
        word(&w, destination(&mem, &route, value_as_text(value_get(req->params, "dst"), "")));
        program_env_task(&vars, &mem, req);
        if (route.agent)
            program_env_add(&vars, "SSH_AUTH_SOCK", route.agent);
        struct reach_step s = {.kind = REACH_ARGV,
                               .argv = w.at,
                               .env = vars.at,
                               .env_n = vars.n,
                               .puts = files,
                               .puts_n = route.address ? FILE_COUNT : 0};
        own->known_path = route.address && !route.known.n ? xstrdup(known) : NULL;
        rc = program_run_step(run, &s, ret_run, e);
    } else {
        program_run_free(run);
    }
    free(config);
    free(known);
    return rc < 0 ? rc : 0;
}

const struct jig jig_rsync = {
    .name = "rsync",
    .help = "makes params.dst on the node what params.src is on the worker's machine, by rsync",
    .check = rsync_check,
    .start = rsync_start,
    .cancel = program_run_cancel,
    .free = program_run_free,
    .tells = true,
};
