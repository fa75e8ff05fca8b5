/* cli_i.h - one run of `anneal`: the parsed command line, its settings, and what its verbs share
 *
 * A verb gets a struct cli whose arguments are checked already.  Everything it makes lives in
 * c->mem until the run ends.  Results go to env->out, everything said on the way to env->err.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLI_I_H
#define CLI_CLI_I_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/value.h"
#include "cli/cli.h"
#include "cli/verbs_i.h"
#include "http/http.h"

enum cli_format { OUT_TABLE, OUT_JSON, OUT_YAML, OUT_NAME };

struct cli_given { /* one option as it was given */
    const struct cli_opt *opt;
    const char *value; /* NULL: a flag, or an optional value left out */
};
struct cli_line { /* a command line, parsed and checked */
    const char *noun;
    const struct cli_verb *verb;
    VEC(const char *) args;
    VEC(struct cli_given) given;
    int raw_from; /* VERB_RAW: where its own arguments begin in argv */
    bool help;
};
/* Texts of the line point into argv. */
int cli_parse(int argc, char **argv, struct cli_line *ret_l, struct err *e);
void cli_line_done(struct cli_line *l);

struct cli {
    const struct cli_env *env;
    struct arena mem;
    struct cli_line line;
    int argc;
    char **argv;
    enum cli_format format;
    bool color_out, color_err; /* per file */
    bool utf8;                 /* the terminal shows more than ASCII */
    bool quiet, verbose;
    bool wait;
    uint64_t wait_ms;  /* 0: for ever */
    uint32_t brief_ms; /* patience of completion with the server; 0: the ordinary one */
    struct http *http;
    const char *token_note; /* where the token was looked for in vain; NULL: there is one */
    int exit;
};

/* Arguments and options of the verb; asking for one that its row does not have is a mistake. */
const char *cli_arg(const struct cli *c, size_t i); /* NULL if left out */
bool cli_has(const struct cli *c, const char *option);
const char *cli_option(const struct cli *c, const char *option); /* last value; NULL if not given */
uint64_t cli_number(const struct cli *c, const char *option, uint64_t otherwise);
/* The i-th value of an option that may be repeated; NULL after the last. */
const char *cli_option_at(const struct cli *c, const char *option, size_t i);
/* One word of a list, in the spelling of the list; NULL if not given. */
const char *cli_word(struct cli *c, const char *option);
const char *cli_arg_word(struct cli *c, size_t i);

struct field;
struct look;
struct pen;

/* --- cli_client.c: talking to the server --- */
/* Finds server and token and makes the client; done by the first request. */
int cli_connect(struct cli *c, struct err *e);
int cli_get(struct cli *c, const char *path, const struct value **ret_v, struct err *e);
/* A write without revision; *ret_v may be NULL for an empty answer. */
int cli_send(struct cli *c, const char *method, const char *path, const struct value *body,
             const struct value **ret_v, struct err *e);
/* The same, its answer in another arena: for many of them. */
int cli_send_in(struct cli *c, struct arena *mem, const char *method, const char *path,
                const struct value *body, const struct value **ret_v, struct err *e);
/* A POST whose answer the server does not keep: repeating it would do it twice. */
int cli_send_once(struct cli *c, const char *path, const struct value *body,
                  const struct value **ret_v, struct err *e);
/* A write of what was read: sends the revision in `current`, or --rev.  what: "node db1", show: the
 * command that shows it, both for the advice on a conflict. */
int cli_send_rev(struct cli *c, const char *method, const char *path, const struct value *current,
                 const struct value *body, const char *what, const char *show,
                 const struct value **ret_v, struct err *e);
int cli_get_in(struct cli *c, struct arena *mem, const char *path, const struct value **ret_v,
               struct err *e);
/* An answer that is text. */
int cli_get_text(struct cli *c, struct arena *mem, const char *path, struct str *ret_s,
                 struct err *e);
/* All pages of a list, but no more than `most` items, as {"items": [...], "total": N}. */
int cli_get_list(struct cli *c, struct arena *mem, const char *path, uint64_t most,
                 const struct value **ret_v, struct err *e);
uint64_t cli_limit(const struct cli *c); /* --limit */
/* A whole list verb: options named in filters (ends with NULL) become parameters of the same name.
 */
int cli_list(struct cli *c, const char *path, const char *const *filters,
             const struct field *fields, const char *name_path, const char *what, struct err *e);
/* A file as it is ("-": standard input), which must be UTF-8. */
int cli_read_text(struct cli *c, const char *file, struct str *ret, struct err *e);
/* What a YAML or JSON file says ("-": standard input). */
int cli_read_value(struct cli *c, const char *file, const struct value **ret_v, struct err *e);
/* The same where it must be a map. */
int cli_read_data(struct cli *c, const char *file, const struct value **ret_v, struct err *e);

/* --- cli_confirm.c --- */
/* Asks before something is destroyed: 0 if it shall be.  Where nobody can answer, nobody is asked;
 * the verb has --yes. */
bool cli_confirm_wanted(const struct cli *c);
int cli_confirm(struct cli *c, const char *question, struct err *e);

/* --- cli_assign.c --- */
/* "listen.port=8080" to {"listen": {"port": 8080}}; what does not read as JSON is a text. */
int cli_assignment(struct cli *c, const char *text, const struct value **ret_patch, struct err *e);

/* --- cmd_provider.c --- */
/* Options FIELD=VALUE and FIELD=FILE (and "unset", where the verb has it) as `fields` of a body. */
/* A secret goes to a file that nobody else may read (cmd_admin.c). */
int cli_secret_save(struct cli *c, const char *file, const char *secret, struct err *e);
int cli_fields_put(struct cli *c, struct value *body, const char *set, const char *set_file,
                   struct err *e);

/* --- cli_files.c: a directory as a map of path to text --- */
int cli_read_tree(struct arena *mem, const char *dir, struct value **ret_files, struct err *e);
/* Only the files whose paths are wanted. */
int cli_read_tree_of(struct arena *mem, const char *dir, bool (*wanted)(struct str path),
                     struct value **ret_files, struct err *e);
/* May files be written into it?  It is empty, or not there yet; else ERR_EXISTS. */
int cli_dir_vacant(const char *dir, struct err *e);
/* One file of such a map, with the directories above it; ERR_INVALID for a path that leads out. */
int cli_write_file(struct arena *mem, const char *dir, struct str path, struct str text,
                   struct err *e);
/* Those files as what a catalog is read from; borrows their texts. */
struct catalog_source;
struct catalog_source cli_tree_source(struct arena *mem, const struct value *files);

/* --- cmd_catalog.c --- */
/* What the server found doubtful, as lint shows it; to err. */
void cli_findings_show(struct cli *c, const struct value *report);

/* --- cmd_lint.c: what is wrong with a catalog --- */
struct catalog_report;
void cli_draw_report(struct cli *c, const struct catalog_report *r);
struct value *cli_report_value(struct cli *c, const struct catalog_report *r);

/* --- cli_output.c: results and messages --- */
struct look cli_look(const struct cli *c, bool to_err);
/* Objects as a table; what: "nodes", for the sentence when there are none. */
void cli_print_list(struct cli *c, const struct value *list, const struct field *fields,
                    const char *name_path, const char *what);
/* One object as a sheet of "title  value", empty fields left out; data formats print it whole and
 * return false, so that a caller adds sections only to a sheet. */
bool cli_print_sheet(struct cli *c, const struct value *v, const struct field *fields,
                     const char *name_path);
/* "heading" and a table, or a document as YAML, below a sheet; nothing if it is empty. */
void cli_print_section(struct cli *c, const char *heading, const struct value *items,
                       const struct field *fields);
void cli_print_document(struct cli *c, const char *heading, const struct value *v);
void cli_put(struct cli *c, const struct buf *b); /* to out, as it is */
/* In -o json or yaml prints v and returns true; in -o name prints the text at name_path of it (or
 * of each of its items).  False: the caller shall draw it. */
bool cli_print_data(struct cli *c, const struct value *v, const char *name_path);
void cli_say(struct cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* unless -q */
void cli_warn(struct cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* to err */
void cli_report(struct cli *c, const struct err *e);
/* The source line of an error, and a caret below the column that e->at names; nothing if it has
 * none. */
void cli_put_source(struct pen *pen, const struct err *e);
/* "file:3:4: error: text", the source line, a caret, the hint. */
void cli_put_finding(struct pen *pen, const char *severity, const struct err *e);

/* Confirms a write: data formats print v, otherwise says the sentence. */
void cli_done(struct cli *c, const struct value *v, const char *name_path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* --- cli_outcome.c: what a request started, and how it ended --- */
/* The number of the operation that an answer is, or names; 0 if none. */
int64_t cli_operation_of(const struct value *v);
/* As cli_done() for an answer that may carry an operation: with --wait follows it. */
int cli_outcome(struct cli *c, const struct value *v, const char *name_path, const char *sentence,
                struct err *e);
/* Prints an ended operation, what failed in it and why, and sets c->exit. */
int cli_report_operation(struct cli *c, int64_t id, struct err *e);

/* --- cli_follow.c: operations as they go on --- */
/* Follows one operation to its end, then reports it as cli_report_operation() does. */
int cli_follow_operation(struct cli *c, int64_t id, struct err *e);
/* All open ones, until interrupted. */
int cli_follow_all(struct cli *c, struct err *e);

/* --- cli_help.c, complete.c, manpage.c --- */
void help_overview(struct buf *b);
void help_noun(struct buf *b, const char *noun);
void help_verb(struct buf *b, const struct cli_verb *v);
void help_usage(struct buf *b, const struct cli_verb *v); /* "anneal node show NODE" */
void help_option(struct buf *b, const struct cli_opt *o); /* "-o, --output FORMAT" */
void help_markdown(struct buf *b);

/* --- cmd_plan_simulate.c: how a plan would end --- */
struct catalog;
struct weave;
struct weave_request;
int cli_plan_simulate_check(struct cli *c, struct err *e); /* do the options go together? */
int cli_plan_simulate(struct cli *c, const struct catalog *cat, const struct weave *w,
                      const struct weave_request *req, struct err *e);
/* The catalog of a directory, the verb's first argument; cmd_plan.c, as what follows. */
int cli_catalog_read(struct cli *c, struct catalog **ret, struct err *e);
/* All values of an option that may be repeated. */
void cli_words(struct cli *c, const char *option, const struct str **ret, uint32_t *ret_n);

/* --- cmd_diff.c: lines of a difference --- */
/* "      + a.b: 1" for each value that differs in two documents. */
void diff_data_say(struct cli *c, const struct value *before, const struct value *after);
/* "  + role@node  noderole 7  more"; more may be NULL. */
void diff_name_say(struct cli *c, const char *mark, const struct value *v, const char *more);
/* Noderoles that are concerned and why; home: the deployment that is not worth telling. */
void diff_touched_say(struct cli *c, const char *mark, const struct value *list, const char *home);
/* What cannot come back. */
void diff_lost_say(struct cli *c, const struct value *lost);

/* A deployment's difference between two snapshots, each head, proposal or a number; NULL: as the
 * server has it. */
int diff_show(struct cli *c, const char *from, const char *to, struct err *e);

/* --- cli_pointer.c --- */
/* A problem that points into the body of a request then says what it leads to: "web@n1:port". */
void cli_pointer_name(const struct value *body, struct err *e);
/* One that points into its address says which argument or option: "ID", "--node"; v may be NULL. */
void cli_place_name(const struct cli_verb *v, struct err *e);

#endif
