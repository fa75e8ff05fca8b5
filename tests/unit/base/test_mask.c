/* test_mask.c - secrets in a stream are replaced, whatever pieces it comes in */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "base/mask.h"

static struct mask *knowing(const char *const *secrets)
{
    struct mask *m = mask_new();
    for (; *secrets; secrets++)
        mask_add(m, str_of(*secrets));
    return m;
}

/* The text in pieces of `size` bytes each. */
static void in_pieces(struct mask *m, const char *text, size_t size, struct buf *out)
{
    size_t n = strlen(text);
    buf_clear(out);
    for (size_t i = 0; i < n; i += size)
        mask_feed(m, (struct str){text + i, n - i < size ? n - i : size}, out);
    mask_flush(m, out);
}

#define SECRETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void texts(void)
{
    static const struct {
        const char *secrets[3];
        const char *text, *shown;
    } cases[] = {
        {{"hunter2"}, "the key is hunter2.\n", "the key is ***.\n"},
        {{"hunter2"}, "hunter", "hunter"},
        {{"hunter2"}, "hunter2hunter2", "***"},
        {{"hunter2"}, "hunter2 hunter2", "*** ***"},
        {{"aaab"}, "aaaaaab aab", "aaa*** aab"},
        {{"abab"}, "ababab", "***"},
        {{"secret-one", "cret-two"}, "secret-two secret-one", "se*** ***"},
        {{"pass", "password"}, "my password", "my ***"},
        {{"abc"}, "abc", "abc"}, /* too short to be looked for */
        {{"quo\"te\\d"}, "raw quo\"te\\d json quo\\\"te\\\\d", "raw *** json ***"},
        {{"-----BEGIN\nMIIEow12\nshort\n"}, "got MIIEow12 and short", "got *** and short"},
        {{"none of it"}, "", ""},
    };
    SCOPED_BUF(out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t size = 1; size <= 9; size += 4) {
            struct mask *m = knowing(cases[i].secrets);
            in_pieces(m, cases[i].text, size, &out);
            is_text(buf_str(&out).s, cases[i].shown, "\"%s\" in pieces of %zu", cases[i].text,
                    size);
            mask_free(m);
        }
}

static void holding_back(void)
{
    struct mask *m = knowing(SECRETS("hunter2"));
    SCOPED_BUF(out);
    mask_feed(m, str_of("a hunt"), &out);
    is_text(buf_str(&out).s, "a ", "what may be the beginning of a secret is held back");
    mask_feed(m, str_of("ing"), &out);
    is_text(buf_str(&out).s, "a hunting", "until it is not");
    buf_clear(&out);
    mask_feed(m, str_of("hunter"), &out);
    mask_flush(m, &out);
    mask_feed(m, str_of("2"), &out);
    mask_flush(m, &out);
    is_text(buf_str(&out).s, "hunter2", "texts end where they end");
    mask_free(m);
}

static void nul_inside(void)
{
    struct mask *m = mask_new();
    SCOPED_BUF(out);
    mask_add(m, (struct str){"ab\0cd", 5});
    mask_text(m, (struct str){"x ab\0cd y", 9}, &out);
    is_text(buf_str(&out).s, "x *** y", "a NUL in a secret is a byte like any other");
    mask_free(m);
}

static void trees(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(out);
    struct mask *m = mask_new();
    struct value *known = NULL, *v = NULL;
    static const char secrets[] =
        "{\"key\":\"hunter2\",\"more\":[{\"x\":\"correct horse\"}],\"n\":1}";
    static const char text[] = "{\"a\":[\"hunter2\",7],\"b\":{\"c\":\"a correct horse\"}}";
    json_parse(&mem, secrets, sizeof secrets - 1, NULL, &known, NULL);
    json_parse(&mem, text, sizeof text - 1, NULL, &v, NULL);
    mask_add_values(m, known);
    ok(mask_values(m, &mem, v), "a tree without a secret in its names");
    json_write_canonical(&out, v);
    is_text(out.data, "{\"a\":[\"***\",7],\"b\":{\"c\":\"a ***\"}}", "has its texts masked");
    json_parse(&mem, "{\"hunter2\":1}", 13, NULL, &v, NULL);
    ok(!mask_values(m, &mem, v), "a name that is a secret is told");
    ok(mask_values(m, &mem, NULL), "nothing is fine");
    mask_free(m);
    mask_free(NULL);
}

/* A text that nearly is the secret everywhere: quadratic search would take minutes. */
static void no_slower(void)
{
    enum { SECRET = 64 * 1024, TEXT = 1 << 20 };
    char *secret = malloc(SECRET + 1), *text = malloc(TEXT);
    struct mask *m = mask_new();
    SCOPED_BUF(out);
    memset(secret, 'a', SECRET);
    secret[SECRET - 1] = 'b';
    memset(text, 'a', TEXT);
    mask_add(m, (struct str){secret, SECRET});
    mask_text(m, (struct str){text, TEXT}, &out);
    is_int(out.len, TEXT, "a megabyte that nearly matches everywhere passes, in linear time");
    mask_free(m);
    free(secret);
    free(text);
}

int main(void)
{
    texts();
    holding_back();
    nul_inside();
    trees();
    no_slower();
    return tap_done();
}
