/* cmd_solve.c - which services go on which nodes, without a server
 *
 * Of a cluster that is not there yet, or, with --existing, of one that is: more nodes, fewer, other
 * services.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/cli_layout_i.h"

/* --existing without --nodes means as many as there are, less those that are to go. */
static int size_settle(struct cli_layout *l, uint64_t gone, struct err *e)
{
    if (!l->given && (gone || cli_has(l->c, "involved"))) {
        err_set(e, ERR_INVALID, "--%s is about nodes that exist",
                gone ? "remove-nodes" : "involved");
        return err_hint(e, "`--existing LAYOUT.json` says which there are");
    }
    if (gone > l->n_all)
        return err_set(e, ERR_INVALID, "--remove-nodes %" PRIu64 ": there are %" PRIu64, gone,
                       l->n_all);
    if (l->sized)
        return 0;
    if (!l->given) {
        err_set(e, ERR_INVALID, "how many nodes is said with --nodes");
        return err_hint(e, "`--nodes 5`, or `--nodes 3-7` for 3 to 7");
    }
    l->nodes_min = l->nodes_max = (uint32_t)(l->n_all - gone);
    return 0;
}

static int layout_find(struct cli_layout *l, struct err *e)
{
    struct layout_request req;
    struct layout_answer a;
    uint64_t gone = cli_number(l->c, "remove-nodes", 0);
    int rc = size_settle(l, gone, e);
    if (rc < 0)
        return rc;
    req = cli_layout_request(l, l->nodes, l->n_nodes);
    req.give_up = (uint32_t)gone;
    if ((rc = cli_names(l->c, "services", &req.services, e)) < 0 ||
        (rc = cli_names(l->c, "involved", &req.involved, e)) < 0 ||
        (rc = cli_layout_solve(l, &req, &a, e)) < 0)
        return rc;
    cli_layout_show(l, &a);
    return 0;
}

int cmd_solve(struct cli *c, struct err *e)
{
    struct cli_layout l;
    int rc = cli_layout_read(c, &l, e);
    if (rc >= 0)
        rc = layout_find(&l, e);
    catalog_unref(l.catalog);
    return rc;
}
