/* yaml_i.h - what a plain YAML scalar means, for the reader and for the writer */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_YAML_I_H
#define BASE_YAML_I_H

#include "base/value.h"

/* The kind that an unquoted scalar has.  For every kind but VALUE_STRING *ret_v gets kind and
 * content; its place is left alone. */
enum value_kind yaml_plain_resolve(struct str s, struct value *ret_v);
/* A decimal number in any of YAML's spellings, whole ones included; for !!float. */
bool yaml_plain_real(struct str s, double *ret_r);

#endif
