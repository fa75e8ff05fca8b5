/* worker_way.c - how a node is reached: what was said of it, a link over ssh, ways of other
 * programs
 *
 * How a node is reached comes with each task and probe, as a map, over what the worker was told
 * when it started; where the two say nothing the defaults of src/ssh hold.  Which node it is, and
 * whether what is said counts, is decided in worker_node.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "sys/fs.h"
#include "worker/worker_node_i.h"

struct reach_call { /* one command under way */
    struct reach_exec x;
    struct ssh_run *run;
};

/* ---- a link over ssh ---- */

static struct node *node_of(struct reach_link *l)
{
    return (struct node *)(void *)((char *)l - offsetof(struct node, link));
}

static void on_output(void *arg, int stream, const char *p, size_t n)
{
    struct reach_call *c = arg;
    c->x.on_output(c->x.arg, stream, p, n);
}

static void on_end(void *arg, const struct ssh_end *end)
{
    static const enum reach_fail fails[SSH_FAIL_COUNT] = {
        [SSH_FAIL_NONE] = REACH_FAIL_NONE,         [SSH_FAIL_UNREACHABLE] = REACH_FAIL_UNREACHABLE,
        [SSH_FAIL_HOST_KEY] = REACH_FAIL_HOST_KEY, [SSH_FAIL_AUTH] = REACH_FAIL_AUTH,
        [SSH_FAIL_LOST] = REACH_FAIL_LOST,         [SSH_FAIL_LIMIT] = REACH_FAIL_LIMIT};
    struct reach_call *c = arg;
    struct reach_exec x = c->x;
    struct reach_exec_end e = {.ran = end->ran,
                               .status = end->status < 0 ? 255 : end->status,
                               .fail = fails[end->fail],
                               .text = end->text};
    free(c);
    x.on_end(x.arg, &e);
}

static int link_exec(struct reach_link *l, const struct reach_exec *x, struct reach_call **ret_call,
                     struct err *e)
{
    struct node *n = node_of(l);
    struct reach_call *c = xcalloc(1, sizeof *c);
    c->x = *x;
    struct ssh_exec_spec spec = {.target = &n->target,
                                 .command = x->command,
                                 .input = x->input,
                                 .on_output = on_output,
                                 .on_end = on_end,
                                 .arg = c};
    int rc = ssh_exec(n->w->nodes->pool, &spec, &c->run, e);
    if (rc < 0)
        free(c);
    else
        *ret_call = c;
    return rc;
}

static void link_close(struct reach_link *l, struct reach_call *c)
{
    (void)l;
    ssh_run_close(c->run);
    free(c);
}

const struct reach_link way_link = {.exec = link_exec, .close = link_close};

/* ---- access ---- */

static const char *said(const struct value *access, const char *key, const char *otherwise)
{
    const char *text = value_as_text(value_get(access, key), NULL);
    return text ? text : otherwise;
}

static const char *const *texts_of(struct arena *mem, const struct value *list, size_t *ret_n)
{
    const char **at = arena_new(mem, const char *, list ? list->n + 1 : 1);
    *ret_n = 0;
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        if (list->items[i].kind == VALUE_STRING)
            at[(*ret_n)++] = list->items[i].s;
    return at;
}

static const char *keys_of(struct arena *mem, const struct value *list)
{
    SCOPED_BUF(b);
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        buf_printf(&b, "%s\n", value_as_text(&list->items[i], ""));
    return arena_strndup(mem, buf_str(&b).s, b.len);
}

int way_take(struct node *n, const struct taskmsg *m, struct err *e)
{
    const struct worker_nodes *all = n->w->nodes;
    struct value *access = NULL;
    free(n->access);
    n->access = xstrndup(m->access.s ? m->access.s : "", m->access.n);
    arena_reset(&n->mem);
    if (m->access.n) {
        int rc = json_parse(&n->mem, n->access, m->access.n,
                            &(struct json_options){.name = "access"}, &access, e);
        if (rc < 0)
            return rc;
    }
    struct ssh_target *t = &n->target;
    *t = (struct ssh_target){.name = n->name,
                             .life = n->life,
                             .user = said(access, "user", all->user),
                             .jump = said(access, "jump", NULL),
                             .config = said(access, "config", NULL),
                             .kex = all->kex,
                             .host_keys = keys_of(&n->mem, value_get(access, "host_keys"))};
    const char **identities = arena_new(&n->mem, const char *, 1);
    identities[0] = said(access, "identity", all->identity);
    t->identities = identities;
    t->n_identities = identities[0] ? 1 : 0;
    t->agent = !identities[0];
    t->port = (uint16_t)value_as_int(value_get(access, "port"), all->port);
    t->trust = strcmp(said(access, "trust", all->pinned ? "pinned" : "first"), "pinned") == 0
                   ? SSH_TRUST_PINNED
                   : SSH_TRUST_FIRST;
    t->addresses = texts_of(&n->mem, value_get(access, "addresses"), &t->n_addresses);
    if (t->n_addresses == 0) {
        const char **name = arena_new(&n->mem, const char *, 1);
        name[0] = n->name;
        t->addresses = name;
        t->n_addresses = 1;
    }
    n->options.sudo = value_as_bool(value_get(access, "sudo"), false);
    return 0;
}

bool node_is_remote(const struct worker *w, const struct taskmsg *m, const struct value *access)
{
    const char *via = value_as_text(value_get(access, "via"), NULL);
    return m->node.n > 0 && (via ? strcmp(via, "ssh") == 0 : w->nodes && w->nodes->by_ssh);
}

bool node_is_elsewhere(const struct run *r)
{
    struct value *access = NULL;
    struct err e;
    if (r->msg.access.n && json_parse(r->mem, r->msg.access.s, r->msg.access.n,
                                      &(struct json_options){.name = "access"}, &access, &e) < 0)
        access = NULL;
    return node_is_remote(r->w, &r->msg, access);
}

static void on_host_key(void *arg, const char *name, uint64_t life, const char *line)
{
    const struct node *n = node_find(arg, str_of(name));
    if (n && n->life == life) /* else nobody waits for it */
        worker_send(arg, &(struct taskmsg){.kind = TASKMSG_SEEN,
                                           .node = str_of(name),
                                           .node_id = n->id,
                                           .access_rev = n->access_rev,
                                           .host_key = str_of(line)});
}

int way_open(struct worker *w, struct err *e)
{
    struct worker_nodes *all = w->nodes;
    if (all->pool)
        return 0;
    char *dir = fs_join(w->run_dir, "ssh");
    struct ssh_pool_options o = {.via = all->via,
                                 .run_dir = dir,
                                 .runner = w->runner,
                                 .max_connections = all->max_connections,
                                 .keepalive_ms = all->keepalive_ms,
                                 .idle_ms = all->idle_ms,
                                 .on_host_key = on_host_key,
                                 .arg = w};
    int rc = ssh_pool_new(w->loop, &o, &all->pool, e);
    free(dir);
    return rc;
}

int nodes_probe(struct node *n, uint64_t timeout_ms, ssh_probe_f *fn, void *arg,
                struct ssh_probe **ret_probe, struct err *e)
{
    return ssh_probe(n->w->nodes->pool, &n->target, (uint32_t)timeout_ms, fn, arg, ret_probe, e);
}

/* ---- ways of other programs ---- */

static struct str keep_text(struct arena *mem, const struct buf *b)
{
    return (struct str){arena_strndup(mem, buf_str(b).s, b->len), b->len};
}

int node_route(void *run, const char *known_path, struct arena *mem, struct jig_route *ret_r,
               struct err *e)
{
    struct run *r = run;
    const char *address;
    SCOPED_BUF(config);
    SCOPED_BUF(known);
    *ret_r = (struct jig_route){0};
    if (!node_is_elsewhere(r))
        return 0;
    struct node *n = node_get(r->w, &r->msg, e);
    if (!n)
        return -(int)e->code;
    int rc = ssh_config_write(r->w->nodes->pool, &n->target, known_path, r->msg.ask, &config,
                              &known, &address, e);
    if (rc < 0)
        return rc;
    *ret_r = (struct jig_route){.address = arena_strdup(mem, address),
                                .config = keep_text(mem, &config),
                                .known = keep_text(mem, &known),
                                .agent = n->target.agent ? getenv("SSH_AUTH_SOCK") : NULL,
                                .sudo = n->options.sudo};
    return 0;
}

/* "alias type base64": the server pins the first it is told of. */
void node_learned(void *run, struct str known)
{
    struct run *r = run;
    const char *blank = known.n ? memchr(known.s, ' ', known.n) : NULL;
    const char *end = known.n ? memchr(known.s, '\n', known.n) : NULL;
    if (!blank || !end || blank > end)
        return;
    worker_send(r->w, &(struct taskmsg){.kind = TASKMSG_SEEN,
                                        .node = r->msg.node,
                                        .node_id = r->msg.node_id,
                                        .access_rev = r->msg.access_rev,
                                        .host_key = {blank + 1, (size_t)(end - blank - 1)}});
}
