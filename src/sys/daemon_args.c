/* daemon_args.c - the table of anneald's options as data and as text */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/daemon_args.h"

#include <assert.h>

static const struct daemon_arg_info infos[DAEMON_ARG_COUNT] = {
#define X(id, name, value, help) {name, value, help},
    DAEMON_ARGS(X)
#undef X
};

const struct daemon_arg_info *daemon_arg_info(enum daemon_arg arg)
{
    assert(arg < DAEMON_ARG_COUNT);
    return &infos[arg];
}

const char *daemon_form(unsigned i)
{
    static const char *const forms[] = {
        "[--config FILE] [--set KEY=VALUE]... [--data-dir DIR] [--listen ADDRESS:PORT]",
        "--restore BACKUP [--passphrase-file FILE] [--data-dir DIR]",
        "--verify | --forget-secrets [--data-dir DIR]",
        "--settings | --version | --help",
    };
    return i < sizeof forms / sizeof *forms ? forms[i] : NULL;
}

void daemon_help(struct buf *b)
{
    for (unsigned i = 0; daemon_form(i); i++)
        buf_printf(b, "%s anneald %s\n", i ? "      " : "usage:", daemon_form(i));
    buf_putc(b, '\n');
    for (int a = 0; a < DAEMON_ARG_COUNT; a++) {
        SCOPED_BUF(left);
        buf_printf(&left, "--%s%s%s", infos[a].name, *infos[a].value ? " " : "", infos[a].value);
        buf_printf(b, "  %-24s  %s\n", left.data, infos[a].help);
    }
    buf_puts(b, "\nWith no configuration it serves on 127.0.0.1:7480 and keeps its data in "
                "/var/lib/anneal.\n"
                "The admin token of a new installation is written to DATA_DIR/admin.token.\n");
}
