/* verify.h - do journal and rows agree?  Offline; for tests and for people who want to be sure */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_VERIFY_H
#define SERVER_VERIFY_H

#include <stdint.h>

#include "base/err.h"
#include "sys/opts.h"

/* Opens the store (no server may hold it), replays the journal from the last checkpoint to its end
 * on an engine of its own and compares with the engine read from rows. */
int verify_store(const char *path, const struct opts *o, uint64_t *ret_events, struct err *e);

#endif
