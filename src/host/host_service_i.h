/* host_service_i.h - services of a host, as its init runs them
 *
 * A service is a child of init, in a session of its own: no connection and no task has it as a
 * descendant.  Its unit file is read at each start.  Nothing here blocks: init hands in what
 * happened (a child that ended, a message that arrived, time that passed) and asks when to call
 * again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_HOST_SERVICE_I_H
#define HOST_HOST_SERVICE_I_H

#include <stdint.h>
#include <sys/types.h>

#include "host/host_i.h"
#include "host/host_unit_i.h"

struct host_services;
/* epoll_fd: descriptors that services listen on are added there, with the descriptor as data.
 * console_fd: their output. */
struct host_services *host_services_new(int epoll_fd, int console_fd);
void host_services_free(struct host_services *s);
/* sshd, which a host always has, and whatever was enabled. */
void host_services_boot(struct host_services *s, uint64_t now_ms);
/* Takes the descriptor: answers and closes it, now or when it is done. */
void host_services_request(struct host_services *s, const struct host_request *q, int fd,
                           uint64_t now_ms);
void host_services_reaped(struct host_services *s, pid_t pid, int status, uint64_t now_ms);
void host_services_readable(struct host_services *s, int fd);
/* UINT64_MAX: nothing is due. */
uint64_t host_services_due_ms(const struct host_services *s);
void host_services_tick(struct host_services *s, uint64_t now_ms);
/* Each service's own signal for the end; nothing is started any more. */
void host_services_end(struct host_services *s);

/* ---- between host_service.c (one service) and host_services.c (all of them, and who asks) ---- */

#define HOST_SERVICE_STATES(X)                                                                     \
    X(INACTIVE, "inactive")                                                                        \
    X(PRE, "activating")                                                                           \
    X(STARTING, "activating")                                                                      \
    X(ACTIVE, "active")                                                                            \
    X(STOPPING, "deactivating")                                                                    \
    X(ENDING, "deactivating")                                                                      \
    X(FAILED, "failed")
enum host_service_state {
#define X(id, name) HOST_SERVICE_##id,
    HOST_SERVICE_STATES(X)
#undef X
        HOST_SERVICE_STATE_COUNT
};
struct host_waiter {
    int fd;
    enum host_verb verb;
};
struct host_service {
    char name[HOST_NAME_BYTES];
    struct host_unit *unit; /* of the last start */
    enum host_service_state state;
    pid_t main, control;
    bool control_tolerant, again; /* again: start when stopped */
    bool asked_to_stop, failed;   /* how the end is judged */
    size_t step;
    uint64_t deadline_ms;
    int notify_fd;
    char why[256];
    VEC(struct host_waiter) waiters;
};
struct host_services {
    int epoll_fd, console_fd;
    bool ending;
    VEC(struct host_service *) at;
};

/* How it stands, for people. */
void host_service_describe(const struct host_service *v, char *ret, size_t n);
const char *host_service_state_name(enum host_service_state state);
/* ERR_NOT_FOUND if no directory of units has it. */
int host_service_unit(const char *name, struct host_unit **ret_u, struct err *e);
/* From INACTIVE or FAILED only. */
void host_service_start(struct host_services *s, struct host_service *v, uint64_t now_ms);
void host_service_stop(struct host_services *s, struct host_service *v, uint64_t now_ms);
/* All of ExecReload=, one after the other.  0: the descriptor is answered at their end, or when the
 * service is down. */
int host_service_reload(struct host_services *s, struct host_service *v, int fd, uint64_t now_ms,
                        struct err *e);
/* Answers those whose question the state now answers. */
void host_service_settle(struct host_service *v);
void host_service_answer(int fd, int status, const char *text);
void host_service_main_ended(struct host_services *s, struct host_service *v, int status,
                             uint64_t now_ms);
void host_service_control_ended(struct host_services *s, struct host_service *v, int status,
                                uint64_t now_ms);
void host_service_notified(struct host_service *v);
void host_service_overdue(struct host_services *s, struct host_service *v, uint64_t now_ms);
void host_service_free(struct host_service *v);

/* ---- host_spawn.c: one process of a unit ---- */

struct host_spawn {
    const struct host_unit *unit;
    const char *command;
    const char *notify_path; /* NULL: none */
    pid_t main_pid;          /* for $MAINPID; 0: none */
    int console_fd;
};
/* Starts it in a session of its own, and knows whether it could be executed.  ret_tolerant: a
 * failure of this command is none. */
int host_spawn_run(const struct host_spawn *s, pid_t *ret_pid, bool *ret_tolerant, struct err *e);
/* The directory below /run that the unit asks for. */
int host_spawn_runtime(const struct host_unit *u, struct err *e);

#endif
