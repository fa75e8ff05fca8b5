/* node_boot.c - what a node shall boot, and who makes it bootable
 *
 * The field `boot_environment` of a node is served by the noderoles of that node whose role has an
 * attribute at the path node/boot_environment: that is how a role says that it publishes what the
 * node boots.  When the field changes they run again, and that is decided in the same step as the
 * change: from the moment the field has its new value until they have passed, whatever needs them
 * waits, and a task that takes the node down waits wherever it stands (docs/rfc/01-engine.md,
 * section 1).  No reboot can come before the publication, however long that takes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "server/server_i.h"

static const struct str boot_keys[] = {{"node", 4}, {"boot_environment", 16}};

/* Work of an open operation stays with it; else nobody waits for this one. */
static uint32_t operation_for(const struct server *s, uint32_t op)
{
    struct operation_view v;
    return anneal_operation(s->engine, op, &v) && v.state == OPERATION_RUNNING ? op
                                                                               : OPERATION_STANDING;
}

void node_boot_changed(struct server *s, const struct server_call *c, uint32_t id)
{
    struct commit_note note = server_note(c, NULL);
    for (uint32_t r = anneal_node_first_noderole(s->engine, id); r;
         r = anneal_node_next_noderole(s->engine, r)) {
        struct noderole_view v;
        struct err e;
        if (!anneal_noderole(s->engine, r, &v) || v.target == TARGET_ABSENT ||
            !data_attribute_at(s, r, (struct sight_path){boot_keys, 2}))
            continue;
        struct event ev = {
            .kind = EVENT_RERUN, .op = operation_for(s, v.operation), .ids = &r, .n_ids = 1};
        if (server_apply(s, &ev, &note, NULL, &e) < 0)
            log_line(LOG_WARN, "node.boot", LOGT("node", s->inv.nodes.at[id].name),
                     LOGT("error", e.text));
    }
}
