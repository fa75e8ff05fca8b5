/* yaml.c - YAML text to values, by way of libfyaml's events
 *
 * libfyaml scans; this file feeds it, undoes its oddities and passes plain events to yaml_tree.c.
 * Its document tree is not used: that is quadratic in the keys of a map and expands aliases.
 *
 * The oddities: it stops without a word at a NUL and at bytes that are not UTF-8; it counts from 0
 * in events and from 1 in errors; its marks point behind quotes and the signs of aliases, and at
 * the first line of a block scalar instead of its | or >; an empty value has no mark; it damages
 * the text of some scalars (yaml_scalar.c); it talks to stderr unless given somewhere else to talk
 * to.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <libfyaml.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/utf8_i.h"
#include "base/yaml_i.h"

enum { YAML_DEPTH_DEFAULT = 200, YAML_VALUES_DEFAULT = 1000 * 1000, YAML_VALUES_MOST = 1 << 30 };

struct yaml_reader {
    struct source text;
    struct err *e;
    struct yaml_tree tree;
    bool had_document;
    /* The place of the latest event.  Places only move forward, so that counting lines is linear.
     */
    size_t pos, line, column;
    size_t end_pos;    /* where the latest event that has an end ended */
    struct buf scalar; /* the text of the latest quoted or block scalar */
};

/* --- places --- */

static void place_move(struct yaml_reader *r, size_t pos)
{
    for (size_t i = r->pos; i < pos && i < r->text.n; i++) {
        unsigned char c = (unsigned char)r->text.text[i];
        if (c == '\n') {
            r->line++;
            r->column = 1;
        } else {
            r->column += (c & 0xC0) != 0x80;
        }
        r->pos = i + 1;
    }
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
static void place_event(struct yaml_reader *r, struct fy_event *ev)
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
    place_move(r, pos);
    if (end && end->input_pos > r->end_pos)
        r->end_pos = end->input_pos;
}

/* --- events --- */

static struct str token_text(struct fy_token *token)
{
    size_t n = 0;
    const char *s = token ? fy_token_get_text(token, &n) : NULL;
    return (struct str){s, s ? n : 0};
}

static int quoted_text(struct yaml_reader *r, size_t pos, struct str *ret_text)
{
    if (!yaml_quoted_text(&r->text, pos, &r->scalar)) {
        int rc = err_set(r->e, ERR_SYNTAX, "malformed quoted text");
        source_point(&r->text, r->pos, r->e);
        return rc;
    }
    *ret_text = buf_str(&r->scalar);
    return 0;
}

/* r->pos is at the sign; `theirs` is what libfyaml made of it. */
static int block_text(struct yaml_reader *r, size_t content, struct str theirs,
                      struct str *ret_text)
{
    struct yaml_block b = {.content = content, .parent = yaml_tree_column(&r->tree)};
    b.folded = r->text.text[r->pos] == '>';
    for (size_t i = r->pos + 1; i < r->text.n && i < r->pos + 3; i++) {
        char c = r->text.text[i];
        if (c == '+' || c == '-')
            b.chomp = c;
        else if (c >= '1' && c <= '9')
            b.indicator = (uint32_t)(c - '0');
        else
            break;
    }
    yaml_block_text(&r->text, &b, &r->scalar);
    *ret_text = buf_str(&r->scalar);
    theirs.n = theirs.s ? strnlen(theirs.s, theirs.n) : 0; /* nothing at the end is a NUL to them */
    if (yaml_block_agrees(*ret_text, theirs))
        return 0;
    int rc = err_set(r->e, ERR_SYNTAX, "a block of text that is not indented");
    source_point(&r->text, r->pos, r->e);
    err_hint(r->e, "indent the text deeper than its key, or write \"\" for no text");
    return rc;
}

/* The text of a scalar, from the source wherever libfyaml could have damaged it. */
static int scalar_text(struct yaml_reader *r, struct fy_event *ev, struct str *ret_text)
{
    const struct fy_mark *start = fy_event_start_mark(ev);
    enum fy_scalar_style style = fy_token_scalar_style(ev->scalar.value);
    if (start && (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED))
        return quoted_text(r, start->input_pos, ret_text);
    struct str theirs = token_text(ev->scalar.value);
    if (start && (style == FYSS_LITERAL || style == FYSS_FOLDED))
        return block_text(r, start->input_pos, theirs, ret_text);
    *ret_text = theirs;
    return 0;
}

static int yaml_document(struct yaml_reader *r)
{
    if (r->had_document) {
        int rc = err_set(r->e, ERR_SYNTAX, "a second document in one file");
        source_point(&r->text, r->pos, r->e);
        err_hint(r->e, "keep one document per file: split it at ---");
        return rc;
    }
    r->had_document = true;
    return 0;
}

static int yaml_event(struct yaml_reader *r, struct fy_event *ev)
{
    place_event(r, ev);
    struct yaml_event out = {.pos = r->pos, .line = r->line, .column = r->column};
    int rc;
    switch (ev->type) {
    case FYET_DOCUMENT_START: return yaml_document(r);
    case FYET_SCALAR:
        out.kind = YAML_SCALAR;
        rc = scalar_text(r, ev, &out.text);
        if (rc)
            return rc;
        out.anchor = token_text(ev->scalar.anchor);
        out.tag = token_text(ev->scalar.tag);
        out.plain = !ev->scalar.tag && fy_token_scalar_style(ev->scalar.value) == FYSS_PLAIN;
        break;
    case FYET_ALIAS:
        out.kind = YAML_ALIAS;
        out.text = token_text(ev->alias.anchor);
        break;
    case FYET_SEQUENCE_START:
        out.kind = YAML_LIST;
        out.anchor = token_text(ev->sequence_start.anchor);
        out.tag = token_text(ev->sequence_start.tag);
        break;
    case FYET_MAPPING_START:
        out.kind = YAML_MAP;
        out.anchor = token_text(ev->mapping_start.anchor);
        out.tag = token_text(ev->mapping_start.tag);
        break;
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END: out.kind = YAML_END; break;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
    default: return 0;
    }
    return yaml_tree_event(&r->tree, &out);
}

/* --- the scanner --- */

/* Text at which libfyaml would stop without a word, and so cut a file short, must not reach it. */
static int yaml_check_bytes(const struct source *text, struct err *e)
{
    size_t good = text_utf8_prefix(text->text, text->n);
    for (size_t i = 0; i < good; i++) {
        unsigned char c = (unsigned char)text->text[i];
        if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F) {
            int rc = err_set(e, ERR_SYNTAX, "control character 0x%02x", c);
            source_point(text, i, e);
            err_hint(e, "write it as an escape inside double quotes");
            return rc;
        }
    }
    if (good == text->n)
        return 0;
    int rc = err_set(e, ERR_SYNTAX, "a byte that is not UTF-8");
    source_point(text, good, e);
    err_hint(e, "save the file as UTF-8");
    return rc;
}

/* What usually helps, by a part of the scanner's words; the first that fits. */
static const char *scanner_hint(const char *what)
{
    static const struct {
        const char *part, *hint;
    } hints[] = {
        {"tab", "indent with spaces"},
        {"multiline plain key", "check the indentation of the line below it"},
        {"block mapping on the same line", "put a value that has \": \" in it into quotes"},
        {"cannot start with", "put the value into quotes"},
        {"-quoted scalar", "check that the quote is closed, and that what follows it is meant"},
        {"flow", "check that every [ and { is closed"},
        {"indent", "line up the keys of one map, and the dashes of one list"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(what, hints[i].part))
            return hints[i].hint;
    return NULL;
}

/* The scanner's own complaint, in its words but at our place. */
static int yaml_scanner_error(struct yaml_reader *r, struct fy_diag *diag)
{
    void *iter = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &iter);
    const char *what = first && first->msg ? first->msg : "not valid YAML";
    size_t pos = first ? 0 : r->pos;
    for (int line = 1; first && line < first->line && pos < r->text.n; line++) {
        const char *nl = memchr(r->text.text + pos, '\n', r->text.n - pos);
        pos = nl ? (size_t)(nl - r->text.text) + 1 : r->text.n;
    }
    for (int column = 1; first && column < first->column && pos < r->text.n; column++) {
        if (r->text.text[pos] == '\n')
            break;
        pos += utf8_sequence(r->text.text + pos, r->text.n - pos); /* checked before: never 0 */
    }
    int rc = err_set(r->e, ERR_SYNTAX, "%s", what);
    source_point(&r->text, pos, r->e);
    const char *hint = scanner_hint(what);
    if (hint)
        err_hint(r->e, "%s", hint);
    return rc;
}

static int yaml_scan(struct yaml_reader *r, struct fy_parser *parser, struct fy_diag *diag)
{
    struct fy_event *ev;
    int rc = 0;
    while (!rc && (ev = fy_parser_parse(parser)) != NULL) {
        rc = yaml_event(r, ev);
        fy_parser_event_free(parser, ev);
    }
    if (!rc && fy_parser_get_stream_error(parser))
        rc = yaml_scanner_error(r, diag);
    return rc;
}

static void yaml_silent(struct fy_diag *diag, void *user, const char *text, size_t n)
{
    (void)diag, (void)user, (void)text, (void)n;
}

static int yaml_run(struct yaml_reader *r)
{
    struct fy_diag_cfg silent = {.output_fn = yaml_silent, .level = FYET_ERROR, .module_mask = ~0u};
    struct fy_diag *diag = fy_diag_create(&silent);
    struct fy_parse_cfg cfg = {.diag = diag, .flags = FYPCF_SLOPPY_FLOW_INDENTATION};
    struct fy_parser *parser = diag ? fy_parser_create(&cfg) : NULL;
    int rc;
    if (!parser || fy_parser_set_string(parser, r->text.text, r->text.n)) {
        rc = err_set(r->e, ERR_INTERNAL, "the YAML scanner did not start");
    } else {
        fy_diag_set_collect_errors(diag, true);
        rc = yaml_scan(r, parser, diag);
    }
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return rc;
}

int yaml_parse(struct arena *a, const char *text, size_t n, const struct yaml_options *o,
               struct value **ret_v, struct err *e)
{
    static const struct yaml_options defaults = {0};
    if (!o)
        o = &defaults;
    struct yaml_reader r = {.text = {o->name, text ? text : "", n}, .e = e, .line = 1, .column = 1};
    if (n >= UINT32_MAX)
        return err_set(e, ERR_TOO_LARGE, "a YAML text of 4 GiB or more");
    if (n >= 3 && memcmp(r.text.text, "\xEF\xBB\xBF", 3) == 0) {
        r.text.text += 3; /* a byte order mark says nothing in UTF-8 */
        r.text.n -= 3;
    }
    int rc = yaml_check_bytes(&r.text, e);
    if (rc)
        return rc;
    uint32_t values = o->max_values ? o->max_values : YAML_VALUES_DEFAULT;
    r.tree = (struct yaml_tree){.arena = a, .text = &r.text, .e = e, .options = o};
    r.tree.source = o->source;
    r.tree.max_depth = o->max_depth ? o->max_depth : YAML_DEPTH_DEFAULT;
    r.tree.max_values = values < YAML_VALUES_MOST ? values : YAML_VALUES_MOST;
    rc = yaml_run(&r);
    if (!rc) {
        struct value *top = arena_new(a, struct value,
                                      1); /* all-zero is the null of an empty file */
        if (r.tree.stack.n)
            *top = r.tree.stack.at[0].v;
        *ret_v = top;
    }
    yaml_tree_done(&r.tree);
    buf_done(&r.scalar);
    return rc;
}
