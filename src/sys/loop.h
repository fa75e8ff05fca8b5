/* loop.h - one thread's event loop: descriptors, timers, signals, posts from other threads
 *
 * Hides libuv.  One loop thread owns all state of a service; other threads only loop_post().  Time
 * is CLOCK_BOOTTIME in milliseconds: it never runs backwards, does not jump with the wall clock and
 * goes on while the machine sleeps.  A callback may stop or free any handle, its own included.
 *
 * One iteration runs, in this order: posts, due timers, the before-wait hooks, then it waits for
 * descriptors and signals and delivers them.  Whatever a callback posts or arms for a time in the
 * past runs in the next iteration, so that nothing can starve the descriptors.
 *
 * loop_new_fake() has the same interface over a virtual clock: loop_fake_advance() fires what is
 * due in time order, with no sleeping.  Descriptors are real there too, but polled without waiting;
 * signals come from loop_fake_signal().
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

/* Ignores SIGPIPE for the whole process: whoever writes to a pipe here wants EPIPE.  Aborts if the
 * kernel gives no descriptors, as for memory. */
struct loop *loop_new(void);
struct loop *loop_new_fake(uint64_t start_ms);
/* Handles must have been freed; posts that did not run are dropped. */
void loop_free(struct loop *l);
/* Returns when loop_stop() was called or nothing is left to wait for: no armed timer, no watch with
 * events, no signal, no post, no hold.  A fake one jumps to the next timer when nothing else is
 * left. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l); /* from any thread; a stop before the run ends that run at once */
uint64_t loop_now_ms(const struct loop *l);
/* Virtual time passes; returns early, with the time reached, if a callback calls loop_stop(). */
void loop_fake_advance(struct loop *l, uint64_t by_ms);
void loop_fake_signal(struct loop *l, int signo);
/* Counted, from any thread: somebody will post later, so loop_run() does not return meanwhile. */
void loop_hold(struct loop *l);
void loop_release(struct loop *l);

struct loop_timer *loop_timer_new(struct loop *l, loop_call_f *fn, void *arg);
/* (Re)arms for an absolute time; a time in the past fires in the next iteration.  Fires once;
 * timers of the same millisecond fire in the order of arming. */
void loop_timer_at(struct loop_timer *t, uint64_t at_ms);
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_armed(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* NULL is fine, as for the other handles */

/* Level triggered, one watch per descriptor.  fn gets the events that are there; when the other
 * side is gone it gets the events it asked for, so that its read or write meets the error, and
 * LOOP_HANGUP if it asked for that.  After an error (EPIPE on a write end) the watch is off until
 * set again. NULL with errno set for a descriptor that cannot be watched, such as a regular file.
 */
struct loop_watch *loop_watch_new(struct loop *l, int fd, unsigned events, loop_fd_f *fn,
                                  void *arg);
void loop_watch_set(struct loop_watch *w, unsigned events);
void loop_watch_free(struct loop_watch *w); /* does not close fd */

struct loop_signal *loop_signal_new(struct loop *l, int signo, loop_call_f *fn, void *arg);
void loop_signal_free(struct loop_signal *s);

/* Thread-safe: runs fn(arg) on the loop thread, in order of posting. */
void loop_post(struct loop *l, loop_call_f *fn, void *arg);
/* Drops the posts of fn with arg that have not run, for an owner about to free arg.  Loop thread.
 */
void loop_unpost(struct loop *l, loop_call_f *fn, void *arg);
/* Runs on the loop thread each time before it would block: the place to close a commit group. Hooks
 * run in order of registration, until they are taken off again with the same pair. */
void loop_before_wait(struct loop *l, loop_call_f *fn, void *arg);
void loop_before_wait_off(struct loop *l, loop_call_f *fn, void *arg);

#endif
