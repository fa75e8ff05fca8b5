/* taskmsg_i.h - lists of a message that are too large to be read beside its other fields */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_TASKMSG_I_H
#define MODEL_TASKMSG_I_H

#include "base/json.h"
#include "base/value.h"
#include "model/taskmsg.h"

/* taskmsg_probe.c: the member `name` of the message with its list; the list into m, refused whole
 * if anything in it is wrong. */
void taskmsg_probes_write(struct jsonw *w, const char *name, const struct taskmsg *m);
void taskmsg_answers_write(struct jsonw *w, const char *name, const struct taskmsg *m);
int taskmsg_probes_read(struct arena *a, const char *name, const struct value *v, struct taskmsg *m,
                        struct err *e);
int taskmsg_answers_read(struct arena *a, const char *name, const struct value *v,
                         struct taskmsg *m, struct err *e);

#endif
