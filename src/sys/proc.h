/* proc.h - child processes: posix_spawn, own process group, output caps, pidfd
 *
 * No shell strings: an argument vector.  Standard input gets the given bytes, then EOF; without
 * bytes it is /dev/null.  Standard output and error are delivered as they come; past the caps the
 * rest is read and dropped, and on_exit says so.  Descriptor 3 is opened for results if max_result
 * is set, and treated the same.  The child has no other descriptor of ours, default signals and an
 * empty mask.
 *
 * on_exit comes exactly once, after all outputs are closed or 2 s after the exit if some grandchild
 * keeps them open.  Until then the child stays unreaped, so its number and group are not reused and
 * proc_signal() can never reach a stranger.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include "base/err.h"
#include "base/str.h"
#include "sys/loop.h"

struct proc;
struct proc_exit {
    int code;       /* exit status, or -1 */
    int signo;      /* ending signal, or 0 */
    bool truncated; /* a cap was reached */
    uint64_t ran_ms;
};
struct proc_spec {
    const char *const *argv;       /* argv[0] is a path or a name looked up in our PATH */
    const char *const *envp;       /* NULL: ours */
    const char *cwd;               /* NULL: ours */
    struct str input;              /* copied */
    size_t max_stdout, max_stderr; /* bytes; 0: 1 MiB */
    size_t max_result;             /* of descriptor 3; 0: it is not opened */
    void (*on_output)(void *arg, int fd, const char *p, size_t n); /* fd 1, 2 or 3; may be NULL */
    void (*on_exit)(void *arg, const struct proc_exit *x);         /* may call proc_free() */
    void *arg;
};
/* ERR_NOT_FOUND and ERR_FORBIDDEN for a program or cwd that is not there or not ours to run. */
int proc_spawn(struct loop *l, const struct proc_spec *spec, struct proc **ret_p, struct err *e);
/* Signal to the whole group; idempotent; fine after the exit. */
void proc_signal(struct proc *p, int signo);
int proc_pid(const struct proc *p);
/* Closes our ends of its input and outputs, as a broken connection would: no more on_output, and a
 * child that writes gets EPIPE.  It is not signalled; on_exit still comes when it ends. */
void proc_cut(struct proc *p);
/* After on_exit; or after proc_cut(), and then the child is left to itself, on_exit does not come.
 */
void proc_free(struct proc *p);
/* For an owner that goes away with the child: the whole group is killed, the child reaped and all
 * of it freed before this returns.  on_exit is not called.  Before on_exit only. */
void proc_end(struct proc *p);

#endif
