/* verbs_i.h - the shape of the table of verbs
 *
 * One row per command.  Dispatch, help, suggestions, completion, man pages and the Markdown
 * reference are all read from the rows; a new command is a new row and a function.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_I_H
#define CLI_VERBS_I_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct cli;
/* 0 or -code; c->exit overrules the exit code of a success. */
typedef int cli_verb_f(struct cli *c, struct err *e);

/* What an argument or the value of an option is: how it is checked, and how it is completed. */
enum cli_kind {
    KIND_TEXT,
    KIND_FLAG,     /* options only: no value */
    KIND_NUMBER,   /* 0 .. 2^53 */
    KIND_DURATION, /* 30s, 5m, ... */
    KIND_WORD,     /* one of .words */
    KIND_FILE,
    KIND_DIR,
    KIND_NODE,
    KIND_SELECTOR, /* text; node names are offered */
    KIND_ROLE,
    KIND_BINDING, /* ROLE=SELECTOR */
    KIND_OBJECT,  /* KIND/NAME, the kinds being .words; or something shorter */
    KIND_DEPLOYMENT,
    KIND_CLUSTER,
    KIND_JIG,
    KIND_POOL,
    KIND_PROVIDER,
    KIND_WORKER,
    KIND_PLUGIN,
    KIND_TENANT,
    KIND_BARCLAMP,
    KIND_NODEROLE, /* from here on: a number */
    KIND_OPERATION,
    KIND_TASK,
    KIND_TOKEN,
    KIND_COUNT
};

enum {
    ARG_OPTIONAL = 1u << 0, /* a positional argument that may be left out; an option's value too */
    ARG_MANY = 1u << 1,     /* the last positional argument, or an option, that may be repeated */
    ARG_POSITIVE = 1u << 2, /* a number or duration that is not 0 */
};
struct cli_arg {
    const char *name; /* "NODE" */
    enum cli_kind kind;
    unsigned flags;
    const char *help;
    const char *words; /* KIND_WORD, KIND_OBJECT: "a|b|c"; a leading | is skipped */
};
struct cli_opt {
    const char *name;  /* "label", without dashes */
    const char *value; /* "KEY=VALUE"; NULL for a flag */
    enum cli_kind kind;
    unsigned flags;
    char letter; /* 0: none */
    const char *help;
    const char *words;
};

enum {
    VERB_SERVER = 1u << 0, /* needs one */
    VERB_WAIT = 1u << 1,   /* starts work that --wait can follow */
    VERB_RAW = 1u << 2,    /* takes its arguments as they are */
    VERB_HIDDEN = 1u << 3, /* not in help or completion */
    VERB_OPEN = 1u << 4,   /* the server asks no token for it */
};
enum { CLI_ARGS_MAX = 3 };
struct cli_verb {
    const char *noun;
    const char *verb; /* NULL: the noun is a command of its own */
    const char *help; /* one line, no full stop */
    cli_verb_f *run;
    unsigned flags;
    const char *routes; /* "GET /v1/nodes, POST ..."; NULL if none */
    struct cli_arg args[CLI_ARGS_MAX];
    const struct cli_opt *opts; /* ends with a row without a name; may be NULL */
    const char *about;          /* paragraphs; may be NULL */
    const char *examples;       /* lines; may be NULL */
};
struct cli_noun {
    const char *name;
    const char *help;  /* one line */
    const char *group; /* heading in `anneal help` */
};

extern const struct cli_verb cli_verbs[]; /* ends with a row without a noun */
/* Options and texts of rows that are long (verbs_layout.c). */
extern const struct cli_opt verbs_solve_opts[], verbs_plan_opts[];
extern const char verbs_solve_about[], verbs_solve_examples[];
extern const char verbs_plan_about[], verbs_plan_examples[];
extern const struct cli_noun cli_nouns[]; /* ends with a row without a name */
extern const struct cli_opt cli_globals[];
/* A variable of the environment that is read, and what for; ends with a row without a name. */
struct cli_variable {
    const char *name, *help;
};
extern const struct cli_variable cli_variables[];

const struct cli_noun *verbs_noun(const char *noun);
const struct cli_verb *verbs_find(const char *noun, const char *verb); /* verb may be NULL */
bool verbs_is_command(const char *noun);                               /* has no verbs of its own */
/* Looks in opts, then in the globals; opts may be NULL. */
const struct cli_opt *verbs_option(const struct cli_verb *v, const char *name, size_t n);
const struct cli_opt *verbs_letter(const struct cli_verb *v, char letter);
/* The next of "a|b|c" from *at on; false at the end. */
bool verbs_word_next(const char **at, const char **ret_word, size_t *ret_n);
/* ERR_UNKNOWN_NAME-like complaints with the nearest known name as hint. */
int verbs_unknown_noun(const char *noun, struct err *e);
int verbs_unknown_verb(const char *noun, const char *verb, struct err *e);
int verbs_unknown_option(const struct cli_verb *v, const char *option, struct err *e);

#define CLI_VERBS(X)                                                                               \
    X(node_list)                                                                                   \
    X(node_show)                                                                                   \
    X(node_add)                                                                                    \
    X(node_set)                                                                                    \
    X(node_delete)                                                                                 \
    X(node_report)                                                                                 \
    X(node_maintenance)                                                                            \
    X(node_trust)                                                                                  \
    X(node_redeploy)                                                                               \
    X(node_announce)                                                                               \
    X(group_list)                                                                                  \
    X(catalog_show)                                                                                \
    X(catalog_load)                                                                                \
    X(catalog_export)                                                                              \
    X(catalog_history)                                                                             \
    X(lint)                                                                                        \
    X(solve)                                                                                       \
    X(plan)                                                                                        \
    X(import_fuel)                                                                                 \
    X(import_coopr)                                                                                \
    X(import_crowbar)                                                                              \
    X(barclamp_list)                                                                               \
    X(barclamp_tasks)                                                                              \
    X(barclamp_tasks_set)                                                                          \
    X(barclamp_tasks_diff)                                                                         \
    X(barclamp_tasks_history)                                                                      \
    X(role_list)                                                                                   \
    X(role_show)                                                                                   \
    X(role_rerun)                                                                                  \
    X(role_store)                                                                                  \
    X(jig_list)                                                                                    \
    X(jig_show)                                                                                    \
    X(jig_enable)                                                                                  \
    X(jig_disable)                                                                                 \
    X(pool_list)                                                                                   \
    X(pool_show)                                                                                   \
    X(provider_list)                                                                               \
    X(provider_show)                                                                               \
    X(provider_add)                                                                                \
    X(provider_set)                                                                                \
    X(provider_remove)                                                                             \
    X(plugin_list)                                                                                 \
    X(plugin_show)                                                                                 \
    X(plugin_check)                                                                                \
    X(resource_list)                                                                               \
    X(resource_show)                                                                               \
    X(resource_upload)                                                                             \
    X(resource_stage)                                                                              \
    X(resource_recall)                                                                             \
    X(resource_sync)                                                                               \
    X(resource_delete)                                                                             \
    X(pool_set)                                                                                    \
    X(deployment_list)                                                                             \
    X(deployment_show)                                                                             \
    X(deployment_add)                                                                              \
    X(deployment_set)                                                                              \
    X(deployment_delete)                                                                           \
    X(deployment_history)                                                                          \
    X(deployment_deploy)                                                                           \
    X(deployment_graph)                                                                            \
    X(deployment_bind)                                                                             \
    X(deployment_unbind)                                                                           \
    X(deployment_propose)                                                                          \
    X(deployment_edit)                                                                             \
    X(deployment_diff)                                                                             \
    X(deployment_commit)                                                                           \
    X(deployment_recall)                                                                           \
    X(deployment_rollback)                                                                         \
    X(deployment_tasks)                                                                            \
    X(deployment_tasks_set)                                                                        \
    X(deployment_tasks_diff)                                                                       \
    X(deployment_tasks_history)                                                                    \
    X(cluster_list)                                                                                \
    X(cluster_show)                                                                                \
    X(cluster_create)                                                                              \
    X(cluster_expand)                                                                              \
    X(cluster_shrink)                                                                              \
    X(cluster_add_service)                                                                         \
    X(cluster_remove_service)                                                                      \
    X(cluster_operate)                                                                             \
    X(cluster_rollback)                                                                            \
    X(cluster_act)                                                                                 \
    X(cluster_delete)                                                                              \
    X(cluster_lease)                                                                               \
    X(cluster_diff)                                                                                \
    X(noderole_list)                                                                               \
    X(noderole_show)                                                                               \
    X(noderole_data)                                                                               \
    X(noderole_tree)                                                                               \
    X(noderole_set)                                                                                \
    X(noderole_rerun)                                                                              \
    X(noderole_retry)                                                                              \
    X(noderole_abandon)                                                                            \
    X(operation_list)                                                                              \
    X(operation_show)                                                                              \
    X(operation_watch)                                                                             \
    X(operation_cancel)                                                                            \
    X(operation_retry)                                                                             \
    X(operation_resume)                                                                            \
    X(operation_history)                                                                           \
    X(operation_timeline)                                                                          \
    X(task_list)                                                                                   \
    X(task_show)                                                                                   \
    X(task_retry)                                                                                  \
    X(task_poke)                                                                                   \
    X(task_resolve)                                                                                \
    X(task_attempts)                                                                               \
    X(task_log)                                                                                    \
    X(worker_list)                                                                                 \
    X(worker_show)                                                                                 \
    X(worker_token)                                                                                \
    X(worker_drain)                                                                                \
    X(worker_undrain)                                                                              \
    X(worker_remove)                                                                               \
    X(tenant_list)                                                                                 \
    X(tenant_show)                                                                                 \
    X(tenant_add)                                                                                  \
    X(tenant_set)                                                                                  \
    X(tenant_delete)                                                                               \
    X(token_list)                                                                                  \
    X(token_add)                                                                                   \
    X(token_revoke)                                                                                \
    X(events)                                                                                      \
    X(why)                                                                                         \
    X(watch)                                                                                       \
    X(status)                                                                                      \
    X(admin_backup)                                                                                \
    X(admin_restore)                                                                               \
    X(admin_check)                                                                                 \
    X(admin_confirm_dead)                                                                          \
    X(openapi)                                                                                     \
    X(version)                                                                                     \
    X(sim)                                                                                         \
    X(help)                                                                                        \
    X(completion)                                                                                  \
    X(man)                                                                                         \
    X(complete)
#define X(name) cli_verb_f cmd_##name;
CLI_VERBS(X)
#undef X

#endif
