/* problem_json.c - an error as application/problem+json (RFC 9457)
 *
 * The status comes from the table in base/err.h.  Text that came from a client is cut by struct err
 * and escaped by the writer; bytes that are not UTF-8 never leave.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <microhttpd.h>
#include <stdio.h>

#include "base/json.h"

static void field_put(struct jsonw *w, const char *key, const char *text)
{
    if (!*text)
        return;
    jsonw_key(w, key);
    jsonw_text(w, text);
}

unsigned problem_write(struct buf *out, const struct err *e)
{
    unsigned status = (unsigned)err_http(e->code);
    char type[64];
    struct jsonw w;

    snprintf(type, sizeof type, "urn:anneal:error:%s", err_name(e->code));
    jsonw_init(&w, out);
    jsonw_map(&w);
    field_put(&w, "type", type);
    field_put(&w, "title", MHD_get_reason_phrase_for(status));
    jsonw_key(&w, "status");
    jsonw_u64(&w, status);
    field_put(&w, "detail", *e->text ? e->text : err_name(e->code));
    field_put(&w, "pointer", e->at);
    field_put(&w, "line", e->line);
    field_put(&w, "hint", e->hint);
    jsonw_end(&w);
    return status;
}
