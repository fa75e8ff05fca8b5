/* opts.c - the settings of anneald: their table, and what no single key can tell */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/opts.h"

#include <assert.h>

#include "base/json.h"
#include "base/text.h"

static const struct opts_info infos[OPTS_KEY_COUNT] = {
#define X(name, type, def, least, most, choices, help)                                             \
    {#name, def, choices, help, OPTS_##type, least, most},
    OPTS_TABLE(X)
#undef X
};

static const size_t offsets[OPTS_KEY_COUNT] = {
#define X(name, type, def, least, most, choices, help) offsetof(struct opts, name),
    OPTS_TABLE(X)
#undef X
};

static const struct opts_table table = {infos, offsets, OPTS_KEY_COUNT,
                                        offsetof(struct opts, origin), offsetof(struct opts, mem)};

const struct opts_info *opts_info(enum opts_key key)
{
    assert(key < OPTS_KEY_COUNT);
    return &infos[key];
}

void opts_init(struct opts *o)
{
    *o = (struct opts){0};
    opts_table_init(&table, o);
}

void opts_done(struct opts *o)
{
    arena_done(&o->mem);
}

int opts_load_text(struct opts *o, const char *name, struct str yaml, struct err *e)
{
    return opts_table_load_text(&table, o, name, yaml, e);
}

int opts_load(struct opts *o, const char *path, struct err *e)
{
    return opts_table_load(&table, o, path, e);
}

int opts_set(struct opts *o, const char *assignment, struct err *e)
{
    return opts_table_set(&table, o, assignment, e);
}

void opts_show(const struct opts *o, enum opts_key key, struct buf *b)
{
    opts_table_show(&table, o, key, b);
}

void opts_write(const struct opts *o, struct buf *b)
{
    for (int k = 0; k < OPTS_KEY_COUNT; k++) {
        SCOPED_BUF(text);
        if (!o->origin[k][0] || k == OPTS_KEY_data_dir)
            continue;
        opts_show(o, (enum opts_key)k, &text);
        buf_printf(b, "# %s\n%s: ", o->origin[k], infos[k].name);
        if (infos[k].type == OPTS_TEXT || infos[k].type == OPTS_PATH)
            json_write_string(b, buf_str(&text));
        else
            buf_puts(b, text.data);
        buf_putc(b, '\n');
    }
}

/* A complaint about a key, at the place that set it. */
static int refuse(const struct opts *o, enum opts_key key, struct err *e, const char *text)
{
    int rc = err_set(e, ERR_INVALID, "%s: %s", infos[key].name, text);
    err_at(e, "%s", o->origin[key]);
    return rc;
}

int opts_check(const struct opts *o, struct err *e)
{
    const char *colon = strrchr(o->listen, ':');
    uint64_t port;
    if (!colon || text_u64(str_of(colon + 1), 65535, &port, NULL) < 0)
        return refuse(o, OPTS_KEY_listen, e, "an address ends in :port, a number up to 65535");
    if (colon == o->listen || (memchr(o->listen, ':', (size_t)(colon - o->listen)) &&
                               (o->listen[0] != '[' || colon[-1] != ']')))
        return refuse(o, OPTS_KEY_listen, e, "write address:port, or [address]:port for IPv6");
    if (o->tls_cert[0] && !o->tls_key[0])
        return refuse(o, OPTS_KEY_tls_cert, e, "a certificate needs tls_key too");
    if (o->tls_key[0] && !o->tls_cert[0])
        return refuse(o, OPTS_KEY_tls_key, e, "a key needs tls_cert too");
    if (o->tls_cert[0] && strcmp(o->tls, "off") == 0)
        return refuse(o, OPTS_KEY_tls, e, "off, but there is a tls_cert");
    return 0;
}
