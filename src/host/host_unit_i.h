/* host_unit_i.h - what a service is: the part of systemd's unit files that a host understands
 *
 * The syntax is systemd's, so that the same file and the same "systemctl start" work on a host of
 * ours and on a real one.  Of [Service], these:
 *
 *   Type=simple|exec|notify|forking|oneshot   ExecStartPre= ExecStart= ExecReload= ExecStop=
 *   User= Group= WorkingDirectory= Environment= EnvironmentFile= RuntimeDirectory= PIDFile=
 *   KillMode= KillSignal= TimeoutStartSec= TimeoutStopSec= RemainAfterExit=
 *   Restart=no|on-failure|always RestartSec=
 *
 * Everything else is passed over: sandboxing and limits change what a program may do, not what it
 * does, and order among units is not needed by tests.  Values may use %i %I %n %N %p %%; commands
 * also $NAME (a word by itself: any number of words) and ${NAME}, quotes and backslashes.
 *
 * Pure: texts in, values out.  All texts live in the unit's arena.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_HOST_UNIT_I_H
#define HOST_HOST_UNIT_I_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    HOST_UNIT_COMMANDS = 16,     /* of one key */
    HOST_UNIT_WORDS = 256,       /* of one command */
    HOST_UNIT_BYTES = 64 * 1024, /* of the file */
};

enum host_unit_type {
    HOST_UNIT_SIMPLE,
    HOST_UNIT_NOTIFY,
    HOST_UNIT_FORKING,
    HOST_UNIT_ONESHOT,
};
enum host_unit_restart { HOST_RESTART_NO, HOST_RESTART_ON_FAILURE, HOST_RESTART_ALWAYS };

struct host_commands {
    const char *at[HOST_UNIT_COMMANDS];
    size_t n;
};
struct host_unit {
    struct arena mem;
    const char *name; /* without ".service": "postgresql@15-main" */
    enum host_unit_type type;
    enum host_unit_restart restart;
    struct host_commands pre, start, reload, stop;
    const char *user, *group, *directory, *pid_file, *runtime_dir; /* NULL: none */
    VEC(const char *) env;                                         /* NAME=value */
    VEC(const char *) env_files; /* a "-" before the path: may be missing */
    int kill_signal;
    uint64_t start_ms, stop_ms, restart_ms;
    bool remain, leave_rest; /* leave_rest: what the main process leaves behind lives on */
};
/* A unit's file name without ".service"; letters, digits and :_.@\- only, so never a path. */
bool host_unit_is_name(const char *name);
/* The name's template, "postgresql@" of "postgresql@15-main"; false for a name that is no instance.
 */
bool host_unit_template(const char *name, char *ret, size_t n);
/* at: what the text is called in errors.  On failure nothing needs to be freed. */
int host_unit_parse(const char *name, const char *at, struct str text, struct host_unit **ret_u,
                    struct err *e);
void host_unit_free(struct host_unit *u);
static inline void host_unit_scope_end(struct host_unit **u)
{
    host_unit_free(*u);
}

/* NAME=value lines of an environment file are appended to env. */
int host_unit_env_parse(struct arena *mem, const char *at, struct str text,
                        void (*add)(void *arg, const char *assignment), void *arg, struct err *e);

/* A command as an argument vector, in mem.  env: NAME=value, the last of a name counts, ends with
 * NULL; no env at all: a $ is a $.  ret_tolerant: a "-" before it, failure is no failure. */
int host_unit_words(struct arena *mem, const char *command, const char *const *env,
                    const char ***ret_argv, bool *ret_tolerant, struct err *e);
/* One argument as it must be written in a command to come out as it is. */
void host_unit_quote(struct buf *b, const char *argument);

#endif
