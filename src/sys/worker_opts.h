/* worker_opts.h - the settings and the command line of anneal-worker, each a table
 *
 * Keys that anneald has too mean the same here.  To add a setting or an option, add a line; an
 * option needs its case in bin/anneal_worker.c as well.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_WORKER_OPTS_H
#define SYS_WORKER_OPTS_H

#include "sys/opts_table.h"

/* name, type, default, least, most, choices, help */
#define WORKER_OPTS_TABLE(X)                                                                       \
    X(state_dir, PATH, "/var/lib/anneal-worker", 1, 4096, "",                                      \
      "directory of the credential, locks, task files, and of what waits for the server")          \
    X(name, TEXT, "", 0, 64, "", "name to join under; empty: the first part of the host's name")   \
    X(labels, TEXT, "", 0, 4096, "", "labels to join with: key=value, separated by commas")        \
    X(capacity, UINT, "64", 1, 100000, "", "attempts that it runs at once")                        \
    X(log_level, TEXT, "info", 1, 16, "error|warn|info|debug", "least severity that is logged")    \
    X(beat, DURATION, "2s", 100, 60ull * OPTS_SECOND, "", "how often it says what it runs")        \
    X(grace, DURATION, "60s", 0, 30ull * OPTS_DAY, "",                                             \
      "time that what runs on this machine has to end after SIGTERM")                              \
    X(spool_memory, SIZE, "8MiB", OPTS_KIB, 1024ull * OPTS_MIB, "",                                \
      "output kept in memory while the server is away")                                            \
    X(spool_limit, SIZE, "256MiB", OPTS_MIB, 1ull << 50, "",                                       \
      "results and output kept on disk while the server is away; output is dropped first")         \
    X(plugin_path, TEXT, "", 0, 4096, "",                                                          \
      "directories of plugins, separated by colons; empty: those that were installed")             \
    X(output_limit, SIZE, "1MiB", OPTS_KIB, 1024ull * OPTS_MIB, "",                                \
      "bytes kept of each output stream of an attempt")                                            \
    X(node_access, TEXT, "ssh", 1, 16, "ssh|local",                                                \
      "how nodes are reached that do not say so; local: they are this machine")                    \
    X(ssh_user, TEXT, "root", 1, 64, "", "user on nodes that do not name one")                     \
    X(ssh_port, UINT, "22", 1, 65535, "", "port of nodes that do not name one")                    \
    X(ssh_identity, PATH, "", 0, 4096, "", "private key file for nodes; empty: the agent's keys")  \
    X(ssh_trust, TEXT, "first", 1, 16, "first|pinned",                                             \
      "host keys of nodes: the first one seen is pinned, or only pinned ones are taken")           \
    X(ssh_transport, TEXT, "auto", 1, 16, "auto|libssh|openssh",                                   \
      "auto: OpenSSH up to 32 nodes and where its configuration counts, libssh beyond")            \
    X(ssh_kex, TEXT, "", 0, 1024, "", "key exchanges, by commas; empty: the library's choice")     \
    X(ssh_keepalive, DURATION, "15s", OPTS_SECOND, 3600ull * OPTS_SECOND, "",                      \
      "how often a connection is tried; three without an answer end it")                           \
    X(ssh_idle, DURATION, "60s", OPTS_SECOND, 30ull * OPTS_DAY, "",                                \
      "how long a connection that nothing uses is kept")                                           \
    X(ssh_connections, UINT, "1000", 1, 100000, "", "connections to nodes at once")

enum worker_opts_key {
#define X(name, type, def, least, most, choices, help) WORKER_OPTS_KEY_##name,
    WORKER_OPTS_TABLE(X)
#undef X
        WORKER_OPTS_KEY_COUNT
};
struct worker_opts {
#define X(name, type, def, least, most, choices, help) opts_##type##_t name;
    WORKER_OPTS_TABLE(X)
#undef X
    const char *origin[WORKER_OPTS_KEY_COUNT];
    struct arena mem;
};
const struct opts_table *worker_opts_table(void);
void worker_opts_init(struct worker_opts *o);
void worker_opts_done(struct worker_opts *o);

/* id, name, what its value is called ("" if it has none), help */
#define WORKER_ARGS(X)                                                                             \
    X(JOIN_FILE, "join-file", "FILE",                                                              \
      "join with the token in FILE (- is standard input), then work")                              \
    X(JOIN, "join", "TOKEN", "the same; the token is then in the list of processes")               \
    X(JOIN_ONLY, "join-only", "", "join, but do not work")                                         \
    X(REPLACE, "replace", "", "take the place of a worker of the same name that is at work")       \
    X(CONFIG, "config", "FILE", "read settings from FILE; see anneal-worker.conf(5)")              \
    X(SET, "set", "KEY=VALUE", "set one key; stronger than what stands before it; repeatable")     \
    X(STATE, "state", "DIR", "the same as --set state_dir=DIR")                                    \
    X(NAME, "name", "NAME", "the same as --set name=NAME")                                         \
    X(SETTINGS, "settings", "", "print every setting with its value, then exit")                   \
    X(VERSION, "version", "", "print the version, then exit")                                      \
    X(HELP, "help", "", "print this, then exit")
enum worker_arg {
#define X(id, name, value, help) WORKER_ARG_##id,
    WORKER_ARGS(X)
#undef X
        WORKER_ARG_COUNT
};
struct worker_arg_info {
    const char *name, *value, *help;
};
const struct worker_arg_info *worker_arg_info(enum worker_arg arg);
/* The ways in which it is called, each a line of options; NULL behind the last. */
const char *worker_form(unsigned i);
void worker_help(struct buf *b); /* the text of --help */

#endif
