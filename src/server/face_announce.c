/* face_announce.c - a machine says that it is there
 *
 * The caller need not be an operator: a token of scope `announce` may do this and nothing else, so
 * it may lie in an image that many machines boot.  A machine is known by its id, never by what it
 * calls itself.  One that is known is alive, in this boot; one that is not becomes a node with the
 * default roles, or is the one that somebody added under that name and nobody has seen yet. Another
 * machine under the name of one that was seen is refused: whether a machine was replaced is an
 * operator's word (`anneal node report NAME alive --machine-id ID`).
 *
 * Saying the same again changes nothing.  How often one token may speak, and how much it may say,
 * is limited.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "server/probing.h"

enum { FACTS_BYTES = 64 * 1024, BURST_SECONDS = 10 };

/* A bucket that fills with announce_rate a second and holds ten seconds' worth. */
static int rate_take(struct server *s, const struct server_call *c, struct err *e)
{
    struct inv_token *t = &s->inv.tokens.at[c->who->token];
    uint64_t now = loop_now_ms(s->loop), rate = s->opts->announce_rate;
    uint64_t most = rate * BURST_SECONDS * 1000;
    if (c->who->scope != SCOPE_ANNOUNCE)
        return 0;
    if (!t->announced_ms)
        t->announce_left = most;
    else if (now > t->announced_ms)
        t->announce_left += (now - t->announced_ms) * rate;
    if (t->announce_left > most)
        t->announce_left = most;
    t->announced_ms = now ? now : 1;
    if (t->announce_left < 1000) {
        err_set(e, ERR_LIMIT, "the token %s announces more than %u times a second", t->name,
                (unsigned)rate);
        return err_hint(e, "try again in a second, or raise announce_rate");
    }
    t->announce_left -= 1000;
    return 0;
}

static int check_size(const struct server_call *c, struct err *e)
{
    SCOPED_BUF(text);
    const struct value *facts = value_get(c->body, "facts");
    if (facts)
        json_write(&text, facts, 0);
    if (text.len <= FACTS_BYTES)
        return 0;
    err_set(e, ERR_TOO_LARGE, "facts of %zu bytes; a machine may tell %d", text.len, FACTS_BYTES);
    return err_at(e, "/facts");
}

static int known_machine(const struct server *s, uint32_t id, const char *name, struct err *e)
{
    if (!name || strcmp(name, s->inv.nodes.at[id].name) == 0)
        return 0;
    err_set(e, ERR_CONFLICT, "this machine is node %s, not %s", s->inv.nodes.at[id].name, name);
    err_at(e, "/name");
    return err_hint(e, "a node keeps its name: delete it to have it announced under another");
}

/* A node of that name that no machine has claimed yet. */
static int claimed(struct server *s, uint32_t id, struct err *e)
{
    struct node_view v = {0};
    const char *name = s->inv.nodes.at[id].name;
    (void)anneal_node(s->engine, id, &v);
    if (!v.machine)
        return 0;
    err_set(e, ERR_CONFLICT, "node %s is another machine", name);
    err_at(e, "/machine_id");
    return err_hint(e,
                    "if it was replaced, an operator says so: "
                    "`anneal node report %s alive --machine-id ID`",
                    name);
}

/* What a machine may say of itself; who it is for is not among that. */
static const struct value *told(const struct server_call *c)
{
    static const char *const fields[] = {"machine_id", "boot_id", "addresses", "facts"};
    struct value *v = value_map(c->mem);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (value_get(c->body, fields[i]))
            value_set(c->mem, v, fields[i], value_get(c->body, fields[i]));
    value_put_text(c->mem, v, "alive", "alive");
    return v;
}

int server_announce(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    const char *machine = value_as_text(value_get(c->body, "machine_id"), "");
    const char *boot = value_as_text(value_get(c->body, "boot_id"), NULL);
    const char *name = value_as_text(value_get(c->body, "name"), NULL);
    uint32_t id = node_of_machine(s, machine);
    int rc = rate_take(s, c, e);
    if (rc < 0 || (rc = check_size(c, e)) < 0 || (rc = server_writable(s, e)) < 0)
        return rc;
    if (id) {
        rc = known_machine(s, id, name, e);
    } else if (name && (id = inventory_node_find(&s->inv, name))) {
        rc = claimed(s, id, e);
    }
    bool new = !id;
    if (rc >= 0 && new) {
        rc = node_make(s, c, name, told(c), &id, e);
    } else if (rc >= 0 && (rc = node_seen(s, c, id, machine, boot, e)) >= 0) {
        node_body_refresh(s, c, id, told(c));
        probing_told(s, id, true);
    }
    if (rc < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_put_int(c->mem, v, "id", id);
    value_put_text(c->mem, v, "name", s->inv.nodes.at[id].name);
    value_put_bool(c->mem, v, "new", new);
    r->body = v;
    if (new)
        r->location = arena_printf(c->mem, "/v1/nodes/%s", s->inv.nodes.at[id].name);
    r->group = commit_open_group(s->commit);
    return 0;
}
