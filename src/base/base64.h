/* base64.h - bytes as text, where JSON must carry them (RFC 4648, with padding) */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>

#include "base/str.h"

void base64_write(struct buf *b, struct str bytes);
/* Adds the bytes to b.  False, with b as it was: the text is not base64, or not all of it. */
bool base64_read(struct buf *b, struct str text);

#endif
