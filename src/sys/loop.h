/* loop.h - one thread's event loop: descriptors, timers, signals, posts from other threads
 *
 * Hides libuv.  One loop thread owns all state of a service; other threads only loop_post().  Time is
 * CLOCK_BOOTTIME in milliseconds: it never runs backwards, does not jump with the wall clock and goes
 * on while the machine sleeps.  A callback may stop or free any handle, its own included: freeing is
 * deferred to the end of the iteration.  loop_new_fake() has the same interface over a virtual clock:
 * loop_fake_advance() fires what is due in time order, with no sleeping.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_LOOP_H
#define SYS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;
struct loop_timer;
struct loop_watch;
struct loop_signal;
typedef void loop_call_f(void *arg);
typedef void loop_fd_f(void *arg, unsigned events);
enum { LOOP_READ = 1u << 0, LOOP_WRITE = 1u << 1, LOOP_HANGUP = 1u << 2 };

struct loop *loop_new(void);
struct loop *loop_new_fake(uint64_t start_ms);
void loop_free(struct loop *l);
/* Returns when loop_stop() was called or nothing is left to wait for. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l); /* from any thread */
uint64_t loop_now_ms(const struct loop *l);
void loop_fake_advance(struct loop *l, uint64_t by_ms);

struct loop_timer *loop_timer_new(struct loop *l, loop_call_f *fn, void *arg);
/* (Re)arms for an absolute time; a time in the past fires in the next iteration. */
void loop_timer_at(struct loop_timer *t, uint64_t at_ms);
void loop_timer_stop(struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);

struct loop_watch *loop_watch_new(struct loop *l, int fd, unsigned events, loop_fd_f *fn,
                                  void *arg);
void loop_watch_set(struct loop_watch *w, unsigned events);
void loop_watch_free(struct loop_watch *w); /* does not close fd */

struct loop_signal *loop_signal_new(struct loop *l, int signo, loop_call_f *fn, void *arg);
void loop_signal_free(struct loop_signal *s);

/* Thread-safe: runs fn(arg) on the loop thread, in order of posting. */
void loop_post(struct loop *l, loop_call_f *fn, void *arg);
/* Runs on the loop thread each time before it would block: the place to close a commit group. */
void loop_before_wait(struct loop *l, loop_call_f *fn, void *arg);

#endif
