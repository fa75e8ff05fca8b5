/* ssh_openssh_argv.c - how ssh is asked for a master, and how its answer is read
 *
 * Without a configuration of the target's no configuration is read at all: a machine is reached in
 * the same way by whoever runs the worker, and in the same way as by libssh.  With one, it decides
 * what we do not: identities, agents, proxies, algorithms.  Never its own: the host key file, the
 * control socket, and that nobody is asked anything.
 *
 * The target's texts were checked (ssh_peer.c): none holds a quote, a % or a $.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ssh/ssh_openssh_i.h"

enum { ARGS_MAX = 128 };
struct args {
    struct arena *mem;
    const char **at;
    size_t n;
};
struct way { /* to a peer: what options say of it */
    const struct ssh_pool *pool;
    const struct ssh_peer *peer;
    const struct ssh_target *t;
    const char *known_path;
};

static void put(struct args *a, const char *arg)
{
    assert(a->n + 1 < ARGS_MAX);
    a->at[a->n++] = arg;
}

static void option(struct args *a, const char *text)
{
    put(a, "-o");
    put(a, text);
}

char *ssh_known_path(const struct ssh_peer *peer)
{
    SCOPED_BUF(b);
    buf_printf(&b, "%s/k%s", peer->pool->run_dir, peer->id);
    return buf_take(&b, NULL);
}

void ssh_known_remove(const struct ssh_peer *peer)
{
    char *path = ssh_known_path(peer);
    (void)unlink(path); /* by libssh there never was one */
    free(path);
}

static void put_identities(struct args *a, const struct ssh_target *t)
{
    for (size_t i = 0; i < t->n_identities; i++)
        option(a, arena_printf(a->mem, "IdentityFile=\"%s\"", t->identities[i]));
    if (t->config)
        return;
    if (!t->n_identities)
        option(a, "IdentityFile=none");
    if (!t->agent) {
        option(a, "IdentitiesOnly=yes");
        option(a, "IdentityAgent=none");
    }
}

static void put_host_keys(struct args *a, const struct way *w)
{
    option(a, ssh_peer_learns(w->peer) ? "StrictHostKeyChecking=accept-new"
                                       : "StrictHostKeyChecking=yes");
    option(a, arena_printf(a->mem, "UserKnownHostsFile=\"%s\"", w->known_path));
    option(a, "GlobalKnownHostsFile=/dev/null");
    option(a, arena_printf(a->mem, "HostKeyAlias=%s", w->peer->id));
    option(a, "CheckHostIP=no");
    option(a, "HashKnownHosts=no");
    option(a, "UpdateHostKeys=no");
}

/* [user@]host[:port] by a proxy of our own rather than ProxyJump, which would ask for host keys at
 * the terminal.  The keys of jump hosts have a file in the run directory. */
static void put_jump(struct args *a, const struct way *w)
{
    const struct ssh_target *t = w->t;
    const char *at = strrchr(t->jump, '@'), *host = at ? at + 1 : t->jump;
    const char *closing = strchr(host, ']'), *colon = strrchr(host, ':');
    bool port = colon && (closing ? colon == closing + 1 : strchr(host, ':') == colon);
    size_t host_n = port ? (size_t)(colon - host) : strlen(host);
    SCOPED_BUF(b);
    if (closing) {
        host++;
        host_n = (size_t)(closing - host);
    }
    buf_printf(&b, "ProxyCommand=ssh -F '%s' -o BatchMode=yes", t->config ? t->config : "none");
    buf_printf(&b, " -o StrictHostKeyChecking=%s",
               w->peer->trust == SSH_TRUST_FIRST ? "accept-new" : "yes");
    buf_printf(&b, " -o 'UserKnownHostsFile=\"%s/jumps\" ~/.ssh/known_hosts'", w->pool->run_dir);
    for (size_t i = 0; i < t->n_identities; i++)
        buf_printf(&b, " -o 'IdentityFile=\"%s\"'", t->identities[i]);
    if (at)
        buf_printf(&b, " -l '%.*s'", (int)(at - t->jump), t->jump);
    if (port)
        buf_printf(&b, " -p '%s'", colon + 1);
    buf_printf(&b, " -W '[%%h]:%%p' -- '%.*s'", (int)host_n, host);
    option(a, arena_strdup(a->mem, b.data));
}

/* What holds for a master and for any other ssh that goes the same way. */
static void put_way(struct args *a, const struct way *w)
{
    const struct ssh_pool_options *o = &w->pool->o;
    static const char *const always[] = {
        "BatchMode=yes",      "ClearAllForwardings=yes", "PermitLocalCommand=no",
        "RemoteCommand=none", "ConnectionAttempts=1",    "ServerAliveCountMax=3",
        "LogLevel=ERROR",
    };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        option(a, always[i]);
    option(a, arena_printf(a->mem, "ConnectTimeout=%u", (o->connect_timeout_ms + 999) / 1000));
    option(a, arena_printf(a->mem, "ServerAliveInterval=%u", (o->keepalive_ms + 999) / 1000));
    put_host_keys(a, w);
    put_identities(a, w->t);
    if (w->t->kex)
        option(a, arena_printf(a->mem, "KexAlgorithms=%s", w->t->kex));
    if (w->t->jump)
        put_jump(a, w);
}

const char *const *ssh_openssh_argv(struct arena *mem, const struct ssh_conn *c, const char *socket)
{
    char *known = ssh_known_path(c->peer);
    struct way w = {c->pool, c->peer, &c->where->t, arena_strdup(mem, known)};
    struct args a = {mem, arena_new(mem, const char *, ARGS_MAX), 0};
    static const char *const begin[] = {"ssh", "-M", "-N", "-T", "-a", "-x"};
    free(known);
    if (c->pool->runner) { /* a connection that nobody uses any more must not stay for ever */
        put(&a, c->pool->runner);
        put(&a, "--tie");
        put(&a, arena_printf(mem, "%d", (int)getpid()));
        put(&a, "--");
    }
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        put(&a, begin[i]);
    put(&a, "-F");
    put(&a, w.t->config ? w.t->config : "none");
    put(&a, "-S");
    put(&a, arena_strdup(mem, socket));
    put(&a, "-l");
    put(&a, w.t->user);
    put(&a, "-p");
    put(&a, arena_printf(mem, "%u", w.t->port));
    option(&a, "ControlPersist=no");
    option(&a, "ForkAfterAuthentication=no");
    put_way(&a, &w);
    put(&a, "--");
    put(&a, ssh_conn_address(c));
    return a.at;
}

struct known {
    struct buf *b;
    const char *id;
};

static void known_line(void *arg, struct str type, struct str base64)
{
    const struct known *k = arg;
    buf_printf(k->b, "%s %.*s %.*s\n", k->id, (int)type.n, type.s, (int)base64.n, base64.s);
}

int ssh_config_write(struct ssh_pool *p, const struct ssh_target *t, const char *known_path,
                     uint32_t try, struct buf *config, struct buf *known, const char **ret_address,
                     struct err *e)
{
    struct ssh_peer *peer;
    SCOPED_ARENA(mem);
    if (!ssh_path_is_plain(known_path))
        return err_set(e, ERR_INVALID, "\"%s\" cannot be the name of a file of host keys",
                       known_path);
    int rc = ssh_peer_of(p, t, &peer, e);
    if (rc < 0)
        return rc;
    struct way w = {p, peer, &peer->where->t, known_path};
    struct args a = {&mem, arena_new(&mem, const char *, ARGS_MAX), 0};
    option(&a, arena_printf(&mem, "User=%s", w.t->user));
    option(&a, arena_printf(&mem, "Port=%u", w.t->port));
    option(&a, "ControlMaster=no");
    option(&a, "ControlPath=none");
    option(&a, "ForwardAgent=no");
    option(&a, "ForwardX11=no");
    option(&a, "RequestTTY=no");
    put_way(&a, &w);
    /* What is said first counts: the target's own configuration says the rest. */
    for (size_t i = 0; i + 1 < a.n; i += 2)
        buf_printf(config, "%s\n", a.at[i + 1]);
    if (w.t->config)
        buf_printf(config, "Include \"%s\"\n", w.t->config);
    ssh_hostkey_each(ssh_peer_keys(peer), known_line, &(struct known){known, peer->id});
    *ret_address = w.t->addresses[ssh_peer_address(peer, try % w.t->n_addresses)];
    return 0;
}

/* The last line that says something. */
static struct str last_words(const char *words)
{
    size_t end = strlen(words);
    while (end && strchr("\r\n ", words[end - 1]))
        end--;
    size_t begin = end;
    while (begin && words[begin - 1] != '\n')
        begin--;
    return (struct str){words + begin, end - begin};
}

/* All lines in one: with a jump host the first ones tell what the last one only regrets. */
static void words_join(const char *words, char *ret, size_t max)
{
    size_t n = 0;
    bool line = false; /* one ended, and another may follow */
    for (; *words && n + 3 < max; words++) {
        bool end = *words == '\r' || *words == '\n';
        if (line && n && !end) {
            ret[n++] = ',';
            ret[n++] = ' ';
        }
        if (!end)
            ret[n++] = *words;
        line = end;
    }
    ret[n] = '\0';
}

enum ssh_fail ssh_openssh_why(const char *words, char ret_why[SSH_WHY])
{
    static const char remedy[] = "; is the machine up, and its ssh server?";
    static const struct {
        const char *sign;
        enum ssh_fail fail;
        const char *remedy;
    } table[] = {
        {"REMOTE HOST IDENTIFICATION HAS CHANGED", SSH_FAIL_HOST_KEY,
         "the host key is not the one that is known; if the machine was installed anew, trust it "
         "anew, else somebody may be in between"},
        {"Host key verification failed", SSH_FAIL_HOST_KEY,
         "the host key is not known, and only pinned keys are trusted; pin it"},
        {"Permission denied", SSH_FAIL_AUTH,
         "put the public key into that user's authorized_keys, or look at the sshd's log"},
        {"Too many authentication failures", SSH_FAIL_AUTH, "name the one identity that fits"},
        {"Could not resolve hostname", SSH_FAIL_UNREACHABLE, "the name has no address"},
    };
    struct str last = last_words(words);
    if (!last.n)
        last = str_of("ssh ended without a word, as it does when the server falls silent");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(words, table[i].sign)) {
            snprintf(ret_why, SSH_WHY, "%.*s; %s", (int)(last.n < 300 ? last.n : 300), last.s,
                     table[i].remedy);
            return table[i].fail;
        }
    words_join(words, ret_why, SSH_WHY - sizeof remedy);
    if (!*ret_why)
        snprintf(ret_why, SSH_WHY, "%.*s", (int)last.n, last.s);
    size_t n = strlen(ret_why);
    snprintf(ret_why + n, SSH_WHY - n, "%s", remedy);
    return SSH_FAIL_UNREACHABLE;
}
