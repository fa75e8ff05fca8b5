/* edit_entry.h - one entry of a proposal set, the way requests set theirs: by a draft of it all */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDIT_ENTRY_H
#define TESTS_EDIT_ENTRY_H

#include "server/desire.h"

/* t NULL: it goes.  1 if that is a change. */
static inline int desire_edit(struct desire *d, uint32_t id, uint32_t role, uint32_t node,
                              const struct snapshot_entry *t, struct err *e)
{
    struct pmap *draft = desire_draft(desire_snapshot(d, id));
    int changed = desire_draft_put(d, &draft, snapshot_key(role, node), t, e);
    if (changed < 0) {
        desire_unref(d, draft);
        return changed;
    }
    int rc = desire_redraft(d, id, draft, e);
    return rc < 0 ? rc : changed;
}

#endif
