/* test_path.c - names stay one segment, whatever they hold; addresses are checked before use */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"
#include "tap.h"

static void test_paths(void)
{
    static const struct {
        const char *name, *path;
    } cases[] = {
        {"db1.example.org", "/v1/nodes/db1.example.org/report"},
        {"web@db1", "/v1/nodes/web@db1/report"},
        {"a/b", "/v1/nodes/a%2Fb/report"},
        {"..", "/v1/nodes/%2E%2E/report"},
        {"...", "/v1/nodes/%2E%2E%2E/report"},
        {"a..b", "/v1/nodes/a..b/report"},
        {"%2e", "/v1/nodes/%252e/report"},
        {"x?y#z &=+", "/v1/nodes/x%3Fy%23z%20%26%3D%2B/report"},
        {"caf\xc3\xa9\r\n", "/v1/nodes/caf%C3%A9%0D%0A/report"},
    };
    SCOPED_ARENA(mem);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_text(http_path(&mem, "/v1/nodes/%s/report", cases[i].name), cases[i].path,
                "path with the name \"%s\"", cases[i].path);
    is_text(http_path(&mem, "/v1/%s/x/%s", "a b", "c"), "/v1/a%20b/x/c", "two names");
    SCOPED_BUF(b);
    buf_puts(&b, "/v1/nodes");
    http_query(&b, "selector", NULL);
    is_text(b.data, "/v1/nodes", "no value, no parameter");
    http_query(&b, "selector", "rack=1 & !web");
    http_query(&b, "limit", "5");
    is_text(b.data, "/v1/nodes?selector=rack%3D1%20%26%20%21web&limit=5", "two parameters");
}

static void test_addresses(void)
{
    static const struct {
        const char *base, *token;
        int rc;
        const char *part;
    } cases[] = {
        {"http://127.0.0.1:7480", "anl_x", 0, ""},
        {"http://127.0.0.1:7480/", NULL, 0, ""},
        {"http://[::1]:7480", "anl_x", 0, ""},
        {"http://localhost:7480", "anl_x", 0, ""},
        {"https://cluster.example.org", "anl_x", 0, ""},
        {"http://cluster.example.org:7480", NULL, 0, ""},
        {"http://cluster.example.org:7480", "anl_x", -ERR_REFUSED, "in clear"},
        {"http://127.0.0.1.example.org", "anl_x", -ERR_REFUSED, "in clear"},
        {"http://128.0.0.1", "anl_x", -ERR_REFUSED, "in clear"},
        {"ftp://host", NULL, -ERR_INVALID, "not ftp://"},
        {"127.0.0.1:7480", NULL, -ERR_INVALID, ""},
        {"http://", NULL, -ERR_INVALID, "not the address"},
        {"http://user:pw@host", NULL, -ERR_INVALID, "user name"},
        {"http://host/v1", NULL, -ERR_INVALID, "nothing may follow"},
        {"http://host?x=1", NULL, -ERR_INVALID, "nothing may follow"},
        {"http://127.0.0.1", "two words", -ERR_INVALID, "characters"},
        {"http://127.0.0.1", "x\r\nEvil: 1", -ERR_INVALID, "characters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct http *h = NULL;
        const struct http_options o = {.base = cases[i].base, .token = {cases[i].token}};
        is_int(http_new(&o, &h, &e), cases[i].rc, "%s %s a token", cases[i].base,
               cases[i].token ? "with" : "without");
        has_text(e.text, cases[i].part, "%s: the text says why", cases[i].base);
        ok((h != NULL) == (cases[i].rc == 0), "%s: a client only on success", cases[i].base);
        http_free(h);
    }
    struct err e;
    struct http *h = NULL;
    const struct http_options o = {.base = "http://localhost:1//"};
    is_int(http_new(&o, &h, &e), -ERR_INVALID, "a path of slashes is a path");
    const struct http_options p = {.base = "http://localhost:1/"};
    is_int(http_new(&p, &h, &e), 0, "one slash is none");
    is_text(http_base(h), "http://localhost:1", "and is not kept");
    http_free(h);
}

int main(void)
{
    test_paths();
    test_addresses();
    return tap_done();
}
