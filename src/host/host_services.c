/* host_services.c - all services of a host: who asks, what happened to which of them
 *
 * The list, and the doors to it: requests, ended children, notifications and time come in here and
 * are given to the one service that they are about.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host_service_i.h"
#include "sys/fs.h"

enum { EXIT_NOT_ACTIVE = 3, EXIT_NO_UNIT = 5, NOTIFY_BYTES = 4096 };
static const uint64_t never = UINT64_MAX;

static struct host_service *service_get(struct host_services *s, const char *name)
{
    for (size_t i = 0; i < s->at.n; i++)
        if (strcmp(s->at.at[i]->name, name) == 0)
            return s->at.at[i];
    return NULL;
}

static struct host_service *service_make(struct host_services *s, const char *name)
{
    struct host_service *v = service_get(s, name);
    if (v)
        return v;
    v = xcalloc(1, sizeof *v);
    snprintf(v->name, sizeof v->name, "%s", name);
    v->notify_fd = -1;
    v->deadline_ms = never;
    vec_push(&s->at, v);
    return v;
}

/* ---- what happened ---- */

void host_services_reaped(struct host_services *s, pid_t pid, int status, uint64_t now_ms)
{
    for (size_t i = 0; i < s->at.n; i++) {
        struct host_service *v = s->at.at[i];
        if (v->main == pid) {
            host_service_main_ended(s, v, status, now_ms);
            return;
        }
        if (v->control == pid) {
            host_service_control_ended(s, v, status, now_ms);
            return;
        }
    }
}

/* sd_notify(3): assignments, one a line. */
void host_services_readable(struct host_services *s, int fd)
{
    char text[NOTIFY_BYTES];
    for (size_t i = 0; i < s->at.n; i++) {
        struct host_service *v = s->at.at[i];
        if (v->notify_fd != fd)
            continue;
        ssize_t n = recv(fd, text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        if (strncmp(text, "READY=1", 7) == 0 || strstr(text, "\nREADY=1"))
            host_service_notified(v);
        return;
    }
}

uint64_t host_services_due_ms(const struct host_services *s)
{
    uint64_t due = never;
    for (size_t i = 0; i < s->at.n; i++)
        if (s->at.at[i]->deadline_ms < due)
            due = s->at.at[i]->deadline_ms;
    return due;
}

void host_services_tick(struct host_services *s, uint64_t now_ms)
{
    for (size_t i = 0; i < s->at.n; i++)
        if (s->at.at[i]->deadline_ms <= now_ms)
            host_service_overdue(s, s->at.at[i], now_ms);
}

/* ---- what is asked ---- */

static void say_status(struct host_services *s, const char *name, bool only_state, int fd)
{
    struct host_service *v = service_get(s, name);
    char text[512];
    struct host_unit *u = NULL;
    if (!v && host_service_unit(name, &u, NULL) < 0) {
        snprintf(text, sizeof text, "no unit %s.service", name);
        host_service_answer(fd, only_state ? EXIT_NOT_ACTIVE : 4, only_state ? "inactive" : text);
        return;
    }
    host_unit_free(u);
    if (v)
        host_service_describe(v, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s.service: inactive", name);
    host_service_answer(fd, v && v->state == HOST_SERVICE_ACTIVE ? 0 : EXIT_NOT_ACTIVE,
                        !only_state ? text
                        : v         ? host_service_state_name(v->state)
                                    : "inactive");
}

static void list(struct host_services *s, int fd)
{
    SCOPED_BUF(b);
    for (size_t i = 0; i < s->at.n; i++) {
        char text[512];
        host_service_describe(s->at.at[i], text, sizeof text);
        buf_printf(&b, "%s%s", i ? "\n" : "", text);
    }
    host_service_answer(fd, 0, buf_str(&b).s);
}

/* start, stop and restart end in waiting for a state. */
static void change(struct host_services *s, enum host_verb verb, const char *name, int fd,
                   uint64_t now_ms)
{
    struct host_unit *u = NULL;
    struct err e = {0};
    if (!service_get(s, name) && host_service_unit(name, &u, &e) < 0) {
        char text[sizeof e.at + sizeof e.text + 2];
        snprintf(text, sizeof text, "%s%s%s", e.at, e.at[0] ? ": " : "", e.text);
        host_service_answer(fd, EXIT_NO_UNIT, text);
        return;
    }
    host_unit_free(u);
    struct host_service *v = service_make(s, name);
    bool idle = v->state == HOST_SERVICE_INACTIVE || v->state == HOST_SERVICE_FAILED;
    struct host_waiter w = {fd, verb};
    if (verb != HOST_VERB_STOP && !idle)
        v->again = verb == HOST_VERB_RESTART || v->state == HOST_SERVICE_STOPPING ||
                   v->state == HOST_SERVICE_ENDING;
    else
        v->again = false;
    if (verb == HOST_VERB_RESTART && !idle && v->state == HOST_SERVICE_ACTIVE) {
        /* The state is still active: whoever waits must not be answered by that. */
        host_service_stop(s, v, now_ms);
        vec_push(&v->waiters, w);
    } else {
        vec_push(&v->waiters, w);
        if (verb == HOST_VERB_STOP || (verb == HOST_VERB_RESTART && !idle))
            host_service_stop(s, v, now_ms);
        else if (idle)
            host_service_start(s, v, now_ms);
    }
    host_service_settle(v);
}

void host_services_request(struct host_services *s, const struct host_request *q, int fd,
                           uint64_t now_ms)
{
    enum host_verb verb = (enum host_verb)q->verb;
    struct host_service *v;
    struct err e = {0};
    int r;
    if (verb != HOST_VERB_LIST && !host_unit_is_name(q->unit)) {
        host_service_answer(fd, 1, "that cannot be the name of a unit");
        return;
    }
    switch (verb) {
    case HOST_VERB_START:
    case HOST_VERB_STOP:
    case HOST_VERB_RESTART: change(s, verb, q->unit, fd, now_ms); break;
    case HOST_VERB_RELOAD:
        v = service_get(s, q->unit);
        r = v ? host_service_reload(s, v, fd, now_ms, &e)
              : err_set(&e, ERR_NOT_FOUND, "it was never started");
        if (r < 0)
            host_service_answer(fd, 1, e.text);
        break;
    case HOST_VERB_STATUS:
    case HOST_VERB_IS_ACTIVE: say_status(s, q->unit, verb == HOST_VERB_IS_ACTIVE, fd); break;
    case HOST_VERB_LIST: list(s, fd); break;
    case HOST_VERB_REBOOT:
    case HOST_VERB_POWEROFF:
    case HOST_VERB_COUNT: host_service_answer(fd, 1, "init does not know that word"); break;
    }
}

/* ---- the whole ---- */

struct host_services *host_services_new(int epoll_fd, int console_fd)
{
    struct host_services *s = xcalloc(1, sizeof *s);
    s->epoll_fd = epoll_fd;
    s->console_fd = console_fd;
    return s;
}

void host_services_free(struct host_services *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->at.n; i++)
        host_service_free(s->at.at[i]);
    vec_done(&s->at);
    free(s);
}

void host_services_boot(struct host_services *s, uint64_t now_ms)
{
    char **names = NULL;
    size_t n = 0;
    host_service_start(s, service_make(s, "ssh"), now_ms);
    if (fs_list(HOST_ENABLED_DIR, &names, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (host_unit_is_name(names[i]))
            host_service_start(s, service_make(s, names[i]), now_ms);
        free(names[i]);
    }
    free(names);
}

void host_services_end(struct host_services *s)
{
    s->ending = true;
    for (size_t i = 0; i < s->at.n; i++) {
        struct host_service *v = s->at.at[i];
        v->asked_to_stop = true;
        v->deadline_ms = never;
        if (v->main > 0)
            (void)kill(v->main, v->unit->kill_signal);
    }
}
