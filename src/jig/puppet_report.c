/* puppet_report.c - what a run of puppet did, read from its summary and its report
 *
 * Both are YAML that puppet itself writes, always in the same form, and a report may be megabytes:
 * so they are read by lines, and what is not one of the few lines that count is passed over.  The
 * text is the summary, then the report or those of its lines that count (jig_puppet.c).
 *
 *   resources:                     of the summary
 *     failed: 1
 *   time:
 *     total: 0.12
 *   resource_statuses:             of the report
 *       resource: Exec[boom]       or "|-" here and the name on the next line
 *       failed: true
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/text.h"
#include "jig/puppet_i.h"

enum section { SECTION_OTHER, SECTION_RESOURCES, SECTION_TIME, SECTION_STATUSES };

struct reading {
    struct puppet_report *r;
    struct arena *mem;
    enum section section;
    struct str name; /* of the resource that is told of */
    bool name_next;  /* it is on the next line */
    bool counted;    /* it is among the failed ones already */
};

static bool line_next(struct str *text, struct str *ret_line)
{
    if (!text->n)
        return false;
    const char *nl = memchr(text->s, '\n', text->n);
    size_t n = nl ? (size_t)(nl - text->s) : text->n;
    *ret_line = (struct str){text->s, n};
    text->s += nl ? n + 1 : n;
    text->n -= nl ? n + 1 : n;
    return true;
}

static bool begins(struct str line, const char *with)
{
    size_t n = strlen(with);
    return line.n >= n && !memcmp(line.s, with, n);
}

/* What is behind "  key: "; false if the line is another one. */
static bool value_of(struct str line, const char *key, struct str *ret_v)
{
    if (!begins(line, key))
        return false;
    size_t n = strlen(key);
    *ret_v = (struct str){line.s + n, line.n - n};
    return true;
}

static void read_count(struct str line, struct puppet_report *r)
{
    const struct {
        const char *key;
        uint64_t *to;
    } counts[] = {{"  total: ", &r->total},
                  {"  changed: ", &r->changed},
                  {"  failed: ", &r->failed},
                  {"  out_of_sync: ", &r->out_of_sync},
                  {"  skipped: ", &r->skipped}};
    struct str v;
    uint64_t n;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (value_of(line, counts[i].key, &v) && text_u64(v, UINT32_MAX, &n, NULL) == 0) {
            *counts[i].to = n;
            r->complete = r->complete || counts[i].to == &r->total;
        }
}

static void read_seconds(struct str line, struct puppet_report *r)
{
    struct str v;
    char number[32], *end;
    if (!value_of(line, "  total: ", &v) || !v.n || v.n >= sizeof number)
        return;
    memcpy(number, v.s, v.n);
    number[v.n] = '\0';
    double seconds = strtod(number, &end);
    if (!*end && seconds >= 0 && seconds < 1e9)
        r->seconds = seconds;
}

static struct str unquoted(struct str s)
{
    while (s.n && s.s[s.n - 1] == ' ')
        s.n--;
    if (s.n >= 2 && (s.s[0] == '"' || s.s[0] == '\'') && s.s[s.n - 1] == s.s[0])
        return (struct str){s.s + 1, s.n - 2};
    return s;
}

static void read_status(struct reading *at, struct str line)
{
    struct str v;
    struct puppet_report *r = at->r;
    if (at->name_next) {
        size_t blanks = 0;
        while (blanks < line.n && line.s[blanks] == ' ')
            blanks++;
        at->name = (struct str){line.s + blanks, line.n - blanks};
        at->name_next = false;
    } else if (value_of(line, "    resource: ", &v)) {
        at->name = unquoted(v);
        at->name_next = begins(v, "|") || begins(v, ">");
        at->counted = false;
    } else if (begins(line, "    failed: true") || begins(line, "    failed_to_restart: true")) {
        if (!at->counted && at->name.n && r->names_n < PUPPET_NAMES_MAX) {
            size_t n = at->name.n < PUPPET_NAME_BYTES ? at->name.n : PUPPET_NAME_BYTES;
            r->names[r->names_n++] = arena_strndup(at->mem, at->name.s, n);
        }
        at->counted = true;
    }
}

void puppet_report_read(struct puppet_report *ret_r, struct str text, struct arena *mem)
{
    struct reading at = {.r = ret_r, .mem = mem};
    struct str line;
    *ret_r = (struct puppet_report){0};
    while (line_next(&text, &line)) {
        if (!line.n)
            continue;
        if (line.s[0] != ' ') {
            at.section = begins(line, "resources:")           ? SECTION_RESOURCES
                         : begins(line, "time:")              ? SECTION_TIME
                         : begins(line, "resource_statuses:") ? SECTION_STATUSES
                                                              : SECTION_OTHER;
            at.name_next = false;
            continue;
        }
        switch (at.section) {
        case SECTION_RESOURCES: read_count(line, ret_r); break;
        case SECTION_TIME: read_seconds(line, ret_r); break;
        case SECTION_STATUSES: read_status(&at, line); break;
        case SECTION_OTHER: break;
        }
    }
}
