/* import_fuel.c - task files of Fuel become one barclamp of task graphs
 *
 * Every source file gives one file of the result, in the folder of its graph, so that what people
 * knew about the source helps them here.  The barclamp is lenient and means the same node, as those
 * files were written for.  Each task is loaded once by itself (import_fuel_task.c), so that what is
 * written loads, whatever the source was.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_fuel_i.h"
#include "catalog/import_i.h"

#include <stdlib.h>

#include "base/yaml.h"

/* --- which files --- */

static bool ends_with(struct str s, const char *end)
{
    struct str e = str_of(end);
    return s.n >= e.n && !memcmp(s.s + s.n - e.n, e.s, e.n);
}

static bool is_called(struct str path, const char *name)
{
    struct str rest = {path.s, path.n - strlen(name)};
    return ends_with(path, name) && (!rest.n || strchr("/.", rest.s[rest.n - 1]));
}

static bool is_tasks(struct str path)
{
    return is_called(path, "tasks.yaml") || is_called(path, "deployment_tasks.yaml");
}

bool catalog_import_fuel_wants(struct str path)
{
    return is_tasks(path) || is_called(path, "metadata.yaml");
}

/* --- what they are called --- */

struct part_list { /* of a path, the last being the file's */
    struct str at[16];
    uint32_t n;
};

/* Parts of a path, in which "__" stands for a slash too; of many the last.  The name of the file
 * itself goes: "a/b/tasks.yaml" and "a__b.tasks.yaml" are both a and b. */
static struct part_list parts_split(struct str path)
{
    struct part_list parts = {.n = 0};
    size_t from = 0, room = sizeof parts.at / sizeof *parts.at;

    while (path.n && path.s[path.n - 1] != '/' && path.s[path.n - 1] != '.')
        path.n--; /* yaml */
    path.n -= path.n > 0;
    while (path.n && path.s[path.n - 1] != '/' && path.s[path.n - 1] != '.')
        path.n--; /* tasks */
    for (size_t i = 0; i < path.n; i++) {
        bool flat = path.s[i] == '_' && i + 1 < path.n && path.s[i + 1] == '_';
        bool last = i + 1 == path.n && (path.s[i] == '.' || path.s[i] == '/');
        if (path.s[i] != '/' && !flat && !last)
            continue;
        if (i > from && parts.n == room)
            memmove(parts.at, parts.at + 1, (--parts.n) * sizeof *parts.at);
        if (i > from)
            parts.at[parts.n++] = (struct str){path.s + from, i - from};
        from = i + 1 + flat;
        i += flat;
    }
    return parts;
}

/* The graph that a file belongs to; ours, of the names that were given before. */
static const char *graph_of(struct fuel *f, const struct part_list *parts, uint32_t file)
{
    for (uint32_t i = 0; i + 1 < parts->n; i++)
        if (str_is(parts->at[i], "graphs")) {
            struct value v = {.kind = VALUE_STRING, .source = (uint16_t)(file + 1)};
            v.s = parts->at[i + 1].s;
            v.n = (uint32_t)parts->at[i + 1].n;
            return crow_name(&f->x, &f->graph_names, &v, "graph");
        }
    return "default";
}

/* The last two parts, or that of a graph's own folder. */
static const char *file_name(struct fuel *f, const struct part_list *parts)
{
    SCOPED_BUF(b);
    uint32_t from = parts->n > 2 ? parts->n - 2 : 0;

    if (from < parts->n && str_is(parts->at[from], "graphs"))
        from++;
    for (uint32_t i = from; i < parts->n; i++)
        buf_printf(&b, "%s%.*s", i > from ? "-" : "", (int)parts->at[i].n, parts->at[i].s);
    const char *name = crow_name_make(&f->x, &f->file_names, b.len ? buf_str(&b) : str_of("tasks"));
    strmap_put(&f->file_names, str_of(name), 0);
    return name;
}

/* --- files --- */

static void metadata_tell(struct fuel *f, struct str path, const struct value *top)
{
    for (uint32_t i = 0; value_is(top, VALUE_MAP) && i < top->n; i++) {
        const struct member *m = &top->members[i];
        crow_tell_at(&f->x, IMPORT_LEFT_OUT, path, m->key_line,
                     crow_shown(&f->x, (struct str){m->key, m->key_n}),
                     "graphs of ours have nothing like it: what follows a run is an operation's");
    }
}

static struct fuel_graph *graph_get(struct fuel *f, const char *name)
{
    for (size_t i = 0; i < f->graphs.n; i++)
        if (!strcmp(f->graphs.at[i].name, name))
            return &f->graphs.at[i];
    vec_push(&f->graphs, ((struct fuel_graph){.name = name}));
    return &f->graphs.at[f->graphs.n - 1];
}

static void tasks_import(struct fuel *f, uint32_t file, const struct value *top)
{
    struct crow *x = &f->x;
    struct str path = x->source->files[file].path;
    struct part_list parts = parts_split(path);
    struct fuel_graph *g = graph_get(f, graph_of(f, &parts, file));
    uint32_t kept = 0;
    SCOPED_BUF(text);

    if (!value_is(top, VALUE_LIST)) {
        crow_tell_at(x, IMPORT_FAULT, path, 0, "this file", "left out: it is no list of tasks");
        return;
    }
    crow_comments_head(x, &text, file);
    crow_comment(&text, "Imported from ", path);
    for (uint32_t i = 0; i < top->n; i++) {
        const struct value *v = fuel_task(f, g, &top->items[i]);
        if (!v)
            continue;
        struct value *list = value_list(&x->scratch);
        SCOPED_BUF(one);
        value_add(&x->scratch, list, v);
        yaml_write(&one, list);
        buf_putc(&text, '\n');
        crow_comments_above(x, &text, file, top->items[i].line);
        buf_put(&text, one.data, one.len);
        kept++;
    }
    x->out->counts.files++;
    x->out->counts.vertices += kept;
    if (!kept)
        return; /* a file without anything is none of a catalog */
    g->n_files++;
    crow_file_add(
        x, arena_printf(x->mem, FUEL_BARCLAMP "/graphs/%s/%s.yaml", g->name, file_name(f, &parts)),
        &text);
}

static void source_import(struct fuel *f)
{
    struct crow *x = &f->x;
    const struct catalog_file *const *order = crow_by_path(x);

    for (size_t i = 0; i < x->source->n; i++) {
        uint32_t file = (uint32_t)(order[i] - x->source->files);
        struct str path = order[i]->path;
        struct crow_duplicates d = {x, path};
        struct yaml_options o = {.source = (uint16_t)(file + 1),
                                 .name = arena_strndup(&x->scratch, path.s, path.n),
                                 .duplicate = crow_duplicate_tell,
                                 .ctx = &d};
        struct value *v = NULL;
        struct err e;

        if (!catalog_import_fuel_wants(path))
            continue;
        if (yaml_parse(&x->scratch, order[i]->text.s, order[i]->text.n, &o, &v, &e) < 0)
            crow_tell_at(x, IMPORT_FAULT, path, 0, "left out, as it is no YAML we read",
                         arena_printf(&x->scratch, "%s: %s", e.at, e.text));
        else if (is_tasks(path))
            tasks_import(f, file, v);
        else
            metadata_tell(f, path, v);
    }
}

static void barclamp_write(struct fuel *f, bool limit_circles)
{
    struct crow *x = &f->x;
    struct value *v = value_map(&x->scratch), *graphs = value_map(&x->scratch);
    SCOPED_BUF(text);

    value_put_text(&x->scratch, v, "barclamp", FUEL_BARCLAMP);
    value_put_text(&x->scratch, v, "description", "task graphs imported from Fuel");
    value_put_bool(&x->scratch, v, "lenient", true);
    value_put_text(&x->scratch, graphs, "requires", "same-node");
    if (limit_circles)
        value_put_text(&x->scratch, graphs, "circles", "limit");
    value_set(&x->scratch, v, "graphs", graphs);
    yaml_write(&text, v);
    crow_file_add(x, FUEL_BARCLAMP "/barclamp.yaml", &text);
    x->out->counts.barclamps = 1;
}

static void fuel_done(struct fuel *f)
{
    for (size_t i = 0; i < f->graphs.n; i++)
        strmap_done(&f->graphs.at[i].ids);
    vec_done(&f->graphs);
    crow_names_done(&f->graph_names);
    strmap_done(&f->file_names);
    crow_done(&f->x);
}

static int refuse_empty(const struct crow *x, struct err *e)
{
    int r = err_set(e, ERR_INVALID, "there is no task in what is to be imported");
    if (x->lines.n)
        return err_hint(e, "%.*s: %s", (int)x->lines.at[0].file.n, x->lines.at[0].file.s,
                        x->lines.at[0].why);
    (void)err_hint(e, "tasks are in files called tasks.yaml or NAME.tasks.yaml");
    return r;
}

int catalog_import_fuel(const struct catalog_source *source, bool limit_circles,
                        struct catalog_import **ret_import, struct err *e)
{
    SCOPED(catalog_import) *out = xcalloc(1, sizeof *out);
    struct fuel f = {.x = {.out = out, .mem = &out->mem, .source = source}};
    int r = 0;

    if (source->n > CATALOG_MAX_FILES)
        return err_set(e, ERR_LIMIT, "more than %d files to import", CATALOG_MAX_FILES);
    arena_init(&out->mem);
    arena_init(&f.x.scratch);
    f.x.lines_of = arena_new(&f.x.scratch, struct crow_lines, source->n);
    /* Folders of these names mean something else to a catalog. */
    static const char *const taken[] = {"graphs", "roles", "tasks"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        strmap_put(&f.graph_names.by_ours, str_of(taken[i]), 0);
    source_import(&f);
    for (size_t i = 0; i < f.graphs.n; i++)
        out->counts.graphs += f.graphs.at[i].n_files > 0;
    if (!out->counts.vertices) {
        r = refuse_empty(&f.x, e);
    } else {
        barclamp_write(&f, limit_circles);
        crow_finish(&f.x);
        *ret_import = out;
        out = NULL;
    }
    fuel_done(&f);
    return r;
}
