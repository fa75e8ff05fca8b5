/* face_export.c - the live catalog as files, with what was laid over its task graphs
 *
 * Files are as they were loaded.  An overlay becomes a file of graph_overlays/ in the folder of its
 * barclamp, byte for byte; a deployment's, which is meant as that of no barclamp of the catalog, in
 * a folder with a barclamp of its own.  Their names rise as the layers do, above all that the
 * catalog had already, so that who loads the files gets the graph that the deployment runs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "server/face_overlay.h"

enum { NUMBER_DIGITS = 6 };

struct export
{
    const struct server_call *call;
    const struct catalog *cat;
    struct value *files, *overlays;
    struct str last;    /* highest name of an overlay that is there already; "" if none */
    uint64_t first;     /* number of the first that comes */
    const char *folder; /* of the deployment's */
};

/* --- files that are there --- */

static int files_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct export *x = arg;
    const struct row_catalog *r = row;
    (void)t;
    return json_parse(x->call->mem, r->files.s, r->files.n, NULL, &x->files, e);
}

static int files_read(struct server *s, struct export *x, struct err *e)
{
    uint32_t number = x->cat->number;
    int rc = store_range(s->reader, ROWS_CATALOG, number, number, false, 1, files_row, x, e);

    if (rc < 0)
        return rc;
    if (!x->files) {
        err_set(e, ERR_BUSY, "generation %u of the catalog is being written", number);
        return err_hint(e, "ask again in a moment");
    }
    return 0;
}

static struct str last_part(struct str path)
{
    size_t at = path.n;
    while (at && path.s[at - 1] != '/')
        at--;
    return (struct str){path.s + at, path.n - at};
}

/* DIR/graph_overlays/X or DIR/graph_overlays/G/X; where it is none of a barclamp it does no harm to
 * count it. */
static bool path_in_overlays(struct str path)
{
    static const char folder[] = "graph_overlays/";
    const size_t n = sizeof folder - 1;
    for (size_t i = 0; i + n <= path.n; i++)
        if ((i == 0 || path.s[i - 1] == '/') && memcmp(path.s + i, folder, n) == 0)
            return true;
    return false;
}

/* "000012.yaml" is 12; 0: another name. */
static uint64_t number_of(struct str name)
{
    uint64_t n = 0;
    if (name.n != NUMBER_DIGITS + strlen(".yaml") ||
        memcmp(name.s + NUMBER_DIGITS, ".yaml", strlen(".yaml")) != 0)
        return 0;
    for (size_t i = 0; i < NUMBER_DIGITS; i++) {
        if (name.s[i] < '0' || name.s[i] > '9')
            return 0;
        n = n * 10 + (uint64_t)(name.s[i] - '0');
    }
    return n;
}

static bool folder_taken(const struct export *x, const char *folder)
{
    size_t n = strlen(folder);
    if (catalog_barclamp_get(x->cat, str_of(folder)))
        return true;
    for (uint32_t i = 0; i < x->files->n; i++) {
        const struct member *m = &x->files->members[i];
        if (m->key_n > n && memcmp(m->key, folder, n) == 0 && m->key[n] == '/')
            return true;
    }
    return false;
}

/* Where what comes goes: above what is there, and beside it. */
static void places_find(struct export *x)
{
    for (uint32_t i = 0; i < x->files->n; i++) {
        struct str path = {x->files->members[i].key, x->files->members[i].key_n};
        if (path_in_overlays(path) && str_cmp(last_part(path), x->last) > 0)
            x->last = last_part(path);
    }
    uint64_t known = number_of(x->last);
    if (known)
        x->last = (struct str){"", 0};
    x->first = known + 1;
    x->folder = "deployment";
    for (unsigned i = 2; folder_taken(x, x->folder); i++)
        x->folder = arena_printf(x->call->mem, "deployment-%u", i);
}

/* --- overlays --- */

static void overlay_add(struct export *x, const char *dir, const struct overlay_key *k,
                        uint64_t number, struct str text)
{
    struct arena *a = x->call->mem;
    bool plain = str_is(k->graph, GRAPHS_DEFAULT);
    const char *path = arena_printf(a, "%s%sgraph_overlays/%.*s%s%.*s%s%0*llu.yaml", dir,
                                    *dir ? "/" : "", plain ? 0 : (int)k->graph.n, k->graph.s,
                                    plain ? "" : "/", (int)x->last.n, x->last.n ? x->last.s : "",
                                    x->last.n ? "-" : "", NUMBER_DIGITS,
                                    (unsigned long long)number);
    value_set(a, x->files, path, value_str(a, text));
    value_add(a, x->overlays, value_text(a, path));
}

static const char *barclamp_dir(const struct export *x, uint32_t barclamp)
{
    struct str path = x->cat->files[x->cat->barclamps[barclamp].where.file];
    size_t n = path.n - last_part(path).n;
    return arena_strndup(x->call->mem, path.s, n ? n - 1 : 0);
}

static void deployment_add(struct server *s, struct export *x, uint32_t deployment)
{
    struct arena *a = x->call->mem;
    const char *path = arena_printf(a, "%s/barclamp.yaml", x->folder);
    const char *text = arena_printf(
        a, "barclamp: %s\ndescription: What deployment %s has over the task graphs.\n", x->folder,
        view_deployment_name(s, deployment));
    value_put_text(a, x->files, path, text);
}

static void overlays_add(struct server *s, struct export *x, uint32_t deployment)
{
    bool own = false;

    for (size_t i = 0; i < overlays_piles(s->overlays); i++) {
        struct overlay_key k;
        const struct overlay *newest;
        if (!overlays_pile(s->overlays, i, &k, &newest) || newest->tasks == 0)
            continue;
        const struct catalog_barclamp *b = catalog_barclamp_get(x->cat, k.barclamp);
        if (k.scope == OVERLAY_BARCLAMP && b) {
            uint32_t at = (uint32_t)(b - x->cat->barclamps);
            overlay_add(x, barclamp_dir(x, at), &k, x->first + at, newest->text);
        } else if (k.scope == OVERLAY_DEPLOYMENT && k.deployment == deployment) {
            overlay_add(x, x->folder, &k, x->first + x->cat->n_barclamps, newest->text);
            own = true;
        }
    }
    if (own)
        deployment_add(s, x, deployment);
}

int server_catalog_files(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const char *name = value_as_text(value_get(c->query, "deployment"), NULL);
    struct export x = {.call = c, .cat = s->catalog, .overlays = value_list(c->mem)};
    uint32_t deployment = 0;
    int rc = 0;

    if (!s->catalog) {
        err_set(e, ERR_NOT_FOUND, "no catalog is loaded");
        return err_hint(e, "`anneal catalog load DIR` loads one");
    }
    if (name && (rc = face_filter_deployment(s, name, &deployment, e)) < 0)
        return rc;
    if ((rc = files_read(s, &x, e)) < 0)
        return rc;
    places_find(&x);
    overlays_add(s, &x, deployment);
    struct value *out = value_map(c->mem);
    value_put_int(c->mem, out, "generation", s->catalog->number);
    value_put_text(c->mem, out, "deployment", name ? view_deployment_name(s, deployment) : NULL);
    value_set(c->mem, out, "overlays", x.overlays);
    value_set(c->mem, out, "files", x.files);
    r->body = out;
    return 0;
}
