/* ssh_peer.c - what the pool knows of a target: how to get there and which key answers
 *
 * Owns the copy of the target, the order of its addresses and the trust in its host keys.  A caller
 * hands in the target with every command; most of the time it is the one that is known.  Where it
 * differs, the old connections are retired: they carry what they carry to its end and take nothing
 * new.  A key that is pinned in addition changes nothing for them; one that is withdrawn does.
 *
 * Texts of a target end up in the arguments of ssh, so what could be taken for an option, a pattern
 * or a second word there is refused here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "ssh/ssh_openssh_i.h"

enum { HOST_MAX = 255, PATH_LIMIT = 1024, ADDRESSES_MAX = 64, IDENTITIES_MAX = 16 };

/* One argument that is no option: neither blanks nor anything that ssh would expand or split. */
static bool is_plain(const char *s, size_t max)
{
    size_t n = strlen(s);
    if (!n || n > max || *s == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || strchr("\"'\\$%`;&|<>()*?!#,\x7f", s[i]))
            return false;
    return true;
}

bool ssh_path_is_plain(const char *s)
{
    size_t n = strlen(s);
    if (!n || n > PATH_LIMIT || *s == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || strchr("\"'\\$%\x7f", s[i]))
            return false;
    return true;
}

static bool needs_openssh(const struct ssh_target *t)
{
    return t->jump || t->config;
}

static int names_check(const struct ssh_target *t, struct err *e)
{
    if (!t->n_addresses || t->n_addresses > ADDRESSES_MAX)
        return err_set(e, ERR_INVALID, "%s has %zu addresses: 1 to %d can be used", t->name,
                       t->n_addresses, ADDRESSES_MAX);
    for (size_t i = 0; i < t->n_addresses; i++)
        if (!is_plain(t->addresses[i], HOST_MAX) || strchr(t->addresses[i], '@'))
            return err_set(e, ERR_INVALID, "%s: \"%s\" is not an address", t->name,
                           t->addresses[i]);
    if (t->user && !is_plain(t->user, HOST_MAX))
        return err_set(e, ERR_INVALID, "%s: \"%s\" is not a user", t->name, t->user);
    if (t->jump && !is_plain(t->jump, HOST_MAX))
        return err_set(e, ERR_INVALID, "%s: \"%s\" is not a jump host, [user@]host[:port]", t->name,
                       t->jump);
    if (t->kex && strspn(t->kex, "abcdefghijklmnopqrstuvwxyz0123456789-@.,") != strlen(t->kex))
        return err_set(e, ERR_INVALID, "%s: \"%s\" is not a list of key exchanges", t->name,
                       t->kex);
    return 0;
}

static int target_check(const struct ssh_pool *p, const struct ssh_target *t, struct err *e)
{
    int rc = names_check(t, e);
    if (rc)
        return rc;
    if (t->n_identities > IDENTITIES_MAX)
        return err_set(e, ERR_INVALID, "%s has %zu identities: a server refuses after a few",
                       t->name, t->n_identities);
    for (size_t i = 0; i < t->n_identities; i++)
        if (!ssh_path_is_plain(t->identities[i]))
            return err_set(e, ERR_INVALID, "%s: \"%s\" cannot be the name of a key file", t->name,
                           t->identities[i]);
    if (t->config && !ssh_path_is_plain(t->config))
        return err_set(e, ERR_INVALID, "%s: \"%s\" cannot be the name of a configuration file",
                       t->name, t->config);
    if (p->o.via == SSH_VIA_LIBSSH && needs_openssh(t)) {
        err_set(e, ERR_INVALID, "%s: a jump host or an ssh configuration needs OpenSSH", t->name);
        return err_hint(e, "let the transport be auto or openssh");
    }
    rc = ssh_hostkey_check(t->host_keys ? t->host_keys : "", e);
    return rc ? err_wrap(e, "%s", t->name) : 0;
}

static void put_text(struct buf *b, const char *s)
{
    buf_put(b, s ? s : "\x01", s ? strlen(s) + 1 : 2);
}

static struct digest target_digest(const struct ssh_target *t)
{
    SCOPED_BUF(b);
    for (size_t i = 0; i < t->n_addresses; i++)
        put_text(&b, t->addresses[i]);
    put_text(&b, NULL);
    for (size_t i = 0; i < t->n_identities; i++)
        put_text(&b, t->identities[i]);
    put_text(&b, NULL);
    put_text(&b, t->user);
    put_text(&b, t->jump);
    put_text(&b, t->config);
    put_text(&b, t->kex);
    buf_printf(&b, "%u %d", t->port, t->agent);
    return digest_of(b.data, b.len);
}

static const char *copy_text(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

static const char *const *copy_texts(struct arena *a, const char *const *at, size_t n)
{
    const char **copy = arena_new(a, const char *, n ? n : 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(a, at[i]);
    return copy;
}

static struct ssh_where *where_new(const struct ssh_target *t)
{
    struct ssh_where *w = xcalloc(1, sizeof *w);
    arena_init(&w->mem);
    w->refs = 1;
    w->digest = target_digest(t);
    w->t = *t;
    w->t.name = arena_strdup(&w->mem, t->name);
    w->t.addresses = copy_texts(&w->mem, t->addresses, t->n_addresses);
    w->t.identities = copy_texts(&w->mem, t->identities, t->n_identities);
    w->t.port = t->port ? t->port : 22;
    w->t.user = arena_strdup(&w->mem, t->user ? t->user : "root");
    w->t.jump = copy_text(&w->mem, t->jump);
    w->t.config = copy_text(&w->mem, t->config);
    w->t.kex = copy_text(&w->mem, t->kex);
    w->t.host_keys = NULL;
    return w;
}

struct ssh_where *ssh_where_ref(struct ssh_where *w)
{
    w->refs++;
    return w;
}

void ssh_where_unref(struct ssh_where *w)
{
    if (--w->refs)
        return;
    arena_done(&w->mem);
    free(w);
}

/* One that is not made yet is given up: nothing that it would meet, a key above all, is of the peer
 * as it is now. */
static void conns_retire(struct ssh_peer *peer)
{
    struct ssh_conn *c;
    TAILQ_FOREACH (c, &peer->conns, in_peer) {
        c->retired = "how the node is reached was changed";
        if (c->state != SSH_CONN_OPEN)
            ssh_conn_break(c, SSH_FAIL_UNREACHABLE, "how it is reached was changed meanwhile");
    }
    ssh_peer_touch(peer);
}

struct withdrawal {
    const char *now;
    bool found;
};

static void seek_missing(void *arg, struct str type, struct str base64)
{
    struct withdrawal *w = arg;
    (void)type;
    w->found |= !ssh_hostkey_has(w->now, base64);
}

static void keys_update(struct ssh_peer *peer, const char *now)
{
    struct withdrawal w = {now, false};
    if (!strcmp(peer->pinned, now))
        return;
    ssh_hostkey_each(ssh_peer_keys(peer), seek_missing, &w);
    if (w.found)
        conns_retire(peer);
    free(peer->pinned);
    free(peer->accepted);
    peer->pinned = xstrdup(now);
    peer->accepted = NULL;
}

/* The name, and which of those that have had it. */
static struct str peer_key(const char *name, uint64_t life, struct buf *b)
{
    buf_puts(b, name);
    if (life) {
        buf_putc(b, '\0'); /* no name has one */
        buf_u64(b, life);
    }
    return buf_str(b);
}

static struct ssh_peer *peer_find(const struct ssh_pool *p, const char *name, uint64_t life)
{
    uintptr_t known;
    SCOPED_BUF(b);
    return strmap_get(&p->peers, peer_key(name, life, &b), &known) ? (struct ssh_peer *)known
                                                                   : NULL;
}

static struct ssh_peer *peer_new(struct ssh_pool *p, const struct ssh_target *t)
{
    struct ssh_peer *peer = xcalloc(1, sizeof *peer);
    SCOPED_BUF(b);
    struct str key = peer_key(t->name, t->life, &b);
    struct digest d = digest_of(key.s, key.n);
    char hex[DIGEST_HEX];
    digest_hex(&d, hex);
    memcpy(peer->id, hex, sizeof peer->id - 1);
    peer->pool = p;
    peer->name = xstrdup(t->name);
    peer->life = t->life;
    peer->where = where_new(t);
    peer->pinned = xstrdup("");
    TAILQ_INIT(&peer->conns);
    TAILQ_INIT(&peer->waiting);
    TAILQ_INIT(&peer->probes);
    strmap_put(&p->peers, key, (uintptr_t)peer);
    return peer;
}

int ssh_peer_of(struct ssh_pool *p, const struct ssh_target *t, struct ssh_peer **ret_peer,
                struct err *e)
{
    int rc = target_check(p, t, e);
    if (rc)
        return rc;
    struct ssh_peer *peer = peer_find(p, t->name, t->life);
    if (peer) {
        struct digest d = target_digest(t);
        if (memcmp(&d, &peer->where->digest, sizeof d)) {
            conns_retire(peer);
            ssh_where_unref(peer->where);
            peer->where = where_new(t);
            peer->last_good = 0;
        }
    } else {
        peer = peer_new(p, t);
    }
    peer->forgotten = false;
    peer->trust = t->trust;
    keys_update(peer, t->host_keys ? t->host_keys : "");
    *ret_peer = peer;
    return 0;
}

void ssh_peer_free(struct ssh_peer *peer)
{
    assert(TAILQ_EMPTY(&peer->conns) && TAILQ_EMPTY(&peer->waiting));
    ssh_where_unref(peer->where);
    free(peer->name);
    free(peer->pinned);
    free(peer->accepted);
    free(peer);
}

void ssh_peer_drop(struct ssh_peer *peer)
{
    SCOPED_BUF(b);
    ssh_known_remove(peer);
    strmap_del(&peer->pool->peers, peer_key(peer->name, peer->life, &b));
    ssh_peer_free(peer);
}

void ssh_pool_forget(struct ssh_pool *p, const char *name, uint64_t life)
{
    struct ssh_peer *peer = peer_find(p, name, life);
    if (!peer)
        return;
    free(peer->accepted);
    peer->accepted = NULL;
    peer->last_good = 0;
    peer->forgotten = true;
    conns_retire(peer);
}

size_t ssh_peer_address(const struct ssh_peer *peer, size_t n)
{
    if (!n)
        return peer->last_good;
    return n <= peer->last_good ? n - 1 : n;
}

const char *ssh_peer_keys(const struct ssh_peer *peer)
{
    return *peer->pinned || !peer->accepted ? peer->pinned : peer->accepted;
}

bool ssh_peer_learns(const struct ssh_peer *peer)
{
    return !*ssh_peer_keys(peer) && peer->trust == SSH_TRUST_FIRST;
}

enum ssh_fail ssh_peer_key_check(struct ssh_peer *peer, const char *type, const char *base64,
                                 char why[SSH_WHY])
{
    const char *keys = ssh_peer_keys(peer);
    if (ssh_hostkey_has(keys, str_of(base64)))
        return SSH_FAIL_NONE;
    if (*keys) {
        snprintf(why, SSH_WHY,
                 "the host key, of type %s, is not the one that is known; if the machine was "
                 "installed anew, trust it anew, else somebody may be in between",
                 type);
        return SSH_FAIL_HOST_KEY;
    }
    if (peer->trust == SSH_TRUST_PINNED) {
        snprintf(why, SSH_WHY,
                 "the host key, of type %s, is not known and only pinned keys are trusted; pin it",
                 type);
        return SSH_FAIL_HOST_KEY;
    }
    size_t n = strlen(type) + strlen(base64) + 2;
    peer->accepted = xcalloc(n, 1);
    snprintf(peer->accepted, n, "%s %s", type, base64);
    const struct ssh_pool_options *o = &peer->pool->o;
    if (o->on_host_key)
        o->on_host_key(o->arg, peer->name, peer->life, peer->accepted);
    return SSH_FAIL_NONE;
}
