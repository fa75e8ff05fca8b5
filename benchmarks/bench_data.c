/* bench_data.c - what runs see, asked of a server that lives
 *
 * One node with a chain of 51 roles, each with a wall, system and user data of ten values: the same
 * shape as in bench_sight.c, answered from inventory, engine, catalog and desired state.  Then one
 * value at the top of the chain changes, which all fifty below have among their inputs.  Medians.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "base/log.h"
#include "figures.h"
#include "server/data_i.h"
#include "sys/fs.h"

enum { ANCESTORS = 50, ROUNDS = 501, CHANGES = 51 };

static void must(int rc, const struct err *e)
{
    if (rc < 0) {
        fprintf(stderr, "bench: %s\n", e->text);
        exit(2);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *at, size_t n)
{
    qsort(at, n, sizeof *at, by_size);
    return at[n / 2];
}

static void call(struct server *s, struct arena *mem, server_op_f *op, const char *id,
                 const struct value *body)
{
    struct caller who = {.token = 1, .tenant = 1, .scope = SCOPE_ADMIN, .name = "bench"};
    struct server_call c = {.mem = mem, .who = &who, .id = {id}, .body = body};
    struct server_reply r = {0};
    struct err e;
    must(op(s, &c, &r, &e), &e);
}

static struct value *json(struct arena *mem, const char *text)
{
    struct value *v = NULL;
    struct err e;
    must(json_parse(mem, text, strlen(text), NULL, &v, &e), &e);
    return v;
}

static void load_catalog(struct server *s, struct arena *mem)
{
    SCOPED_BUF(b);
    struct value *files = value_map(mem), *body = value_map(mem);
    buf_puts(&b, "barclamp: bench\nversion: 1.0.0\nroles:\n");
    for (int i = 0; i <= ANCESTORS; i++) {
        buf_printf(&b, "  - name: r%d\n    jig: noop\n    flags: [implicit]\n", i);
        if (i > 0)
            buf_printf(&b, "    requires: [r%d]\n    wants: [/cluster/network]\n", i - 1);
    }
    value_put_text(mem, files, "bench/barclamp.yaml", buf_str(&b).s);
    value_set(mem, body, "files", files);
    call(s, mem, server_catalog_load, NULL, body);
}

static void put_document(struct server *s, uint32_t id, enum data_layer layer, uint32_t seed)
{
    SCOPED_BUF(b);
    buf_printf(&b,
               "{\"cluster\":{\"network\":{\"address\":%u,\"enabled\":%u,\"port\":%u},"
               "\"storage\":{\"address\":%u,\"port\":%u}},"
               "\"service%u\":{\"limits\":{\"address\":%u,\"port\":%u},"
               "\"listen\":{\"address\":%u,\"enabled\":%u,\"port\":%u}}}",
               seed, seed, seed, seed, seed, id, seed, seed, seed, seed, seed);
    (void)data_layer_put(s, id, layer, buf_str(&b));
}

static void visible(struct server *s, uint32_t last, struct figures *f)
{
    double took[ROUNDS], inputs[ROUNDS];
    struct sight_layers layers = {0};
    struct arena mem;
    struct err e;
    uint64_t digest;
    arena_init(&mem);
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = now_s();
        SCOPED(data_look) l;
        data_look_begin(&l, s);
        must(data_look_layers(&l, last, &mem, &layers, &e), &e);
        (void)data_look_merge(&l, last, &layers, &mem);
        took[i] = (now_s() - t0) * 1e6;
        arena_reset(&mem);
    }
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = now_s();
        SCOPED(data_look) l;
        data_look_begin(&l, s);
        must(data_look_inputs(&l, last, &digest, &e), &e);
        inputs[i] = (now_s() - t0) * 1e6;
    }
    figure(f, "data.visible_50", median(took, ROUNDS), AT_MOST, 200, "us", NULL);
    figure_seen("data.visible_50.layers", layers.n, "documents");
    figure_seen("data.inputs_50", median(inputs, ROUNDS), "us");
    arena_done(&mem);
}

static void changed(struct server *s, uint32_t first)
{
    double took[CHANGES];
    for (uint32_t i = 0; i < CHANGES; i++) {
        double t0 = now_s();
        put_document(s, first, DATA_WALL, 100 + i);
        took[i] = (now_s() - t0) * 1e6;
    }
    figure_seen("data.changed_50", median(took, CHANGES), "us, fifty below look again");
}

int main(void)
{
    struct figures f = {0};
    struct opts opts;
    struct server *s = NULL;
    struct arena mem;
    struct err e;
    char dir[] = "/tmp/bench-data-XXXXXX";
    if (!mkdtemp(dir))
        return 2;
    arena_init(&mem);
    opts_init(&opts);
    opts.data_dir = dir;
    log_set_level(LOG_ERROR);
    struct loop *loop = loop_new();
    must(server_new(&(struct server_options){.loop = loop, .opts = &opts}, &s, &e), &e);
    load_catalog(s, &mem);
    call(s, &mem, server_node_create, NULL, json(&mem, "{\"name\":\"n1.bench.test\"}"));
    call(s, &mem, server_deployment_bind, "system",
         json(&mem, "{\"bindings\":[{\"role\":\"r50\",\"nodes\":\"n1.bench.test\"}]}"));
    uint32_t end = anneal_noderole_end(s->engine), top = 1, bottom = 1;
    for (uint32_t id = 1; id < end; id++) {
        if (strcmp(view_role_name(s, id), "r0") == 0)
            top = id;
        if (strcmp(view_role_name(s, id), "r50") == 0)
            bottom = id;
        for (enum data_layer k = DATA_USER; k < DATA_LAYER_COUNT; k++)
            put_document(s, id, k, k + 1);
    }
    visible(s, bottom, &f);
    changed(s, top);
    server_free(s);
    loop_free(loop);
    opts_done(&opts);
    (void)fs_remove_tree(dir, &e);
    arena_done(&mem);
    return f.missed ? 1 : 0;
}
