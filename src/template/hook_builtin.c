/* hook_builtin.c - hooks written in C, called by name in a catalog
 *
 * Each is a pure function with the promises of the language: it reads its scope, charges the same
 * budget and leaves actions.  To add one: a function and a line in the table, a row in
 * docs/hooks.md.
 *
 * address_from_range gives the noderole an address of its own: at on_bind the lowest one from
 * data.range.first to data.range.last that nobody has, kept as `taken` in the role's store under
 * the name of the node and set as `address`; at on_removed it is given back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/hook_i.h"

static const struct value *scope_get(const struct expr_scope *s, const char *name)
{
    for (; s; s = s->outer)
        for (uint32_t i = s->n; i-- > 0;)
            if (str_is(s->vars[i].name, name))
                return s->vars[i].v;
    return NULL;
}

static void act(struct builtin_run *run, struct hook_action action)
{
    vec_push(&run->actions, action);
}

/* --- address_from_range --- */

/* NULL in *ret_v: none is left. */
static int lowest_free(struct builtin_run *run, const struct value *first, const struct value *last,
                       const struct value *taken, const struct value **ret_v, struct err *e)
{
    struct expr_var vars[] = {
        {str_of("first"), first}, {str_of("last"), last}, {str_of("taken"), taken}};
    struct expr_scope scope = {.vars = vars, .n = 3, .budget = run->scope->budget};
    const struct expr *x;
    int rc = expr_compile(run->mem, str_of("address_free(first, last, taken | values)"), NULL, &x,
                          e);
    return rc < 0 ? rc : expr_eval(x, &scope, run->mem, ret_v, e);
}

static int address_give(struct builtin_run *run, struct str node, struct str path, struct err *e)
{
    const struct value *data = scope_get(run->scope, "data");
    const struct value *first = value_at(data, "range.first"), *last = value_at(data, "range.last");
    const struct value *taken = value_get(scope_get(run->scope, "store"), "taken");
    if (!value_is(first, VALUE_STRING) || !value_is(last, VALUE_STRING)) {
        err_set(e, ERR_INVALID, "data.range must have first and last");
        return err_hint(e, "give the role an attribute \"range\" with both");
    }
    if (!value_is(taken, VALUE_MAP))
        taken = value_map(run->mem);
    const struct value *address = value_get_str(taken, node);
    int rc = address ? 0 : lowest_free(run, first, last, taken, &address, e);
    if (rc < 0)
        return rc;
    if (!address) {
        const char *text = arena_printf(run->mem, "no address is left from %s to %s", first->s,
                                        last->s);
        act(run, (struct hook_action){.verb = HOOK_REFUSE, .text = str_of(text)});
        return 0;
    }
    act(run, (struct hook_action){.verb = HOOK_STORE, .path = path, .v = address});
    act(run, (struct hook_action){.verb = HOOK_SET, .path = str_of("address"), .v = address});
    return 0;
}

static int address_from_range(struct builtin_run *run, struct err *e)
{
    struct str node = value_as_str(value_get(scope_get(run->scope, "node"), "name"));
    if (!hook_key_ok(node))
        return err_set(e, ERR_INVALID, "there is no node");
    struct str path = str_of(arena_printf(run->mem, "taken/%.*s", (int)node.n, node.s));
    if (run->event == HOOK_ON_BIND)
        return address_give(run, node, path, e);
    act(run, (struct hook_action){.verb = HOOK_UNSTORE, .path = path});
    return 0;
}

/* --- the table --- */

static const struct hook_builtin builtins[] = {
    {.name = "address_from_range",
     .events = 1u << HOOK_ON_BIND | 1u << HOOK_ON_REMOVED,
     .reads = (const char *const[]){"data.range", "store.taken", "node.name", NULL},
     .sets = (const char *const[]){"address", NULL},
     .stores = (const char *const[]){"taken", NULL},
     .run = address_from_range},
};

const struct hook_builtin *hook_builtin_find(struct str name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (str_is(name, builtins[i].name))
            return &builtins[i];
    return NULL;
}

bool hook_builtin_at(size_t i, const char **ret_name, uint32_t *ret_events)
{
    if (i >= sizeof builtins / sizeof *builtins)
        return false;
    *ret_name = builtins[i].name;
    *ret_events = builtins[i].events;
    return true;
}
