/* program_flat.c - parameters and data as variables, for programs that do not read JSON
 *
 *   ANNEAL_PARAM_<key>, ANNEAL_DATA_<key>      a text, number, true or false
 *   ANNEAL_DATA_db__port                       of a map in a map: the keys with two underscores
 *
 * Any byte of a key that is no letter and no digit becomes an underscore; of keys that become the
 * same, the first counts.  What has no such form (lists, null, texts with a NUL) is left to the
 * document.  So is what passes a limit: FLAT_DEPTH maps deep, FLAT_VALUE bytes of a value, FLAT_MAX
 * variables and FLAT_BYTES of them all; how many that were is in ANNEAL_LEFT_OUT.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"
#include "jig/program_i.h"

enum { FLAT_DEPTH = 4, FLAT_VALUE = 1024, FLAT_MAX = 256, FLAT_BYTES = 16 * 1024 };

struct flat {
    struct arena *mem;
    struct program_env *out;
    struct strmap names;
    size_t n, bytes, left_out;
};
struct level { /* a map that is being walked */
    const struct value *map;
    uint32_t next;
    const char *name; /* of its members, before their keys */
};

/* What only says how the program is run. */
static bool is_jigs_own(struct str key)
{
    static const char *const own[] = {"command", "script", "file", "args", "env", "cwd"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (str_is(key, own[i]))
            return true;
    return false;
}

static const char *name_of(struct arena *mem, const char *before, const struct member *m)
{
    char *name = arena_printf(mem, "%s%.*s", before, (int)m->key_n, m->key);
    for (char *p = name + strlen(before); *p; p++)
        if (!((*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z')))
            *p = '_';
    return name;
}

static const char *text_of(struct arena *mem, const struct value *v)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_BOOL: return v->b ? "true" : "false";
    case VALUE_INT: return arena_printf(mem, "%" PRId64, v->i);
    case VALUE_REAL: return arena_printf(mem, "%.17g", v->r);
    case VALUE_STRING: return memchr(v->s, '\0', v->n) ? NULL : v->s;
    case VALUE_NULL:
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_KIND_COUNT: break;
    }
    return NULL;
}

static void flat_add(struct flat *f, const char *name, const struct value *v)
{
    const char *text = text_of(f->mem, v);
    if (!text || strmap_get(&f->names, str_of(name), NULL))
        return;
    size_t bytes = strlen(name) + strlen(text) + 2;
    if (f->n == FLAT_MAX || strlen(text) > FLAT_VALUE || f->bytes + bytes > FLAT_BYTES) {
        f->left_out++;
        return;
    }
    strmap_put(&f->names, str_of(name), 0);
    program_env_add(f->out, name, text);
    f->n++;
    f->bytes += bytes;
}

static void flat_walk(struct flat *f, const struct value *top, const char *prefix)
{
    struct level stack[FLAT_DEPTH] = {{top, 0, prefix}};
    size_t depth = value_is(top, VALUE_MAP) ? 1 : 0;
    while (depth) {
        struct level *at = &stack[depth - 1];
        if (at->next == at->map->n) {
            depth--;
            continue;
        }
        const struct member *m = &at->map->members[at->next++];
        if (depth == 1 && !strcmp(prefix, "ANNEAL_PARAM_") &&
            is_jigs_own((struct str){m->key, m->key_n}))
            continue;
        const char *name = name_of(f->mem, at->name, m);
        if (m->v.kind != VALUE_MAP)
            flat_add(f, name, &m->v);
        else if (depth < FLAT_DEPTH)
            stack[depth++] = (struct level){&m->v, 0, arena_printf(f->mem, "%s__", name)};
        else
            f->left_out++;
    }
}

void program_env_flat(struct program_env *env, struct arena *mem, const struct task_request *req)
{
    struct flat f = {.mem = mem, .out = env};
    flat_walk(&f, req->params, "ANNEAL_PARAM_");
    flat_walk(&f, req->data, "ANNEAL_DATA_");
    if (f.left_out)
        program_env_add(env, "ANNEAL_LEFT_OUT", arena_printf(mem, "%zu", f.left_out));
    strmap_done(&f.names);
}
