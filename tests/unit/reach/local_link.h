/* local_link.h - a link to the machine itself: /bin/sh as a child, as sshd would start it
 *
 * A call that is closed is cut off like a broken connection: our ends of the pipes close, the
 * session's processes are signalled by nobody and go on.  We still reap the child when it ends;
 * what is left when the link is freed is left to the system.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REACH_LOCAL_LINK_H
#define TESTS_REACH_LOCAL_LINK_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "reach/reach.h"
#include "sys/proc.h"

struct local_link {
    struct reach_link link; /* the first, so that the one is the other */
    struct loop *loop;
    struct reach_call *calls;
};
struct reach_call {
    struct local_link *owner;
    struct reach_call *next;
    struct proc *proc;
    bool closed;
    struct reach_exec x; /* callbacks only */
};

static void call_unlink(struct reach_call *c)
{
    struct reach_call **at = &c->owner->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    proc_free(c->proc);
    free(c);
}

static void on_child_output(void *arg, int fd, const char *p, size_t n)
{
    struct reach_call *c = arg;
    if (!c->closed)
        c->x.on_output(c->x.arg, fd, p, n);
}

static void on_child_exit(void *arg, const struct proc_exit *x)
{
    struct reach_call *c = arg;
    struct reach_exec told = c->x;
    bool closed = c->closed;
    struct reach_exec_end end = {.ran = true, .text = ""};
    char text[64];
    if (x->signo) {
        snprintf(text, sizeof text, "the session was ended by signal %d", x->signo);
        end.fail = REACH_FAIL_LOST;
        end.text = text;
    }
    end.status = x->signo ? 128 + x->signo : x->code;
    call_unlink(c);
    if (!closed)
        told.on_end(told.arg, &end);
}

static int local_exec(struct reach_link *l, const struct reach_exec *x,
                      struct reach_call **ret_call, struct err *e)
{
    struct local_link *own = (struct local_link *)l;
    struct reach_call *c = xcalloc(1, sizeof *c);
    const char *const argv[] = {"/bin/sh", "-c", x->command, NULL};
    *c = (struct reach_call){.owner = own, .next = own->calls, .x = *x};
    struct proc_spec spec = {.argv = argv,
                             .cwd = "/",
                             .input = x->input,
                             .max_stdout = SIZE_MAX,
                             .max_stderr = SIZE_MAX,
                             .on_output = on_child_output,
                             .on_exit = on_child_exit,
                             .arg = c};
    int rc = proc_spawn(own->loop, &spec, &c->proc, e);
    if (rc < 0) {
        free(c);
        return rc;
    }
    own->calls = c;
    *ret_call = c;
    return 0;
}

static void local_close(struct reach_link *l, struct reach_call *call)
{
    (void)l;
    assert(!call->closed);
    call->closed = true;
    proc_cut(call->proc);
}

static struct reach_link *local_link_new(struct loop *l)
{
    struct local_link *own = xcalloc(1, sizeof *own);
    *own = (struct local_link){.link = {.exec = local_exec, .close = local_close}, .loop = l};
    return &own->link;
}

static void local_link_free(struct reach_link *l)
{
    struct local_link *own = (struct local_link *)l;
    if (!own)
        return;
    while (own->calls) {
        if (!own->calls->closed)
            proc_cut(own->calls->proc);
        call_unlink(own->calls);
    }
    free(own);
}

#endif
