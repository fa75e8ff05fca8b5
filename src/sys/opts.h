/* opts.h - the settings of anneald: one table, from which everything else follows
 *
 * Each key exists once, below.  The struct of values, the reader of the YAML file, --set key=value,
 * the sample file and the man page all come from that list.  To add a setting, add a line; the
 * types are told in opts_table.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_OPTS_H
#define SYS_OPTS_H

#include "sys/opts_table.h"

/* name, type, default, least, most, choices, help.  Least and most are in the unit of the struct.
 */
#define OPTS_TABLE(X)                                                                              \
    X(data_dir, PATH, "/var/lib/anneal", 1, 4096, "",                                              \
      "directory of the store, the journal, locks and task files")                                 \
    X(listen, TEXT, "127.0.0.1:7480", 1, 300, "",                                                  \
      "address and port of the API; [address]:port for IPv6")                                      \
    X(tls, TEXT, "auto", 1, 16, "auto|on|off",                                                     \
      "auto: with a certificate of its own beyond loopback; on: there too; off: only there")       \
    X(tls_cert, PATH, "", 0, 4096, "", "certificate chain in PEM; with tls_key it turns TLS on")   \
    X(tls_key, PATH, "", 0, 4096, "", "private key in PEM")                                        \
    X(log_level, TEXT, "info", 1, 16, "error|warn|info|debug", "least severity that is logged")    \
    X(worker_capacity, UINT, "64", 1, 100000, "",                                                  \
      "attempts that the worker inside the server runs at once")                                   \
    X(worker_enabled, BOOL, "true", 0, 1, "", "run a worker inside the server")                    \
    X(plugin_path, TEXT, "", 0, 4096, "",                                                          \
      "directories of plugins, separated by colons; empty: those that were installed")             \
    X(worker_output_limit, SIZE, "1MiB", OPTS_KIB, 1024ull * OPTS_MIB, "",                         \
      "bytes kept of each output stream of an attempt")                                            \
    X(resource_cache, SIZE, "1GiB", OPTS_MIB, 1ull << 40, "",                                      \
      "what a worker keeps of resources that no task uses, and the most that an archive holds")    \
    X(node_access, TEXT, "ssh", 1, 16, "ssh|local",                                                \
      "how nodes are reached that do not say so; local: they are the worker's own machine")        \
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
    X(ssh_connections, UINT, "1000", 1, 100000, "", "connections to nodes at once")                \
    X(group_events, UINT, "1000", 1, 100000, "", "events committed together at most")              \
    X(node_lease, DURATION, "15s", OPTS_SECOND, 3600ull * OPTS_SECOND, "",                         \
      "after which tasks on nodes are taken over from a worker that is silent")                    \
    X(worker_lease, DURATION, "30s", OPTS_SECOND, 3600ull * OPTS_SECOND, "",                       \
      "after which tasks on a silent worker's own machine are given up")                           \
    X(recover_grace, DURATION, "5s", 0, 3600ull * OPTS_SECOND, "",                                 \
      "time that workers have after a restart to report what they hold")                           \
    X(dead_after, DURATION, "60s", OPTS_SECOND, 30ull * OPTS_DAY, "",                              \
      "silence after which a node is declared dead")                                               \
    X(probe_interval, DURATION, "20s", 0, 3600ull * OPTS_SECOND, "",                               \
      "how often a node that is alive is asked whether it is there; 0: never by the server")       \
    X(probe_count, UINT, "3", 1, 100, "", "probes that must fail before a node is declared dead")  \
    X(suspect_percent, UINT, "20", 1, 100, "",                                                     \
      "share of nodes falling silent together that makes the server suspect itself")               \
    X(suspect_min, UINT, "5", 1, 1000000, "",                                                      \
      "number of silent nodes below which the server does not suspect itself")                     \
    X(on_error, TEXT, "continue", 1, 16, "continue|freeze-node",                                   \
      "what an error on a node means for other work on that node")                                 \
    X(body_limit, SIZE, "8MiB", OPTS_KIB, 1024ull * OPTS_MIB, "", "largest request body")          \
    X(resource_limit, SIZE, "256MiB", OPTS_KIB, 1ull << 40, "",                                    \
      "largest content of a plugin's resource")                                                    \
    X(page_limit, UINT, "1000", 1, 100000, "", "most items on one page of a list")                 \
    X(journal_keep, DURATION, "30d", 0, 36500ull * OPTS_DAY, "",                                   \
      "age up to which events are kept")                                                           \
    X(journal_keep_bytes, SIZE, "4GiB", OPTS_MIB, 1ull << 50, "",                                  \
      "size up to which events are kept")                                                          \
    X(event_ring, UINT, "65536", 16, 1u << 24, "",                                                 \
      "events held in memory for streams that resume")                                             \
    X(max_streams, UINT, "4096", 1, 1000000, "", "event streams open at once")                     \
    X(max_tasks, UINT, "4000000", 1, UINT32_MAX, "", "tasks in all plans that are not finished")   \
    X(admin_domain, TEXT, "", 0, 253, "", "domain that node names must be in; empty: any name")    \
    X(node_pattern, TEXT, "", 0, 253, "",                                                          \
      "how nodes without a name are called, such as r{rack}-{n:3}; empty: a name must be given")   \
    X(node_defaults, BOOL, "true", 0, 1, "",                                                       \
      "bind machine, discovery and bootstrap roles when a node is made")                           \
    X(backup_dir, PATH, "", 0, 4096, "",                                                           \
      "where backups are written; empty: backups in data_dir, which should not be the only place") \
    X(announce_rate, UINT, "100", 1, 100000, "",                                                   \
      "announcements that one token may make a second, after a burst of ten seconds' worth")

enum opts_key {
#define X(name, type, def, least, most, choices, help) OPTS_KEY_##name,
    OPTS_TABLE(X)
#undef X
        OPTS_KEY_COUNT
};

struct opts {
#define X(name, type, def, least, most, choices, help) opts_##type##_t name;
    OPTS_TABLE(X)
#undef X
    const char *origin[OPTS_KEY_COUNT]; /* "" for a default, "file:line:col", "--set" */
    struct arena mem;                   /* of the texts */
};

const struct opts_info *opts_info(enum opts_key key);

void opts_init(struct opts *o); /* all defaults */
void opts_done(struct opts *o);
/* A map of settings; an empty file changes nothing.  On failure o may hold a part of the file. */
int opts_load(struct opts *o, const char *path, struct err *e);
int opts_load_text(struct opts *o, const char *name, struct str yaml, struct err *e);
/* "key=value", the value as it would stand in the file without quotes. */
int opts_set(struct opts *o, const char *assignment, struct err *e);
/* What no single key can tell: the listen address, TLS by halves. */
int opts_check(const struct opts *o, struct err *e);
/* The value as a file would say it: "8MiB", "5s". */
void opts_show(const struct opts *o, enum opts_key key, struct buf *b);
/* Those that somebody said, with where, as a file that opts_load() takes; but for data_dir, which
 * is another on another machine. */
void opts_write(const struct opts *o, struct buf *b);

#endif
