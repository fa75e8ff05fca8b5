/* cli_assign.c - PATH=VALUE, as a map that sets just that when it is laid over a document */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "base/json.h"

/* JSON if it reads as JSON, the text itself otherwise: port=8080 is a number, name=web a text. */
static const struct value *value_of_text(struct cli *c, const char *s)
{
    struct value *v;
    struct err ignored;
    if (!json_parse(&c->mem, s, strlen(s), NULL, &v, &ignored))
        return v;
    return value_text(&c->mem, s);
}

/* A map with one value at a dotted path: merged over a document it sets just that. */
static const struct value *patch_of(struct cli *c, struct str path, const struct value *leaf)
{
    while (path.n) {
        size_t at = path.n;
        while (at && path.s[at - 1] != '.')
            at--;
        struct value *map = value_map(&c->mem);
        value_set_str(&c->mem, map, (struct str){path.s + at, path.n - at}, leaf);
        leaf = map;
        path.n = at ? at - 1 : 0;
    }
    return leaf;
}

int cli_assignment(struct cli *c, const char *text, const struct value **ret_patch, struct err *e)
{
    const char *eq = strchr(text, '=');
    size_t n = eq ? (size_t)(eq - text) : 0;
    if (!n || *text == '.' || text[n - 1] == '.' || memmem(text, n, "..", 2)) {
        err_set(e, ERR_INVALID, "\"%s\" is not PATH=VALUE", text);
        return err_hint(e, "for example listen.port=8080");
    }
    *ret_patch = patch_of(c, (struct str){text, n}, value_of_text(c, eq + 1));
    return 0;
}
