/* face_util.c - what every operation asks of its call: ids, revisions, fields, names that were
 * meant */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/server_i.h"

enum { NEAR_AMONG = 20000 }; /* beyond so many names a typo is not worth the search */

int face_u32(const char *text, const char *what, uint32_t *ret_id, struct err *e)
{
    uint64_t id;
    if (!text || text_u64(str_of(text), UINT32_MAX, &id, e) < 0 || id == 0)
        return face_not_found(e, what, text ? text : "");
    *ret_id = (uint32_t)id;
    return 0;
}

int face_match(const struct server_call *c, uint64_t rev, const char *what, const char *name,
               struct err *e)
{
    uint64_t asked;
    /* Absent: the face that needs one refuses before it comes here. */
    if (!c->if_match || strcmp(c->if_match, "*") == 0)
        return 0;
    if (text_u64(str_of(c->if_match), UINT64_MAX, &asked, e) >= 0 && asked == rev)
        return 0;
    err_set(e, ERR_STALE, "%s %s has revision %" PRIu64 ", not %s", what, name, rev, c->if_match);
    return err_hint(e,
                    "somebody changed it: read it again, then write with If-Match \"%" PRIu64
                    "\", or with * to overwrite",
                    rev);
}

int face_not_found(struct err *e, const char *what, const char *name)
{
    return face_not_found_near(e, what, name, NULL);
}

int face_not_found_near(struct err *e, const char *what, const char *name,
                        const struct strmap *by_name)
{
    const char *near = NULL;
    int r = err_set(e, ERR_NOT_FOUND, "there is no %s %s", what, name);
    if (by_name && by_name->live <= NEAR_AMONG) {
        const char **all = xcalloc(by_name->n ? by_name->n : 1, sizeof *all);
        for (size_t i = 0; i < by_name->n; i++)
            all[i] = by_name->at[i].key; /* NULL for what is gone: passed over */
        near = text_nearest(str_of(name), all, by_name->n);
        free(all);
    }
    if (near)
        err_hint(e, "did you mean \"%s\"?", near);
    else
        err_hint(e, "`anneal %s list` shows what there is", what);
    return r;
}

/* In a query it is the question that is wrong, not an object that is missing. */
static int not_in_query(struct err *e, const char *what, const char *name,
                        const struct strmap *by_name)
{
    face_not_found_near(e, what, name, by_name);
    e->code = ERR_INVALID;
    return err_at(e, "?%s", what);
}

int face_filter_node(const struct server *s, const char *name, uint32_t *ret_id, struct err *e)
{
    *ret_id = inventory_node_find(&s->inv, name);
    return *ret_id ? 0 : not_in_query(e, "node", name, &s->inv.node_by_name);
}

int face_filter_deployment(const struct server *s, const char *name, uint32_t *ret_id,
                           struct err *e)
{
    *ret_id = inventory_deployment_find(&s->inv, name);
    return *ret_id ? 0 : not_in_query(e, "deployment", name, &s->inv.deployment_by_name);
}

struct str face_body_text(const struct server_call *c, const char *key)
{
    return value_as_str(value_get(c->body, key));
}
