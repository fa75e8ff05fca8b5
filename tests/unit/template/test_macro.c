/* test_macro.c - macros: what opens one, what it stands for, and what is refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "template/macro.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define S(text)                                                                                    \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

static const struct str web[] = {S("web"), S("a.b")}, both[] = {S("web"), S("db")};
static const struct macro_address first[] = {{S("bind_v4"), S("10.0.0.1")},
                                             {S("access_v4"), S("9.9.9.1")}};
static const struct macro_address second[] = {{S("bind_v4"), S("10.0.0.2")}};
static const struct macro_node nodes[] = {
    {S("n10"), 7, S("h10"), first, 2, web, 2},
    {S("n2"), 3, S("h2"), second, 1, both, 2},
    {S("n1"), 9, S(""), NULL, 0, NULL, 0},
};
static const struct macro_view view = {S("ann"), nodes, COUNT(nodes)};

static void expand_is(struct macro_cluster *c, uint32_t self, const char *text, const char *want)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(out);
    struct err e;
    const struct macro_text *t = macro_text_compile(&mem, str_of(text), &e);

    if (!ok(t != NULL, "\"%s\" can be read", text))
        return;
    ok(macro_text_expand(t, c, self, &out, &e) == 0, "\"%s\" is expanded", text);
    is_text(buf_str(&out).s, want, "\"%s\" for node %d", text, (int)self);
}

static void refuse_is(struct macro_cluster *c, uint32_t self, const char *text, const char *want)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(out);
    struct err e;
    const struct macro_text *t = macro_text_compile(&mem, str_of(text), &e);

    if (!ok(t != NULL, "\"%s\" can be read", text))
        return;
    is_int(macro_text_expand(t, c, self, &out, &e), -ERR_REFUSED, "\"%s\" is refused", text);
    has_text(e.text, want, "\"%s\" says why", text);
}

static void texts(void)
{
    struct macro_cluster *c = macro_cluster_new(&view);

    expand_is(c, 0, "", "");
    expand_is(c, 0, "nothing here", "nothing here");
    expand_is(c, 0, "%host.self%", "h10");
    expand_is(c, 1, "<%ip.self%>", "<10.0.0.2>");
    expand_is(c, 0, "%ip.access_v4.self%", "9.9.9.1");
    expand_is(c, 0, "%cluster.owner%@x", "ann@x");
    /* Lists by name in the order of bytes, single ones and instances by number. */
    expand_is(c, 0, "%host.service.web%", "h10,h2");
    expand_is(c, 0, "%ip.service.web%", "10.0.0.1,10.0.0.2");
    expand_is(c, 0, "%host.service.web[0]% %host.service.web[1]%", "h2 h10");
    expand_is(c, 0, "%instance.self.service.web%", "2");
    expand_is(c, 1, "%instance.self.service.web%", "1");
    expand_is(c, 2, "%instance.self.service.web%", "%instance.self.service.web%");
    expand_is(c, 0, "%num.service.web%/%num.service.db%", "2/1");
    expand_is(c, 0, "%map(host.service.web,'$:80')%", "h10:80,h2:80");
    expand_is(c, 0, "%join(host.service.web,' ; ')%", "h10 ; h2");
    expand_is(c, 0, "%join(map(ip.bind_v4.service.web,\"$$$$/$\"),';')%",
              "$$/10.0.0.1;$$/10.0.0.2");
    expand_is(c, 0, "%map(host.self,'[$]')%", "[h10]");
    expand_is(c, 0, "%map(num.service.web,'$ of them')%", "2 of them");
    expand_is(c, 0, "%map(host.service.web[1],'-$-')%", "-h10-");
    expand_is(c, 0, "%host.service.a.b% %ip.access_v4.service.a.b%", "h10 9.9.9.1");
    /* None is a number, too. */
    expand_is(c, 0, "%num.service.gone%", "0");
    expand_is(c, 2, "%map(num.service.gone,'$ of them')%/%num.service.web%", "0 of them/2");
    expand_is(c, MACRO_NO_NODE, "%num.service.gone%", "0");
    /* What is not there stays, whatever else there is. */
    expand_is(c, 0, "%host.service.gone% %host.self%", "%host.service.gone% h10");
    expand_is(c, MACRO_NO_NODE, "%host.self% %num.service.db%", "%host.self% 1");
    /* Percent signs that open nothing. */
    expand_is(c, 0, "100% of %host.self%", "100% of h10");
    expand_is(c, 0, "this %% stays: %host.service.db%", "this %% stays: h2");
    expand_is(c, 0, "%%host.self%%", "%%host.self%%");
    expand_is(c, 0, "%d{ISO8601} %-5p %c: %m%n", "%d{ISO8601} %-5p %c: %m%n");
    expand_is(c, 0, "%PATH%;%20;50%", "%PATH%;%20;50%");
    expand_is(c, 0, "%host.self", "%host.self");
    expand_is(c, 0, "%host self%host.self%", "%host selfh10");

    refuse_is(c, 2, "%host.self%", "node \"n1\" has no hostname");
    refuse_is(c, 1, "%ip.access_v4.self%", "node \"n2\" has no address access_v4");
    refuse_is(c, 0, "%ip.access_v4.service.web%", "node \"n2\" has no address access_v4");
    refuse_is(c, 0, "%host.service.web[2]%", "there are 2 of them");
    macro_cluster_free(c);
}

static void syntax(void)
{
    static const char *const bad[] = {
        "%hots.self%",
        "%host.slef%",
        "%host.service.%",
        "%host.service.a[%",
        "%host.service.a[]%",
        "%host.service.a[1.0]%",
        "%host.service.a[-1]%",
        "%host.service.a[99999999999]%",
        "%host.service.a]%",
        "%ip.%",
        "%ip.bind_v4.%",
        "%num.self%",
        "%instance.service.a%",
        "%cluster.name%",
        "%map(host.self)%",
        "%map(host.self,$)%",
        "%map(host.self,'$'%",
        "%map(host.self,'$)%",
        "%map(map(host.self,'$'),'$')%",
        "%join(map(host.self,'$'))%",
        "%join(host.self,'-')x%",
        "%map(,'$')%",
        "%f(x)%",
        "%host.self,x%",
    };
    struct err e;

    for (size_t i = 0; i < COUNT(bad); i++) {
        is_int(macro_text_validate(str_of(bad[i]), NULL, &e), -ERR_SYNTAX, "%s is refused", bad[i]);
        has_text(e.text, bad[i], "%s is told", bad[i]);
    }
    struct strmap services = {0};
    strmap_put(&services, str_of("zookeeper"), 0);
    is_int(macro_text_validate(str_of("%host.service.zookeeper% %host.self%"), &services, &e), 0,
           "a service that can be there");
    is_int(macro_text_validate(str_of("x%num.service.zookeepr%"), &services, &e), -ERR_UNKNOWN_NAME,
           "one that cannot");
    has_text(e.text, "there is no service \"zookeepr\"", "is named");
    has_text(e.hint, "zookeeper", "with the nearest");
    strmap_done(&services);
}

static const struct value *parsed(struct arena *a, const char *json)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(a, json, strlen(json), NULL, &v, &e) < 0)
        ok(false, "%s: %s", json, e.text);
    return v;
}

static void value_is_json(const struct value *v, const char *json, const char *what)
{
    SCOPED_BUF(text);
    json_write(&text, v, 0);
    is_text(text.data, json, "%s", what);
}

static void values(void)
{
    SCOPED_ARENA(mem);
    struct macro_cluster *c = macro_cluster_new(&view);
    const struct value *v, *one, *two, *plain;
    struct err e;

    v = parsed(&mem, "{\"fs\":{\"uri\":\"hdfs://%host.service.db%\",\"n\":3},"
                     "\"me\":[1,[\"%host.self%\",\"x\"],{\"k\":\"%host.service.web%\"}],"
                     "\"plain\":{\"a\":[\"b\"]},\"%host.self%\":null}");
    ok(macro_value_expand(&mem, v, c, 0, &one, &e) == 0, "a value is expanded");
    value_is_json(one,
                  "{\"fs\":{\"uri\":\"hdfs://h2\",\"n\":3},\"me\":[1,[\"h10\",\"x\"],{\"k\":\"h10,"
                  "h2\"}],\"plain\":{\"a\":[\"b\"]},\"%host.self%\":null}",
                  "texts, not keys");
    ok(macro_value_expand(&mem, v, c, 1, &two, &e) == 0, "and for another node");
    is_text(value_as_text(value_at(two, "me.1.0"), ""), "h2", "with what is its own");
    ok(value_at(one, "fs.uri")->s == value_at(two, "fs.uri")->s, "what is equal is made once");
    ok(value_at(one, "plain.a")->items == value_at(v, "plain.a")->items,
       "and what has no macro is shared");
    plain = parsed(&mem, "{\"a\":[{\"b\":\"100%\"},null,true,1.5]}");
    ok(macro_value_expand(&mem, plain, c, 0, &one, &e) == 0 && one == plain,
       "a value without macros is itself");
    v = parsed(&mem, "\"%host.self%\"");
    ok(macro_value_expand(&mem, v, c, 0, &one, &e) == 0, "a text alone");
    value_is_json(one, "\"h10\"", "is expanded");
    v = parsed(&mem, "7");
    ok(macro_value_expand(&mem, v, c, 0, &one, &e) == 0 && one == v, "a number is itself");
    v = parsed(&mem, "[]");
    ok(macro_value_expand(&mem, v, c, 0, &one, &e) == 0 && one == v, "and an empty list");

    v = parsed(&mem, "{\"a/b\":[1,{\"~\":\"%host.service.web[5]%\"}]}");
    is_int(macro_value_expand(&mem, v, c, 0, &one, &e), -ERR_REFUSED, "what cannot be expanded");
    is_text(e.at, "/a~1b/1/~0", "is told with its place");
    v = parsed(&mem, "{\"x\":[\"%host.self%\",\"%ip.access_v4.self%\"]}");
    is_int(macro_value_expand(&mem, v, c, 1, &one, &e), -ERR_REFUSED, "also of one node");
    is_text(e.at, "/x/1", "with its place");
    v = parsed(&mem, "{\"x\":[\"ok\",\"%hots.self%\"]}");
    is_int(macro_value_validate(v, NULL, &e), -ERR_SYNTAX, "what cannot be read");
    is_text(e.at, "/x/1", "is told with its place");
    is_int(macro_value_expand(&mem, v, c, 1, &one, &e), -ERR_SYNTAX, "then too");
    macro_cluster_free(c);
}

/* A long list for many nodes: made once, not once for each. */
static void many(void)
{
    enum { NODES = 5000 };
    SCOPED_ARENA(mem);
    static const struct str all[] = {S("s")};
    struct macro_node *at = arena_new(&mem, struct macro_node, NODES);
    struct err e;

    for (uint32_t i = 0; i < NODES; i++) {
        char *name = arena_printf(&mem, "n%u", i);
        at[i] = (struct macro_node){str_of(name), i, str_of(name), NULL, 0, all, 1};
    }
    struct macro_view big = {S("o"), at, NODES};
    struct macro_cluster *c = macro_cluster_new(&big);
    const struct value *out = NULL,
                       *v = parsed(&mem, "{\"l\":\"%join(map(host.service.s,'$:1'),';')%\","
                                         "\"i\":\"%instance.self.service.s%\"}");
    size_t bytes = 0;
    bool good = true;
    for (uint32_t i = 0; i < NODES; i++) {
        SCOPED_ARENA(one);
        good &= macro_value_expand(&one, v, c, i, &out, &e) == 0 &&
                value_as_str(value_get(out, "l")).n > NODES * 3;
        bytes += one.total_bytes;
        good &= atoi(value_as_text(value_get(out, "i"), "")) == (int)i + 1;
    }
    ok(good, "%d nodes have their instance and the list", NODES);
    ok(bytes / NODES < 4096, "no node has its own copy of the list: %zu bytes", bytes / NODES);
    macro_cluster_free(c);
    struct macro_view none = {0};
    c = macro_cluster_new(&none);
    expand_is(c, MACRO_NO_NODE, "%host.service.s%", "%host.service.s%");
    macro_cluster_free(c);
}

int main(void)
{
    texts();
    syntax();
    values();
    many();
    return tap_done();
}
