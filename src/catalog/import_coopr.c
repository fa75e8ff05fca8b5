/* import_coopr.c - templates, services, hardware, images and providers of Coopr become one barclamp
 *
 * A file is what its content says, whatever it is called: trees of a release, loose files and whole
 * exports all do.  All names are learnt before anything is written, since everything refers to
 * everything.  The barclamp is lenient: what the source got wrong stays its own fault.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_coopr_i.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"

static const struct {
    const char *folder, *list, *what;
} kinds[COOPR_KIND_COUNT] = {
#define X(id, folder, list, what) {folder, list, what},
    COOPR_KINDS(X)
#undef X
};

/* --- which files --- */

bool catalog_import_coopr_wants(struct str path)
{
    return path.n > 5 && !memcmp(path.s + path.n - 5, ".json", 5);
}

/* How long a lease is: a number of milliseconds, or one with s, m, h or d. */
int catalog_import_lease_ms(struct str text, uint64_t *ret_ms, struct err *e)
{
    uint64_t ms;

    if (text_u64(text, INT64_MAX, &ms, NULL) == 0) {
        *ret_ms = ms;
        return 0;
    }
    return text_duration_ms(text, ret_ms, e);
}

/* --- what an entity is --- */

static bool has_offers(const struct value *v, const char *key)
{
    const struct value *map = value_get(v, "providermap");

    for (uint32_t i = 0; value_is(map, VALUE_MAP) && i < map->n; i++)
        if (value_get(&map->members[i].v, key))
            return true;
    return false;
}

static bool is_below(struct str path, const char *folder)
{
    size_t n = strlen(folder);

    for (size_t i = 0; i + n < path.n; i++)
        if ((!i || path.s[i - 1] == '/') && path.s[i + n] == '/' && !memcmp(path.s + i, folder, n))
            return true;
    return false;
}

static bool is_plugin(const struct value *v)
{
    return value_get(v, "providertypes") || value_get(v, "automatortypes") ||
           value_get(v, "parameters");
}

/* COOPR_KIND_COUNT: nothing that we know. */
static enum coopr_kind kind_of(const struct value *v, struct str path)
{
    if (value_at(v, "provisioner.actions"))
        return COOPR_SERVICE;
    if (value_get(v, "providertype"))
        return COOPR_PROVIDER;
    if (has_offers(v, "flavor") || is_below(path, "hardwaretypes"))
        return COOPR_HARDWARE;
    if (has_offers(v, "image") || is_below(path, "imagetypes"))
        return COOPR_IMAGE;
    if (value_get(v, "immutable") || is_below(path, "partialtemplates"))
        return COOPR_PARTIAL;
    if (value_get(v, "defaults") || value_get(v, "constraints") || value_get(v, "extends") ||
        is_below(path, "clustertemplates"))
        return COOPR_TEMPLATE;
    return is_below(path, "services") ? COOPR_SERVICE : COOPR_KIND_COUNT;
}

/* Whole and partial templates are one name space. */
static enum coopr_kind names_of(enum coopr_kind kind)
{
    return kind == COOPR_PARTIAL ? COOPR_TEMPLATE : kind;
}

static void item_collect(struct coopr *o, enum coopr_kind kind, const struct value *v)
{
    struct crow *x = &o->x;
    const struct value *name = value_get(v, "name");
    struct str given = crow_text(x, name);
    enum coopr_kind space = names_of(kind);

    if (!given.n) {
        crow_tell(x, IMPORT_FAULT, v, kinds[kind].what, "left out: it has no name");
        return;
    }
    if (strmap_get(&o->taken[space], given, NULL)) {
        crow_tell(x, IMPORT_FAULT, name, crow_shown(x, given),
                  "left out: there is a %s of this name already", kinds[kind].what);
        return;
    }
    strmap_put(&o->taken[space], given, 0);
    const char *ours = crow_name(x, &o->names[space], name, kinds[kind].what);
    if (kind == COOPR_SERVICE && !str_is(given, ours))
        crow_tell(x, IMPORT_CHANGED, name, ours, "macros that name it as %s are not adapted",
                  crow_shown(x, given));
    vec_push(&o->items, ((struct coopr_item){(uint8_t)kind, ours, v}));
}

static bool export_collect(struct coopr *o, const struct value *top)
{
    bool any = false;

    for (int k = 0; k < COOPR_KIND_COUNT; k++) {
        const struct value *list = value_get(top, kinds[k].list);
        if (!value_is(list, VALUE_LIST))
            continue;
        any = true;
        for (uint32_t i = 0; i < list->n; i++)
            item_collect(o, (enum coopr_kind)k, &list->items[i]);
    }
    return any;
}

static void file_collect(struct coopr *o, struct str path, const struct value *top)
{
    enum coopr_kind kind = kind_of(top, path);

    if (top->kind == VALUE_MAP && !value_get(top, "name") && export_collect(o, top))
        o->x.out->counts.files++;
    else if (kind != COOPR_KIND_COUNT) {
        o->x.out->counts.files++;
        item_collect(o, kind, top);
    } else if (is_plugin(top))
        coopr_plugin(o, top);
    else
        crow_tell_at(&o->x, IMPORT_LEFT_OUT, path, 0, "this file",
                     "it is no service, template, hardware type, image type or provider");
}

static void source_collect(struct coopr *o)
{
    struct crow *x = &o->x;
    const struct catalog_file *const *order = crow_by_path(x);

    for (size_t i = 0; i < x->source->n; i++) {
        uint32_t file = (uint32_t)(order[i] - x->source->files);
        struct str path = order[i]->path, text = order[i]->text;
        struct json_options options = {.source = (uint16_t)(file + 1)};
        struct value *v = NULL;
        struct err e;

        if (!catalog_import_coopr_wants(path))
            continue;
        if (json_parse(&x->scratch, text.s, text.n, &options, &v, &e) < 0)
            crow_tell_at(x, IMPORT_FAULT, path, 0, "left out, as it is no JSON",
                         arena_printf(&x->scratch, "%s: %s", e.at, e.text));
        else
            file_collect(o, path, v);
    }
}

/* Names that services provide are names like their own. */
static void provided_collect(struct coopr *o)
{
    for (size_t i = 0; i < o->items.n; i++) {
        const struct value *list = value_at(o->items.at[i].v, "dependencies.provides");
        for (uint32_t k = 0;
             o->items.at[i].kind == COOPR_SERVICE && value_is(list, VALUE_LIST) && k < list->n; k++)
            if (crow_text(&o->x, &list->items[k]).n)
                (void)crow_name(&o->x, &o->names[COOPR_SERVICE], &list->items[k], "name");
    }
}

/* --- what all of them need --- */

const char *coopr_ref(struct coopr *o, enum coopr_kind kind, const struct value *v,
                      const char *what)
{
    struct str given = crow_text(&o->x, v);
    uintptr_t known;

    if (given.n && strmap_get(&o->names[kind].by_given, given, &known))
        return o->names[kind].at.at[known].ours;
    if (given.n)
        crow_tell(&o->x, IMPORT_LEFT_OUT, v, what, "%s: there is no such %s",
                  crow_shown(&o->x, given), kinds[kind].what);
    return NULL;
}

struct value *coopr_refs(struct coopr *o, enum coopr_kind kind, const struct value *list,
                         const char *what)
{
    struct value *out = value_list(o->x.mem);
    struct strmap seen = {0};

    list = crow_list(&o->x, list, what);
    for (uint32_t i = 0; i < list->n; i++) {
        const char *name = coopr_ref(o, kind, &list->items[i], what);
        if (name && strmap_put(&seen, str_of(name), i))
            value_add(o->x.mem, out, value_text(o->x.mem, name));
    }
    strmap_done(&seen);
    return out->n ? out : NULL;
}

const char *coopr_jig(struct coopr *o, const struct value *type, struct str given)
{
    struct value v = *type;

    v.kind = VALUE_STRING;
    v.s = given.s;
    v.n = (uint32_t)given.n;
    return crow_name(&o->x, &o->jigs, &v, "jig");
}

const struct value *coopr_number(struct coopr *o, const struct value *v)
{
    struct str s = crow_text(&o->x, v);
    struct value *number = NULL;
    bool digit = false, dot = false;

    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == '.' && digit && !dot && i + 1 < s.n)
            dot = true;
        else if (s.s[i] >= '0' && s.s[i] <= '9')
            digit = true;
        else
            return NULL;
    }
    while (s.n > 1 && s.s[0] == '0' && s.s[1] != '.')
        s = (struct str){s.s + 1, s.n - 1};
    if (!digit || s.n > 15 || json_parse(o->x.mem, s.s, s.n, NULL, &number, NULL) < 0)
        return NULL;
    return number;
}

void coopr_rest(struct coopr *o, const struct value *map, const char *const *known, size_t n,
                const char *what, const char *why)
{
    for (uint32_t i = 0; value_is(map, VALUE_MAP) && i < map->n; i++) {
        struct str key = {map->members[i].key, map->members[i].key_n};
        size_t k = 0;
        while (k < n && !str_is(key, known[k]))
            k++;
        if (k == n)
            crow_tell(&o->x, IMPORT_LEFT_OUT, &map->members[i].v, what, "%s: %s",
                      crow_shown(&o->x, key), why);
    }
}

struct value *coopr_task(struct coopr *o, const char *action, const char *of)
{
    struct value *task = value_map(o->x.mem);
    struct strmap none = {0};
    SCOPED_BUF(name);

    buf_printf(&name, "%s-%s", action, of);
    value_put_text(o->x.mem, task, "name", crow_name_make(&o->x, &none, buf_str(&name)));
    /* As the server they were written for did: three attempts, of at most half an hour. */
    value_put_text(o->x.mem, task, "timeout", "30m");
    value_put_int(o->x.mem, task, "retries", 2);
    return task;
}

/* --- files of the result --- */

static void item_write(struct coopr *o, const struct coopr_item *item)
{
    static struct value *(*const make[])(struct coopr * o, const struct coopr_item *item) = {
        [COOPR_SERVICE] = coopr_service,   [COOPR_HARDWARE] = coopr_hardware,
        [COOPR_IMAGE] = coopr_image,       [COOPR_PROVIDER] = coopr_provider,
        [COOPR_TEMPLATE] = coopr_template, [COOPR_PARTIAL] = coopr_template,
    };
    struct import_counts *counts = &o->x.out->counts;
    uint32_t *const count[] = {
        [COOPR_SERVICE] = &counts->roles,      [COOPR_HARDWARE] = &counts->hardware,
        [COOPR_IMAGE] = &counts->images,       [COOPR_PROVIDER] = &counts->providers,
        [COOPR_TEMPLATE] = &counts->templates, [COOPR_PARTIAL] = &counts->templates,
    };
    SCOPED_BUF(text);

    crow_comment(&text, "Imported from ", crow_file(&o->x, item->v));
    yaml_write(&text, make[item->kind](o, item));
    crow_file_add(
        &o->x,
        arena_printf(o->x.mem, COOPR_BARCLAMP "/%s/%s.yaml", kinds[item->kind].folder, item->name),
        &text);
    ++*count[item->kind];
}

/* Jigs that nothing of ours executes are off until somebody brings what does. */
static void barclamp_write(struct coopr *o)
{
    struct crow *x = &o->x;
    struct value *v = value_map(&x->scratch), *jigs = value_list(&x->scratch);
    SCOPED_BUF(text);

    value_put_text(&x->scratch, v, "barclamp", COOPR_BARCLAMP);
    value_put_text(&x->scratch, v, "description", "clusters imported from Coopr");
    value_put_bool(&x->scratch, v, "lenient", true);
    for (size_t i = 0; i < o->jigs.at.n; i++) {
        const struct crow_name *name = &o->jigs.at.at[i];
        struct value *jig = value_map(&x->scratch);
        if (!strcmp(name->ours, "shell"))
            continue;
        value_put_text(&x->scratch, jig, "name", name->ours);
        value_put_bool(&x->scratch, jig, "active", false);
        if (!strmap_get(&o->automators, name->given, NULL))
            value_put_text(&x->scratch, jig, "reach", "outside");
        value_add(&x->scratch, jigs, jig);
        crow_tell_at(x, IMPORT_CHANGED, str_of(COOPR_BARCLAMP "/barclamp.yaml"), 0,
                     arena_printf(&x->scratch, "jig %s", name->ours),
                     "is off: nothing of ours executes it yet");
        x->out->counts.jigs++;
    }
    if (jigs->n)
        value_set(&x->scratch, v, "jigs", jigs);
    yaml_write(&text, v);
    crow_file_add(x, COOPR_BARCLAMP "/barclamp.yaml", &text);
    x->out->counts.barclamps = 1;
}

static void coopr_done(struct coopr *o)
{
    vec_done(&o->items);
    for (int i = 0; i < COOPR_KIND_COUNT; i++) {
        crow_names_done(&o->names[i]);
        strmap_done(&o->taken[i]);
    }
    strmap_done(&o->types);
    strmap_done(&o->automators);
    crow_names_done(&o->jigs);
    crow_done(&o->x);
}

static int coopr_refuse(const struct crow *x, struct err *e)
{
    int rc = err_set(e, ERR_INVALID, "there is nothing of Coopr in what is to be imported");
    if (x->lines.n)
        err_hint(e, "%.*s: %s", (int)x->lines.at[0].file.n, x->lines.at[0].file.s,
                 x->lines.at[0].why);
    else
        err_hint(e, "it is in JSON files: services, clustertemplates, providers ...");
    return rc;
}

int catalog_import_coopr(const struct catalog_source *source, struct catalog_import **ret_import,
                         struct err *e)
{
    static const char *const built_in[] = {"master_shell", "noop", "script", "test", "upload_file"};
    SCOPED(catalog_import) *out = xcalloc(1, sizeof *out);
    struct coopr o = {.x = {.out = out, .mem = &out->mem, .source = source}};
    int rc = 0;

    if (source->n > CATALOG_MAX_FILES)
        return err_set(e, ERR_LIMIT, "more than %d files to import", CATALOG_MAX_FILES);
    arena_init(&out->mem);
    arena_init(&o.x.scratch);
    o.x.lines_of = arena_new(&o.x.scratch, struct crow_lines, source->n);
    /* What these execute is something else. */
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        strmap_put(&o.jigs.by_ours, str_of(built_in[i]), 0);
    source_collect(&o);
    provided_collect(&o);
    if (!o.items.n) {
        rc = coopr_refuse(&o.x, e);
    } else {
        for (size_t i = 0; i < o.items.n; i++) /* services first: providers bootstrap for them */
            if (o.items.at[i].kind == COOPR_SERVICE)
                item_write(&o, &o.items.at[i]);
        for (size_t i = 0; i < o.items.n; i++)
            if (o.items.at[i].kind != COOPR_SERVICE)
                item_write(&o, &o.items.at[i]);
        barclamp_write(&o);
        crow_finish(&o.x);
        *ret_import = out;
        out = NULL;
    }
    coopr_done(&o);
    return rc;
}
