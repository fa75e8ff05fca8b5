/* ssh_libssh_run.c - the sessions on a connection of libssh
 *
 * A session opens a channel, asks for the command, pushes its input as the window and the socket
 * allow, and ends when the exit and the end of the outputs are known.  Callbacks of libssh deliver
 * output at once and note everything else; ssh_lib_runs_step() does the rest after them.
 *
 * A run that is closed leaves its channel behind: it is freed in the next step, or, if it is just
 * being opened, when that is decided, because libssh cannot take back an open request.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "ssh/ssh_libssh_i.h"

enum {
    /* libssh keeps buffers of the size of the largest packet that it ever sent, four of them a
     * connection.  What is short goes in small ones: a thousand connections are to be cheap. */
    WRITE_SMALL = 6 * 1024,
    WRITE_LARGE = 32 * 1024, /* the largest packet of the protocol */
    INPUT_SHORT = 128 * 1024,
    WRITES_PER_STEP = 16,
};

enum run_step { RUN_OPENING, RUN_ASKING, RUN_RUNNING, RUN_REFUSED, RUN_STEP_COUNT };
struct ssh_lib_run {
    struct ssh_lib_conn *l;
    struct ssh_run *r; /* NULL: closed by its owner */
    char *input;       /* of one that was closed: libssh may just be writing it */
    enum run_step step;
    ssh_channel channel;
    struct ssh_channel_callbacks_struct callbacks;
    bool eof_sent;
    bool output_end, closed, exited;
    int status;
    char signal[32];
    struct loop_timer *linger;
    bool lingered;
    TAILQ_ENTRY(ssh_lib_run) link;
};

static int on_data(ssh_session session, ssh_channel channel, void *data, uint32_t len,
                   int is_stderr, void *userdata)
{
    struct ssh_lib_run *s = userdata;
    (void)session, (void)channel;
    if (s->r)
        ssh_run_output(s->r, is_stderr ? 2 : 1, data, len);
    return (int)len;
}

static void on_eof(ssh_session session, ssh_channel channel, void *userdata)
{
    (void)session, (void)channel;
    ((struct ssh_lib_run *)userdata)->output_end = true;
}

static void on_close(ssh_session session, ssh_channel channel, void *userdata)
{
    (void)session, (void)channel;
    ((struct ssh_lib_run *)userdata)->closed = true;
}

static void on_exit_status(ssh_session session, ssh_channel channel, int status, void *userdata)
{
    struct ssh_lib_run *s = userdata;
    (void)session, (void)channel;
    s->exited = true;
    s->status = status;
}

static void on_exit_signal(ssh_session session, ssh_channel channel, const char *signal, int core,
                           const char *errmsg, const char *lang, void *userdata)
{
    struct ssh_lib_run *s = userdata;
    (void)session, (void)channel, (void)core, (void)errmsg, (void)lang;
    s->exited = true;
    s->status = -1;
    snprintf(s->signal, sizeof s->signal, "%s", signal);
}

/* Its owner and it do not know each other any more.  Freeing a channel handles packets, and so may
 * call owners of others, who may close this one's: so this comes first. */
static struct ssh_run *run_detach(struct ssh_lib_run *s)
{
    struct ssh_run *r = s->r;
    if (r)
        r->impl = NULL;
    s->r = NULL;
    return r;
}

static void run_destroy(struct ssh_lib_run *s)
{
    assert(!s->r);
    TAILQ_REMOVE(&s->l->runs, s, link);
    loop_timer_free(s->linger);
    free(s->input);
    ssh_remove_channel_callbacks(s->channel, &s->callbacks);
    ssh_channel_free(s->channel);
    free(s);
}

static void open_step(struct ssh_lib_run *s)
{
    int rc = ssh_channel_open_session(s->channel);
    if (rc == SSH_AGAIN)
        return;
    if (rc != SSH_OK) {
        s->step = RUN_REFUSED;
        return;
    }
    s->l->c->proven = true;
    s->step = RUN_ASKING;
}

static void ask_step(struct ssh_lib_run *s)
{
    s->r->handed = true;
    int rc = ssh_channel_request_exec(s->channel, s->r->command);
    if (rc != SSH_AGAIN)
        s->step = rc == SSH_OK ? RUN_RUNNING : RUN_REFUSED;
}

/* As much as fits: the window of the channel bounds what the other side holds for us, an empty
 * buffer of the socket what we hold for it. */
static void input_step(struct ssh_lib_run *s)
{
    struct ssh_run *r = s->r;
    size_t chunk = r->input_n <= INPUT_SHORT ? WRITE_SMALL : WRITE_LARGE;
    for (int i = 0; i < WRITES_PER_STEP && r->input_at < r->input_n && !s->closed; i++) {
        size_t n = r->input_n - r->input_at, window = ssh_channel_window_size(s->channel);
        if (!window || ssh_get_status(s->l->session) & SSH_WRITE_PENDING)
            return;
        n = n < window ? n : window;
        n = n < chunk ? n : chunk;
        int wrote = ssh_channel_write(s->channel, r->input + r->input_at, (uint32_t)n);
        if (s->r != r)
            return; /* libssh delivered output meanwhile, and its reader closed the run */
        if (wrote < 0)
            r->input_at = r->input_n; /* nobody reads it any more */
        else if (wrote == 0)
            return; /* keys are being changed */
        else
            r->input_at += (size_t)wrote;
    }
    if (r->input_at < r->input_n && !s->closed)
        return;
    ssh_run_input_free(r);
    s->eof_sent = true;
    (void)ssh_channel_send_eof(s->channel);
}

static void on_linger(void *arg)
{
    struct ssh_lib_run *s = arg;
    s->lingered = true;
    ssh_lib_drive(s->l);
}

static void linger_begin(struct ssh_lib_run *s)
{
    struct loop *loop = s->l->c->pool->loop;
    s->linger = loop_timer_new(loop, on_linger, s);
    loop_timer_at(s->linger, loop_now_ms(loop) + SSH_LINGER_MS);
}

/* The exit was told, and nothing more can come or be waited for. */
static bool is_over(const struct ssh_lib_run *s)
{
    return s->closed || (s->exited && (s->output_end || s->lingered));
}

static void end_tell(struct ssh_lib_run *s)
{
    struct ssh_run *r = run_detach(s);
    if (r && s->exited)
        ssh_run_end(r, s->status, s->signal);
    else if (r)
        ssh_run_fail(r, SSH_FAIL_LOST,
                     "the server closed the session without telling how the "
                     "command ended; look at its log");
    run_destroy(s);
}

static void refusal_tell(struct ssh_lib_run *s)
{
    struct ssh_run *r = run_detach(s);
    if (r)
        ssh_run_refuse(r, ssh_get_error(s->l->session));
    run_destroy(s);
}

/* Nobody waits for it. */
static bool is_orphan(const struct ssh_lib_run *s)
{
    return !s->r && s->step != RUN_OPENING;
}

static void run_step(struct ssh_lib_run *s)
{
    if (s->step == RUN_OPENING)
        open_step(s);
    if (s->step == RUN_ASKING && s->r)
        ask_step(s);
    if (s->step == RUN_RUNNING && s->r && !s->eof_sent)
        input_step(s);
    if (s->step == RUN_REFUSED && !ssh_lib_is_dead(s->l))
        refusal_tell(s); /* a dead one refuses everything, and tells nothing by it */
    else if (is_orphan(s))
        run_destroy(s);
    else if (s->step == RUN_RUNNING && is_over(s))
        end_tell(s);
    else if (s->exited && !s->linger)
        linger_begin(s);
}

/* Callbacks of our users may add runs at the end of the list and close any, but nothing is freed
 * by that: the next one stays the next one. */
void ssh_lib_runs_step(struct ssh_lib_conn *l)
{
    struct ssh_lib_run *s = TAILQ_FIRST(&l->runs), *next;
    for (; s; s = next) {
        next = TAILQ_NEXT(s, link);
        run_step(s);
    }
}

void ssh_lib_runs_end(struct ssh_lib_conn *l)
{
    struct ssh_lib_run *s = TAILQ_FIRST(&l->runs), *next;
    for (; s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->r && s->exited)
            end_tell(s);
    }
}

void ssh_lib_runs_free(struct ssh_lib_conn *l)
{
    struct ssh_lib_run *s;
    TAILQ_FOREACH (s, &l->runs, link)
        run_detach(s);
    while (!TAILQ_EMPTY(&l->runs))
        run_destroy(TAILQ_FIRST(&l->runs));
}

void ssh_lib_run_start(struct ssh_run *r)
{
    struct ssh_lib_conn *l = r->conn->impl;
    ssh_channel channel = l->step == SSH_LIB_OPEN ? ssh_channel_new(l->session) : NULL;
    if (!channel)
        return; /* the connection is being buried, and this run with it */
    struct ssh_lib_run *s = xcalloc(1, sizeof *s);
    *s = (struct ssh_lib_run){.l = l, .r = r, .channel = channel};
    s->callbacks = (struct ssh_channel_callbacks_struct){
        .userdata = s,
        .channel_data_function = on_data,
        .channel_eof_function = on_eof,
        .channel_close_function = on_close,
        .channel_exit_status_function = on_exit_status,
        .channel_exit_signal_function = on_exit_signal,
    };
    ssh_callbacks_init(&s->callbacks);
    ssh_set_channel_callbacks(channel, &s->callbacks);
    r->impl = s;
    TAILQ_INSERT_TAIL(&l->runs, s, link);
    ssh_lib_drive(l);
}

void ssh_lib_run_stop(struct ssh_run *r)
{
    struct ssh_lib_run *s = r->impl;
    r->impl = NULL;
    s->r = NULL;
    s->input = r->input;
    r->input = NULL;
    ssh_lib_drive_post(s->l);
}
