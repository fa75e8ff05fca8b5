/* plugin_i.h - the parts of the jig plugin: which plugins there are, what one is told
 *
 *   plugin_book.c   the plugins of this worker
 *   plugin_call.c   a call: who is asked for what, and the document on its standard input
 *   jig_plugin.c    one run: perhaps a probe, then the call; its end
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_PLUGIN_I_H
#define JIG_PLUGIN_I_H

#include "base/mask.h"
#include "jig/program_i.h"
#include "plugin/plugin.h"

/* Borrowed until the next call: the files may have changed by then. */
const struct plugins *jig_plugins_now(struct jig_plugins *p);

/* What a run needs of its plugin, in memory of its own. */
struct plugin_call {
    const char *plugin, *dir, *program, *action, *type, *probe; /* probe "": none */
    uint64_t timeout_ms, probe_timeout_ms;
    bool can_dry_run;
    bool leaves;                   /* the action, not its probe */
    const struct value *defaults;  /* of the fields of its type */
    const struct value *fields;    /* that were said, sensitive ones apart */
    const struct value *secrets;   /* a map of texts, or NULL */
    const struct value *resources; /* {kind: {name: {path, version}}}, or NULL */
};
/* Of the request: ERR_UNKNOWN_NAME if nobody is there for it. */
int plugin_call_make(struct plugin_call *c, struct arena *mem, const struct plugins *all,
                     const char *run_dir, const struct task_request *req, struct err *e);
void plugin_call_input(struct buf *b, const struct plugin_call *c, const struct task_request *req,
                       const char *action, bool dry_run);

#endif
