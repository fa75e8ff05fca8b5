/* reach_code.c - the file "chain": a chain's steps as shell text for the runner
 *
 * One file that the runner reads in one go: a shell that reads values line by line takes a system
 * call for every byte of them.  What comes from outside stands in single quotes, where a shell
 * gives no byte a meaning but the quote itself; numbers are printed by us; nothing else gets in.
 *
 *   steps=2 nonce=... watch_s=0
 *   loader=/lib64/...                             which machines the program `session` is for
 *   t1=812 r1='0 2 0 1' k1=p i1=i1 l1= g1=10      task, run, kind, input, limit, grace
 *   b1=t812-g3                                    what boots are remembered under, or nothing
 *   a1=30                                         ago: it may have begun then, if this is there
 *   step1() {
 *   ANNEAL_RUN="812.2@$chain" A='b' "$@" 022 '/' '/bin/true'
 *   }
 *
 * A step that is a program is one command with an environment of its own, so that a shell need not
 * fork itself for it; "$@" is who begins it (session.c, or `program` in the runner).  Other steps
 * are functions of the runner.
 *
 * Variables that mean something to a shell cannot be set by it (UID is read-only in one, OPTIND
 * must be a number in another): those are left to the program env.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "reach/reach_i.h"

enum { WATCH_MAX_S = 30, ARGUMENTS_MAX = 1024 * 1024 };

void reach_code_quote(struct buf *b, const char *text)
{
    buf_putc(b, '\'');
    for (;;) {
        const char *end = strchrnul(text, '\'');
        buf_put(b, text, (size_t)(end - text));
        if (!*end)
            break;
        buf_puts(b, "'\\''");
        text = end + 1;
    }
    buf_putc(b, '\'');
}

static void put_word(struct buf *b, const char *text)
{
    buf_putc(b, ' ');
    reach_code_quote(b, text);
}

static bool is_variable(const char *name)
{
    bool good = *name && (*name < '0' || *name > '9');
    for (; *name; name++)
        good = good && (*name == '_' || (*name >= '0' && *name <= '9') ||
                        ((*name | 32) >= 'a' && (*name | 32) <= 'z'));
    return good;
}

/* Whether some shell gives the variable a meaning of its own. */
static bool is_shells_own(const char *name)
{
    static const char *const own[] = {"_",        "DIRSTACK",  "ENV",     "EUID",
                                      "FUNCNAME", "GROUPS",    "HISTCMD", "IFS",
                                      "LANG",     "LINENO",    "MAIL",    "OLDPWD",
                                      "OPTARG",   "OPTERR",    "OPTIND",  "POSIXLY_CORRECT",
                                      "PPID",     "PS4",       "PWD",     "RANDOM",
                                      "SECONDS",  "SHELLOPTS", "SHLVL",   "TIMEFORMAT",
                                      "TMOUT",    "UID"};
    if (!strncmp(name, "LC_", 3) || !strncmp(name, "BASH", 4) || !strncmp(name, "EPOCH", 5))
        return true;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (!strcmp(name, own[i]))
            return true;
    return false;
}

static int check_path(const char *path, struct err *e)
{
    if (!path || path[0] != '/' || strlen(path) >= 4096)
        return err_set(e, ERR_INVALID, "\"%.200s\" is no absolute path", path ? path : "");
    return 0;
}

static bool is_program(const struct reach_step *s)
{
    return s->kind == REACH_ARGV || s->kind == REACH_SCRIPT;
}

static int check_words(const struct reach_step *s, struct err *e)
{
    if (!s->argv || !s->argv[0] || !s->argv[0][0] || s->argv[0][0] == '-')
        return err_set(e, ERR_INVALID, "the command is empty or begins with a hyphen");
    return 0;
}

static int check_program(const struct reach_step *s, struct err *e)
{
    size_t bytes = 0;
    if (s->kind == REACH_ARGV) {
        int rc = check_words(s, e);
        if (rc < 0)
            return rc;
        for (size_t i = 0; s->argv[i]; i++)
            bytes += strlen(s->argv[i]) + 1;
    }
    for (size_t i = 0; i < s->env_n; i++) {
        if (!is_variable(s->env[i].name))
            return err_set(e, ERR_INVALID, "\"%.200s\" is no name of a variable", s->env[i].name);
        bytes += strlen(s->env[i].name) + strlen(s->env[i].value) + 2;
    }
    if (bytes > ARGUMENTS_MAX)
        return err_set(e, ERR_TOO_LARGE, "arguments and environment are more than %d bytes",
                       (int)ARGUMENTS_MAX);
    return s->cwd ? check_path(s->cwd, e) : 0;
}

static bool is_boot_key(const char *key)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return *key && strlen(key) <= 64 && !key[strspn(key, good)];
}

/* NULL, or a name or number of a user or group as chown takes it. */
static bool is_owner(const char *name)
{
    if (!name)
        return true;
    return *name && *name != '-' && strlen(name) <= 64 && !strpbrk(name, ": \t\n'\"\\/");
}

static int check_files(const struct reach_step *s, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < s->puts_n && rc == 0; i++) {
        const struct reach_put *p = &s->puts[i];
        rc = check_path(p->path, e);
        if (rc == 0 && (p->mode > 07777 || p->dir_mode > 0777 || !is_owner(p->owner) ||
                        !is_owner(p->group) || p->path[strlen(p->path) - 1] == '/'))
            rc = err_set(e, ERR_INVALID, "path, mode, owner or group of %.200s is unusable",
                         p->path);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < s->paths_n && rc == 0; i++) {
        rc = check_path(s->paths[i], e);
        bytes += rc == 0 ? strlen(s->paths[i]) + 1 : 0;
    }
    if (rc == 0 && (s->paths_n > REACH_PATHS_MAX || bytes > ARGUMENTS_MAX))
        rc = err_set(e, ERR_TOO_LARGE, "more than %d paths, or than %d bytes of them",
                     (int)REACH_PATHS_MAX, (int)ARGUMENTS_MAX);
    if (rc == 0 && ((s->kind == REACH_PUT && !s->puts_n) || (s->kind == REACH_SUM && !s->paths_n)))
        rc = err_set(e, ERR_INVALID, "a step without a file");
    return rc;
}

int reach_code_check(const struct reach_step *steps, size_t n, struct err *e)
{
    if (n == 0 || n > REACH_STEPS_MAX)
        return err_set(e, ERR_INVALID, "a chain has 1 to %d steps", (int)REACH_STEPS_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct reach_step *s = &steps[i];
        int rc = 0;
        if (s->run.fence > INT64_MAX || s->umask_bits > 0777 || s->grace_s > INT32_MAX / 100 ||
            s->limit_s > INT32_MAX / 100 || s->since_s > INT32_MAX / 100)
            rc = err_set(e, ERR_INVALID, "a number is out of range");
        if (s->boot_key ? !is_boot_key(s->boot_key) : s->kind == REACH_REBOOT)
            rc = err_set(e, ERR_INVALID, "\"%.100s\" is nothing to remember a boot under",
                         s->boot_key ? s->boot_key : "");
        if (rc == 0)
            rc = is_program(s)                         ? check_program(s, e)
                 : s->kind == REACH_REBOOT && !s->argv ? 0
                 : s->kind == REACH_REBOOT             ? check_words(s, e)
                                                       : check_files(s, e);
        if (rc < 0) {
            err_wrap(e, "step %zu of the chain", i + 1);
            return rc;
        }
    }
    return 0;
}

/* Ours come first, where $chain and $dir are still the runner's whatever a task calls its own; and
 * a task cannot have its own in their place, or it would pass for another one. */
static bool is_runners(const char *name)
{
    return !strcmp(name, "ANNEAL_RUN") || !strcmp(name, "ANNEAL_RESULT_FILE") ||
           !strcmp(name, "ANNEAL_INPUT_FILE") || !strcmp(name, "ANNEAL_FILES");
}

static void put_own_variables(struct buf *b, const struct reach_step *s, size_t number)
{
    buf_printf(b, "ANNEAL_RUN=\"%" PRIu32 ".%" PRIu32 "@$chain\" ", s->run.task, s->run.attempt);
    buf_printf(b, "ANNEAL_RESULT_FILE=\"$dir/r%zu\" ", number);
    if (s->input.n)
        buf_printf(b, "ANNEAL_INPUT_FILE=\"$dir/i%zu\" ", number);
    if (s->puts_n)
        buf_printf(b, "ANNEAL_FILES=\"$dir/f%zu\" ", number);
}

static void put_program(struct buf *b, const struct reach_step *s, size_t number)
{
    bool by_env = false;
    put_own_variables(b, s, number);
    for (size_t i = 0; i < s->env_n; i++) {
        if (is_runners(s->env[i].name))
            continue;
        if (is_shells_own(s->env[i].name)) {
            by_env = true;
            continue;
        }
        buf_printf(b, "%s=", s->env[i].name);
        reach_code_quote(b, s->env[i].value);
        buf_putc(b, ' ');
    }
    buf_printf(b, "\"$@\" %03o", s->umask_bits);
    put_word(b, s->cwd ? s->cwd : "/");
    if (by_env)
        buf_puts(b, " env");
    for (size_t i = 0; i < s->env_n; i++) {
        if (!is_shells_own(s->env[i].name))
            continue;
        buf_printf(b, " %s=", s->env[i].name);
        reach_code_quote(b, s->env[i].value);
    }
    if (s->kind == REACH_SCRIPT)
        buf_printf(b, " /bin/sh \"$dir/s%zu\"", number);
    else
        for (size_t i = 0; s->argv[i]; i++)
            put_word(b, s->argv[i]);
    buf_putc(b, '\n');
}

static void put_puts(struct buf *b, const struct reach_step *s, size_t number)
{
    struct reach_group g = {0};
    buf_puts(b, "puts=0 changed=0\n");
    while (reach_group_next(s, &g)) {
        const struct reach_put *p = &s->puts[g.first];
        if (g.n == 1) {
            buf_printf(b, "put f%zu.%zu", number, g.first + 1);
            put_word(b, p->path);
        } else {
            SCOPED_BUF(directory);
            buf_put(&directory, p->path, reach_group_directory(p));
            buf_printf(b, "put_group p%zu.%zu", number, g.first + 1);
            put_word(b, directory.len ? directory.data : "/");
        }
        buf_printf(b, " %o", p->mode);
        put_word(b, p->owner ? p->owner : "");
        put_word(b, p->group ? p->group : "");
        if (p->dir_mode)
            buf_printf(b, " %03o", p->dir_mode);
        else
            buf_puts(b, " ''");
        for (size_t i = g.first; g.n > 1 && i < g.first + g.n; i++)
            put_word(b, reach_group_name(&s->puts[i]));
        buf_putc(b, '\n');
    }
    buf_printf(b, "put_end %zu\n", number);
}

static void put_step(struct buf *b, const struct reach_step *s, size_t k)
{
    const struct reach_run *r = &s->run;
    buf_printf(b,
               "t%zu=%" PRIu32 " r%zu='%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 "' k%zu=%c ",
               k, r->task, k, r->fence, r->attempt, r->ask, r->step, k, is_program(s) ? 'p' : 'b');
    if (s->input.n)
        buf_printf(b, "i%zu=i%zu ", k, k);
    else
        buf_printf(b, "i%zu=/dev/null ", k);
    if (s->since_s)
        buf_printf(b, "a%zu=%" PRIu32 " ", k, s->since_s);
    if (s->limit_s)
        buf_printf(b, "l%zu=%" PRIu32, k, s->limit_s);
    else
        buf_printf(b, "l%zu=", k);
    buf_printf(b, " g%zu=%" PRIu32 " b%zu=%s\nstep%zu() {\n", k, s->grace_s, k,
               s->boot_key ? s->boot_key : "", k);
    if (!is_program(s))
        buf_printf(b, "umask %03o\nexport ANNEAL_RUN=\"%" PRIu32 ".%" PRIu32 "@$chain\"\n",
                   s->umask_bits, r->task, r->attempt);
    switch (s->kind) {
    case REACH_ARGV:
    case REACH_SCRIPT: put_program(b, s, k); break;
    case REACH_PUT: put_puts(b, s, k); break;
    case REACH_REBOOT:
        buf_printf(b, "boot_ask %" PRIu32, s->limit_s);
        for (size_t i = 0; s->argv && s->argv[i]; i++)
            put_word(b, s->argv[i]);
        buf_putc(b, '\n');
        break;
    case REACH_SUM:
        buf_puts(b, "sum");
        for (size_t i = 0; i < s->paths_n; i++)
            put_word(b, s->paths[i]);
        buf_putc(b, '\n');
        break;
    }
    buf_puts(b, "}\n");
}

/* How often the node looks whether a step has passed its limit: no later than after the limit
 * again, and within half a minute. */
static uint32_t watch_s(const struct reach_step *steps, size_t n)
{
    uint32_t least = 0;
    for (size_t i = 0; i < n; i++)
        if (steps[i].limit_s && (!least || steps[i].limit_s < least))
            least = steps[i].limit_s;
    return least < WATCH_MAX_S ? least : WATCH_MAX_S;
}

void reach_code_write(struct buf *b, const struct reach_step *steps, size_t n,
                      const struct reach_name *name)
{
    buf_printf(b, "steps=%zu nonce=%s watch_s=%" PRIu32 "\n", n, name->nonce, watch_s(steps, n));
#ifdef REACH_SESSION_LOADER
    buf_puts(b, "loader=" REACH_SESSION_LOADER "\n");
#endif
    for (size_t i = 0; i < n; i++)
        put_step(b, &steps[i], i + 1);
}
