/* host_spawn.c - one process of a unit: environment, user, session, exec
 *
 * Users and groups are looked up in the host's own files, not through the name service, which a
 * static program does not have.  Whether the exec worked comes back through a pipe that closes
 * with it, so that "systemctl start" can say "no such program".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/text.h"
#include "host/host_service_i.h"
#include "sys/fs.h"

enum { GROUPS_MOST = 64 };

struct identity {
    uid_t uid;
    gid_t gid, groups[GROUPS_MOST];
    size_t n_groups;
    char name[64], home[256], shell[256];
};

struct environment {
    VEC(const char *) at;
};

static int find_user(const char *user, struct identity *id, struct err *e)
{
    FILE *f = fopen("/etc/passwd", "re");
    struct passwd *p = NULL;
    uint64_t number = 0;
    bool numeric = text_u64(str_of(user), INT32_MAX, &number, NULL) == 0;
    while (f && (p = fgetpwent(f)))
        if (strcmp(p->pw_name, user) == 0 || (numeric && p->pw_uid == number))
            break;
    if (p) {
        id->uid = p->pw_uid;
        id->gid = p->pw_gid;
        snprintf(id->name, sizeof id->name, "%s", p->pw_name);
        snprintf(id->home, sizeof id->home, "%s", p->pw_dir);
        snprintf(id->shell, sizeof id->shell, "%s", p->pw_shell);
    }
    if (f)
        fclose(f);
    return p ? 0 : err_set(e, ERR_NOT_FOUND, "no user %s", user);
}

static bool is_member(const struct group *g, const char *name)
{
    for (char **m = g->gr_mem; *m; m++)
        if (strcmp(*m, name) == 0)
            return true;
    return false;
}

/* The groups that the user is in, and the one that the unit names. */
static int find_groups(const char *group, struct identity *id, struct err *e)
{
    FILE *f = fopen("/etc/group", "re");
    bool found = !group;
    for (struct group *g; f && (g = fgetgrent(f));) {
        if (group && strcmp(g->gr_name, group) == 0) {
            id->gid = g->gr_gid;
            found = true;
        }
        if (is_member(g, id->name) && id->n_groups < GROUPS_MOST - 1)
            id->groups[id->n_groups++] = g->gr_gid;
    }
    if (f)
        fclose(f);
    id->groups[id->n_groups++] = id->gid;
    return found ? 0 : err_set(e, ERR_NOT_FOUND, "no group %s", group);
}

static int identity_of(const struct host_unit *u, struct identity *ret_id, struct err *e)
{
    struct identity id = {0};
    int r = find_user(u->user ? u->user : "root", &id, e);
    if (r == 0)
        r = find_groups(u->group, &id, e);
    if (r == 0)
        *ret_id = id;
    return r;
}

static void environment_add(void *arg, const char *assignment)
{
    struct environment *v = arg;
    size_t name = strcspn(assignment, "=") + 1;
    for (size_t i = 0; i < v->at.n; i++)
        if (strncmp(v->at.at[i], assignment, name) == 0) {
            v->at.at[i] = assignment;
            return;
        }
    vec_push(&v->at, assignment);
}

static int environment_files(const struct host_unit *u, struct arena *mem, struct environment *v,
                             struct err *e)
{
    for (size_t i = 0; i < u->env_files.n; i++) {
        SCOPED_BUF(text);
        const char *path = u->env_files.at[i];
        bool optional = *path == '-';
        int r = fs_read(path + optional, HOST_UNIT_BYTES, &text, e);
        if (r < 0 && optional)
            continue;
        if (r == 0)
            r = host_unit_env_parse(mem, path + optional, buf_str(&text), environment_add, v, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int environment_make(const struct host_spawn *s, const struct identity *id,
                            struct arena *mem, struct environment *v, struct err *e)
{
    environment_add(v, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    environment_add(v, "LANG=C.UTF-8");
    environment_add(v, arena_printf(mem, "USER=%s", id->name));
    environment_add(v, arena_printf(mem, "LOGNAME=%s", id->name));
    environment_add(v, arena_printf(mem, "HOME=%s", id->home));
    environment_add(v, arena_printf(mem, "SHELL=%s", id->shell));
    if (s->unit->runtime_dir)
        environment_add(v, arena_printf(mem, "RUNTIME_DIRECTORY=/run/%s", s->unit->runtime_dir));
    if (s->notify_path)
        environment_add(v, arena_printf(mem, "NOTIFY_SOCKET=%s", s->notify_path));
    if (s->main_pid)
        environment_add(v, arena_printf(mem, "MAINPID=%d", (int)s->main_pid));
    for (size_t i = 0; i < s->unit->env.n; i++)
        environment_add(v, s->unit->env.at[i]);
    int r = environment_files(s->unit, mem, v, e);
    vec_push(&v->at, NULL);
    return r;
}

int host_spawn_runtime(const struct host_unit *u, struct err *e)
{
    SCOPED_BUF(path);
    struct identity id;
    if (!u->runtime_dir)
        return 0;
    int r = identity_of(u, &id, e);
    if (r < 0)
        return r;
    buf_printf(&path, "/run/%s", u->runtime_dir);
    r = fs_mkdirs(path.data, 0755, e);
    if (r == 0 && chown(path.data, id.uid, id.gid) < 0)
        r = err_sys(e, ERR_IO, errno, "cannot give %s to %s", path.data, id.name);
    return r;
}

/* In the child.  Returns only if something did not work, with errno set. */
static void become(const struct host_spawn *s, const struct identity *id, const char **argv,
                   const char *const *env)
{
    const char *directory = s->unit->directory;
    sigset_t none;
    int in = open("/dev/null", O_RDONLY);
    bool optional = directory && *directory == '-';
    directory = !directory ? "/" : directory + optional;
    directory = strcmp(directory, "~") == 0 ? id->home : directory;
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    if (in < 0 || dup2(in, 0) < 0 || dup2(s->console_fd, 1) < 0 || dup2(s->console_fd, 2) < 0 ||
        setgroups(id->n_groups, id->groups) < 0 || setgid(id->gid) < 0 || setuid(id->uid) < 0 ||
        (chdir(directory) < 0 && !optional))
        return;
    if (in > 2)
        close(in);
    /* execvpe() looks in our PATH, and init has none: the usual one serves. */
    execvpe(argv[0], (char *const *)argv, (char *const *)env);
}

static int spawn(const struct host_spawn *s, const struct identity *id, const char **argv,
                 const char *const *env, pid_t *ret_pid, struct err *e)
{
    int told[2], sys = 0;
    if (pipe2(told, O_CLOEXEC) < 0)
        return err_sys(e, ERR_IO, errno, "no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        become(s, id, argv, env);
        sys = errno;
        ssize_t put = write(told[1], &sys, sizeof sys);
        (void)put;
        _exit(127);
    }
    int fork_errno = errno;
    close(told[1]);
    ssize_t n = pid > 0 ? read(told[0], &sys, sizeof sys) : 0;
    close(told[0]);
    if (pid < 0)
        return err_sys(e, ERR_IO, fork_errno, "cannot start %s", argv[0]);
    if (n == (ssize_t)sizeof sys) /* init reaps it with the others */
        return err_sys(e, ERR_FAILED, sys, "cannot execute %s", argv[0]);
    *ret_pid = pid;
    return 0;
}

int host_spawn_run(const struct host_spawn *s, pid_t *ret_pid, bool *ret_tolerant, struct err *e)
{
    SCOPED_ARENA(mem);
    struct environment v = {0};
    struct identity id;
    const char **argv;
    bool tolerant = false;
    int r = identity_of(s->unit, &id, e);
    if (r == 0)
        r = environment_make(s, &id, &mem, &v, e);
    if (r == 0)
        r = host_unit_words(&mem, s->command, v.at.at, &argv, &tolerant, e);
    if (r == 0)
        r = spawn(s, &id, argv, v.at.at, ret_pid, e);
    vec_done(&v.at);
    *ret_tolerant = tolerant;
    return r;
}
