/* text.h - small questions about text: names, globs, durations, counts, near misses */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Shell glob with * ? [a-z] only; no backtracking blow-up. */
bool text_glob(struct str pattern, struct str s);
bool text_utf8_valid(const char *s, size_t n);
/* Bytes before the first that is not UTF-8; n if all are. */
size_t text_utf8_prefix(const char *s, size_t n);
/* [a-z0-9][a-z0-9._-]*, 1..64 bytes: names of roles, jigs, barclamps, deployments, groups. */
bool text_is_name(struct str s);
/* Lower-case DNS name of one or more labels, at most 253 bytes. */
bool text_is_fqdn(struct str s);
/* What may stand behind the first label of a host: labels of letters, digits and inner hyphens, and
 * short enough that 63 bytes and a dot can come before it in 255. */
bool text_is_dns_suffix(struct str s);
/* The candidate nearest to name within an edit distance of max(1, len/3), NULL if none. */
const char *text_nearest(struct str name, const char *const *candidates, size_t n);
/* "250ms" "10s" "5m" "2h" "1d" or a bare number of seconds. */
int text_duration_ms(struct str s, uint64_t *ret_ms, struct err *e);
/* "1h02m", "4.1s", "12ms": short and for people. */
void text_duration_show(uint64_t ms, char ret[16]);
/* "1 node", "3 nodes", "0 entries": a number and what it counts, in its singular.  By value, so
 * that it can be an argument: text_count(n, "node").s. */
struct text_count {
    char s[64];
};
struct text_count text_count(uint64_t n, const char *one);
/* As people sort names: numbers inside them by what they are worth, so n2 comes before n10.  Below,
 * equal to or above 0; 0 only for equal text. */
int text_natural_order(struct str a, struct str b);
int text_u64(struct str s, uint64_t max, uint64_t *ret_v, struct err *e);
void text_hex(const void *p, size_t n, char *ret); /* 2n+1 bytes */

#endif
