/* rows.c - layouts of the rows, and rows as canonical bytes
 *
 * The layouts are the lists of rows.h turned into data, so that the store, checkpoints and digests
 * walk columns instead of naming them.
 *
 * Bytes of a row: the number of columns (1 byte), then each column as its type (1 byte) and its
 * value, little endian: U8 1 byte, U32 4, U64 and I64 8, TEXT and BLOB a length of 4 bytes and that
 * many bytes. Equal rows have equal bytes: padding and pointers never take part.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rows.h"

#include <assert.h>
#include <endian.h>

/* offsetof needs the struct, which the lists do not name: X is defined anew for each. */
#define COLUMN(table, type, name, role)                                                            \
    {#name, ROW_##type, ROW_##role, (uint16_t)offsetof(struct table, name)},

#define X(type, name, role) COLUMN(row_meta, type, name, role)
static const struct row_column meta_columns[] = {ROW_META(X)};
#undef X
#define X(type, name, role) COLUMN(row_settings, type, name, role)
static const struct row_column settings_columns[] = {ROW_SETTINGS(X)};
#undef X
#define X(type, name, role) COLUMN(row_tenant, type, name, role)
static const struct row_column tenant_columns[] = {ROW_TENANT(X)};
#undef X
#define X(type, name, role) COLUMN(row_token, type, name, role)
static const struct row_column token_columns[] = {ROW_TOKEN(X)};
#undef X
#define X(type, name, role) COLUMN(row_deployment, type, name, role)
static const struct row_column deployment_columns[] = {ROW_DEPLOYMENT(X)};
#undef X
#define X(type, name, role) COLUMN(row_catalog, type, name, role)
static const struct row_column catalog_columns[] = {ROW_CATALOG(X)};
#undef X
#define X(type, name, role) COLUMN(row_jig, type, name, role)
static const struct row_column jig_columns[] = {ROW_JIG(X)};
#undef X
#define X(type, name, role) COLUMN(row_pool, type, name, role)
static const struct row_column pool_columns[] = {ROW_POOL(X)};
#undef X
#define X(type, name, role) COLUMN(row_grp, type, name, role)
static const struct row_column grp_columns[] = {ROW_GRP(X)};
#undef X
#define X(type, name, role) COLUMN(row_node, type, name, role)
static const struct row_column node_columns[] = {ROW_NODE(X)};
#undef X
#define X(type, name, role) COLUMN(row_node_body, type, name, role)
static const struct row_column node_body_columns[] = {ROW_NODE_BODY(X)};
#undef X
#define X(type, name, role) COLUMN(row_def, type, name, role)
static const struct row_column def_columns[] = {ROW_DEF(X)};
#undef X
#define X(type, name, role) COLUMN(row_operation, type, name, role)
static const struct row_column operation_columns[] = {ROW_OPERATION(X)};
#undef X
#define X(type, name, role) COLUMN(row_noderole, type, name, role)
static const struct row_column noderole_columns[] = {ROW_NODEROLE(X)};
#undef X
#define X(type, name, role) COLUMN(row_document, type, name, role)
static const struct row_column document_columns[] = {ROW_DOCUMENT(X)};
#undef X
#define X(type, name, role) COLUMN(row_span, type, name, role)
static const struct row_column span_columns[] = {ROW_SPAN(X)};
#undef X
#define X(type, name, role) COLUMN(row_task, type, name, role)
static const struct row_column task_columns[] = {ROW_TASK(X)};
#undef X
#define X(type, name, role) COLUMN(row_attempt, type, name, role)
static const struct row_column attempt_columns[] = {ROW_ATTEMPT(X)};
#undef X
#define X(type, name, role) COLUMN(row_aside, type, name, role)
static const struct row_column aside_columns[] = {ROW_ASIDE(X)};
#undef X
#define X(type, name, role) COLUMN(row_name, type, name, role)
static const struct row_column name_columns[] = {ROW_NAME(X)};
#undef X
#define X(type, name, role) COLUMN(row_lens, type, name, role)
static const struct row_column lens_columns[] = {ROW_LENS(X)};
#undef X
#define X(type, name, role) COLUMN(row_doc, type, name, role)
static const struct row_column doc_columns[] = {ROW_DOC(X)};
#undef X
#define X(type, name, role) COLUMN(row_trie, type, name, role)
static const struct row_column trie_columns[] = {ROW_TRIE(X)};
#undef X
#define X(type, name, role) COLUMN(row_snapshot, type, name, role)
static const struct row_column snapshot_columns[] = {ROW_SNAPSHOT(X)};
#undef X
#define X(type, name, role) COLUMN(row_role_store, type, name, role)
static const struct row_column role_store_columns[] = {ROW_ROLE_STORE(X)};
#undef X
#define X(type, name, role) COLUMN(row_overlay, type, name, role)
static const struct row_column overlay_columns[] = {ROW_OVERLAY(X)};
#undef X
#define X(type, name, role) COLUMN(row_deploy_run, type, name, role)
static const struct row_column deploy_run_columns[] = {ROW_DEPLOY_RUN(X)};
#undef X
#define X(type, name, role) COLUMN(row_deploy_doc, type, name, role)
static const struct row_column deploy_doc_columns[] = {ROW_DEPLOY_DOC(X)};
#undef X
#define X(type, name, role) COLUMN(row_cluster, type, name, role)
static const struct row_column cluster_columns[] = {ROW_CLUSTER(X)};
#undef X
#define X(type, name, role) COLUMN(row_payload, type, name, role)
static const struct row_column payload_columns[] = {ROW_PAYLOAD(X)};
#undef X
#define X(type, name, role) COLUMN(row_provider, type, name, role)
static const struct row_column provider_columns[] = {ROW_PROVIDER(X)};
#undef X
#define X(type, name, role) COLUMN(row_credential, type, name, role)
static const struct row_column credential_columns[] = {ROW_CREDENTIAL(X)};
#undef X
#define X(type, name, role) COLUMN(row_worker, type, name, role)
static const struct row_column worker_columns[] = {ROW_WORKER(X)};
#undef X
#define X(type, name, role) COLUMN(row_invite, type, name, role)
static const struct row_column invite_columns[] = {ROW_INVITE(X)};
#undef X
#define X(type, name, role) COLUMN(row_resource, type, name, role)
static const struct row_column resource_columns[] = {ROW_RESOURCE(X)};
#undef X
#define X(type, name, role) COLUMN(row_idempotent, type, name, role)
static const struct row_column idempotent_columns[] = {ROW_IDEMPOTENT(X)};
#undef X
#define X(type, name, role) COLUMN(row_plan, type, name, role)
static const struct row_column plan_columns[] = {ROW_PLAN(X)};
#undef X
#define X(type, name, role) COLUMN(row_pace, type, name, role)
static const struct row_column pace_columns[] = {ROW_PACE(X)};
#undef X
#define X(type, name, role) COLUMN(row_journal, type, name, role)
static const struct row_column journal_columns[] = {ROW_JOURNAL(X)};
#undef X

const struct row_layout row_layouts[ROWS_COUNT] = {
#define X(id, name)                                                                                \
    [ROWS_##id] = {#name, name##_columns, sizeof name##_columns / sizeof *name##_columns,          \
                   sizeof(struct row_##name)},
    ROW_TABLES(X)
#undef X
};

uint64_t row_key(enum row_table t, const void *row)
{
    const struct row_column *key = row_layouts[t].columns; /* the key is the first of each list */
    const char *at = (const char *)row + key->offset;
    uint64_t wide;
    uint32_t narrow;

    if (key->type == ROW_U64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static void encode_number(struct buf *b, const char *at, size_t n)
{
    uint32_t u32;
    uint64_t u64;

    if (n == sizeof u32) {
        memcpy(&u32, at, n);
        u32 = htole32(u32);
        buf_put(b, &u32, n);
    } else {
        memcpy(&u64, at, n);
        u64 = htole64(u64);
        buf_put(b, &u64, n);
    }
}

void row_encode(struct buf *b, enum row_table t, const void *row)
{
    const struct row_layout *l = &row_layouts[t];

    buf_putc(b, (char)l->n_columns);
    for (unsigned i = 0; i < l->n_columns; i++) {
        const struct row_column *c = &l->columns[i];
        const char *at = (const char *)row + c->offset;
        struct str s;
        uint32_t n;

        buf_putc(b, (char)c->type);
        switch ((enum row_type)c->type) {
        case ROW_U8: buf_putc(b, *at); break;
        case ROW_U32: encode_number(b, at, sizeof(uint32_t)); break;
        case ROW_U64:
        case ROW_I64: encode_number(b, at, sizeof(uint64_t)); break;
        case ROW_TEXT:
        case ROW_BLOB:
            memcpy(&s, at, sizeof s);
            assert(s.n <= UINT32_MAX);
            n = (uint32_t)s.n;
            encode_number(b, (const char *)&n, sizeof n);
            buf_put(b, s.s, s.n);
            break;
        }
    }
}

bool row_value_take(struct str *from, struct row_value *ret_v)
{
    static const uint8_t sizes[] = {
        [ROW_U8] = 1, [ROW_U32] = 4, [ROW_U64] = 8, [ROW_I64] = 8, [ROW_TEXT] = 4, [ROW_BLOB] = 4};
    const unsigned char *at = (const unsigned char *)from->s;
    struct row_value v = {0};
    size_t n;

    if (from->n == 0 || *at >= sizeof sizes || from->n < 1u + sizes[*at])
        return false;
    v.type = *at++;
    for (n = 0; n < sizes[v.type]; n++)
        v.number |= (uint64_t)*at++ << 8 * n;
    n = 1 + sizes[v.type];
    if (v.type == ROW_TEXT || v.type == ROW_BLOB) {
        if (from->n - n < v.number)
            return false;
        v.text = (struct str){(const char *)at, (size_t)v.number};
        n += v.text.n;
    }
    *from = (struct str){from->s + n, from->n - n};
    *ret_v = v;
    return true;
}

static bool decode_column(struct str *from, const struct row_column *c, char *field)
{
    struct row_value v;

    if (!row_value_take(from, &v) || v.type != c->type)
        return false;
    switch ((enum row_type)v.type) {
    case ROW_U8: *field = (char)v.number; break;
    case ROW_U32: memcpy(field, &(uint32_t){(uint32_t)v.number}, sizeof(uint32_t)); break;
    case ROW_U64:
    case ROW_I64: memcpy(field, &v.number, sizeof v.number); break;
    case ROW_TEXT:
    case ROW_BLOB: memcpy(field, &v.text, sizeof v.text); break;
    }
    return true;
}

size_t row_decode(enum row_table t, struct str from, void *ret_row)
{
    const struct row_layout *l = &row_layouts[t];
    union row_any row = {0};
    struct str rest = from;

    if (from.n == 0 || (uint8_t)*from.s != l->n_columns)
        return 0;
    rest = (struct str){from.s + 1, from.n - 1};
    for (unsigned i = 0; i < l->n_columns; i++)
        if (!decode_column(&rest, &l->columns[i], (char *)&row + l->columns[i].offset))
            return 0;
    memcpy(ret_row, &row, l->size);
    return from.n - rest.n;
}
