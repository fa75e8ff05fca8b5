/* cluster_machine.c - where a machine is and how it is reached, as its provider says
 *
 * A task of a machine (create, confirm) may return, besides whatever its site likes:
 *
 *   ipaddress   the address of the node, or
 *   addresses   all of them, the first one being the node's, or
 *   ipaddresses all of them by what they are for: access_v4 before bind_v4 before the others
 *   access      how it is reached: a map as that of a node (RFC 09, section 3)
 *
 * They become the node's own, so that the first task on it finds its way, with the host key that
 * the provider vouches for.  What a request said before and the provider does not mention stays.
 * Refused as a whole if a part of it is not what it should be: half an access is a node that is
 * reached by the wrong key.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/cluster_i.h"

enum {
    ADDRESSES_MOST = 64,
    ADDRESS_BYTES = 253,
    HOST_KEYS_MOST = 16,
    HOST_KEY_BYTES = 2048,
    PORT_MOST = 65535
};

/* As the schema Access has it, but for nulls: a provider has nothing to remove. */
static const struct access_key {
    const char *name;
    enum value_kind kind;
    uint32_t most; /* bytes of a text, members of a list, or the largest number */
} access_keys[] = {
    {"via", VALUE_STRING, 16},
    {"user", VALUE_STRING, 64},
    {"port", VALUE_INT, PORT_MOST},
    {"identity", VALUE_STRING, 255},
    {"jump", VALUE_STRING, 255},
    {"config", VALUE_STRING, 255},
    {"sudo", VALUE_BOOL, 1},
    {"trust", VALUE_STRING, 16},
    {"host_keys", VALUE_LIST, HOST_KEYS_MOST},
};

static bool is_text(const struct value *v, uint32_t most)
{
    return v->kind == VALUE_STRING && v->n > 0 && v->n <= most && !memchr(v->s, '\n', v->n);
}

static bool are_texts(const struct value *v, uint32_t members, uint32_t bytes)
{
    if (v->kind != VALUE_LIST || !v->n || v->n > members)
        return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (!is_text(&v->items[i], bytes))
            return false;
    return true;
}

static bool is_word(const struct value *v, const char *a, const char *b)
{
    struct str word = value_as_str(v);
    return str_is(word, a) || str_is(word, b);
}

static bool access_value_fits(const struct access_key *k, const struct value *v)
{
    if (v->kind != k->kind)
        return false;
    if (strcmp(k->name, "via") == 0)
        return is_word(v, "ssh", "local");
    if (strcmp(k->name, "trust") == 0)
        return is_word(v, "first", "pinned");
    if (k->kind == VALUE_INT)
        return v->i > 0 && v->i <= k->most;
    if (k->kind == VALUE_LIST)
        return are_texts(v, k->most, HOST_KEY_BYTES);
    return k->kind == VALUE_BOOL || is_text(v, k->most);
}

static int access_check(const struct value *access, struct err *e)
{
    if (access->kind != VALUE_MAP)
        return err_set(e, ERR_INVALID, "the provider's \"access\" is no map");
    for (uint32_t i = 0; i < access->n; i++) {
        size_t k = 0, n = sizeof access_keys / sizeof *access_keys;
        while (k < n && strcmp(access_keys[k].name, access->members[i].key) != 0)
            k++;
        if (k == n || !access_value_fits(&access_keys[k], &access->members[i].v))
            return err_set(e, ERR_INVALID, "the provider's \"access\": %s \"%.64s\"",
                           k == n ? "there is no" : "nothing that can be a",
                           access->members[i].key);
    }
    return 0;
}

/* A map of kinds to addresses as a list, in the order in which they are to be tried; NULL if it is
 * something else. */
static const struct value *addresses_by_kind(struct arena *mem, const struct value *kinds)
{
    static const char *const first[] = {"access_v4", "bind_v4"};
    struct value *list = value_list(mem);
    if (!value_is(kinds, VALUE_MAP))
        return NULL;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (value_get(kinds, first[i]))
            value_add(mem, list, value_get(kinds, first[i]));
    for (uint32_t i = 0; i < kinds->n; i++)
        if (strcmp(kinds->members[i].key, first[0]) && strcmp(kinds->members[i].key, first[1]))
            value_add(mem, list, &kinds->members[i].v);
    return list;
}

static int addresses_take(struct arena *mem, const struct value *given, struct value *report,
                          struct err *e)
{
    const struct value *all = value_get(given, "addresses"), *one = value_get(given, "ipaddress"),
                       *kinds = value_get(given, "ipaddresses");
    if (all && !are_texts(all, ADDRESSES_MOST, ADDRESS_BYTES))
        return err_set(e, ERR_INVALID,
                       "the provider's \"addresses\" are no list of addresses; by what they are "
                       "for they are told as \"ipaddresses\"");
    if (one && !is_text(one, ADDRESS_BYTES))
        return err_set(e, ERR_INVALID, "the provider's \"ipaddress\" is no address");
    if (!all && kinds) {
        all = addresses_by_kind(mem, kinds);
        if (!all || !are_texts(all, ADDRESSES_MOST, ADDRESS_BYTES))
            return err_set(e, ERR_INVALID,
                           "the provider's \"ipaddresses\" are no map of kinds to addresses");
    }
    if (!all && one) {
        struct value *list = value_list(mem);
        value_add(mem, list, one);
        all = list;
    }
    if (all)
        value_set(mem, report, "addresses", all);
    return 0;
}

int cluster_machine_told(struct server *s, uint32_t node, struct arena *mem,
                         const struct value *given, struct err *e)
{
    static const struct caller provider = {.name = "provider", .tenant = 1};
    struct server_call c = {.mem = mem, .who = &provider};
    const struct value *access = value_get(given, "access");
    struct value *report = value_map(mem);
    int rc = addresses_take(mem, given, report, e);
    if (rc >= 0 && access && (rc = access_check(access, e)) >= 0)
        value_set(mem, report, "access", access);
    if (rc >= 0 && report->n)
        node_body_refresh(s, &c, node, report);
    return rc < 0 ? rc : 0;
}
