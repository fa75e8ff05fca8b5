/* offline.h - what anneald does with a data directory that no server has open
 *
 * Each says how it went on standard output, or why not on standard error, and answers with the exit
 * status of the program.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BIN_OFFLINE_H
#define BIN_OFFLINE_H

#include "base/err.h"
#include "sys/opts.h"

int offline_complain(const struct err *e);
/* passphrase_file: NULL if the backup is not sealed. */
int offline_restore(const struct opts *o, const char *from, const char *passphrase_file);
int offline_verify(const struct opts *o);
int offline_forget(const struct opts *o);

#endif
