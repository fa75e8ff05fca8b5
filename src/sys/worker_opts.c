/* worker_opts.c - the tables of anneal-worker as data and as text */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/worker_opts.h"

#include <assert.h>

static const struct opts_info infos[WORKER_OPTS_KEY_COUNT] = {
#define X(name, type, def, least, most, choices, help)                                             \
    {#name, def, choices, help, OPTS_##type, least, most},
    WORKER_OPTS_TABLE(X)
#undef X
};

static const size_t offsets[WORKER_OPTS_KEY_COUNT] = {
#define X(name, type, def, least, most, choices, help) offsetof(struct worker_opts, name),
    WORKER_OPTS_TABLE(X)
#undef X
};

static const struct worker_arg_info args[WORKER_ARG_COUNT] = {
#define X(id, name, value, help) {name, value, help},
    WORKER_ARGS(X)
#undef X
};

const struct opts_table *worker_opts_table(void)
{
    static const struct opts_table table = {infos, offsets, WORKER_OPTS_KEY_COUNT,
                                            offsetof(struct worker_opts, origin),
                                            offsetof(struct worker_opts, mem)};
    return &table;
}

void worker_opts_init(struct worker_opts *o)
{
    *o = (struct worker_opts){0};
    opts_table_init(worker_opts_table(), o);
}

void worker_opts_done(struct worker_opts *o)
{
    arena_done(&o->mem);
}

const struct worker_arg_info *worker_arg_info(enum worker_arg arg)
{
    assert(arg < WORKER_ARG_COUNT);
    return &args[arg];
}

const char *worker_form(unsigned i)
{
    static const char *const forms[] = {
        "--join-file FILE [--join-only] [--name NAME] [--replace] [--state DIR] [--set "
        "KEY=VALUE]...",
        "[--config FILE] [--set KEY=VALUE]... [--state DIR]",
        "--settings | --version | --help",
    };
    return i < sizeof forms / sizeof *forms ? forms[i] : NULL;
}

void worker_help(struct buf *b)
{
    for (unsigned i = 0; worker_form(i); i++)
        buf_printf(b, "%s anneal-worker %s\n", i ? "      " : "usage:", worker_form(i));
    buf_putc(b, '\n');
    for (int a = 0; a < WORKER_ARG_COUNT; a++) {
        SCOPED_BUF(left);
        buf_printf(&left, "--%s%s%s", args[a].name, *args[a].value ? " " : "", args[a].value);
        buf_printf(b, "  %-24s  %s\n", left.data, args[a].help);
    }
    buf_puts(b,
             "\nA worker joins once, with a token of `anneal worker token`; it keeps a credential "
             "in its state\ndirectory and needs no token any more.  SIGTERM ends it in order.\n");
}
