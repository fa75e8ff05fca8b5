/* verify.h - do journal and rows agree?  Offline; for tests and for people who want to be sure */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_VERIFY_H
#define SERVER_VERIFY_H

#include <stdint.h>

#include "base/err.h"

/* Opens the store (no server may hold it), replays the journal from the last checkpoint to its end
 * on an engine of its own and compares with the engine read from rows.  Which settings they ran
 * with both know themselves: whoever asks need not.  ERR_REFUSED: the schema is an older one, and
 * the file is left as it is; or it was migrated and no server has started on it since, so that this
 * version cannot replay what is there. */
int verify_store(const char *path, uint64_t *ret_events, struct err *e);

#endif
