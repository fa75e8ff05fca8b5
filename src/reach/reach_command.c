/* reach_command.c - the texts that a login shell on the node is given
 *
 * Whatever shell that is (bash, csh, fish), it is asked for one thing: exec /bin/sh -c with one
 * word in single quotes.  That word holds no single quote, and of ours nothing but ids, a digest
 * and a root that was checked.  The environment is made from nothing here, once for all programs of
 * the chain, so that a task does not depend on the files that a login reads.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "reach/reach_i.h"

int reach_options_check(const struct reach_options *o, struct err *e)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    if (o->root && (o->root[0] != '/' || o->root[strspn(o->root, good)] || strlen(o->root) > 200))
        return err_set(e, ERR_INVALID, "\"%.200s\" cannot be the runner's directory", o->root);
    return 0;
}

bool reach_id_valid(const char *id)
{
    return strlen(id) == REACH_CHAIN_HEX - 1 && !id[strspn(id, "0123456789abcdef")];
}

/* Up to where $R is known and run() starts the runner.
 * $XDG_RUNTIME_DIR is no place for records: it goes with the user's last session. */
static void put_head(struct buf *b, const struct reach_options *o)
{
    char hex[33];
    buf_puts(b, o->sudo ? "exec sudo -n /bin/sh -c '" : "exec /bin/sh -c '");
    buf_puts(b, "umask 077; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; ");
    if (o->root)
        buf_printf(b, "R=%s; ", o->root);
    else
        buf_puts(b, "if [ -w /run ]; then R=/run/anneal; else m=; "
                    "[ -r /etc/machine-id ] && read -r m </etc/machine-id; "
                    "R=${HOME:?}/.anneal/${m:-node}; fi; ");
    buf_printf(
        b,
        "r=$R/runner.%s; run() { exec env -i \"PATH=$PATH\" \"HOME=${HOME:-/}\" LANG=C.UTF-8 "
        "${TZ+\"TZ=$TZ\"} ${TMPDIR+\"TMPDIR=$TMPDIR\"} ${USER+\"USER=$USER\"} "
        "${LOGNAME+\"LOGNAME=$LOGNAME\"} /bin/sh \"$r\" \"$R\" \"$@\"; }; ",
        reach_runner_digest(hex));
}

static void put_unpacked(struct buf *b, const struct reach_options *o, const char *directory,
                         const char *then)
{
    put_head(b, o);
    buf_printf(b,
               "mkdir -p \"$R/records\" \"$R/chains\" && cd \"$R/chains\" && tar -xmf - && "
               "mv -f %s/runner \"$r\" && %s; rm -rf %s; "
               "echo \"anneal: over error 0 what was sent could not be unpacked in $R\" >&2; "
               "exit 1'",
               directory, then, directory);
}

void reach_command_unpack(struct buf *b, const struct reach_options *o, const char *chain)
{
    char then[64];
    snprintf(then, sizeof then, "run run %s unpacked", chain);
    put_unpacked(b, o, chain, then);
}

void reach_command_install(struct buf *b, const struct reach_options *o, const char *temporary,
                           const char *verb_and_ids)
{
    SCOPED_BUF(then);
    buf_printf(&then, "rm -rf %s && run %s", temporary, verb_and_ids);
    put_unpacked(b, o, temporary, then.data);
}

void reach_command_verb(struct buf *b, const struct reach_options *o, const char *verb_and_ids)
{
    put_head(b, o);
    buf_printf(b, "[ -f \"$r\" ] || { echo \"anneal: norunner\" >&2; exit 120; }; run %s'",
               verb_and_ids);
}
