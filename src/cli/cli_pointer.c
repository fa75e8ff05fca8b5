/* cli_pointer.c - where a problem lies, in the words in which it was given
 *
 * The server points into a request: /edits/0/port, ?node, {id}.  Who typed a command line never saw
 * one, so what is pointed at is named as it is typed: database@db1:port, --node, ID.  Programs,
 * which ask for JSON, get the pointer as it is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli_i.h"

/* Behind "/bindings/" or "/edits/"; NULL: it leads elsewhere. */
static const char *list_pointed(const struct value *body, const char *at,
                                const struct value **ret_list)
{
    static const char *const lists[] = {"bindings", "edits"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t n = strlen(lists[i]);
        if (at[0] != '/' || strncmp(at + 1, lists[i], n) != 0 || at[n + 1] != '/')
            continue;
        *ret_list = value_get(body, lists[i]);
        return value_is(*ret_list, VALUE_LIST) ? at + n + 2 : NULL;
    }
    return NULL;
}

/* "/listen/port" as "listen.port"; n bytes at most. */
static void dotted(const char *pointer, char *ret, size_t n)
{
    snprintf(ret, n, "%s", *pointer ? pointer + 1 : "");
    for (char *p = ret; *p; p++)
        if (*p == '/')
            *p = '.';
}

/* False if it does not lead to a binding or an edit. */
static bool item_name(const struct value *body, struct err *e)
{
    const struct value *list = NULL;
    const char *at = list_pointed(body, e->at, &list);
    char *rest = NULL, below[sizeof e->at] = "";
    unsigned long i = at && *at >= '0' && *at <= '9' ? strtoul(at, &rest, 10) : 0;
    if (!rest || i >= list->n || (*rest && *rest != '/'))
        return false;
    const char *role = value_as_text(value_get(&list->items[i], "role"), NULL);
    const char *nodes = value_as_text(value_get(&list->items[i], "nodes"), NULL);
    if (!role)
        return false;
    if (!strncmp(rest, "/data/", 6))
        rest += 5;
    if (strcmp(rest, "/role") != 0 && strcmp(rest, "/nodes") != 0) /* else it is in the name */
        dotted(rest, below, sizeof below);
    err_at(e, "%.80s%s%.80s%s%s", role, nodes ? "@" : "", nodes ? nodes : "", *below ? ":" : "",
           below);
    return true;
}

void cli_pointer_name(const struct value *body, struct err *e)
{
    char path[sizeof e->at], first[sizeof e->at];
    if (e->at[0] != '/')
        return;
    dotted(e->at, path, sizeof path);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(path, "."), path);
    if (!item_name(body, e) && value_get(body, first))
        err_at(e, "%s", path);
}

/* The positional argument of that name, in capitals as the usage has it. */
static const char *argument_named(const struct cli_verb *v, const char *name, size_t n)
{
    for (size_t i = 0; i < CLI_ARGS_MAX && v->args[i].name; i++)
        if (strlen(v->args[i].name) == n && !strncasecmp(v->args[i].name, name, n))
            return v->args[i].name;
    return NULL;
}

void cli_place_name(const struct cli_verb *v, struct err *e)
{
    const char *name = e->at + 1;
    size_t n = strcspn(name, "}");
    if (!v || (e->at[0] != '?' && e->at[0] != '{'))
        return;
    const char *argument = argument_named(v, name, n);
    if (argument)
        err_at(e, "%s", argument);
    else if (e->at[0] == '{' && v->args[0].name)
        err_at(e, "%s", v->args[0].name); /* most have but one */
    else if (e->at[0] == '?' && verbs_option(v, name, n))
        err_at(e, "--%.*s", (int)n, name);
}
