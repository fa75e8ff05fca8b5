/* test_bind_request.c - what a request to bind may bring and is told: data, steps, limits */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "bind_scene.h"

#include "base/json.h"

static const struct value *parse(struct arena *a, const char *text)
{
    struct value *v = NULL;
    struct err e;
    json_parse(a, text, strlen(text), NULL, &v, &e);
    return v;
}

static void test_data(void)
{
    static const char text[] =
        "barclamp: t\n"
        "roles:\n"
        "  - name: db\n"
        "    attributes:\n"
        "      port: {schema: {type: integer, minimum: 1}, default: 5432}\n"
        "      opts: {schema: {type: object, properties: {deep: {type: boolean, default: true}}},\n"
        "             default: {a: 1, b: 2}}\n"
        "  - {name: plain}\n";
    struct scene s;
    SCOPED_ARENA(mem);
    scene_open(&s, text, 3);
    struct bind_item items[2] = {{str_of("db"), 1, NULL}, {str_of("db"), 1, NULL}};
    struct bind_request req = {1, items, 1};
    struct plan *p = NULL;
    uint64_t digest = 0, other = 0;
    const struct value *data = NULL;
    const struct catalog_role *db = catalog_role_get(s.cat, str_of("db"));

    is_int(planner_data(&mem, db, NULL, &data, &digest, &s.err), 0, "defaults");
    struct buf b = {0};
    json_write_canonical(&b, data);
    is_text(b.data, "{\"opts\":{\"a\":1,\"b\":2,\"deep\":true},\"port\":5432}", "all of them");
    planner_data(&mem, db, parse(&mem, "{\"opts\":{\"b\":3},\"port\":7}"), &data, &other, &s.err);
    buf_clear(&b);
    json_write_canonical(&b, data);
    is_text(b.data, "{\"opts\":{\"a\":1,\"b\":3,\"deep\":true},\"port\":7}", "user data over them");
    ok(digest != other, "other data, other digest");
    planner_data(&mem, db, parse(&mem, "{\"port\":5432}"), &data, &other, &s.err);
    is_int(other, digest, "data equal to the defaults have their digest");
    is_int(planner_data(&mem, db, parse(&mem, "[1]"), &data, &other, &s.err), -ERR_INVALID,
           "data that is no map");
    buf_done(&b);

    items[0].user = parse(&mem, "{\"port\":0}");
    is_int(planner_bind(s.cat, &s.world.face, &req, &p, NULL, &s.err), -ERR_INVALID, "bad data");
    is_text(s.err.at, "/port", "where");
    is_text(s.err.text, "db@n1: expected 1 or more", "and what");
    items[0].user = parse(&mem, "{\"prt\":1}");
    is_int(planner_bind(s.cat, &s.world.face, &req, &p, NULL, &s.err), -ERR_INVALID,
           "no attribute");
    has_text(s.err.hint, "did you mean \"port\"", "but one like it");
    items[0].user = parse(&mem, "{\"port\":1}");
    req.n_items = 2;
    is_int(planner_bind(s.cat, &s.world.face, &req, &p, NULL, &s.err), -ERR_INVALID,
           "twice with different data");
    has_text(s.err.text, "db@n1 is requested twice", "names it");
    items[1].user = parse(&mem, "{\"port\":1}");
    is_int(planner_bind(s.cat, &s.world.face, &req, &p, NULL, &s.err), 0, "twice the same");
    is_text(p->noderoles[0].user.s, "{\"port\":1}", "its own data go along");
    fake_apply(&s.world, p);
    plan_free(p);
    for (unsigned i = 0; i < 2; i++) {
        struct planner_steps *steps = NULL;
        items[0].user = parse(&mem, i ? "{\"port\":2}" : "{\"port\":1}");
        req.n_items = 1;
        is_int(planner_bind(s.cat, &s.world.face, &req, &p, &steps, &s.err), 0, "again");
        is_int(p->n_noderoles, 0, "is nothing new");
        is_int(steps->at[0].other_data, i, "other data are %s", i ? "told" : "not the case");
        planner_steps_free(steps);
        plan_free(p);
    }
    scene_close(&s);
}

static void parent_write(struct buf *b, const struct planner_parent *p)
{
    bool other_name = memcmp(p->noderole.s, p->wanted.s, p->wanted.n) != 0 ||
                      p->noderole.s[p->wanted.n] != '@';

    buf_printf(b, "    %s %s", p->used ? "uses" : "needs", p->noderole.s);
    if (other_name)
        buf_printf(b, " for %s", p->wanted.s);
    buf_printf(b, ": %s", bind_found_name((enum bind_found)p->found));
    if (p->found == FOUND_IN_DEPLOYMENT || p->found == FOUND_PEER)
        buf_printf(b, " (%s)", p->deployment.s);
    buf_putc(b, '\n');
}

/* One line a noderole and one a parent. */
static void steps_write(struct buf *b, const struct planner_steps *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct planner_step *step = &s->at[i];
        if (step->why == BIND_PRESENT) {
            buf_printf(b, "keep %s@%s: bound already%s\n", step->role.s, step->node.s,
                       step->other_data ? ", with other data" : "");
            continue;
        }
        buf_printf(b, "bind %s@%s in %s: %s", step->role.s, step->node.s, s->deployment.s,
                   bind_why_name((enum bind_why)step->why));
        if (step->why == BIND_REQUIRED)
            buf_printf(b, " by %s", step->by.s);
        buf_putc(b, '\n');
        for (uint32_t k = 0; k < step->n_parents; k++)
            parent_write(b, &step->parents[k]);
    }
}

static void test_steps(void)
{
    static const char text[] =
        "barclamp: t\n"
        "roles:\n"
        "  - {name: base, flags: [implicit]}\n"
        "  - {name: watch}\n"
        "  - {name: db, provides: [sql], requires: [base], flags: [cluster]}\n"
        "  - {name: web, requires: [sql, base], uses: [watch]}\n";
    struct scene s;
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    scene_open(&s, text, 4);
    vec_push(&s.world.deployments, ((struct fake_deployment){"kid", 1}));
    scene_bind(&s, 1, "watch@1 db@1");
    scene_bind(&s, 2, "base@3 web@2 db@3 db@2 base@3");
    steps_write(&b, s.steps);
    is_text(b.data,
            "bind base@n2 in kid: required by web@n2\n"
            "bind base@n3 in kid: requested\n"
            "bind db@n2 in kid: requested\n"
            "    needs base@n2: on the same node\n"
            "bind db@n3 in kid: requested\n"
            "    needs base@n3: on the same node\n"
            "bind web@n2 in kid: requested\n"
            "    needs db@n2 for sql: provided on the same node\n"
            "    needs db@n3 for sql: peer (kid)\n"
            "    needs base@n2: created\n"
            "    uses watch@n1: in the deployment (system)\n",
            "the dry run");
    buf_clear(&b);
    json_write(&b, planner_steps_value(&mem, s.steps), 0);
    has_text(b.data,
             "{\"role\":\"base\",\"node\":\"n2\",\"why\":\"required\",\"by\":\"web@n2\","
             "\"wanted\":\"base\",\"parents\":[]}",
             "as a value");
    has_text(b.data,
             "{\"wanted\":\"sql\",\"noderole\":\"db@n3\",\"deployment\":\"kid\",\"found\":\"peer\","
             "\"new\":true,\"used\":false}",
             "with parents");
    scene_bind(&s, 1, "web@2");
    buf_clear(&b);
    steps_write(&b, s.steps);
    is_text(b.data, "keep web@n2: bound already\n", "and what stays");
    buf_clear(&b);
    json_write(&b, planner_steps_value(&mem, s.steps), 0);
    is_text(b.data,
            "[{\"role\":\"web\",\"node\":\"n2\",\"why\":\"present\",\"id\":8,\"other_data\":false,"
            "\"parents\":[]}]",
            "as a value");
    planner_steps_free(NULL);
    is_text(bind_why_name(BIND_WHY_COUNT), "?", "a number that is no why");
    is_text(bind_found_name(FOUND_COUNT), "?", "a number that is no way");
    scene_close(&s);
}

static int limited(struct scene *s, uint32_t noderoles, uint32_t needs, uint32_t tasks)
{
    struct bind_item items[3] = {
        {str_of("top"), 1, NULL}, {str_of("top"), 2, NULL}, {str_of("peer"), 3, NULL}};
    struct bind_request req = {1, items, 3, noderoles, needs, tasks};
    struct plan *p = NULL;
    int r = planner_bind(s->cat, &s->world.face, &req, &p, NULL, &s->err);
    plan_free(p);
    return r;
}

static void test_limits(void)
{
    static const char text[] = "barclamp: t\n"
                               "roles:\n"
                               "  - {name: base}\n"
                               "  - {name: peer, flags: [cluster]}\n"
                               "  - {name: child, requires: [peer]}\n"
                               "  - {name: top, requires: [base]}\n";
    struct scene s;
    scene_open(&s, text, 9);
    is_int(limited(&s, 4, 2, 4), 0, "just enough");
    is_int(limited(&s, 3, 2, 4), -ERR_LIMIT, "a noderole too many");
    has_text(s.err.text, "more than 3 noderoles", "is told");
    is_int(limited(&s, 4, 1, 4), -ERR_LIMIT, "a need too many");
    has_text(s.err.text, "more than 1 needs", "is told");
    is_int(limited(&s, 4, 2, 3), -ERR_LIMIT, "a task too many");
    has_text(s.err.text, "more than 3 tasks", "is told");
    scene_bind(&s, 1, "peer@4 child@5 child@6 child@7");
    is_int(limited(&s, 4, 3, 4), 0, "three needs of live noderoles");
    is_int(limited(&s, 4, 2, 4), -ERR_LIMIT, "count as well");
    scene_close(&s);
}

/* A chain of roles longer than a message. */
static void test_long_chain(void)
{
    struct buf text = {0};
    struct scene s;
    buf_puts(&text, "barclamp: t\nroles:\n  - {name: r0, flags: [abstract]}\n");
    for (unsigned i = 1; i <= 40; i++)
        buf_printf(&text, "  - {name: r%u, requires: [r%u]}\n", i, i - 1);
    scene_open(&s, text.data, 1);
    is_int(scene_bind(&s, 1, "r40@1"), -ERR_REFUSED, "a refusal far down");
    is_text(s.err.text,
            "r40@n1 requires r39: ...: r3@n1 requires r2: r2@n1 requires r1: r1@n1 requires r0: "
            "r0 is abstract and cannot be bound",
            "shows both ends of the chain");
    buf_done(&text);
    scene_close(&s);
}

int main(void)
{
    test_data();
    test_steps();
    test_limits();
    test_long_chain();
    return tap_done();
}
