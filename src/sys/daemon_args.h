/* daemon_args.h - the command line of anneald: one table for its parser, its --help and its page
 *
 * To add an option, add a line to DAEMON_ARGS and its case in bin/anneald.c.  Settings are no
 * options: they are in sys/opts.h and are given with --set.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_DAEMON_ARGS_H
#define SYS_DAEMON_ARGS_H

#include "base/str.h"

/* id, name, what its value is called ("" if it has none), help */
#define DAEMON_ARGS(X)                                                                             \
    X(CONFIG, "config", "FILE", "read settings from FILE; see anneald.conf(5)")                    \
    X(SET, "set", "KEY=VALUE", "set one key; stronger than what stands before it; repeatable")     \
    X(DATA_DIR, "data-dir", "DIR", "the same as --set data_dir=DIR")                               \
    X(LISTEN, "listen", "ADDRESS:PORT", "the same as --set listen=ADDRESS:PORT")                   \
    X(RESTORE, "restore", "BACKUP", "make a data directory of a backup, then end")                 \
    X(PASSPHRASE_FILE, "passphrase-file", "FILE", "with --restore: what opens a sealed backup")    \
    X(FORGET_SECRETS, "forget-secrets", "",                                                        \
      "take away sealed values that secret.key does not open, and name them; no server may run")   \
    X(VERIFY, "verify", "",                                                                        \
      "replay the journal and compare with what is stored; no server may run")                     \
    X(SETTINGS, "settings", "", "print every setting with its value, then exit")                   \
    X(VERSION, "version", "", "print the version, then exit")                                      \
    X(HELP, "help", "", "print this, then exit")

enum daemon_arg {
#define X(id, name, value, help) DAEMON_##id,
    DAEMON_ARGS(X)
#undef X
        DAEMON_ARG_COUNT
};
struct daemon_arg_info {
    const char *name, *value, *help;
};
const struct daemon_arg_info *daemon_arg_info(enum daemon_arg arg);

/* The ways in which it is called, each a line of options; NULL behind the last. */
const char *daemon_form(unsigned i);
/* The text of --help. */
void daemon_help(struct buf *b);

#endif
