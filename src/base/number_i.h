/* number_i.h - numbers between text and memory, the same in every locale */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NUMBER_I_H
#define BASE_NUMBER_I_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Reads the JSON number at the start of s.  Returns its length, 0 if there is none; a number that
 * is whole and fits becomes *ret_int with *ret_whole set, any other *ret_real, which may be
 * infinite. */
size_t number_scan(const char *s, size_t n, bool *ret_whole, int64_t *ret_int, double *ret_real);
/* All of s, which must be a decimal floating-point number. */
double number_real(const char *s, size_t n);
/* The shortest text that reads back as the same double, and as a real rather than an integer. */
void number_write(struct buf *b, double r);

#endif
