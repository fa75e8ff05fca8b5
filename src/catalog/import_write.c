/* import_write.c - the files of an imported catalog, made to be read
 *
 * DIR/barclamp.yaml and DIR/roles/ROLE.yaml, each with where it comes from.  Comments at the head
 * of a source file (whose it is, and its licence) and right above a role go along.  What our format
 * has no field for but people may look for (display name, home page, licence) stays as comments.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

#include "base/text.h"
#include "base/yaml.h"

/* --- comments --- */

static struct str trimmed(struct str line)
{
    while (line.n && (line.s[0] == ' ' || line.s[0] == '\t'))
        line = (struct str){line.s + 1, line.n - 1};
    while (line.n && (line.s[line.n - 1] == ' ' || line.s[line.n - 1] == '\r'))
        line.n--;
    return line;
}

static bool is_comment(struct str line)
{
    return line.n && line.s[0] == '#';
}

/* Lines first..last-1 of a file that are comments. */
static void comments_put(struct crow *x, struct buf *b, uint32_t file, uint32_t first,
                         uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        struct str line = trimmed(crow_line(x, file, i));
        buf_put(b, line.s, line.n);
        buf_putc(b, '\n');
    }
}

void crow_comments_head(struct crow *x, struct buf *b, uint32_t file)
{
    uint32_t end = 1;
    while (is_comment(trimmed(crow_line(x, file, end))))
        end++;
    comments_put(x, b, file, 1, end);
}

void crow_comments_above(struct crow *x, struct buf *b, uint32_t file, uint32_t line)
{
    uint32_t first = line;
    while (first > 1 && is_comment(trimmed(crow_line(x, file, first - 1))))
        first--;
    if (first > 1) /* those at the head are the barclamp's */
        comments_put(x, b, file, first, line);
}

/* Bytes of one character that a comment may hold as it is; 0 for what ends lines, controls, and is
 * no text: paths may be anything. */
static size_t comment_char(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.s;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

    if (n == 1)
        return p[0] >= 0x20 && p[0] != 0x7F;
    if (n > s.n || text_utf8_prefix(s.s, n) != n)
        return 0;
    bool control = p[0] == 0xC2 && p[1] < 0xA0;
    bool separator = p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9);
    bool mark = p[0] == 0xEF && (p[1] == 0xBB || p[1] == 0xBF);
    return control || separator || mark ? 0 : n;
}

void crow_comment(struct buf *b, const char *label, struct str text)
{
    struct str parts[] = {str_of("# "), str_of(label), text};

    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (size_t i = 0; i < parts[k].n;) {
            size_t n = comment_char((struct str){parts[k].s + i, parts[k].n - i});
            buf_put(b, n ? parts[k].s + i : " ", n ? n : 1);
            i += n ? n : 1;
        }
    buf_putc(b, '\n');
}

/* --- files --- */

void crow_file_add(struct crow *x, const char *path, const struct buf *b)
{
    struct catalog_file f = {str_of(path), {arena_strndup(x->mem, b->data, b->len), b->len}};
    vec_push(&x->files, f);
}

static struct str source_path(const struct crow *x, uint32_t file)
{
    return x->source->files[file].path;
}

void crow_write_role(struct crow *x, const struct crow_role *r, const struct value *role)
{
    const struct crow_barclamp *b = &x->barclamps.at[r->barclamp];
    SCOPED_BUF(text);

    crow_comment(&text, "Imported from ", source_path(x, b->file));
    crow_comments_above(x, &text, b->file, r->at->line);
    yaml_write(&text, role);
    crow_file_add(x, arena_printf(x->mem, "%s/roles/%s.yaml", b->name, r->name), &text);
}

/* --- jigs --- */

static const struct import_map *map_of(const struct crow *x, struct str jig)
{
    for (size_t i = x->n_maps; i-- > 0;)
        if (str_eq(x->maps[i].jig, jig))
            return &x->maps[i];
    return NULL;
}

static void jig_rest(struct crow *x, const struct crow_jig *j, const char *name)
{
    for (uint32_t i = 0; value_is(j->at, VALUE_MAP) && i < j->at->n; i++) {
        const struct member *m = &j->at->members[i];
        struct str key = {m->key, m->key_n};
        if (!str_is(key, "name") && !str_is(key, "description") && !str_is(key, "implementor"))
            crow_tell(x, IMPORT_LEFT_OUT, &m->v, arena_printf(&x->scratch, "jig %s", name),
                      "%s %s: %s", crow_shown(x, key), crow_shown(x, crow_text(x, &m->v)),
                      str_is(key, "class") ? "a class of Ruby" : "jigs of ours have no such field");
    }
}

/* Who executes it: what the caller says, else our own where we have one; else it is off. */
static void jig_runs(struct crow *x, const struct crow_jig *j, const char *name, struct value *v)
{
    const struct import_map *map = map_of(x, j->name);
    const struct value *at = j->at ? j->at : j->first;

    if (map)
        value_set(x->mem, v, "implementation", value_str(x->mem, map->implementation));
    else if (str_is(j->name, "script"))
        value_put_text(x->mem, v, "implementation", "shell");
    else if (!str_is(j->name, "noop") && !str_is(j->name, "test")) {
        value_put_bool(x->mem, v, "active", false);
        crow_tell(x, IMPORT_CHANGED, at, arena_printf(&x->scratch, "jig %s", name),
                  "is off: nothing of ours executes it; map it to an implementation, or write one");
    }
}

static void jig_write(struct crow *x, struct buf *b, const struct crow_jig *j,
                      const struct value *at)
{
    struct value *v = value_map(&x->scratch), *list = value_list(&x->scratch);
    const struct value *implementor = value_get(j->at, "implementor");
    struct value given = *at;
    uintptr_t role;
    SCOPED_BUF(text);

    given.kind = VALUE_STRING;
    given.s = j->name.s;
    given.n = (uint32_t)j->name.n;
    const char *name = crow_name(x, &x->jig_names, &given, "jig");
    value_put_text(&x->scratch, v, "name", name);
    jig_runs(x, j, name, v);
    if (crow_text(x, implementor).n) {
        if (strmap_get(&x->role_index, crow_text(x, implementor), &role))
            value_put_text(&x->scratch, v, "implementor", x->roles.at[role].name);
        else
            crow_tell(x, IMPORT_LEFT_OUT, implementor, arena_printf(&x->scratch, "jig %s", name),
                      "is implemented by %s, which is no role",
                      crow_shown(x, crow_text(x, implementor)));
    }
    jig_rest(x, j, name);
    value_add(&x->scratch, list, v);
    yaml_write(&text, list);
    if (crow_text(x, value_get(j->at, "description")).n)
        crow_comment(b, "", crow_text(x, value_get(j->at, "description")));
    buf_put(b, text.data, text.len);
}

static void jigs_write(struct crow *x, struct buf *b, uint32_t barclamp)
{
    bool any = false;

    for (size_t i = 0; i < x->jigs.n; i++) {
        const struct crow_jig *j = &x->jigs.at[i];
        if (j->barclamp != barclamp)
            continue;
        if (!any)
            buf_puts(b, "jigs:\n");
        any = true;
        jig_write(x, b, j, j->at ? j->at : j->first);
    }
}

/* --- barclamps --- */

/* Fields of the barclamp that are comments now, and everything else of the file. */
static void barclamp_rest(struct crow *x, const struct crow_barclamp *c, struct buf *b)
{
    SCOPED_BUF(kept);

    for (uint32_t i = 0; i < c->head->n; i++) {
        const struct member *m = &c->head->members[i];
        struct str key = {m->key, m->key_n};
        if (str_is(key, "name") || str_is(key, "description") || str_is(key, "version"))
            continue;
        buf_printf(&kept, "%s%s", kept.len ? ", " : "", crow_shown(x, key));
        crow_comment(b, arena_printf(&x->scratch, "%s: ", crow_shown(x, key)), crow_text(x, &m->v));
    }
    if (kept.len)
        crow_tell(x, IMPORT_CHANGED, c->head, c->name, "kept as comments: %s", kept.data);
    for (uint32_t i = 0; i < c->top->n; i++) {
        const struct member *m = &c->top->members[i];
        struct str key = {m->key, m->key_n};
        if (!str_is(key, "barclamp") && !str_is(key, "roles") && !str_is(key, "attribs") &&
            !str_is(key, "jigs"))
            crow_tell_at(x, IMPORT_LEFT_OUT, source_path(x, c->file), m->key_line, c->name,
                         arena_printf(&x->scratch, "%s: catalogs of ours have nothing like it",
                                      crow_shown(x, key)));
    }
}

void crow_write_barclamp(struct crow *x, uint32_t barclamp)
{
    const struct crow_barclamp *c = &x->barclamps.at[barclamp];
    const char *what = arena_printf(&x->scratch, "nodes, by %s", c->name);
    struct str version = crow_text(x, value_get(c->head, "version"));
    struct value *v = value_map(&x->scratch), *part;
    SCOPED_BUF(text);

    crow_comments_head(x, &text, c->file);
    crow_comment(&text, "Imported from ", source_path(x, c->file));
    barclamp_rest(x, c, &text);
    value_put_text(&x->scratch, v, "barclamp", c->name);
    if (version.n && version.n <= CATALOG_MAX_TEXT)
        value_set(&x->scratch, v, "version", value_str(&x->scratch, version));
    if ((part = crow_description(x, value_get(c->head, "description"), c->name)))
        value_set(&x->scratch, v, "description", part);
    if (c->lenient)
        value_put_bool(&x->scratch, v, "lenient", true);
    if ((part = crow_attributes_value(x, c->first_attribute, c->n_attributes, what,
                                      &x->out->counts.node_attributes)))
        value_set(&x->scratch, v, "attributes", part);
    yaml_write(&text, v);
    jigs_write(x, &text, barclamp);
    crow_file_add(x, arena_printf(x->mem, "%s/barclamp.yaml", c->name), &text);
}
