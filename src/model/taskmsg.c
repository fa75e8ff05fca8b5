/* taskmsg.c - task messages to JSON and back, by one table of fields
 *
 * Each field of struct taskmsg stands once in FIELDS: its type, the kinds of message that carry it
 * and those that cannot do without.  Writer and reader both walk that table; to add a field, add a
 * line.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/taskmsg.h"

#include <assert.h>
#include <stddef.h>

#include "base/json.h"
#include "model/taskmsg_i.h"

enum {
    TASK = 1u << TASKMSG_TASK,
    CANCEL = 1u << TASKMSG_CANCEL,
    ACK = 1u << TASKMSG_ACK,
    HELLO = 1u << TASKMSG_HELLO,
    BEAT = 1u << TASKMSG_BEAT,
    RESULT = 1u << TASKMSG_RESULT,
    LOG = 1u << TASKMSG_LOG,
    FETCH = 1u << TASKMSG_FETCH,
    DOCUMENT = 1u << TASKMSG_DOCUMENT,
    SEEN = 1u << TASKMSG_SEEN,
    NOTE = 1u << TASKMSG_NOTE,
    DROP = 1u << TASKMSG_DROP,
    WANT = 1u << TASKMSG_WANT,
    PART = 1u << TASKMSG_PART,
    PROBE = 1u << TASKMSG_PROBE,
    PROBED = 1u << TASKMSG_PROBED,
    ABOUT = TASK | CANCEL | RESULT | LOG | FETCH | NOTE | DROP | WANT, /* one attempt */
};

/* name, type, in which kinds, in which it must not be missing */
#define FIELDS(X)                                                                                  \
    X(task, U32, ABOUT, ABOUT)                                                                     \
    X(attempt, U32, ABOUT, ABOUT)                                                                  \
    X(ask, U32, TASK | CANCEL | RESULT, 0)                                                         \
    X(seq, U64, ACK | RESULT, ACK | RESULT)                                                        \
    X(jig, STR, TASK, TASK)                                                                        \
    X(name, STR, TASK, 0)                                                                          \
    X(node, STR, TASK | SEEN, SEEN)                                                                \
    X(node_id, U32, TASK | SEEN, 0)                                                                \
    X(access, STR, TASK, 0)                                                                        \
    X(access_rev, U64, TASK | SEEN, 0)                                                             \
    X(address, STR, TASK, 0)                                                                       \
    X(key, STR, TASK, 0)                                                                           \
    X(params, STR, TASK, 0)                                                                        \
    X(data, STR, TASK, 0)                                                                          \
    X(under, STR, TASK, 0)                                                                         \
    X(over, STR, TASK, 0)                                                                          \
    X(tests, STR, TASK, 0)                                                                         \
    X(fields, STR, TASK, 0)                                                                        \
    X(secrets, STR, TASK, 0)                                                                       \
    X(resources, STR, TASK, 0)                                                                     \
    X(fence, U64, TASK, 0)                                                                         \
    X(followers, U32, TASK, 0)                                                                     \
    X(behind, U32, TASK, 0)                                                                        \
    X(since_ms, U64, TASK, 0)                                                                      \
    X(no_op, BOOL, TASK, 0)                                                                        \
    X(digest, STR, TASK | RESULT, 0)                                                               \
    X(timeout_ms, U64, TASK | PROBE | BEAT, 0)                                                     \
    X(grace_ms, U64, TASK | CANCEL, 0)                                                             \
    X(outcome, OUTCOME, RESULT, RESULT)                                                            \
    X(phase, PHASE, RESULT, 0)                                                                     \
    X(exit_code, I32, RESULT, 0)                                                                   \
    X(again_ms, U64, RESULT, 0)                                                                    \
    X(ran_ms, U64, RESULT, 0)                                                                      \
    X(text, STR, RESULT | NOTE | PART, 0)                                                          \
    X(returns, STR, RESULT, 0)                                                                     \
    X(gone, STR, RESULT, 0)                                                                        \
    X(last, BOOL, RESULT, 0)                                                                       \
    X(truncated, BOOL, RESULT, 0)                                                                  \
    X(stream, STREAM, LOG, LOG)                                                                    \
    X(chunk, STR, LOG, LOG)                                                                        \
    X(document, STR, FETCH | DOCUMENT, FETCH | DOCUMENT)                                           \
    X(content, STR, DOCUMENT | PART, 0)                                                            \
    X(missing, BOOL, DOCUMENT | PART, 0)                                                           \
    X(blob, STR, WANT | PART, WANT | PART)                                                         \
    X(offset, U64, WANT | PART, 0)                                                                 \
    X(host_key, STR, SEEN, SEEN)                                                                   \
    X(worker, STR, HELLO | BEAT, HELLO | BEAT)                                                     \
    X(capacity, U32, HELLO | BEAT, HELLO)                                                          \
    X(jigs, JIGS, HELLO, 0)                                                                        \
    X(host, STR, HELLO, 0)                                                                         \
    X(labels, STR, HELLO, 0)                                                                       \
    X(version, STR, HELLO, 0)                                                                      \
    X(plugins, STR, HELLO, 0)                                                                      \
    X(held, HELD, HELLO | BEAT, 0)                                                                 \
    X(lease_ms, U64, BEAT, 0)                                                                      \
    X(draining, BOOL, HELLO | BEAT, 0)                                                             \
    X(released, RELEASED, BEAT, 0)                                                                 \
    X(probes, PROBES, PROBE, PROBE)                                                                \
    X(answers, ANSWERS, PROBED, PROBED)

enum field_type {
    U32,
    U64,
    I32,
    BOOL,
    STR,
    OUTCOME,
    PHASE,
    STREAM,
    JIGS,
    HELD,
    RELEASED,
    PROBES,
    ANSWERS
};
struct field {
    const char *name;
    size_t name_n;
    enum field_type type;
    size_t offset;
    unsigned kinds, required;
};
static const struct field fields[] = {
#define X(name, type, kinds, required)                                                             \
    {#name, sizeof #name - 1, type, offsetof(struct taskmsg, name), kinds, required},
    FIELDS(X)
#undef X
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static const char *const kind_names[TASKMSG_KIND_COUNT] = {
#define X(id, text) text,
    TASKMSG_KINDS(X)
#undef X
};
static const char *const outcome_names[OUTCOME_COUNT] = {
#define X(id, text) text,
    OUTCOMES(X)
#undef X
};
static const char *const phase_names[PHASE_COUNT] = {
#define X(id, text) text,
    PHASES(X)
#undef X
};

const char *taskmsg_kind_name(enum taskmsg_kind k)
{
    return k < TASKMSG_KIND_COUNT ? kind_names[k] : "?";
}

const char *outcome_name(enum outcome o)
{
    return o < OUTCOME_COUNT ? outcome_names[o] : "?";
}

const char *phase_name(enum phase p)
{
    return p < PHASE_COUNT ? phase_names[p] : "?";
}

bool taskmsg_jig_on_node(struct str jig)
{
    static const char *const elsewhere[] = {"callback", "master_shell", "noop",
                                            "plugin",   "rsync",        "test"};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (str_is(jig, elsewhere[i]))
            return false;
    return true;
}

/* None of the parts holds a NUL, so the borders are certain. */
static void digest_part(struct digest_state *s, struct str part)
{
    if (part.n)
        digest_add(s, part.s, part.n);
    digest_add(s, "", 1);
}

/* What a message does not have is not there: those without tests keep the digest they had.  Secrets
 * are left out on purpose: digests are shown, and whoever sees one could try guesses. */
void taskmsg_digest(const struct taskmsg *m, char ret_hex[DIGEST_HEX])
{
    const struct str parts[] = {m->params, m->data, m->under, m->over};
    struct digest_state s;
    digest_begin(&s);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        digest_part(&s, parts[i]);
    if (m->tests.n)
        digest_part(&s, m->tests);
    if (m->no_op)
        digest_part(&s, str_of("no_op")); /* no JSON map, so never taken for tests */
    if (m->fields.n) {
        digest_part(&s, str_of("fields"));
        digest_part(&s, m->fields);
    }
    if (m->resources.n) {
        digest_part(&s, str_of("resources"));
        digest_part(&s, m->resources);
    }
    struct digest d = digest_end(&s);
    digest_hex(&d, ret_hex);
}

static void write_jigs(struct jsonw *w, const struct field *f, const struct taskmsg *m)
{
    jsonw_key(w, f->name);
    jsonw_list(w);
    for (uint32_t i = 0; i < m->n_jigs; i++)
        jsonw_str(w, m->jigs[i]);
    jsonw_end(w);
}

static void write_attempts(struct jsonw *w, const struct field *f, const struct held_attempt *at,
                           uint32_t n)
{
    jsonw_key(w, f->name);
    jsonw_list(w);
    for (uint32_t i = 0; i < n; i++) {
        jsonw_list(w);
        jsonw_u64(w, at[i].task);
        jsonw_u64(w, at[i].attempt);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void write_field(struct jsonw *w, const struct field *f, const struct taskmsg *m)
{
    const void *at = (const char *)m + f->offset;
    bool required = f->required & (1u << m->kind);
    uint64_t number = 0;
    struct str s;
    switch (f->type) {
    case U32: number = *(const uint32_t *)at; break;
    case U64: number = *(const uint64_t *)at; break;
    case STREAM: number = *(const uint8_t *)at; break;
    case I32:
        if (*(const int32_t *)at) {
            jsonw_key(w, f->name);
            jsonw_i64(w, *(const int32_t *)at);
        }
        return;
    case BOOL:
        if (*(const bool *)at) {
            jsonw_key(w, f->name);
            jsonw_bool(w, true);
        }
        return;
    case OUTCOME:
        jsonw_key(w, f->name);
        jsonw_text(w, outcome_name(*(const enum outcome *)at));
        return;
    case PHASE:
        if (*(const enum phase *)at != PHASE_NONE) {
            jsonw_key(w, f->name);
            jsonw_text(w, phase_name(*(const enum phase *)at));
        }
        return;
    case STR:
        s = *(const struct str *)at;
        if (s.n || required) {
            jsonw_key(w, f->name);
            jsonw_str(w, s.s ? s : str_of(""));
        }
        return;
    case JIGS: write_jigs(w, f, m); return;
    case HELD: write_attempts(w, f, m->held, m->n_held); return;
    case RELEASED:
        if (m->n_released)
            write_attempts(w, f, m->released, m->n_released);
        return;
    case PROBES: taskmsg_probes_write(w, f->name, m); return;
    case ANSWERS: taskmsg_answers_write(w, f->name, m); return;
    }
    if (number || required) {
        jsonw_key(w, f->name);
        jsonw_u64(w, number);
    }
}

void taskmsg_write(struct buf *b, const struct taskmsg *m)
{
    struct jsonw w;
    assert(m->kind < TASKMSG_KIND_COUNT);
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "kind");
    jsonw_text(&w, kind_names[m->kind]);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].kinds & (1u << m->kind))
            write_field(&w, &fields[i], m);
    jsonw_end(&w);
}

static int wrong_type(const struct field *f, const struct value *v, const char *wanted,
                      struct err *e)
{
    int rc = err_set(e, ERR_INVALID, "%s: expected %s, found %s", f->name, wanted,
                     value_kind_name((enum value_kind)v->kind));
    err_at(e, "/%s", f->name);
    return rc;
}

static int read_int(const struct field *f, const struct value *v, int64_t least, int64_t most,
                    int64_t *ret_i, struct err *e)
{
    if (v->kind != VALUE_INT)
        return wrong_type(f, v, "an integer", e);
    if (v->i < least || v->i > most) {
        int rc = err_set(e, ERR_INVALID, "%s must be from %lld to %lld", f->name, (long long)least,
                         (long long)most);
        err_at(e, "/%s", f->name);
        return rc;
    }
    *ret_i = v->i;
    return 0;
}

static int read_outcome(const struct field *f, const struct value *v, enum outcome *ret_o,
                        struct err *e)
{
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        if (str_is(value_as_str(v), outcome_names[i])) {
            *ret_o = (enum outcome)i;
            return 0;
        }
    return wrong_type(f, v, "an outcome", e);
}

static int read_phase(const struct field *f, const struct value *v, enum phase *ret_p,
                      struct err *e)
{
    for (size_t i = 0; v->kind == VALUE_STRING && i < PHASE_COUNT; i++)
        if (str_is(value_as_str(v), phase_names[i])) {
            *ret_p = (enum phase)i;
            return 0;
        }
    return wrong_type(f, v, "a phase", e);
}

static int read_jigs(struct arena *a, const struct field *f, const struct value *v,
                     struct taskmsg *m, struct err *e)
{
    if (v->kind != VALUE_LIST)
        return wrong_type(f, v, "a list", e);
    struct str *jigs = arena_new(a, struct str, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->items[i].kind != VALUE_STRING)
            return wrong_type(f, &v->items[i], "a list of strings", e);
        jigs[i] = value_as_str(&v->items[i]);
    }
    m->jigs = jigs;
    m->n_jigs = v->n;
    return 0;
}

static int read_attempts(struct arena *a, const struct field *f, const struct value *v,
                         const struct held_attempt **ret_at, uint32_t *ret_n, struct err *e)
{
    if (v->kind != VALUE_LIST)
        return wrong_type(f, v, "a list", e);
    struct held_attempt *held = arena_new(a, struct held_attempt, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct value *pair = &v->items[i];
        int64_t task, attempt;
        if (pair->kind != VALUE_LIST || pair->n != 2)
            return wrong_type(f, pair, "a pair", e);
        int rc = read_int(f, &pair->items[0], 0, UINT32_MAX, &task, e);
        if (rc == 0)
            rc = read_int(f, &pair->items[1], 0, UINT32_MAX, &attempt, e);
        if (rc < 0)
            return rc;
        held[i] = (struct held_attempt){(uint32_t)task, (uint32_t)attempt};
    }
    *ret_at = held;
    *ret_n = v->n;
    return 0;
}

static int read_field(struct arena *a, const struct field *f, const struct value *v,
                      struct taskmsg *m, struct err *e)
{
    void *at = (char *)m + f->offset;
    int64_t i = 0;
    int rc = 0;
    switch (f->type) {
    case U32:
        rc = read_int(f, v, 0, UINT32_MAX, &i, e);
        *(uint32_t *)at = (uint32_t)i;
        return rc;
    case U64:
        rc = read_int(f, v, 0, INT64_MAX, &i, e);
        *(uint64_t *)at = (uint64_t)i;
        return rc;
    case I32:
        rc = read_int(f, v, INT32_MIN, INT32_MAX, &i, e);
        *(int32_t *)at = (int32_t)i;
        return rc;
    case STREAM:
        rc = read_int(f, v, 1, 2, &i, e);
        *(uint8_t *)at = (uint8_t)i;
        return rc;
    case BOOL:
        *(bool *)at = value_as_bool(v, false);
        return v->kind == VALUE_BOOL ? 0 : wrong_type(f, v, "true or false", e);
    case STR:
        *(struct str *)at = value_as_str(v);
        return v->kind == VALUE_STRING ? 0 : wrong_type(f, v, "a string", e);
    case OUTCOME: return read_outcome(f, v, at, e);
    case PHASE: return read_phase(f, v, at, e);
    case JIGS: return read_jigs(a, f, v, m, e);
    case HELD: return read_attempts(a, f, v, &m->held, &m->n_held, e);
    case RELEASED: return read_attempts(a, f, v, &m->released, &m->n_released, e);
    case PROBES: return taskmsg_probes_read(a, f->name, v, m, e);
    case ANSWERS: return taskmsg_answers_read(a, f->name, v, m, e);
    }
    return rc;
}

static int read_kind(const struct value *doc, enum taskmsg_kind *ret_kind, struct err *e)
{
    struct str name = value_as_str(value_get(doc, "kind"));
    for (size_t i = 0; i < TASKMSG_KIND_COUNT; i++)
        if (str_is(name, kind_names[i])) {
            *ret_kind = (enum taskmsg_kind)i;
            return 0;
        }
    int rc = err_set(e, ERR_INVALID, "\"%.*s\" is no kind of message", (int)name.n,
                     name.s ? name.s : "");
    err_at(e, "/kind");
    return rc;
}

static const struct field *find_field(const struct member *m)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].name_n == m->key_n && !memcmp(fields[i].name, m->key, m->key_n))
            return &fields[i];
    return NULL;
}

static int check_required(const struct taskmsg *m, uint64_t seen, struct err *e)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if ((fields[i].required & (1u << m->kind)) && !(seen & (1ull << i)))
            return err_set(e, ERR_INVALID, "a %s message needs %s", kind_names[m->kind],
                           fields[i].name);
    return 0;
}

int taskmsg_parse(struct arena *a, struct str text, struct taskmsg *ret_m, struct err *e)
{
    struct value *doc;
    struct taskmsg m = {0};
    uint64_t seen = 0;
    _Static_assert(FIELD_COUNT <= 64, "one bit per field");
    int rc = json_parse(a, text.s, text.n, NULL, &doc, e);
    if (rc < 0)
        return rc;
    if (doc->kind != VALUE_MAP)
        return err_set(e, ERR_INVALID, "a message is a map, not a %s",
                       value_kind_name((enum value_kind)doc->kind));
    rc = read_kind(doc, &m.kind, e);
    for (uint32_t i = 0; rc == 0 && i < doc->n; i++) {
        const struct field *f = find_field(&doc->members[i]);
        if (!f || !(f->kinds & (1u << m.kind)))
            continue;
        rc = read_field(a, f, &doc->members[i].v, &m, e);
        seen |= 1ull << (f - fields);
    }
    if (rc == 0)
        rc = check_required(&m, seen, e);
    if (rc == 0)
        *ret_m = m;
    return rc;
}
