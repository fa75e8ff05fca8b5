/* cmd_resource.c - resources of plugins: uploaded, staged, recalled, synced
 *
 * A file is read twice: once for its digest, then part by part as it is sent.  What the server has
 * of it already, from an upload that was interrupted or of another name, is not sent again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "cli/table_i.h"

enum {
    PART_BYTES = 1 << 20,
    PART_LEAST = 4 << 10, /* a server with a small body_limit is sent smaller ones */
    LOOKS_MOST = 100,
};

static const struct field resource_columns[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_WIDE | COLUMN_RIGHT},
    {"TYPE", "type", SHOW_TEXT, 0},
    {"KIND", "kind", SHOW_TEXT, 0},
    {"NAME", "name", SHOW_TEXT, 0},
    {"VERSION", "version", SHOW_TEXT, COLUMN_RIGHT},
    {"STATE", "state", SHOW_TEXT, 0},
    {"BYTES", "size", SHOW_TEXT, COLUMN_RIGHT},
    {"AGE", "created_at", SHOW_AGE, COLUMN_RIGHT},
    {"DIGEST", "digest", SHOW_TEXT, COLUMN_WIDE},
    {0},
};
static const struct field resource_sheet[] = {
    {"id", "id", SHOW_TEXT, 0},
    {"type", "type", SHOW_TEXT, 0},
    {"kind", "kind", SHOW_TEXT, 0},
    {"name", "name", SHOW_TEXT, 0},
    {"version", "version", SHOW_TEXT, 0},
    {"state", "state", SHOW_TEXT, 0},
    {"bytes", "size", SHOW_TEXT, 0},
    {"digest", "digest", SHOW_TEXT, 0},
    {"created", "created_at", SHOW_TIME, 0},
    {0},
};

int cmd_resource_list(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"type", "kind", "name", "state", NULL};
    return cli_list(c, "/v1/resources", filters, resource_columns, "id", "resources", e);
}

/* --- which one --- */

struct wanted { /* [[TYPE/]KIND/]NAME[@VERSION] */
    struct str type, kind, name;
    uint64_t version; /* 0: not said */
};

static struct str part_take(struct str *text)
{
    const char *slash = memrchr(text->s, '/', text->n);
    size_t from = slash ? (size_t)(slash - text->s) + 1 : 0;
    struct str last = {text->s + from, text->n - from};
    text->n = slash ? from - 1 : 0;
    return last;
}

static int wanted_read(const char *text, struct wanted *ret, struct err *e)
{
    struct str rest = str_of(text);
    const char *at = strrchr(text, '@');
    *ret = (struct wanted){0};
    if (at) {
        rest.n = (size_t)(at - text);
        if (text_u64(str_of(at + 1), UINT32_MAX, &ret->version, e) < 0 || !ret->version) {
            err_set(e, ERR_INVALID, "\"%s\" is no version", at + 1);
            return err_hint(e, "a number from 1, as in %.*s@2", (int)rest.n, text);
        }
    }
    ret->name = part_take(&rest);
    ret->kind = part_take(&rest);
    ret->type = rest;
    if (ret->name.n)
        return 0;
    err_set(e, ERR_INVALID, "\"%s\" does not name a resource", text);
    return err_hint(e, "NAME, KIND/NAME or TYPE/KIND/NAME, perhaps with @VERSION");
}

static bool is_meant(const struct value *v, const struct wanted *w)
{
    return (!w->type.n || str_eq(w->type, value_as_str(value_get(v, "type")))) &&
           (!w->kind.n || str_eq(w->kind, value_as_str(value_get(v, "kind"))));
}

static bool same_name(const struct value *a, const struct value *b)
{
    return str_eq(value_as_str(value_get(a, "type")), value_as_str(value_get(b, "type"))) &&
           str_eq(value_as_str(value_get(a, "kind")), value_as_str(value_get(b, "kind")));
}

/* All versions of the one name that is meant. */
static int versions_get(struct cli *c, const struct wanted *w, struct value **ret, struct err *e)
{
    SCOPED_BUF(path);
    const struct value *all;
    struct value *list = value_list(&c->mem);
    buf_puts(&path, "/v1/resources");
    http_query(&path, "name", arena_strndup(&c->mem, w->name.s, w->name.n));
    int rc = cli_get_list(c, &c->mem, path.data, UINT32_MAX, &all, e);
    if (rc)
        return rc;
    const struct value *items = value_get(all, "items");
    for (uint32_t i = 0; i < items->n; i++) {
        const struct value *v = &items->items[i];
        if (!is_meant(v, w))
            continue;
        if (list->n && !same_name(&list->items[0], v)) {
            err_set(e, ERR_INVALID, "there are several resources %.*s", (int)w->name.n, w->name.s);
            return err_hint(
                e, "say %s/%s/%.*s or %s/%s/%.*s", value_as_text(value_get(v, "type"), ""),
                value_as_text(value_get(v, "kind"), ""), (int)w->name.n, w->name.s,
                value_as_text(value_get(&list->items[0], "type"), ""),
                value_as_text(value_get(&list->items[0], "kind"), ""), (int)w->name.n, w->name.s);
        }
        value_add(&c->mem, list, v);
    }
    if (!list->n) {
        err_set(e, ERR_NOT_FOUND, "there is no resource %s", cli_arg(c, 0));
        return err_hint(e, "`anneal resource list` shows those there are");
    }
    *ret = list;
    return 0;
}

/* The version that was said; else the newest in one of these states, the first of them that there
 * is one in ("": any state). */
static int version_pick(struct cli *c, const char *const *states, const struct value **ret,
                        struct err *e)
{
    struct wanted w;
    struct value *list;
    int rc = wanted_read(cli_arg(c, 0), &w, e);
    if (rc || (rc = versions_get(c, &w, &list, e)))
        return rc;
    for (; *states; states++)
        for (uint32_t i = list->n; i-- > 0;) {
            const struct value *v = &list->items[i];
            uint64_t version = (uint64_t)value_as_int(value_get(v, "version"), 0);
            bool fits = !**states || str_is(value_as_str(value_get(v, "state")), *states);
            if (w.version ? version == w.version : fits) {
                *ret = v;
                return 0;
            }
        }
    err_set(e, ERR_NOT_FOUND, w.version ? "there is no resource %s" : "nothing of %s is in use",
            cli_arg(c, 0));
    return err_hint(e, "`anneal resource show %.*s` tells its versions", (int)w.name.n, w.name.s);
}

static const char *name_of(struct cli *c, const struct value *v)
{
    return arena_printf(&c->mem, "%s/%s/%s@%" PRId64, value_as_text(value_get(v, "type"), ""),
                        value_as_text(value_get(v, "kind"), ""),
                        value_as_text(value_get(v, "name"), ""),
                        value_as_int(value_get(v, "version"), 0));
}

static const char *path_of(struct cli *c, const struct value *v, const char *more)
{
    return arena_printf(&c->mem, "/v1/resources/%" PRId64 "%s", value_as_int(value_get(v, "id"), 0),
                        more);
}

int cmd_resource_show(struct cli *c, struct err *e)
{
    static const char *const any[] = {"", NULL};
    struct wanted w;
    struct value *list;
    const struct value *v;
    int rc = wanted_read(cli_arg(c, 0), &w, e);
    if (rc)
        return rc;
    if (w.version) {
        if (!(rc = version_pick(c, any, &v, e)) && !(rc = cli_get(c, path_of(c, v, ""), &v, e)))
            (void)cli_print_sheet(c, v, resource_sheet, "id");
        return rc;
    }
    if ((rc = versions_get(c, &w, &list, e)))
        return rc;
    struct value *shown = value_map(&c->mem);
    value_set(&c->mem, shown, "items", list);
    value_put_int(&c->mem, shown, "total", list->n);
    cli_print_list(c, shown, resource_columns, "id", "versions");
    return 0;
}

/* --- states --- */

static int state_send(struct cli *c, const char *verb, const char *const *states, struct err *e)
{
    const struct value *v;
    int rc = version_pick(c, states, &v, e);
    if (rc)
        return rc;
    const char *path = path_of(c, v, arena_printf(&c->mem, "/%s", verb));
    rc = cli_send(c, "POST", path, NULL, &v, e);
    if (!rc)
        cli_done(c, v, "id", "%s is %s", name_of(c, v), value_as_text(value_get(v, "state"), "?"));
    return rc;
}

int cmd_resource_stage(struct cli *c, struct err *e)
{
    static const char *const newest[] = {"", NULL};
    return state_send(c, "stage", newest, e);
}

int cmd_resource_recall(struct cli *c, struct err *e)
{
    static const char *const in_use[] = {"staged", "active", "recalled", NULL};
    return state_send(c, "recall", in_use, e);
}

int cmd_resource_sync(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_send(c, "POST", "/v1/resource-sync", NULL, &v, e);
    if (!rc)
        cli_done(c, v, "activated", "%" PRId64 " became active, %" PRId64 " inactive",
                 value_as_int(value_get(v, "activated"), 0),
                 value_as_int(value_get(v, "deactivated"), 0));
    return rc;
}

int cmd_resource_delete(struct cli *c, struct err *e)
{
    static const char *const any[] = {"inactive", "", NULL};
    const struct value *v, *none = NULL;
    int rc = version_pick(c, any, &v, e);
    const char *name = rc ? NULL : name_of(c, v);
    if (rc || (cli_confirm_wanted(c) &&
               (rc = cli_confirm(c, arena_printf(&c->mem, "delete resource %s?", name), e))))
        return rc;
    rc = cli_send_rev(c, "DELETE", path_of(c, v, ""), v, NULL,
                      arena_printf(&c->mem, "resource %s", name),
                      arena_printf(&c->mem, "resource show %s", name), &none, e);
    if (!rc)
        cli_done(c, none, "id", "resource %s deleted", name);
    return rc;
}

/* --- upload --- */

struct sending {
    struct cli *c;
    FILE *file;
    const char *path; /* of the content on the server */
    uint64_t size_bytes, received;
    size_t part_bytes;
    char *bytes;
    bool complete;
};

static int file_digest(struct sending *s, const char *name, char ret_hex[DIGEST_HEX], struct err *e)
{
    struct digest_state sum;
    digest_begin(&sum);
    for (size_t n; (n = fread(s->bytes, 1, PART_BYTES, s->file)) > 0; s->size_bytes += n)
        digest_add(&sum, s->bytes, n);
    if (ferror(s->file))
        return err_sys(e, ERR_IO, errno, "cannot read %s", name);
    struct digest d = digest_end(&sum);
    digest_hex(&d, ret_hex);
    return 0;
}

/* After a restart the server reads what it has, a piece at each asking. */
static int received_look(struct sending *s, struct err *e)
{
    uint64_t before = UINT64_MAX;
    for (int i = 0; i < LOOKS_MOST && before != s->received; i++) {
        SCOPED_ARENA(mem);
        const struct value *v;
        int rc = cli_get_in(s->c, &mem, s->path, &v, e);
        if (rc == -ERR_NOT_FOUND)
            return 0;
        if (rc)
            return rc;
        before = s->received;
        s->received = (uint64_t)value_as_int(value_get(v, "received"), 0);
        s->complete = value_as_bool(value_get(v, "complete"), false);
        if (s->complete)
            return 0;
    }
    return 0;
}

static int part_send(struct sending *s, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    const struct value *v;
    struct value *body = value_map(&mem);
    if (fseeko(s->file, (off_t)s->received, SEEK_SET) < 0)
        return err_sys(e, ERR_IO, errno, "cannot read the file again");
    size_t n = fread(s->bytes, 1, s->part_bytes, s->file);
    if (n == 0 && s->received < s->size_bytes)
        return err_set(e, ERR_CONFLICT, "the file became shorter while it was uploaded");
    base64_write(&text, (struct str){s->bytes, n});
    value_put_int(&mem, body, "size", (int64_t)s->size_bytes);
    value_put_int(&mem, body, "offset", (int64_t)s->received);
    value_set(&mem, body, "content", value_str(&mem, buf_str(&text)));
    int rc = cli_send_in(s->c, &mem, "POST", s->path, body, &v, e);
    if (rc)
        return rc;
    s->received = (uint64_t)value_as_int(value_get(v, "received"), 0);
    s->complete = value_as_bool(value_get(v, "complete"), false);
    return 0;
}

static int content_send(struct sending *s, struct err *e)
{
    int rc = received_look(s, e);
    for (bool looked = false; !rc && !s->complete;) {
        rc = part_send(s, e);
        if (rc == -ERR_TOO_LARGE && s->part_bytes > PART_LEAST && !strcmp(e->at, "")) {
            s->part_bytes /= 2;
            rc = 0;
        } else if (rc == -ERR_CONFLICT && !looked) { /* somebody else sends the same */
            looked = true;
            rc = received_look(s, e);
        }
    }
    return rc;
}

int cmd_resource_upload(struct cli *c, struct err *e)
{
    const char *of = cli_arg(c, 0), *name = cli_arg(c, 1), *file = cli_arg(c, 2);
    const char *slash = strchr(of, '/');
    char hex[DIGEST_HEX];
    if (!slash || slash == of || !slash[1] || strchr(slash + 1, '/')) {
        err_set(e, ERR_INVALID, "\"%s\" is not TYPE/KIND", of);
        return err_hint(e, "for example dirs/images; `anneal plugin show` tells what there is");
    }
    struct sending s = {.c = c, .file = fopen(file, "re"), .part_bytes = PART_BYTES};
    if (!s.file)
        return err_sys(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot open %s", file);
    s.bytes = xcalloc(1, PART_BYTES);
    int rc = file_digest(&s, file, hex, e);
    s.path = http_path(&c->mem, "/v1/contents/%s", hex);
    if (!rc)
        rc = content_send(&s, e);
    fclose(s.file);
    free(s.bytes);
    if (rc)
        return rc;
    const struct value *v;
    struct value *body = value_map(&c->mem);
    value_put_text(&c->mem, body, "type", arena_strndup(&c->mem, of, (size_t)(slash - of)));
    value_put_text(&c->mem, body, "kind", slash + 1);
    value_put_text(&c->mem, body, "name", name);
    value_put_text(&c->mem, body, "digest", hex);
    rc = cli_send(c, "POST", "/v1/resources", body, &v, e);
    if (!rc)
        cli_done(c, v, "id", "%s is %s", name_of(c, v), value_as_text(value_get(v, "state"), "?"));
    return rc;
}
