/* vault.h - secrets at rest: sealed texts, opened by the key in the data directory
 *
 * The key is 32 random bytes, as hex in data_dir/secret.key (mode 0600), made when it is first
 * needed, and only then: while anything is sealed, a key that is gone is not replaced by another. A
 * text is sealed with XChaCha20-Poly1305 under a nonce of its own; whose it is goes into
 * the seal, so that a sealed text that was moved to another owner does not open.  Sealed texts are
 * base64 and may stand anywhere that text may.
 *
 * Not here: who may see what.  docs/rfc/10-plugins.md, section 6.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_VAULT_H
#define SERVER_VAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define VAULT_KEY "secret.key" /* in the data directory */

/* first: nothing is sealed yet, so that there may be no key; then it is made.  ERR_NOT_FOUND. */
int vault_seal(const char *data_dir, bool first, const char *owner, struct str text,
               struct buf *ret, struct err *e);
/* ERR_CORRUPT if it was sealed with another key, for another owner, or was changed. */
int vault_open(const char *data_dir, const char *owner, struct str sealed, struct buf *ret,
               struct err *e);
/* Whose a sealed text is: of what kind ("provider", "cluster"), and its id. */
enum { VAULT_OWNER_BYTES = 64 };
void vault_owner(char ret[VAULT_OWNER_BYTES], const char *kind, uint32_t id);
/* Is there a key that may be one?  ERR_NOT_FOUND, ERR_CORRUPT. */
int vault_key_check(const char *data_dir, struct err *e);
/* For buffers that held what was opened. */
void vault_wipe(struct buf *b);

#endif
