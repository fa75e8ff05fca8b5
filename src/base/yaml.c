/* yaml.c - libfyaml's events to values
 *
 * libfyaml scans and reports events; everything that gives them meaning is here: types, duplicate
 * keys, merge keys, aliases and the limits.  Its document tree is not used: that is quadratic in
 * the keys of a map and expands aliases.  Values under construction lie on one stack, as in json.c.
 *
 * An alias shares its value, so that memory stays small; but whoever walks the tree walks the
 * shared part each time.  Each value's weight (values below it, aliases expanded) and height are
 * known when it is complete, and the limits count those.
 *
 * Places: libfyaml counts from 0 and points behind quotes and the signs of aliases, and at the
 * first line of a block scalar instead of its | or >; event_pos() undoes that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <assert.h>
#include <libfyaml.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena_i.h"
#include "base/map.h"
#include "base/source_i.h"
#include "base/text.h"
#include "base/utf8_i.h"
#include "base/value_i.h"
#include "base/yaml_i.h"

enum { YAML_DEPTH_DEFAULT = 200, YAML_VALUES_DEFAULT = 1000 * 1000, YAML_VALUES_MOST = 1 << 30 };
#define NO_ANCHOR UINT32_MAX

struct yaml_anchor {
    struct value v;
    uint64_t weight;
    uint32_t height;
    bool open; /* the value it names is not complete yet */
};
struct yaml_level { /* an open container */
    size_t at;      /* where it is on the stack; its children follow */
    size_t merge;   /* where its << is, 0 for none */
    uint64_t weight;
    uint32_t height;
    uint32_t anchor;
    bool want_key;
};
struct yaml_reader {
    struct arena *arena;
    struct fy_parser *parser;
    struct source text;
    struct err *e;
    uint64_t max_values, values;
    uint32_t max_depth;
    uint16_t source;
    bool had_document;
    struct text_pool pool;
    VEC(struct member) stack;
    VEC(struct yaml_level) open;
    VEC(struct yaml_anchor) anchors;
    struct strmap names; /* of anchors, to their number */
    /* The place of the latest event; places only move forward, so counting lines is linear. */
    size_t pos, end_pos, line, column;
};

/* --- places and errors --- */

static void pos_set(struct yaml_reader *r, size_t pos)
{
    if (pos > r->text.n)
        pos = r->text.n;
    if (pos <= r->pos)
        return;
    for (size_t i = r->pos; i < pos; i++) {
        unsigned char c = (unsigned char)r->text.text[i];
        if (c == '\n') {
            r->line++;
            r->column = 1;
        } else {
            r->column += (c & 0xC0) != 0x80;
        }
    }
    r->pos = pos;
}

/* Where between the last event and the content at `pos` the block scalar says what it is. */
static size_t block_sign(const struct yaml_reader *r, char sign, size_t pos)
{
    bool comment = false;
    for (size_t i = r->end_pos; i < pos && i < r->text.n; i++) {
        char c = r->text.text[i];
        if (c == sign && !comment)
            return i;
        comment = c != '\n' && (comment || c == '#');
    }
    return pos;
}

/* Moves the place to the event.  An empty value has none: it stays where the last event was. */
static void event_pos(struct yaml_reader *r, struct fy_event *ev)
{
    const struct fy_mark *start = fy_event_start_mark(ev), *end = fy_event_end_mark(ev);
    if (!start)
        return;
    size_t pos = start->input_pos;
    char before = pos > 0 && pos <= r->text.n ? r->text.text[pos - 1] : '\0';
    if (ev->type == FYET_ALIAS && before == '*')
        pos--;
    if (ev->type == FYET_SCALAR) {
        enum fy_scalar_style style = fy_token_scalar_style(ev->scalar.value);
        bool quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
        if (quoted && (before == '"' || before == '\''))
            pos--;
        if (style == FYSS_LITERAL || style == FYSS_FOLDED)
            pos = block_sign(r, style == FYSS_LITERAL ? '|' : '>', pos);
    }
    pos_set(r, pos);
    if (end && end->input_pos > r->end_pos && end->input_pos <= r->text.n)
        r->end_pos = end->input_pos;
}

/* Points the error that was just set at the latest event. */
static int yaml_here(struct yaml_reader *r, int rc)
{
    source_point(&r->text, r->pos, r->e);
    return rc;
}

/* The scanner's own complaint, in its words but at our place. */
static int yaml_scanner_error(struct yaml_reader *r, struct fy_diag *diag)
{
    void *iter = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &iter);
    if (!first || !first->msg)
        return yaml_here(r, err_set(r->e, ERR_SYNTAX, "not valid YAML"));
    int rc = err_set(r->e, ERR_SYNTAX, "%s", first->msg);
    size_t pos = 0;
    for (int line = 1; line < first->line && pos < r->text.n; line++) {
        const char *nl = memchr(r->text.text + pos, '\n', r->text.n - pos);
        pos = nl ? (size_t)(nl - r->text.text) + 1 : r->text.n;
    }
    for (int column = 1; column < first->column && pos < r->text.n; column++) {
        if (r->text.text[pos] == '\n')
            break;
        size_t len = utf8_sequence(r->text.text + pos, r->text.n - pos);
        pos += len ? len : 1;
    }
    source_point(&r->text, pos, r->e);
    if (strstr(first->msg, "tab"))
        err_hint(r->e, "indent with spaces");
    return rc;
}

static int yaml_limit_values(struct yaml_reader *r)
{
    int rc = err_set(r->e, ERR_LIMIT, "more than %llu values, counting what aliases repeat",
                     (unsigned long long)r->max_values);
    yaml_here(r, rc);
    err_hint(r->e, "split the file, or use fewer aliases of aliases");
    return rc;
}

static int yaml_limit_depth(struct yaml_reader *r)
{
    int rc = err_set(r->e, ERR_LIMIT, "nested more than %u levels deep", r->max_depth);
    yaml_here(r, rc);
    err_hint(r->e, "flatten the document; at most %u levels are read here", r->max_depth);
    return rc;
}

/* --- anchors --- */

static uint32_t anchor_new(struct yaml_reader *r, struct fy_token *name)
{
    if (!name)
        return NO_ANCHOR;
    size_t n = 0;
    const char *s = fy_token_get_text(name, &n);
    uint32_t at = (uint32_t)r->anchors.n;
    vec_add(&r->anchors)->open = true;
    strmap_put(&r->names, (struct str){s, n}, at); /* a later anchor of the same name takes over */
    return at;
}

static void anchor_close(struct yaml_reader *r, uint32_t anchor, const struct value *v,
                         uint64_t weight, uint32_t height)
{
    if (anchor == NO_ANCHOR)
        return;
    struct yaml_anchor *a = &r->anchors.at[anchor];
    *a = (struct yaml_anchor){.v = *v, .weight = weight, .height = height};
    a->v.cap = 0;
}

static int anchor_unknown(struct yaml_reader *r, struct str name)
{
    int rc = err_set(r->e, ERR_SYNTAX, "alias *%.*s has no anchor above it",
                     (int)utf8_cut(name.s, name.n, 64), name.s);
    yaml_here(r, rc);
    VEC(const char *) known = {0};
    for (size_t i = 0; i < r->names.n; i++)
        vec_push(&known, r->names.at[i].key);
    const char *near = text_nearest(name, known.at, known.n);
    if (near)
        err_hint(r->e, "did you mean *%s?", near);
    vec_done(&known);
    return rc;
}

/* --- values --- */

static struct yaml_level *yaml_level(struct yaml_reader *r)
{
    return r->open.n ? &r->open.at[r->open.n - 1] : NULL;
}

static bool yaml_wants_key(struct yaml_reader *r)
{
    return r->open.n && r->open.at[r->open.n - 1].want_key;
}

/* Where the next value goes: the member whose key was just read, or a new item. */
static struct value *yaml_slot(struct yaml_reader *r)
{
    struct yaml_level *l = yaml_level(r);
    if (!l || r->stack.at[l->at].v.kind == VALUE_LIST)
        vec_add(&r->stack);
    struct value *v = &r->stack.at[r->stack.n - 1].v;
    value_place(v, r->source, r->line, r->column);
    return v;
}

/* A value of the innermost container is complete. */
static void yaml_complete(struct yaml_reader *r, uint64_t weight, uint32_t height)
{
    struct yaml_level *l = yaml_level(r);
    if (!l)
        return;
    l->weight += weight;
    if (l->merge &&
        l->merge == r->stack.n - 1) { /* its members go one level up, or two from a list */
        uint32_t up = r->stack.at[l->merge].v.kind == VALUE_LIST ? 2 : 1;
        height = height > up ? height - up : 0;
    }
    if (height + 1 > l->height)
        l->height = height + 1;
    l->want_key = r->stack.at[l->at].v.kind == VALUE_MAP;
}

static int yaml_count(struct yaml_reader *r, uint64_t weight)
{
    r->values += weight;
    return r->values > r->max_values ? yaml_limit_values(r) : 0;
}

static void yaml_text(struct yaml_reader *r, struct str s, const char **ret_s, uint32_t *ret_n)
{
    char *copy = arena_pool_take(r->arena, &r->pool, s.n);
    memcpy(copy, s.s, s.n);
    *ret_s = copy;
    *ret_n = (uint32_t)s.n;
}

static int yaml_tag_refused(struct yaml_reader *r, struct str tag, const char *why)
{
    int rc = err_set(r->e, ERR_INVALID, "tag %.*s %s", (int)utf8_cut(tag.s, tag.n, 80), tag.s, why);
    yaml_here(r, rc);
    err_hint(r->e, "remove the tag; !!str !!int !!float !!bool !!null !!map !!seq are understood");
    return rc;
}

/* The part behind the core prefix, as "str"; empty for "!", which only says "do not guess". */
static bool tag_core(struct fy_token *token, struct str *ret_whole, struct str *ret_name)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    size_t n = 0, skip = sizeof prefix - 1;
    const char *s = fy_token_get_text(token, &n);
    *ret_whole = (struct str){s ? s : "", s ? n : 0};
    if (str_is(*ret_whole, "!")) {
        *ret_name = (struct str){"", 0};
        return true;
    }
    if (n < skip || memcmp(s, prefix, skip) != 0)
        return false;
    *ret_name = (struct str){s + skip, n - skip};
    return true;
}

static int yaml_tagged(struct yaml_reader *r, struct fy_token *token, struct str s, struct value *v)
{
    static const struct {
        const char *name;
        enum value_kind kind;
    } core[] = {{"str", VALUE_STRING}, {"", VALUE_STRING},   {"int", VALUE_INT},
                {"float", VALUE_REAL}, {"bool", VALUE_BOOL}, {"null", VALUE_NULL}};
    struct str whole, name;
    double real;
    if (!tag_core(token, &whole, &name))
        return yaml_tag_refused(r, whole, "is not supported");
    for (size_t i = 0; i < sizeof core / sizeof *core; i++) {
        if (!str_is(name, core[i].name))
            continue;
        v->kind = VALUE_STRING;
        if (core[i].kind == VALUE_STRING)
            return 0;
        if (core[i].kind == VALUE_REAL && yaml_plain_real(s, &real)) {
            v->kind = VALUE_REAL;
            v->r = real;
            return 0;
        }
        if (core[i].kind == yaml_plain_resolve(s, v))
            return 0;
        return yaml_tag_refused(r, whole, "does not fit the value");
    }
    return yaml_tag_refused(r, whole, "is not supported here");
}

static int yaml_key(struct yaml_reader *r, struct str s, bool plain, uint32_t anchor)
{
    struct yaml_level *l = yaml_level(r);
    size_t at = r->stack.n;
    if (plain && s.n == 0) {
        int rc = yaml_here(r, err_set(r->e, ERR_SYNTAX, "a key is missing"));
        err_hint(r->e, "write \"\" for a key that is empty");
        return rc;
    }
    struct member *m = vec_add(&r->stack);
    value_place(&m->v, r->source, r->line, r->column);
    m->key_line = m->v.line;
    m->key_column = m->v.column;
    m->v.cap = (uint32_t)r->pos; /* on loan until the map is sealed, for the error on duplicates */
    yaml_text(r, s, &m->key, &m->key_n);
    l->want_key = false;
    struct value text = m->v;
    text.kind = VALUE_STRING;
    text.s = m->key;
    text.n = m->key_n;
    anchor_close(r, anchor, &text, 1, 0);
    if (!plain || !str_is(s, "<<"))
        return 0;
    if (l->merge) {
        int rc = yaml_here(r, err_set(r->e, ERR_SYNTAX, "a second << in the same map"));
        err_hint(r->e, "merge a list: <<: [*first, *second]");
        return rc;
    }
    l->merge = at;
    return 0;
}

static int yaml_scalar(struct yaml_reader *r, struct fy_event *ev)
{
    size_t n = 0;
    const char *raw = fy_token_get_text(ev->scalar.value, &n);
    struct str s = {raw ? raw : "", raw ? n : 0};
    bool plain = !ev->scalar.tag && fy_token_scalar_style(ev->scalar.value) == FYSS_PLAIN;
    uint32_t anchor = anchor_new(r, ev->scalar.anchor);
    int rc = yaml_count(r, 1);
    if (rc)
        return rc;
    if (yaml_wants_key(r)) {
        struct value ignored = {0};
        if (ev->scalar.tag && (rc = yaml_tagged(r, ev->scalar.tag, s, &ignored)))
            return rc;
        return yaml_key(r, s, plain, anchor);
    }
    struct value *v = yaml_slot(r);
    v->kind = VALUE_STRING;
    if (ev->scalar.tag)
        rc = yaml_tagged(r, ev->scalar.tag, s, v);
    else if (plain)
        (void)yaml_plain_resolve(s, v);
    if (rc)
        return rc;
    if (v->kind == VALUE_STRING)
        yaml_text(r, s, &v->s, &v->n);
    anchor_close(r, anchor, v, 1, 0);
    yaml_complete(r, 1, 0);
    return 0;
}

static int yaml_alias(struct yaml_reader *r, struct fy_event *ev)
{
    size_t n = 0;
    const char *s = fy_token_get_text(ev->alias.anchor, &n);
    struct str name = {s ? s : "", s ? n : 0};
    uintptr_t at;
    if (yaml_wants_key(r))
        return yaml_here(r, err_set(r->e, ERR_SYNTAX, "an alias cannot be a key"));
    if (!strmap_get(&r->names, name, &at))
        return anchor_unknown(r, name);
    struct yaml_anchor a = r->anchors.at[at];
    if (a.open)
        return yaml_here(r, err_set(r->e, ERR_CYCLE, "alias *%.*s is inside the value it names",
                                    (int)utf8_cut(name.s, name.n, 64), name.s));
    int rc = yaml_count(r, a.weight);
    if (rc)
        return rc;
    if (r->open.n + a.height > r->max_depth)
        return yaml_limit_depth(r);
    struct value *v = yaml_slot(r), placed = *v;
    *v = a.v;
    v->cap = placed.cap;
    v->line = placed.line;
    v->column = placed.column;
    yaml_complete(r, a.weight, a.height);
    return 0;
}

/* --- containers --- */

static int yaml_open(struct yaml_reader *r, enum value_kind kind, struct fy_token *tag,
                     struct fy_token *anchor)
{
    struct str whole, name;
    const char *right = kind == VALUE_MAP ? "map" : "seq";
    if (yaml_wants_key(r)) {
        int rc = yaml_here(
            r, err_set(r->e, ERR_SYNTAX, "a key must be text, not a %s", value_kind_name(kind)));
        err_hint(r->e, "put text that starts with [ or { into quotes");
        return rc;
    }
    if (tag) {
        if (!tag_core(tag, &whole, &name))
            return yaml_tag_refused(r, whole, "is not supported");
        if (name.n && !str_is(name, right))
            return yaml_tag_refused(r, whole, "is not supported here");
    }
    int rc = yaml_count(r, 1);
    if (rc)
        return rc;
    if (r->open.n >= r->max_depth)
        return yaml_limit_depth(r);
    yaml_slot(r)->kind = (uint8_t)kind;
    vec_push(&r->open, ((struct yaml_level){.at = r->stack.n - 1,
                                            .weight = 1,
                                            .height = 1,
                                            .anchor = anchor_new(r, anchor),
                                            .want_key = kind == VALUE_MAP}));
    return 0;
}

/* Adds the members of a merged map that are not there yet. */
static void yaml_merge_map(struct value *into, const struct value *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        if (value_find(into, member_key(&from->members[i])) >= 0)
            continue;
        into->members[into->n] = from->members[i];
        value_index_add(into, into->n);
        into->n++;
    }
}

/* Completes a sealed map with what its << names; earlier maps of a list win over later ones. */
static int yaml_merge(struct yaml_reader *r, struct value *map, const struct value *merge,
                      size_t key_pos)
{
    const struct value *maps = merge;
    uint32_t n = 1;
    uint64_t room = map->n;
    if (merge->kind == VALUE_LIST) {
        maps = merge->items;
        n = merge->n;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (maps[i].kind != VALUE_MAP) {
            int rc = err_set(r->e, ERR_SYNTAX, "<< merges a map or a list of maps, found %s",
                             value_kind_name((enum value_kind)maps[i].kind));
            source_point(&r->text, key_pos, r->e);
            err_hint(r->e, "quote the key if \"<<\" is meant as text");
            return rc;
        }
        room += maps[i].n;
    }
    struct value out = *map;
    out.n = 0;
    value_members_new(r->arena, &out, (uint32_t)room); /* the budget keeps it within 32 bits */
    yaml_merge_map(&out, map);
    for (uint32_t i = 0; i < n; i++)
        yaml_merge_map(&out, &maps[i]);
    *map = out;
    return 0;
}

static int yaml_duplicate(struct yaml_reader *r, const struct member *first,
                          const struct member *again)
{
    size_t line, column;
    source_locate(&r->text, first->v.cap, &line, &column);
    int rc = err_set(r->e, ERR_SYNTAX, "duplicate key \"%.*s\", first at %zu:%zu",
                     (int)utf8_cut(again->key, again->key_n, 100), again->key, line, column);
    source_point(&r->text, again->v.cap, r->e);
    err_hint(r->e, "remove one of the two");
    return rc;
}

static int yaml_close_map(struct yaml_reader *r, const struct yaml_level *l)
{
    struct member *children = r->stack.at + l->at + 1;
    struct value *v = &r->stack.at[l->at].v;
    uint32_t n = (uint32_t)(r->stack.n - l->at - 1), first, again;
    struct member merge = {0};
    if (l->merge) {
        struct member *m = r->stack.at + l->merge;
        merge = *m;
        memmove(m, m + 1, (size_t)(children + n - (m + 1)) * sizeof *m);
        n--;
    }
    if (!value_members_seal(r->arena, v, children, n, &first, &again))
        return yaml_duplicate(r, &children[first], &children[again]);
    if (!l->merge)
        return 0;
    return yaml_merge(r, v, &merge.v, merge.v.cap);
}

static int yaml_close(struct yaml_reader *r)
{
    struct yaml_level l = r->open.at[--r->open.n];
    struct value *v = &r->stack.at[l.at].v;
    uint32_t n = (uint32_t)(r->stack.n - l.at - 1);
    if (v->kind == VALUE_MAP) {
        int rc = yaml_close_map(r, &l);
        if (rc)
            return rc;
    } else if (n) {
        v->items = arena_take_raw(r->arena, n, sizeof *v->items);
        for (uint32_t i = 0; i < n; i++)
            v->items[i] = r->stack.at[l.at + 1 + i].v;
        v->n = n;
    }
    r->stack.n = l.at + 1;
    anchor_close(r, l.anchor, v, l.weight, l.height);
    yaml_complete(r, l.weight, l.height);
    return 0;
}

/* --- the stream --- */

static int yaml_document(struct yaml_reader *r)
{
    if (r->had_document) {
        int rc = yaml_here(r, err_set(r->e, ERR_SYNTAX, "a second document in one file"));
        err_hint(r->e, "keep one document per file: split it at ---");
        return rc;
    }
    r->had_document = true;
    return 0;
}

static int yaml_event(struct yaml_reader *r, struct fy_event *ev)
{
    event_pos(r, ev);
    switch (ev->type) {
    case FYET_DOCUMENT_START: return yaml_document(r);
    case FYET_SCALAR: return yaml_scalar(r, ev);
    case FYET_ALIAS: return yaml_alias(r, ev);
    case FYET_SEQUENCE_START:
        return yaml_open(r, VALUE_LIST, ev->sequence_start.tag, ev->sequence_start.anchor);
    case FYET_MAPPING_START:
        return yaml_open(r, VALUE_MAP, ev->mapping_start.tag, ev->mapping_start.anchor);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END: return yaml_close(r);
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END: break;
    }
    return 0;
}

/* libfyaml stops without a word at a byte that is not UTF-8 and at a NUL, which would cut a file
 * short: such text must not reach it. */
static int yaml_check_bytes(struct yaml_reader *r)
{
    size_t good = text_utf8_prefix(r->text.text, r->text.n);
    for (size_t i = 0; i < good; i++) {
        unsigned char c = (unsigned char)r->text.text[i];
        if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F) {
            int rc = err_set(r->e, ERR_SYNTAX, "control character 0x%02x", c);
            source_point(&r->text, i, r->e);
            err_hint(r->e, "write it as an escape inside double quotes");
            return rc;
        }
    }
    if (good == r->text.n)
        return 0;
    int rc = err_set(r->e, ERR_SYNTAX, "a byte that is not UTF-8");
    source_point(&r->text, good, r->e);
    err_hint(r->e, "save the file as UTF-8");
    return rc;
}

static void yaml_silent(struct fy_diag *diag, void *user, const char *text, size_t n)
{
    (void)diag, (void)user, (void)text, (void)n;
}

static int yaml_run(struct yaml_reader *r, struct fy_diag *diag)
{
    struct fy_parse_cfg cfg = {.diag = diag, .flags = FYPCF_SLOPPY_FLOW_INDENTATION};
    r->parser = fy_parser_create(&cfg);
    if (!r->parser || fy_parser_set_string(r->parser, r->text.text, r->text.n))
        return err_set(r->e, ERR_INTERNAL, "the YAML scanner did not start");
    struct fy_event *ev;
    int rc = 0;
    while (!rc && (ev = fy_parser_parse(r->parser)) != NULL) {
        rc = yaml_event(r, ev);
        fy_parser_event_free(r->parser, ev);
    }
    if (!rc && fy_parser_get_stream_error(r->parser))
        rc = yaml_scanner_error(r, diag);
    return rc;
}

int yaml_parse(struct arena *a, const char *text, size_t n, const struct yaml_options *o,
               struct value **ret_v, struct err *e)
{
    struct yaml_reader r = {.arena = a, .e = e, .line = 1, .column = 1};
    r.text = (struct source){o ? o->name : NULL, text ? text : "", n};
    r.max_depth = o && o->max_depth ? o->max_depth : YAML_DEPTH_DEFAULT;
    r.max_values = o && o->max_values ? o->max_values : YAML_VALUES_DEFAULT;
    if (r.max_values > YAML_VALUES_MOST)
        r.max_values = YAML_VALUES_MOST;
    r.source = o ? o->source : 0;
    if (n >= UINT32_MAX)
        return err_set(e, ERR_TOO_LARGE, "a YAML text of 4 GiB or more");
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        r.text.text += 3; /* a byte order mark says nothing in UTF-8 */
        r.text.n -= 3;
    }
    int rc = yaml_check_bytes(&r);
    if (rc)
        return rc;
    struct fy_diag_cfg silent = {.output_fn = yaml_silent, .level = FYET_ERROR, .module_mask = ~0u};
    struct fy_diag *diag = fy_diag_create(&silent);
    if (!diag)
        return err_set(e, ERR_INTERNAL, "the YAML scanner did not start");
    fy_diag_set_collect_errors(diag, true);
    rc = yaml_run(&r, diag);
    if (!rc) {
        struct value *top = arena_new(a, struct value,
                                      1); /* all-zero is the null of an empty file */
        if (r.stack.n)
            *top = r.stack.at[0].v;
        *ret_v = top;
    }
    if (r.parser)
        fy_parser_destroy(r.parser);
    fy_diag_destroy(diag);
    strmap_done(&r.names);
    vec_done(&r.stack);
    vec_done(&r.open);
    vec_done(&r.anchors);
    return rc;
}
