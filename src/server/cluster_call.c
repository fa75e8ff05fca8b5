/* cluster_call.c - callbacks: whoever a template names is told of what is done to a cluster
 *
 * A callback is a task of the operation, of no node: one before everything else, one when all has
 * ended.  What it says is made when it is sent, since only then it is known what became of the
 * rest; so it is never stored, and an attempt that is repeated tells what is true by then under the
 * same key.  A template that wants only one of success and failure still has the task: it passes
 * without a call where the event is not wanted.
 *
 * The signature is made here: the key stays in this process and in its file, which whoever checks
 * signatures gets a copy of.  The file is read each time, so that replacing it is all that is
 * needed to change the key.  docs/rfc/08-clusters.md, section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/states.h"
#include "server/cluster_i.h"
#include "sys/fs.h"

#define CALL_JIG "callback"
static const char key_name[] = "callback.key";

enum {
    CALL_RETRIES = 5,
    CALL_BACKOFF_MS = 2000,
    CALL_TIMEOUT_MS = 30 * 1000,
    KEY_BYTES = 32,
    KEY_CHARS = 2 * KEY_BYTES,
    KEY_FILE_BYTES = 4096
};

/* --- tasks --- */

static int call_step(struct cluster_work *w, const char *event, uint8_t flags,
                     struct phase_steps *ret, struct err *e)
{
    const struct catalog_jig *jig = catalog_jig_get(w->now.catalog, str_of(CALL_JIG));
    struct phase_step *step = arena_new(w->mem, struct phase_step, 1);
    const char *runs = jig ? jig->implementation.s : CALL_JIG;
    uint32_t id;
    bool active;
    if (!w->view.jig(w->view.ctx, str_of(CALL_JIG), &id, &active))
        return err_set(e, ERR_REFUSED, "no jig " CALL_JIG " calls back, as its template wants");
    const char *body = arena_printf(w->mem, "{\"params\":{\"event\":\"%s\"},\"type\":\"%s\"}",
                                    event, runs);
    step->def = (struct plan_def){.name = str_of(arena_printf(w->mem, "callback-%s", event)),
                                  .role = str_of(CATALOG_CARRIER),
                                  .jig = id,
                                  .repeat = REPEAT_TOKEN,
                                  .flags = flags,
                                  .retries = CALL_RETRIES,
                                  .backoff_ms = CALL_BACKOFF_MS,
                                  .timeout_ms = CALL_TIMEOUT_MS,
                                  .body = str_of(body)};
    const char *whole = arena_printf(w->mem, "callback %u %u %d %d %d %s", id, flags, CALL_RETRIES,
                                     CALL_BACKOFF_MS, CALL_TIMEOUT_MS, body);
    step->def.digest = digest_64(whole, strlen(whole));
    *ret = (struct phase_steps){step, 1};
    return 0;
}

int cluster_call_steps(struct cluster_work *w, struct phase_steps *ret_before,
                       struct phase_steps *ret_after, struct err *e)
{
    const struct catalog_template *t;
    uint8_t flags = DEF_F_OUTSIDE | DEF_F_MAY_FAIL;
    int rc = value_get(w->now.spec, "template") ? cluster_template(w->mem, w->now.spec, &t, e) : 1;
    *ret_before = *ret_after = (struct phase_steps){0};
    if (rc || !t->callback_url.n)
        return rc < 0 ? rc : 0;
    if (t->callbacks & 1u << CALLBACK_BIT_START)
        rc = call_step(w, "start", t->callback_required ? DEF_F_OUTSIDE : flags, ret_before, e);
    if (rc >= 0 && t->callbacks & (1u << CALLBACK_BIT_SUCCESS | 1u << CALLBACK_BIT_FAILURE))
        rc = call_step(w, "end", flags, ret_after, e);
    return rc;
}

/* --- what is told --- */

static struct value *cluster_told(struct server *s, struct arena *mem, uint32_t deployment,
                                  const struct catalog_template *t)
{
    struct value *v = value_map(mem);
    value_put_int(mem, v, "id", deployment);
    value_put_text(mem, v, "name", view_deployment_name(s, deployment));
    value_put_text(mem, v, "owner", cluster_get(s, deployment)->owner);
    value_set(mem, v, "template", value_str(mem, t->kind.name));
    return v;
}

static struct value *operation_told(struct server *s, struct arena *mem,
                                    const struct operation_view *op)
{
    struct value *v = value_map(mem), *counts = value_map(mem);
    const struct inv_operation *is = &s->inv.operations.at[op->id];
    int64_t total = 0;
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        total += op->counts[i];
    value_put_int(mem, counts, "total", total);
    value_put_int(mem, counts, "done", (int64_t)op->counts[TASK_DONE] + op->counts[TASK_TOLERATED]);
    value_put_int(mem, counts, "skipped", op->counts[TASK_SKIPPED]);
    value_put_int(mem, counts, "failed",
                  (int64_t)op->counts[TASK_FAILED] + op->counts[TASK_DEP_FAILED]);
    value_put_int(mem, counts, "cancelled", op->counts[TASK_CANCELLED]);
    value_put_int(mem, v, "id", op->id);
    value_put_text(mem, v, "kind", is->kind);
    value_put_text(mem, v, "title", is->title);
    value_put_text(mem, v, "started_at", view_time(mem, is->created_ms));
    value_set(mem, v, "counts", counts);
    return v;
}

static struct value *nodes_told(struct server *s, struct arena *mem, uint32_t deployment,
                                const struct cluster_look *look)
{
    static const char *const same[] = {"hardware", "image", "services", "ipaddresses"};
    struct value *list = value_list(mem);
    struct str digest;
    const struct value *doc = view_json(mem, data_cluster_nodes(s, deployment, &digest).s);
    const struct value *all = value_get(doc, "nodes");
    for (size_t i = 0; i < look->nodes.n; i++) {
        const struct cluster_node *n = &look->nodes.at[i];
        const struct value *is = value_get(all, n->name.s);
        struct value *v = value_map(mem);
        value_set(mem, v, "name", value_str(mem, n->name));
        value_put_int(mem, v, "number", n->number);
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            if (value_get(is, same[k]))
                value_set(mem, v, same[k], value_get(is, same[k]));
        value_add(mem, list, v);
    }
    return list;
}

/* --- the key --- */

static int key_make(const char *path, char ret_key[KEY_CHARS + 1], struct err *e)
{
    uint8_t bytes[KEY_BYTES];
    char line[KEY_CHARS + 2];
    if (sodium_init() < 0) /* seeds the generator; later calls do nothing */
        return err_set(e, ERR_INTERNAL, "no random numbers are to be had");
    randombytes_buf(bytes, sizeof bytes);
    text_hex(bytes, sizeof bytes, ret_key);
    memcpy(line, ret_key, KEY_CHARS);
    memcpy(line + KEY_CHARS, "\n", 2);
    int rc = fs_write_atomic(path, line, KEY_CHARS + 1, 0600, e);
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(line, sizeof line);
    return rc;
}

static int key_take(const char *path, const struct buf *file, char ret_key[KEY_CHARS + 1],
                    struct err *e)
{
    struct str text = buf_str(file);
    while (text.n && strchr(" \t\r\n", text.s[text.n - 1]))
        text.n--;
    bool good = text.n == KEY_CHARS;
    for (size_t i = 0; good && i < text.n; i++)
        good = text.s[i] && strchr("0123456789abcdefABCDEF", text.s[i]);
    if (!good)
        return err_set(e, ERR_CORRUPT, "%s does not hold a key of %d hexadecimal digits", path,
                       KEY_CHARS);
    memcpy(ret_key, text.s, KEY_CHARS);
    ret_key[KEY_CHARS] = '\0';
    return 0;
}

static int key_get(struct server *s, char ret_key[KEY_CHARS + 1], struct err *e)
{
    SCOPED_BUF(file);
    char *path = fs_join(s->data_dir, key_name);
    int rc = fs_read(path, KEY_FILE_BYTES, &file, e);
    if (rc == -ERR_NOT_FOUND)
        rc = key_make(path, ret_key, e);
    else if (rc >= 0)
        rc = key_take(path, &file, ret_key, e);
    if (file.data)
        sodium_memzero(file.data, file.len);
    free(path);
    return rc;
}

/* --- a task --- */

static enum callback_bit event_of(const char *when, const struct operation_view *op)
{
    if (!strcmp(when, "start"))
        return CALLBACK_BIT_START;
    return op->counts[TASK_FAILED] || op->counts[TASK_DEP_FAILED] || op->counts[TASK_CANCELLED]
               ? CALLBACK_BIT_FAILURE
               : CALLBACK_BIT_SUCCESS;
}

static int call_fill(struct server *s, uint32_t deployment, const struct operation_view *op,
                     const char *when, struct arena *mem, struct value *params, struct err *e)
{
    const struct cluster_look *look = data_cluster_look(s, deployment, e);
    const struct catalog_template *t;
    char key[KEY_CHARS + 1], signature[DIGEST_HMAC_HEX];
    SCOPED_BUF(text);
    if (!look)
        return e->code ? -(int)e->code : err_set(e, ERR_NOT_FOUND, "its cluster is gone");
    int rc = cluster_template(mem, look->spec, &t, e);
    if (rc < 0)
        return rc;
    enum callback_bit event = event_of(when, op);
    if (!t->callback_url.n || !(t->callbacks >> event & 1)) {
        value_put_bool(mem, params, "skip", true);
        return 0;
    }
    if ((rc = key_get(s, key, e)) < 0)
        return rc;
    struct value *body = value_map(mem);
    value_put_text(mem, body, "event", callback_name(event));
    value_set(mem, body, "cluster", cluster_told(s, mem, deployment, t));
    value_set(mem, body, "operation", operation_told(s, mem, op));
    value_set(mem, body, "nodes", nodes_told(s, mem, deployment, look));
    json_write_canonical(&text, body);
    digest_hmac_hex((struct str){key, KEY_CHARS}, buf_str(&text), signature);
    sodium_memzero(key, sizeof key);
    value_set(mem, params, "url", value_str(mem, t->callback_url));
    value_put_text(mem, params, "event", callback_name(event));
    value_set(mem, params, "body", value_str(mem, buf_str(&text)));
    value_put_text(mem, params, "signature", signature);
    return 0;
}

int cluster_call_params(struct server *s, uint32_t task, struct arena *mem, struct str *ret,
                        struct err *e)
{
    struct task_view t;
    struct operation_view op;
    struct value *params = value_map(mem);
    SCOPED_BUF(text);
    if (!anneal_task(s->engine, task, &t) || t.node || !t.noderole ||
        strcmp(s->inv.defs.at[t.def].type, CALL_JIG) != 0)
        return 0;
    if (!anneal_operation(s->engine, t.operation, &op))
        return err_set(e, ERR_NOT_FOUND, "its operation is gone");
    const struct value *when = value_get(view_json(mem, s->inv.defs.at[t.def].params), "event");
    *e = (struct err){0};
    int rc = call_fill(s, s->inv.noderoles.at[t.noderole].deployment, &op,
                       value_as_text(when, "end"), mem, params, e);
    if (rc < 0)
        return rc;
    json_write_canonical(&text, params);
    *ret = (struct str){arena_strndup(mem, text.data, text.len), text.len};
    return 0;
}
