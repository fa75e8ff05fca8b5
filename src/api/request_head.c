/* request_head.c - what the headers of a request say
 *
 * One pass over the headers finds those that matter.  Framing is checked again here although the
 * library has parsed it: it takes the first of two Content-Lengths and lets a chunked body overrule
 * one, which is how a proxy in front and the server behind it come to see different requests.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

struct head_field {
    const char *name;
    size_t offset;
};
static const struct head_field fields[] = {
#define X(field, name) {name, offsetof(struct request_head, field)},
    HEAD_FIELDS(X)
#undef X
};

static enum MHD_Result head_visit(void *arg, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
    struct request_head *h = arg;
    (void)kind;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if ((*key | 0x20) != (*fields[i].name | 0x20) || strcasecmp(key, fields[i].name))
            continue;
        const char **slot = (const char **)((char *)h + fields[i].offset);
        if (*slot)
            h->twice = fields[i].name;
        else
            *slot = value ? value : "";
        break;
    }
    return MHD_YES;
}

void head_read(struct MHD_Connection *c, struct request_head *ret_h)
{
    uint64_t n = 0;

    memset(ret_h, 0, sizeof *ret_h);
    MHD_get_connection_values(c, MHD_HEADER_KIND, head_visit, ret_h);
    if (ret_h->transfer)
        n = UINT64_MAX;
    else if (ret_h->content_length)
        (void)text_u64(str_of(ret_h->content_length), UINT64_MAX - 1, &n, NULL);
    ret_h->has_body = n > 0;
    ret_h->body_bytes = n;
}

int head_check(const struct request_head *h, const char *version, struct err *e)
{
    if (!h->host && strcmp(version, "HTTP/1.0"))
        return err_set(e, ERR_INVALID, "a request needs a Host header");
    if (h->twice)
        return err_set(e, ERR_INVALID, "the header %s is given twice", h->twice);
    if (h->transfer && strcasecmp(h->transfer, "chunked"))
        return err_set(e, ERR_INVALID, "the only Transfer-Encoding known here is chunked");
    if (h->transfer && h->content_length)
        return err_set(e, ERR_INVALID, "both Content-Length and Transfer-Encoding are given");
    return 0;
}

/* The media type without its parameters, blanks trimmed. */
static struct str media_of(const char *text, const char **ret_params)
{
    size_t n = strcspn(text, ";");
    *ret_params = text[n] ? text + n + 1 : "";
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    return (struct str){text, n};
}

static bool media_is(struct str s, const char *media)
{
    return s.n == strlen(media) && !strncasecmp(s.s, media, s.n);
}

int head_media_check(const struct request_head *h, const struct api_route *r, struct err *e)
{
    const char *params = "";
    struct str media = media_of(h->content_type ? h->content_type : "", &params);

    if (h->content_encoding && strcasecmp(h->content_encoding, "identity")) {
        err_set(e, ERR_MEDIA, "bodies must not be compressed");
        return err_hint(e, "leave out Content-Encoding");
    }
    bool known = media_is(media, "application/json") ||
                 (r->method == API_PATCH && media_is(media, "application/merge-patch+json"));
    if (!known) {
        err_set(e, ERR_MEDIA, "a body of type \"%.*s\" is not understood",
                (int)(media.n < 80 ? media.n : 80), media.s);
        return err_hint(e, "send Content-Type: application/json");
    }
    while (*params == ' ')
        params++;
    if (*params && strcasecmp(params, "charset=utf-8") && strcasecmp(params, "charset=\"utf-8\"")) {
        err_set(e, ERR_MEDIA, "JSON is UTF-8");
        return err_hint(e, "leave out the parameters of Content-Type");
    }
    return 0;
}

int head_if_match(const struct request_head *h, struct arena *mem, const char **ret_rev,
                  struct err *e)
{
    const char *s = h->if_match;

    if (!s) {
        *ret_rev = NULL;
        return 0;
    }
    if (!strcmp(s, "*")) {
        *ret_rev = "*";
        return 0;
    }
    if (!strncmp(s, "W/", 2)) /* a proxy may have weakened it */
        s += 2;
    size_t n = *s == '"' ? strcspn(s + 1, "\"") : 0;
    if (!n || n > 40 || s[n + 1] != '"' || s[n + 2]) {
        err_set(e, ERR_INVALID, "If-Match is not one revision in quotes");
        return err_hint(e, "send the ETag of the object as it was given, or *");
    }
    *ret_rev = arena_strndup(mem, s + 1, n);
    return 0;
}

bool head_none_match(const struct request_head *h, const char *tag)
{
    const char *s = h->if_none_match;
    size_t n = strlen(tag);

    if (!s || !n)
        return false;
    while (*s) {
        s += strspn(s, " \t,");
        if (*s == '*')
            return true;
        if (!strncmp(s, "W/", 2))
            s += 2;
        size_t len = strcspn(s, " \t,");
        if (len == n && !memcmp(s, tag, n))
            return true;
        s += len;
    }
    return false;
}

bool head_accepts(const struct request_head *h, const char *media)
{
    const char *s = h->accept ? h->accept : "";
    size_t n = strlen(media);

    while (*s) {
        s += strspn(s, " \t,");
        size_t len = strcspn(s, " \t,;");
        if (len == n && !strncasecmp(s, media, n))
            return true;
        s += strcspn(s, ",");
    }
    return false;
}
