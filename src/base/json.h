/* json.h - JSON text to values and back, and a writer that needs no tree */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"
#include "base/value.h"

enum { JSON_DEPTH_DEFAULT = 200 };

struct json_options {
    uint16_t source;    /* recorded in every value */
    uint32_t max_depth; /* 0: JSON_DEPTH_DEFAULT */
    const char *name;   /* for err.at: "name:line:col"; NULL: "line:col" only */
};
/* Strict RFC 8259: UTF-8 checked, duplicate keys refused, lone surrogates refused, numbers that are
 * integers in range become INT, others REAL, infinities refused.  No recursion.  o may be NULL. */
int json_parse(struct arena *a, const char *text, size_t n, const struct json_options *o,
               struct value **ret_v, struct err *e);
/* Compact unless indent > 0.  Reals print so that they read back equal. */
void json_write(struct buf *b, const struct value *v, int indent);
/* Keys sorted, compact: equal values give equal bytes; for digests. */
void json_write_canonical(struct buf *b, const struct value *v);
void json_write_string(struct buf *b, struct str s);

/* Streaming writer: jsonw_map(w); jsonw_key(w, "id"); jsonw_u64(w, 7); jsonw_end(w); */
struct jsonw {
    struct buf *out;
    uint32_t depth;
    uint64_t comma; /* bit per depth: an item was written there */
    uint64_t is_map;
    bool keyed;
};
void jsonw_init(struct jsonw *w, struct buf *out);
void jsonw_map(struct jsonw *w);
void jsonw_list(struct jsonw *w);
void jsonw_end(struct jsonw *w);
void jsonw_key(struct jsonw *w, const char *key);
void jsonw_str(struct jsonw *w, struct str s);
void jsonw_text(struct jsonw *w, const char *s); /* NULL writes null */
void jsonw_u64(struct jsonw *w, uint64_t v);
void jsonw_i64(struct jsonw *w, int64_t v);
void jsonw_bool(struct jsonw *w, bool v);
void jsonw_null(struct jsonw *w);
void jsonw_value(struct jsonw *w, const struct value *v);

#endif
