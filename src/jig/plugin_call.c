/* plugin_call.c - who is asked for what, and the document on its standard input
 *
 * Parameters and data are the very bytes that the server sent.  Fields are put together here, since
 * the defaults are those of the plugin that this worker has: default, then what was said, then what
 * is sensitive.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "jig/plugin_i.h"
#include "plugin/plugin_versions.h"

static const char *keep(struct arena *mem, struct str s)
{
    return arena_strndup(mem, s.n ? s.s : "", s.n);
}

static int parse(struct arena *mem, struct str text, const char *name, const struct value **ret,
                 struct err *e)
{
    struct value *v = NULL;
    int rc = text.n ? json_parse(mem, text.s, text.n, &(struct json_options){.name = name}, &v, e)
                    : 0;
    if (rc < 0)
        return rc;
    if (v && v->kind != VALUE_MAP)
        return err_set(e, ERR_INVALID, "%s: a map was expected", name);
    *ret = v;
    return 0;
}

static struct str first_of(struct str a, struct str b)
{
    return a.n ? a : b;
}

/* Where the contents are: the worker has seen to it that they are there. */
static int resources_place(struct arena *mem, const char *run_dir, struct str text,
                           const struct value **ret, struct err *e)
{
    const struct resource_named *all;
    uint32_t n;
    int rc = text.n ? resources_read(mem, text, &all, &n, e) : 0;
    if (rc < 0 || !text.n)
        return rc;
    struct value *kinds = value_map(mem);
    for (uint32_t i = 0; i < n; i++) {
        char file[RESOURCE_FILE_BYTES];
        const char *kind = keep(mem, all[i].kind);
        struct value *one = value_map(mem), *names = value_map(mem);
        const struct value *others = value_get(kinds, kind);
        resource_file_name(&all[i], file);
        value_put_text(mem, one, "path",
                       arena_printf(mem, "%s/" JIG_RESOURCE_DIR "/%s", run_dir, file));
        value_put_int(mem, one, "version", all[i].version);
        for (uint32_t k = 0; others && k < others->n; k++)
            value_set(mem, names, others->members[k].key, &others->members[k].v);
        value_set(mem, names, keep(mem, all[i].name), one);
        value_set(mem, kinds, kind, names);
    }
    *ret = kinds;
    return 0;
}

int plugin_call_make(struct plugin_call *c, struct arena *mem, const struct plugins *all,
                     const char *run_dir, const struct task_request *req, struct err *e)
{
    const struct taskmsg *m = req->msg;
    const struct value *said = NULL, *secrets = NULL, *resources = NULL;
    struct plugin_match found;
    int rc = parse(mem, m->fields, "fields", &said, e);
    if (rc < 0 || (rc = parse(mem, m->secrets, "secrets", &secrets, e)) < 0 ||
        (rc = resources_place(mem, run_dir, m->resources, &resources, e)) < 0)
        return rc;
    struct plugin_ask ask = {
        .plugin = value_as_str(value_get(req->params, "plugin")),
        .action = first_of(value_as_str(value_get(req->params, "action")), m->name),
        .type = first_of(value_as_str(value_get(req->params, "type")),
                         value_as_str(value_get(said, "type")))};
    if ((rc = plugins_match(all, &ask, &found, e)) < 0)
        return rc;
    const struct plugin *p = found.plugin;
    const struct plugin_action *probe = found.action->probe.n
                                            ? plugin_action_get(p, found.action->probe)
                                            : NULL;
    *c = (struct plugin_call){
        .plugin = keep(mem, p->name),
        .dir = keep(mem, p->dir),
        .program = arena_printf(mem, "%s/%s", p->dir.s, p->executable.s),
        .action = keep(mem, found.action->name),
        .type = keep(mem, ask.type),
        .probe = keep(mem, probe ? probe->name : (struct str){"", 0}),
        .timeout_ms = found.action->timeout_ms,
        .probe_timeout_ms = probe ? probe->timeout_ms : 0,
        .can_dry_run = p->dry_run,
        .leaves = found.action->leaves,
        .defaults = found.type ? value_copy(mem, plugin_fields_defaults(mem, found.type)) : NULL,
        .fields = value_get(said, "fields"),
        .secrets = secrets,
        .resources = resources};
    return 0;
}

static void put_key(struct buf *b, const char *key, struct str text)
{
    buf_printf(b, ",\"%s\":", key);
    json_write_string(b, text);
}

void plugin_call_input(struct buf *b, const struct plugin_call *c, const struct task_request *req,
                       const char *action, bool dry_run)
{
    SCOPED_ARENA(mem);
    const struct value *fields = value_map(&mem);
    const struct value *layers[] = {c->defaults, c->fields, c->secrets};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (layers[i])
            fields = value_merge(&mem, fields, layers[i]);
    buf_printf(b, "{\"protocol\":%d", PLUGIN_PROTOCOL);
    put_key(b, "plugin", str_of(c->plugin));
    put_key(b, "type", str_of(c->type));
    put_key(b, "action", str_of(action));
    put_key(b, "key", req->msg->key);
    buf_printf(b, ",\"dry_run\":%s,\"fields\":", dry_run ? "true" : "false");
    json_write_canonical(b, fields);
    if (c->resources) {
        buf_puts(b, ",\"resources\":");
        json_write_canonical(b, c->resources);
    }
    buf_puts(b, ",\"params\":");
    program_input_raw(b, req->msg->params);
    buf_puts(b, ",\"data\":");
    program_input_raw(b, req->msg->data);
    program_input_about(b, req->msg);
    buf_puts(b, "}\n");
}
