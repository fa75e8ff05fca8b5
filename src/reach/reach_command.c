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
        buf_printf(b, "P=%s; ", o->root);
    else
        buf_puts(b, "if [ -w /run ]; then P=/run; else m=; "
                    "[ -r /etc/machine-id ] && read -r m </etc/machine-id; "
                    "P=${HOME:?}/.anneal/${m:-node}; fi; ");
    /* The runner is read by this very shell: env and another shell would cost a short chain more
     * than all the rest.  Words of `export -p` that are no names unset nothing.  A shell that has
     * functions in its environment cannot be swept like that, and starts anew. */
    buf_printf(
        b,
        "R=$P/anneal d=runner.%s; r=$R/$d; run() { if [ -n \"${BASH_VERSION-}\" ]; then "
        "exec env -i \"PATH=$PATH\" \"HOME=${HOME:-/}\" LANG=C.UTF-8 ${TZ+\"TZ=$TZ\"} "
        "${TMPDIR+\"TMPDIR=$TMPDIR\"} ${USER+\"USER=$USER\"} ${LOGNAME+\"LOGNAME=$LOGNAME\"} "
        "/bin/sh \"$r\" \"$@\"; fi; set -f -- \"$r\" \"$@\"; for w in $(export -p); do case $w in "
        "PATH=*|HOME=*|TZ=*|TMPDIR=*|USER=*|LOGNAME=*) ;; "
        "*) command unset \"${w%%%%=*}\" ;; esac; done 2>/dev/null; set +f; "
        "HOME=${HOME:-/} LANG=C.UTF-8; export PATH HOME LANG; r=$1; shift; unset w; . \"$r\"; "
        "exit; }; ",
        reach_runner_digest(hex));
}

static void put_unpacking(struct buf *b, const char *then)
{
    buf_printf(b,
               "{ [ -d \"$P\" ] || mkdir -p \"$P\"; } && cd \"$P\" && tar -xmf - && "
               "cd anneal/chains && %s; ",
               then);
}

static void put_failed(struct buf *b, const char *directory)
{
    buf_printf(b,
               "rm -rf \"$R/chains/%s\"; "
               "echo \"anneal: over error 0 what was sent could not be unpacked in $R\" >&2; "
               "exit 1'",
               directory);
}

/* The runner is read where it was unpacked: whoever comes next puts it into its place (below), so
 * that a first chain does not pay for that. */
void reach_command_unpack(struct buf *b, const struct reach_options *o, const char *chain)
{
    SCOPED_BUF(then);
    put_head(b, o);
    buf_printf(&then, "r=$R/chains/%s/$d && run \"$R\" run %s unpacked", chain, chain);
    put_unpacking(b, then.data);
    put_failed(b, chain);
}

void reach_command_install(struct buf *b, const struct reach_options *o, const char *temporary,
                           const char *verb_and_ids)
{
    SCOPED_BUF(then);
    put_head(b, o);
    buf_printf(&then, "mv -f %s/$d \"$r\" && rm -rf %s && run \"$R\" %s", temporary, temporary,
               verb_and_ids);
    put_unpacking(b, then.data);
    put_failed(b, temporary);
}

void reach_command_verb(struct buf *b, const struct reach_options *o, const char *verb_and_ids)
{
    put_head(b, o);
    buf_printf(b,
               "if ! [ -f \"$r\" ]; then for f in \"$R\"/chains/*/\"$d\"; do "
               "mv -f \"$f\" \"$r\" 2>/dev/null; break; done; "
               "[ -f \"$r\" ] || { echo \"anneal: norunner\" >&2; exit 120; }; fi; run \"$R\" %s'",
               verb_and_ids);
}
