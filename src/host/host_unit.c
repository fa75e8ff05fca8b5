/* host_unit.c - unit files: lines to values
 *
 * One table of keys.  A key may say how its value is kept; an empty value clears a list, as in
 * systemd.  To add a key: a line in the table, a member of struct host_unit, a case.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/host_unit_i.h"

#define UNIT_KEYS(X)                                                                               \
    X(TYPE, "Type")                                                                                \
    X(START_PRE, "ExecStartPre")                                                                   \
    X(START, "ExecStart")                                                                          \
    X(RELOAD, "ExecReload")                                                                        \
    X(STOP, "ExecStop")                                                                            \
    X(USER, "User")                                                                                \
    X(GROUP, "Group")                                                                              \
    X(DIRECTORY, "WorkingDirectory")                                                               \
    X(ENVIRONMENT, "Environment")                                                                  \
    X(ENVIRONMENT_FILE, "EnvironmentFile")                                                         \
    X(RUNTIME_DIR, "RuntimeDirectory")                                                             \
    X(PID_FILE, "PIDFile")                                                                         \
    X(KILL_MODE, "KillMode")                                                                       \
    X(KILL_SIGNAL, "KillSignal")                                                                   \
    X(START_TIME, "TimeoutStartSec")                                                               \
    X(STOP_TIME, "TimeoutStopSec")                                                                 \
    X(BOTH_TIMES, "TimeoutSec")                                                                    \
    X(RESTART, "Restart")                                                                          \
    X(RESTART_TIME, "RestartSec")                                                                  \
    X(REMAIN, "RemainAfterExit")
enum unit_key {
#define X(id, name) KEY_##id,
    UNIT_KEYS(X)
#undef X
        KEY_COUNT
};
static const char *const key_names[] = {
#define X(id, name) name,
    UNIT_KEYS(X)
#undef X
};

static const struct {
    const char *name;
    int value;
} types[] = {{"simple", HOST_UNIT_SIMPLE},   {"exec", HOST_UNIT_SIMPLE},
             {"idle", HOST_UNIT_SIMPLE},     {"notify", HOST_UNIT_NOTIFY},
             {"forking", HOST_UNIT_FORKING}, {"oneshot", HOST_UNIT_ONESHOT}},
  restarts[] = {{"no", HOST_RESTART_NO},
                {"on-failure", HOST_RESTART_ON_FAILURE},
                {"on-abnormal", HOST_RESTART_ON_FAILURE},
                {"on-abort", HOST_RESTART_ON_FAILURE},
                {"always", HOST_RESTART_ALWAYS}},
  signals[] = {{"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},    {"SIGQUIT", SIGQUIT},
               {"SIGHUP", SIGHUP},   {"SIGKILL", SIGKILL},  {"SIGUSR1", SIGUSR1},
               {"SIGUSR2", SIGUSR2}, {"SIGWINCH", SIGWINCH}};

/* Sets *ret_v to what the word stands for in one of the tables above. */
#define LOOK_UP(table, what, word, ret_v, e)                                                       \
    ({                                                                                             \
        int r_ = -1;                                                                               \
        for (size_t i_ = 0; r_ && i_ < sizeof(table) / sizeof *(table); i_++)                      \
            if (str_is((word), (table)[i_].name)) {                                                \
                *(ret_v) = (table)[i_].value;                                                      \
                r_ = 0;                                                                            \
            }                                                                                      \
        r_ ? err_set((e), ERR_INVALID, "no %s \"%.*s\"", (what), (int)(word).n, (word).s) : 0;     \
    })

static struct str trim(struct str s)
{
    while (s.n && isspace((unsigned char)s.s[0]))
        s = (struct str){s.s + 1, s.n - 1};
    while (s.n && isspace((unsigned char)s.s[s.n - 1]))
        s.n--;
    return s;
}

bool host_unit_is_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < 56 && name[0] != '.' && name[0] != '@' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.@\\-") ==
               n;
}

bool host_unit_template(const char *name, char *ret, size_t n)
{
    const char *at = strchr(name, '@');
    size_t len = at ? (size_t)(at - name) + 1 : 0;
    if (!at || !at[1] || len >= n)
        return false;
    memcpy(ret, name, len);
    ret[len] = '\0';
    return true;
}

/* %i and its like; an unknown one stays as it is, since most of them are paths of no use here. */
static const char *specifiers(struct host_unit *u, struct str v)
{
    SCOPED_BUF(b);
    const char *at = strchr(u->name, '@');
    for (size_t i = 0; i < v.n; i++) {
        char c = v.s[i] == '%' && i + 1 < v.n ? v.s[i + 1] : '\0';
        switch (c) {
        case 'i': buf_puts(&b, at ? at + 1 : ""); break;
        case 'I': /* a dash stands for a slash */
            for (const char *p = at ? at + 1 : ""; *p; p++)
                buf_putc(&b, *p == '-' ? '/' : *p);
            break;
        case 'n': buf_printf(&b, "%s.service", u->name); break;
        case 'N': buf_puts(&b, u->name); break;
        case 'p': buf_put(&b, u->name, at ? (size_t)(at - u->name) : strlen(u->name)); break;
        case '%': buf_putc(&b, '%'); break;
        default: buf_putc(&b, v.s[i]); continue;
        }
        i++;
    }
    return arena_strndup(&u->mem, buf_str(&b).s, b.len);
}

static int add_command(struct host_commands *c, const char *text, struct err *e)
{
    if (!*text)
        c->n = 0;
    else if (c->n == HOST_UNIT_COMMANDS)
        return err_set(e, ERR_LIMIT, "more than %d commands", HOST_UNIT_COMMANDS);
    else
        c->at[c->n++] = text;
    return 0;
}

/* Environment=A=1 "B=2 3": assignments in words. */
static int add_assignments(struct host_unit *u, const char *text, struct err *e)
{
    const char **words;
    bool tolerant;
    if (!*text) {
        vec_clear(&u->env);
        return 0;
    }
    /* The command before it keeps a "-" or "@" of the first assignment from meaning something. */
    const char *command = arena_printf(&u->mem, "env %s", text);
    int r = host_unit_words(&u->mem, command, NULL, &words, &tolerant, e);
    if (r < 0)
        return r;
    for (words++; *words; words++) {
        if (!strchr(*words, '='))
            return err_set(e, ERR_INVALID, "\"%s\" is not NAME=value", *words);
        vec_push(&u->env, *words);
    }
    return 0;
}

static int take_seconds(struct str v, uint64_t *ret_ms, struct err *e)
{
    if (str_is(v, "infinity") || str_is(v, "0")) {
        *ret_ms = UINT32_MAX;
        return 0;
    }
    if (v.n > 3 && memcmp(v.s + v.n - 3, "min", 3) == 0)
        return text_u64((struct str){v.s, v.n - 3}, 10000, ret_ms, e) < 0
                   ? err_set(e, ERR_INVALID, "\"%.*s\" is not a time", (int)v.n, v.s)
                   : (int)(*ret_ms *= 60000, 0);
    return text_duration_ms(v, ret_ms, e);
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static int take_value(struct host_unit *u, enum unit_key key, struct str v, struct err *e)
{
    const char *text = specifiers(u, v);
    int value = 0, r = 0;
    switch (key) {
    case KEY_TYPE:
        r = LOOK_UP(types, "type", v, &value, e);
        u->type = (enum host_unit_type)value;
        return r;
    case KEY_START_PRE: return add_command(&u->pre, text, e);
    case KEY_START: return add_command(&u->start, text, e);
    case KEY_RELOAD: return add_command(&u->reload, text, e);
    case KEY_STOP: return add_command(&u->stop, text, e);
    case KEY_USER: u->user = or_null(text); return 0;
    case KEY_GROUP: u->group = or_null(text); return 0;
    case KEY_DIRECTORY: u->directory = or_null(text); return 0;
    case KEY_ENVIRONMENT: return add_assignments(u, text, e);
    case KEY_ENVIRONMENT_FILE:
        if (*text)
            vec_push(&u->env_files, text);
        else
            vec_clear(&u->env_files);
        return 0;
    case KEY_RUNTIME_DIR: u->runtime_dir = or_null(text); return 0;
    case KEY_PID_FILE:
        u->pid_file = *text == '/' ? text : arena_printf(&u->mem, "/run/%s", text);
        return 0;
    case KEY_KILL_MODE: u->leave_rest = str_is(v, "process") || str_is(v, "none"); return 0;
    case KEY_KILL_SIGNAL: return LOOK_UP(signals, "signal", v, &u->kill_signal, e);
    case KEY_START_TIME: return take_seconds(v, &u->start_ms, e);
    case KEY_STOP_TIME: return take_seconds(v, &u->stop_ms, e);
    case KEY_BOTH_TIMES:
        r = take_seconds(v, &u->start_ms, e);
        return r < 0 ? r : take_seconds(v, &u->stop_ms, e);
    case KEY_RESTART:
        r = LOOK_UP(restarts, "restart", v, &value, e);
        u->restart = (enum host_unit_restart)value;
        return r;
    case KEY_RESTART_TIME: return take_seconds(v, &u->restart_ms, e);
    case KEY_REMAIN:
        u->remain = str_is(v, "yes") || str_is(v, "true") || str_is(v, "1") || str_is(v, "on");
        return 0;
    case KEY_COUNT: break;
    }
    return err_set(e, ERR_INTERNAL, "key %d has no case", (int)key);
}

static int take_line(struct host_unit *u, struct str line, bool *in_service, struct err *e)
{
    line = trim(line);
    if (line.n == 0 || line.s[0] == '#' || line.s[0] == ';')
        return 0;
    if (line.s[0] == '[') {
        *in_service = str_is(line, "[Service]");
        return line.s[line.n - 1] == ']' ? 0 : err_set(e, ERR_SYNTAX, "a section lacks its ]");
    }
    const char *equals = memchr(line.s, '=', line.n);
    if (!equals)
        return err_set(e, ERR_SYNTAX, "a line that is neither a section nor KEY=VALUE");
    struct str key = trim((struct str){line.s, (size_t)(equals - line.s)});
    struct str value = trim((struct str){equals + 1, line.n - (size_t)(equals + 1 - line.s)});
    for (int i = 0; *in_service && i < KEY_COUNT; i++)
        if (str_is(key, key_names[i]))
            return take_value(u, (enum unit_key)i, value, e);
    return 0;
}

/* A line that ends with a backslash goes on in the next; the two become one space. */
static const char *line_take(const char *p, const char *end, struct buf *ret_line, unsigned *lines)
{
    buf_clear(ret_line);
    for (;;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop : end) - p);
        bool more = n > 0 && p[n - 1] == '\\' && stop;
        buf_put(ret_line, p, n - more);
        (*lines)++;
        p = stop ? stop + 1 : end;
        if (!more)
            return p;
        buf_putc(ret_line, ' ');
    }
}

int host_unit_parse(const char *name, const char *at, struct str text, struct host_unit **ret_u,
                    struct err *e)
{
    SCOPED_BUF(line);
    SCOPED(host_unit) *u = xcalloc(1, sizeof *u);
    const char *p = text.s, *end = text.s + text.n;
    bool in_service = false;
    arena_init(&u->mem);
    u->name = arena_strdup(&u->mem, name);
    u->kill_signal = SIGTERM;
    u->start_ms = 90000;
    u->stop_ms = 30000;
    u->restart_ms = 100;
    if (text.n > HOST_UNIT_BYTES)
        return err_set(e, ERR_TOO_LARGE, "%s is larger than %d bytes", at, HOST_UNIT_BYTES);
    for (unsigned n = 0, first = 1; p < end; first = n + 1) {
        p = line_take(p, end, &line, &n);
        int r = take_line(u, buf_str(&line), &in_service, e);
        if (r < 0) {
            err_at(e, "%s:%u", at, first);
            return r;
        }
    }
    if (u->start.n == 0 && u->type != HOST_UNIT_ONESHOT)
        return err_set(e, ERR_INVALID, "%s has no ExecStart= in [Service]", at);
    if (u->start.n > 1 && u->type != HOST_UNIT_ONESHOT)
        return err_set(e, ERR_INVALID, "%s has more than one ExecStart=", at);
    *ret_u = u;
    u = NULL;
    return 0;
}

void host_unit_free(struct host_unit *u)
{
    if (!u)
        return;
    vec_done(&u->env);
    vec_done(&u->env_files);
    arena_done(&u->mem);
    free(u);
}

int host_unit_env_parse(struct arena *mem, const char *at, struct str text,
                        void (*add)(void *arg, const char *assignment), void *arg, struct err *e)
{
    SCOPED_BUF(line);
    const char *p = text.s, *end = text.s + text.n;
    for (unsigned n = 0, first = 1; p < end; first = n + 1) {
        p = line_take(p, end, &line, &n);
        struct str s = trim(buf_str(&line));
        const char *equals = s.n ? memchr(s.s, '=', s.n) : NULL;
        if (s.n == 0 || s.s[0] == '#' || s.s[0] == ';')
            continue;
        if (!equals || equals == s.s) {
            err_set(e, ERR_SYNTAX, "a line that is not NAME=value");
            return err_at(e, "%s:%u", at, first);
        }
        struct str value = trim((struct str){equals + 1, s.n - (size_t)(equals + 1 - s.s)});
        if (value.n >= 2 && (value.s[0] == '"' || value.s[0] == '\'') &&
            value.s[value.n - 1] == value.s[0])
            value = (struct str){value.s + 1, value.n - 2};
        struct str name = trim((struct str){s.s, (size_t)(equals - s.s)});
        add(arg, arena_printf(mem, "%.*s=%.*s", (int)name.n, name.s, (int)value.n, value.s));
    }
    return 0;
}
