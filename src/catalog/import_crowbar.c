/* import_crowbar.c - barclamps of Crowbar 2 become a catalog
 *
 * First everything is read and named, so that what a role requires, wants or attaches itself to can
 * be found in whatever file it is; then each barclamp and each role is written.  Files are taken in
 * the order of their paths, and of two things of one name the first stands, so that the result
 * depends on the source alone.
 *
 * Names of roles are adapted to our rules where they must be, and everything that refers to them
 * with them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/yaml.h"

/* --- which files --- */

static bool ends_with(struct str s, const char *end)
{
    struct str e = str_of(end);
    return s.n >= e.n && !memcmp(s.s + s.n - e.n, e.s, e.n);
}

/* A file that was saved under a revision, "crowbar.yml.from-REVISION", counts as well. */
static bool is_yaml(struct str path)
{
    static const char saved[] = ".yml.from-";
    size_t n = sizeof saved - 1;

    for (size_t i = 0; i + n <= path.n; i++)
        if (!memcmp(path.s + i, saved, n) && !memchr(path.s + i, '/', path.n - i))
            return true;
    return ends_with(path, ".yml") || ends_with(path, ".yaml");
}

/* ".../script/roles/ROLE/..." */
static bool script_role(struct str path, struct str *ret_role)
{
    static const char dir[] = "script/roles/";
    size_t n = sizeof dir - 1;

    for (size_t i = 0; i + n <= path.n; i++) {
        if ((i && path.s[i - 1] != '/') || memcmp(path.s + i, dir, n))
            continue;
        const char *role = path.s + i + n, *end = memchr(role, '/', path.n - i - n);
        *ret_role = (struct str){role, end ? (size_t)(end - role) : 0};
        return ret_role->n > 0;
    }
    return false;
}

bool catalog_import_crowbar_wants(struct str path)
{
    struct str role;
    return is_yaml(path) || script_role(path, &role);
}

/* --- what is there --- */

static void jig_note(struct crow *x, struct str name, const struct value *at,
                     const struct value *first, uint32_t barclamp)
{
    uintptr_t known;

    if (!strmap_get(&x->jig_index, name, &known)) {
        strmap_put(&x->jig_index, name, x->jigs.n);
        vec_push(&x->jigs, ((struct crow_jig){name, at, first, barclamp}));
        return;
    }
    struct crow_jig *j = &x->jigs.at[known];
    if (at && j->at) {
        crow_tell(x, IMPORT_LEFT_OUT, at, crow_shown(x, name), "this jig is declared before");
    } else if (at) { /* who declares it has more to say than who used it first */
        j->at = at;
        j->barclamp = barclamp;
    }
}

static void role_collect(struct crow *x, uint32_t barclamp, const struct value *v)
{
    struct str given = crow_text(x, value_get(v, "name"));

    if (!given.n) {
        crow_tell(x, IMPORT_LEFT_OUT, v, "a role", "it has no name");
        return;
    }
    if (strmap_get(&x->role_index, given, NULL)) {
        crow_tell(x, IMPORT_FAULT, v, crow_shown(x, given),
                  "left out: there is a role of this name already");
        x->barclamps.at[barclamp].lenient = true;
        return;
    }
    struct crow_role r = {.barclamp = barclamp, .given = given, .at = v};
    r.name = crow_name(x, &x->role_names, value_get(v, "name"), "role");
    strmap_put(&x->role_index, given, x->roles.n);
    strmap_put(&x->known, str_of(r.name), x->roles.n);
    vec_push(&x->roles, r);
    struct str jig = crow_text(x, value_get(v, "jig"));
    if (jig.n)
        jig_note(x, jig, NULL, v, barclamp);
}

static void barclamp_collect(struct crow *x, uint32_t file, const struct value *top)
{
    const struct value *head = value_get(top, "barclamp");
    uint32_t number = (uint32_t)x->barclamps.n;
    struct crow_barclamp b = {.file = file, .top = top, .head = head};

    if (!value_is(head, VALUE_MAP) || !crow_text(x, value_get(head, "name")).n) {
        crow_tell_at(x, IMPORT_LEFT_OUT, x->source->files[file].path, 0, "this file",
                     "it has no barclamp with a name");
        return;
    }
    struct str given = crow_text(x, value_get(head, "name"));
    if (strmap_get(&x->barclamp_names.by_given, given, NULL)) {
        b.name = crow_name_make(x, &x->barclamp_names.by_ours, given);
        crow_tell(x, IMPORT_CHANGED, head, crow_shown(x, given),
                  "is called %s: there is a barclamp of this name already", b.name);
        strmap_put(&x->barclamp_names.by_ours, str_of(b.name), 0);
    } else {
        b.name = crow_name(x, &x->barclamp_names, value_get(head, "name"), "barclamp");
    }
    vec_push(&x->barclamps, b);
    const struct value *jigs = crow_list(x, value_get(top, "jigs"), "jigs");
    for (uint32_t i = 0; i < jigs->n; i++) {
        struct str name = crow_text(x, value_get(&jigs->items[i], "name"));
        if (name.n)
            jig_note(x, name, &jigs->items[i], NULL, number);
        else
            crow_tell(x, IMPORT_LEFT_OUT, &jigs->items[i], "a jig", "it has no name");
    }
    const struct value *roles = crow_list(x, value_get(top, "roles"), "roles");
    for (uint32_t i = 0; i < roles->n; i++)
        role_collect(x, number, &roles->items[i]);
}

void crow_duplicate_tell(void *ctx, struct str key, uint32_t line, uint32_t last_line)
{
    struct crow_duplicates *d = ctx;
    crow_tell_at(d->x, IMPORT_FAULT, d->path, line, crow_shown(d->x, key),
                 arena_printf(&d->x->scratch,
                              "left out: the same key comes again in line %u, which stands",
                              last_line));
}

static void source_read(struct crow *x)
{
    const struct catalog_file *const *order = crow_by_path(x);
    struct str role;

    for (size_t i = 0; i < x->source->n; i++) {
        uint32_t file = (uint32_t)(order[i] - x->source->files);
        const char *path = arena_strndup(&x->scratch, order[i]->path.s, order[i]->path.n);
        struct crow_duplicates d = {x, order[i]->path};
        struct yaml_options o = {.source = (uint16_t)(file + 1),
                                 .name = path,
                                 .duplicate = crow_duplicate_tell,
                                 .ctx = &d};
        struct value *v = NULL;
        struct err e;

        if (script_role(order[i]->path, &role)) {
            vec_push(&x->scripts,
                     ((struct crow_script){role, order[i]->path, order[i]->text, false}));
        } else if (!is_yaml(order[i]->path)) {
            continue;
        } else if (yaml_parse(&x->scratch, order[i]->text.s, order[i]->text.n, &o, &v, &e) < 0) {
            crow_tell_at(x, IMPORT_FAULT, order[i]->path, 0, "left out, as it is no YAML we read",
                         arena_printf(&x->scratch, "%s: %s", e.at, e.text));
        } else {
            barclamp_collect(x, file, v);
        }
    }
}

/* Names that are provided, roles that attach themselves, and whose the attributes are. */
static void source_connect(struct crow *x)
{
    for (uint32_t i = 0; i < x->barclamps.n; i++) {
        struct crow_barclamp *b = &x->barclamps.at[i];
        b->first_attribute = (uint32_t)x->attributes.n;
        b->n_attributes = crow_attributes_collect(x, value_get(b->top, "attribs"), i, CATALOG_NONE,
                                                  "attribs");
    }
    for (uint32_t i = 0; i < x->roles.n; i++) {
        struct crow_role *r = &x->roles.at[i];
        r->first_attribute = (uint32_t)x->attributes.n;
        r->n_attributes = crow_attributes_collect(x, value_get(r->at, "attribs"), r->barclamp, i,
                                                  r->name);
        const struct value *provides = crow_list(x, value_get(r->at, "provides"), r->name);
        const struct value *attaches = crow_list(x, value_get(r->at, "attaches"), r->name);
        for (uint32_t k = 0; k < provides->n; k++)
            if (crow_text(x, &provides->items[k]).n)
                strmap_put(&x->known,
                           str_of(crow_name(x, &x->role_names, &provides->items[k], r->name)), i);
        for (uint32_t k = 0; k < attaches->n; k++) {
            uintptr_t to;
            struct str name = crow_text(x, &attaches->items[k]);
            if (strmap_get(&x->role_index, name, &to)) {
                vec_push(&x->roles.at[to].attached, r->name);
                crow_tell(x, IMPORT_CHANGED, &attaches->items[k], r->name,
                          "attaches itself to %s, which is written as: %s requires %s",
                          crow_shown(x, name), x->roles.at[to].name, r->name);
            } else {
                crow_tell(x, IMPORT_FAULT, &attaches->items[k], r->name,
                          "attaches itself to %s, which is no role", crow_shown(x, name));
                x->barclamps.at[r->barclamp].lenient = true;
            }
        }
    }
}

/* --- from end to end --- */

static int maps_check(struct crow *x, struct err *e)
{
    for (size_t i = 0; i < x->n_maps; i++) {
        struct str jig = x->maps[i].jig, to = x->maps[i].implementation;
        if (!text_is_name(to))
            return err_set(e, ERR_INVALID, "\"%.*s\" cannot be an implementation",
                           (int)text_utf8_prefix(to.s, to.n < 64 ? to.n : 64), to.s);
        if (str_is(jig, "noop") && !str_is(to, "noop"))
            return err_set(e, ERR_INVALID, "the jig noop must stay a noop");
        if (strmap_get(&x->jig_index, jig, NULL))
            continue;
        SCOPED_BUF(all);
        for (size_t k = 0; k < x->jigs.n && k < 16; k++)
            buf_printf(&all, "%s%s", k ? ", " : "", crow_shown(x, x->jigs.at[k].name));
        (void)err_set(e, ERR_UNKNOWN_NAME, "no barclamp has or uses a jig \"%.*s\"",
                      (int)text_utf8_prefix(jig.s, jig.n < 64 ? jig.n : 64), jig.s);
        return all.len ? err_hint(e, "there are: %s", all.data) : -ERR_UNKNOWN_NAME;
    }
    return 0;
}

static void result_write(struct crow *x)
{
    struct import_counts *n = &x->out->counts;

    for (size_t i = 0; i < x->roles.n; i++)
        crow_write_role(x, &x->roles.at[i], crow_role_value(x, &x->roles.at[i]));
    /* Barclamps last: by then their faults are known. */
    for (uint32_t i = 0; i < x->barclamps.n; i++)
        crow_write_barclamp(x, i);
    for (size_t i = 0; i < x->scripts.n; i++) {
        const struct crow_script *script = &x->scripts.at[i];
        if (!script->seen)
            crow_tell_at(x, IMPORT_LEFT_OUT, script->path, 0, "this script",
                         strmap_get(&x->role_index, script->role, NULL)
                             ? "its role does not use the jig script"
                             : "there is no role it could belong to");
    }
    n->files = n->barclamps = (uint32_t)x->barclamps.n;
    n->roles = (uint32_t)x->roles.n;
    n->jigs = (uint32_t)x->jigs.n;
}

static int refuse_empty(const struct crow *x, struct err *e)
{
    int r = err_set(e, ERR_INVALID, "there is no barclamp in what is to be imported");
    if (x->lines.n)
        (void)err_hint(e, "%.*s: %s", (int)x->lines.at[0].file.n, x->lines.at[0].file.s,
                       x->lines.at[0].why);
    return r;
}

void crow_done(struct crow *x)
{
    for (size_t i = 0; i < x->roles.n; i++)
        vec_done(&x->roles.at[i].attached);
    vec_done(&x->lines);
    vec_done(&x->files);
    vec_done(&x->barclamps);
    vec_done(&x->roles);
    vec_done(&x->jigs);
    vec_done(&x->attributes);
    vec_done(&x->scripts);
    crow_names_done(&x->barclamp_names);
    crow_names_done(&x->role_names);
    crow_names_done(&x->jig_names);
    strmap_done(&x->known);
    strmap_done(&x->role_index);
    strmap_done(&x->jig_index);
    strmap_done(&x->by_owned);
    arena_done(&x->scratch);
}

int catalog_import_crowbar(const struct catalog_source *source, const struct import_map *maps,
                           size_t n_maps, struct catalog_import **ret_import, struct err *e)
{
    SCOPED(catalog_import) *out = xcalloc(1, sizeof *out);
    struct crow x = {.out = out, .mem = &out->mem, .source = source, .maps = maps};
    int r;

    if (source->n > CATALOG_MAX_FILES)
        return err_set(e, ERR_LIMIT, "more than %d files to import", CATALOG_MAX_FILES);
    x.n_maps = n_maps;
    arena_init(&out->mem);
    arena_init(&x.scratch);
    x.lines_of = arena_new(&x.scratch, struct crow_lines, source->n);
    source_read(&x);
    if (!x.barclamps.n)
        r = refuse_empty(&x, e);
    else
        r = maps_check(&x, e);
    if (!r) {
        source_connect(&x);
        result_write(&x);
        crow_finish(&x);
        *ret_import = out;
        out = NULL;
    }
    crow_done(&x);
    return r;
}
