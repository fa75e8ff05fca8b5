/* mask.h - text on its way to people, with secrets replaced
 *
 * A mask knows some secrets.  What is fed to it comes out with every occurrence of each as
 * MASK_TEXT, whatever pieces the text arrives in: bytes that may be the beginning of a secret are
 * held back until it is known that they are not.  Occurrences that overlap or touch become one.
 *
 * Of a secret three things are looked for: the text, the text as JSON writes it inside a string,
 * and each line of MASK_LINE_LEAST bytes or more, since keys come in lines and are printed so.
 * Secrets shorter than MASK_LEAST bytes are not looked for: half of any text would be masked.
 *
 * Feeding costs time linear in the text for each secret, whatever text and secret are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MASK_H
#define BASE_MASK_H

#include "base/str.h"
#include "base/value.h"

#define MASK_TEXT "***"
enum { MASK_LEAST = 4, MASK_LINE_LEAST = 8 };

struct mask;
struct mask *mask_new(void);
void mask_free(struct mask *m); /* wipes what it knows; NULL: nothing */
/* Before the first byte is fed.  One that is known already is not added again. */
void mask_add(struct mask *m, struct str secret);
/* Every text in the tree, names of members apart. */
void mask_add_values(struct mask *m, const struct value *v);

/* Appends what may be shown by now. */
void mask_feed(struct mask *m, struct str text, struct buf *out);
/* The text has ended: what was held back is no secret, and a new text may begin. */
void mask_flush(struct mask *m, struct buf *out);
/* Every text of a tree that is the caller's alone to change.  False: the name of a member holds a
 * secret, and names stay as they are. */
bool mask_values(struct mask *m, struct arena *mem, struct value *v);
/* One whole text; for a mask with nothing held back. */
void mask_text(struct mask *m, struct str text, struct buf *out);

#endif
