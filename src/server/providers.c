/* providers.c - providers and credentials: rows and memory, sealed parts sealed */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/providers.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/mask.h"
#include "server/clusters.h"
#include "server/vault.h"
#include "sys/dirscan.h"

enum { PROVIDER_MOST = 10000 };

struct providers {
    struct dirscan scan;
    struct arena plugin_mem;
    const struct plugins *plugins;
    VEC(struct provider) at; /* by id; name NULL: gone */
    struct strmap by_name;   /* into at */
    uint32_t n;
    uint32_t last_id;
    struct u64map credentials; /* deployment -> struct sealed */
};

static void sealed_done(struct sealed *x)
{
    free(x->text);
    free(x->names);
    *x = (struct sealed){0};
}

static void provider_done(struct provider *p)
{
    free(p->name);
    free(p->type);
    free(p->fields);
    sealed_done(&p->secret);
    *p = (struct provider){0};
}

struct providers *providers_new(const char *plugin_path)
{
    struct providers *all = xcalloc(1, sizeof *all);
    dirscan_init(&all->scan, plugin_path, PLUGIN_FILE, PLUGIN_MAX_BYTES);
    arena_init(&all->plugin_mem);
    return all;
}

void providers_free(struct providers *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->at.n; i++)
        provider_done(&all->at.at[i]);
    for (size_t i = 0; i < all->credentials.n; i++)
        if (all->credentials.at[i].live) {
            struct sealed *x = (struct sealed *)all->credentials.at[i].val;
            sealed_done(x);
            free(x);
        }
    u64map_done(&all->credentials);
    strmap_done(&all->by_name);
    vec_done(&all->at);
    dirscan_done(&all->scan);
    arena_done(&all->plugin_mem);
    free(all);
}

const struct plugins *providers_plugins(struct server *s)
{
    struct providers *all = s->providers;
    if (!dirscan_refresh(&all->scan) && all->plugins)
        return all->plugins;
    arena_reset(&all->plugin_mem);
    struct plugin_text *texts = arena_new(&all->plugin_mem, struct plugin_text, all->scan.at.n);
    for (size_t i = 0; i < all->scan.at.n; i++) {
        const struct dirscan_entry *x = &all->scan.at.at[i];
        texts[i] = (struct plugin_text){str_of(x->dir), buf_str(&x->text), x->bad ? &x->err : NULL};
    }
    all->plugins = plugins_read(&all->plugin_mem, texts, all->scan.at.n);
    return all->plugins;
}

/* --- finding --- */

const struct provider *provider_named(const struct server *s, struct str name)
{
    uintptr_t at;
    return strmap_get(&s->providers->by_name, name, &at) ? &s->providers->at.at[at] : NULL;
}

const struct provider *provider_next(const struct server *s, uint32_t after)
{
    for (size_t i = 0; i < s->providers->at.n; i++)
        if (s->providers->at.at[i].name && s->providers->at.at[i].id > after)
            return &s->providers->at.at[i];
    return NULL;
}

struct value *sealed_names(struct arena *mem, const struct sealed *x)
{
    struct value *list = NULL;
    if (!x || !x->names || json_parse(mem, x->names, strlen(x->names), NULL, &list, NULL) < 0 ||
        list->kind != VALUE_LIST)
        return value_list(mem);
    return list;
}

struct value *provider_shown(struct arena *mem, const char *fields, const struct sealed *secret)
{
    struct value *shown = value_map(mem);
    const struct value *plain = fields ? view_json(mem, fields) : NULL;
    const struct value *names = sealed_names(mem, secret);
    for (uint32_t i = 0; value_is(plain, VALUE_MAP) && i < plain->n; i++)
        value_set(mem, shown, plain->members[i].key, &plain->members[i].v);
    for (uint32_t i = 0; i < names->n; i++)
        value_put_text(mem, shown, value_as_text(&names->items[i], ""), MASK_TEXT);
    return shown;
}

/* --- sealing --- */

/* The map with null members gone. */
static struct value *without_null(struct arena *mem, const struct value *map)
{
    struct value *kept = value_map(mem);
    for (uint32_t i = 0; i < map->n; i++)
        if (map->members[i].v.kind != VALUE_NULL)
            value_set_str(mem, kept, (struct str){map->members[i].key, map->members[i].key_n},
                          &map->members[i].v);
    return kept;
}

static int unseal(struct server *s, const char *owner, const struct sealed *x, struct arena *mem,
                  const struct value **ret, struct err *e)
{
    struct buf text = {0};
    struct value *v = NULL;
    *ret = value_map(mem);
    if (!x || !x->text)
        return 0;
    int rc = vault_open(s->data_dir, owner, str_of(x->text), &text, e);
    if (rc >= 0)
        rc = json_parse(mem, text.data, text.len, NULL, &v, e);
    vault_wipe(&text);
    if (rc >= 0)
        *ret = v;
    return rc;
}

static const struct sealed *any_sealed(const struct providers *all, char ret_owner[])
{
    for (size_t i = 0; i < all->at.n; i++)
        if (all->at.at[i].name && all->at.at[i].secret.text) {
            vault_owner(ret_owner, "provider", all->at.at[i].id);
            return &all->at.at[i].secret;
        }
    for (size_t i = 0; i < all->credentials.n; i++) {
        const struct sealed *x = (const struct sealed *)all->credentials.at[i].val;
        if (!all->credentials.at[i].live || !x->text)
            continue;
        vault_owner(ret_owner, "cluster", (uint32_t)all->credentials.at[i].key);
        return x;
    }
    return NULL;
}

/* Two keys in one store would each open a part of it, and a backup has one: what is sealed already
 * must open before more is sealed. */
static int key_proved(struct server *s, bool *ret_first, struct err *e)
{
    char owner[VAULT_OWNER_BYTES];
    struct buf text = {0};
    const struct sealed *x = any_sealed(s->providers, owner);
    *ret_first = !x;
    int rc = x ? vault_open(s->data_dir, owner, str_of(x->text), &text, e) : 0;
    vault_wipe(&text);
    return rc;
}

/* What is in x with `more` laid over it, sealed anew. */
static int reseal(struct server *s, const char *owner, const struct sealed *x,
                  const struct value *more, struct sealed *ret, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(sealed);
    SCOPED_BUF(names);
    struct buf text = {0};
    const struct value *was;
    bool first;
    int rc = unseal(s, owner, x, &mem, &was, e);
    if (rc < 0)
        return rc;
    struct value *now = without_null(&mem, value_merge(&mem, was, more)), *list = value_list(&mem);
    *ret = (struct sealed){0};
    if (!now->n)
        return 0;
    for (uint32_t i = 0; i < now->n; i++)
        value_add(&mem, list,
                  value_str(&mem, (struct str){now->members[i].key, now->members[i].key_n}));
    json_write_canonical(&text, now);
    json_write_canonical(&names, list);
    rc = key_proved(s, &first, e);
    if (rc >= 0)
        rc = vault_seal(s->data_dir, first, owner, buf_str(&text), &sealed, e);
    vault_wipe(&text);
    if (rc < 0)
        return rc;
    *ret = (struct sealed){xstrdup(sealed.data), xstrdup(names.data)};
    return 0;
}

/* --- providers --- */

static void provider_row(struct server *s, enum row_verb verb, const struct provider *p)
{
    struct row_provider row = {.id = p->id,
                               .tenant = p->tenant,
                               .realm = 1,
                               .name = str_of(p->name),
                               .created_ms = p->created_ms,
                               .rev = p->rev,
                               .type = str_of(p->type),
                               .fields = str_of(p->fields),
                               .names = str_of(p->secret.names ? p->secret.names : ""),
                               .sealed = str_of(p->secret.text ? p->secret.text : "")};
    commit_row(s->commit, ROWS_PROVIDER, verb, &row);
}

/* Who, what and which names: never a value. */
static void provider_tell(struct server *s, const struct server_call *c, const struct provider *p,
                          bool gone)
{
    struct event ev = {.kind = EVENT_PROVIDER, .id = p->id};
    struct commit_note note = server_note(c, NULL);
    struct value *v = value_map(c->mem);
    SCOPED_BUF(more);
    value_put_text(c->mem, v, "name", p->name);
    value_put_text(c->mem, v, "type", p->type);
    value_put_bool(c->mem, v, "gone", gone);
    json_write(&more, v, 0);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
}

static struct provider *provider_keep(struct providers *all, const struct provider *p)
{
    strmap_put(&all->by_name, str_of(p->name), all->at.n);
    vec_push(&all->at, *p);
    all->n++;
    if (p->id > all->last_id)
        all->last_id = p->id;
    return &all->at.at[all->at.n - 1];
}

int provider_put(struct server *s, const struct server_call *c, struct str name, struct str type,
                 const struct value *plain, const struct value *sensitive,
                 const struct provider **ret, struct err *e)
{
    struct providers *all = s->providers;
    struct provider *p = (struct provider *)(uintptr_t)provider_named(s, name);
    bool new = !p;
    char owner[VAULT_OWNER_BYTES];
    struct sealed secret;
    SCOPED_BUF(fields);
    if (new && all->n >= PROVIDER_MOST)
        return err_set(e, ERR_LIMIT, "more than %d providers", PROVIDER_MOST);
    bool anew = new || !str_is(type, p->type); /* what another type was told is not its own */
    const struct value *was = anew ? value_map(c->mem) : view_json(c->mem, p->fields);
    json_write_canonical(&fields, without_null(c->mem, value_merge(c->mem, was, plain)));
    vault_owner(owner, "provider", new ? all->last_id + 1 : p->id);
    int rc = reseal(s, owner, anew ? NULL : &p->secret, sensitive, &secret, e);
    if (rc < 0)
        return rc;
    if (new)
        p = provider_keep(all, &(struct provider){.id = all->last_id + 1,
                                                  .tenant = c->who->tenant,
                                                  .name = xstrndup(name.s, name.n),
                                                  .created_ms = server_wall_ms()});
    free(p->type);
    free(p->fields);
    sealed_done(&p->secret);
    p->type = xstrndup(type.s, type.n);
    p->fields = xstrndup(fields.data, fields.len);
    p->secret = secret;
    p->rev++;
    provider_row(s, new ? ROW_INSERT : ROW_UPDATE, p);
    provider_tell(s, c, p, false);
    *ret = p;
    return 0;
}

void provider_drop(struct server *s, const struct server_call *c, const struct provider *p)
{
    struct provider *own = (struct provider *)(uintptr_t)p;
    struct row_provider row = {.id = p->id};
    commit_row(s->commit, ROWS_PROVIDER, ROW_DELETE, &row);
    provider_tell(s, c, p, true);
    strmap_del(&s->providers->by_name, str_of(p->name));
    s->providers->n--;
    provider_done(own);
}

int provider_type(struct server *s, struct str type, const struct plugin_type **ret, struct err *e)
{
    const struct plugins *all = providers_plugins(s);
    for (uint32_t i = 0; i < all->n; i++)
        if ((*ret = plugin_type_get(all->at[i], type)))
            return 0;
    const struct plugin *none;
    return plugins_find_type(all, PLUGIN_PROVIDER, type, &none, e);
}

/* --- credentials --- */

const struct sealed *credential_get(const struct server *s, uint32_t deployment)
{
    uintptr_t at;
    return u64map_get(&s->providers->credentials, deployment, &at) ? (const struct sealed *)at
                                                                   : NULL;
}

static void credential_keep(struct providers *all, uint32_t deployment, const struct sealed *x)
{
    uintptr_t at;
    struct sealed *own;
    if (u64map_get(&all->credentials, deployment, &at)) {
        own = (struct sealed *)at;
        sealed_done(own);
    } else {
        own = xcalloc(1, sizeof *own);
        u64map_put(&all->credentials, deployment, (uintptr_t)own);
    }
    *own = *x;
}

int credential_put(struct server *s, uint32_t deployment, const struct value *sensitive,
                   struct err *e)
{
    const struct sealed *was = credential_get(s, deployment);
    char owner[VAULT_OWNER_BYTES];
    struct sealed now;
    if (!sensitive || !sensitive->n)
        return 0;
    vault_owner(owner, "cluster", deployment);
    int rc = reseal(s, owner, was, sensitive, &now, e);
    if (rc < 0)
        return rc;
    struct row_credential row = {.id = deployment,
                                 .tenant = 1,
                                 .realm = 1,
                                 .names = str_of(now.names ? now.names : ""),
                                 .sealed = str_of(now.text ? now.text : "")};
    commit_row(s->commit, ROWS_CREDENTIAL, was ? ROW_UPDATE : ROW_INSERT, &row);
    credential_keep(s->providers, deployment, &now);
    return 0;
}

void credential_wipe(struct server *s, uint32_t deployment)
{
    struct row_credential row = {.id = deployment};
    struct sealed *x = (struct sealed *)(uintptr_t)credential_get(s, deployment);
    if (!x)
        return;
    commit_row(s->commit, ROWS_CREDENTIAL, ROW_DELETE, &row);
    u64map_del(&s->providers->credentials, deployment);
    sealed_done(x);
    free(x);
}

/* --- for a task --- */

static int opened(struct server *s, const char *kind, uint32_t id, const struct sealed *x,
                  struct arena *mem, const struct value **secrets, struct err *e)
{
    char owner[VAULT_OWNER_BYTES];
    const struct value *more;
    vault_owner(owner, kind, id);
    int rc = unseal(s, owner, x, mem, &more, e);
    if (rc >= 0)
        *secrets = value_merge(mem, *secrets, more);
    return rc;
}

int provider_send(struct server *s, uint32_t task, struct arena *mem, struct taskmsg *m,
                  struct err *e)
{
    struct task_view t;
    if (!str_is(m->jig, "plugin") || !anneal_task(s->engine, task, &t) || !t.noderole)
        return 0;
    uint32_t deployment = s->inv.noderoles.at[t.noderole].deployment;
    *e = (struct err){0};
    const struct cluster_look *look = data_cluster_look(s, deployment, e);
    struct str name = value_as_str(
        value_get(view_json(mem, s->inv.defs.at[t.def].params), "provider"));
    if (!name.n && look)
        name = value_as_str(value_get(look->spec, "provider"));
    const struct provider *p = name.n ? provider_named(s, name) : NULL;
    const struct value *fields = p ? view_json(mem, p->fields) : value_map(mem);
    const struct value *secrets = value_map(mem);
    const struct value *own = look ? value_get(look->spec, "fields") : NULL;
    int rc = p ? opened(s, "provider", p->id, &p->secret, mem, &secrets, e) : 0;
    if (rc >= 0)
        rc = opened(s, "cluster", deployment, credential_get(s, deployment), mem, &secrets, e);
    if (rc < 0)
        return rc;
    struct value *said = value_map(mem);
    SCOPED_BUF(text);
    struct buf hidden = {0};
    value_put_text(mem, said, "provider", arena_strndup(mem, name.n ? name.s : "", name.n));
    value_put_text(mem, said, "type", p ? p->type : "");
    value_set(mem, said, "fields", own ? value_merge(mem, fields, own) : fields);
    json_write_canonical(&text, said);
    m->fields = (struct str){arena_strndup(mem, text.data, text.len), text.len};
    if (secrets->n) {
        json_write_canonical(&hidden, secrets);
        m->secrets = (struct str){arena_strndup(mem, hidden.data, hidden.len), hidden.len};
        vault_wipe(&hidden);
    }
    return 0;
}

/* --- restart --- */

static struct sealed sealed_read(struct str names, struct str text)
{
    return (struct sealed){text.n ? xstrndup(text.s, text.n) : NULL,
                           names.n ? xstrndup(names.s, names.n) : NULL};
}

static int load_provider(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_provider *r = row;
    (void)t;
    (void)e;
    provider_keep(arg, &(struct provider){.id = r->id,
                                          .rev = r->rev,
                                          .tenant = r->tenant,
                                          .name = xstrndup(r->name.s, r->name.n),
                                          .type = xstrndup(r->type.s, r->type.n),
                                          .fields = xstrndup(r->fields.s, r->fields.n),
                                          .created_ms = r->created_ms,
                                          .secret = sealed_read(r->names, r->sealed)});
    return 0;
}

static int load_credential(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_credential *r = row;
    struct sealed x = sealed_read(r->names, r->sealed);
    (void)t;
    (void)e;
    credential_keep(arg, r->id, &x);
    return 0;
}

int providers_load(struct server *s, struct err *e)
{
    int rc = store_each(s->store, ROWS_PROVIDER, load_provider, s->providers, e);
    return rc < 0 ? rc : store_each(s->store, ROWS_CREDENTIAL, load_credential, s->providers, e);
}
