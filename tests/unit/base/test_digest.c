/* test_digest.c - against values computed independently (python3 hashlib.blake2b, digest_size=16),
 * and signatures against the cases of RFC 4231
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include "tap.h"

static const char *hex_of(const void *p, size_t n, char out[DIGEST_HEX])
{
    struct digest d = digest_of(p, n);
    digest_hex(&d, out);
    return out;
}

/* n times the byte, as a text. */
static struct str repeated(char *room, int byte, size_t n)
{
    memset(room, byte, n);
    return (struct str){room, n};
}

static void is_signed(int number, struct str key, struct str text, const char *want)
{
    char hex[DIGEST_HMAC_HEX];
    digest_hmac_hex(key, text, hex);
    is_text(hex, want, "HMAC-SHA256, RFC 4231 case %d", number);
}

static void test_hmac(void)
{
    char key[131], text[50], counted[25];
    for (size_t i = 0; i < sizeof counted; i++)
        counted[i] = (char)(i + 1);
    is_signed(1, repeated(key, 0x0b, 20), str_of("Hi There"),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    is_signed(2, str_of("Jefe"), str_of("what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    is_signed(3, repeated(key, 0xaa, 20), repeated(text, 0xdd, 50),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    is_signed(4, (struct str){counted, sizeof counted}, repeated(text, 0xcd, 50),
              "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    is_signed(6, repeated(key, 0xaa, 131),
              str_of("Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    is_signed(7, repeated(key, 0xaa, 131),
              str_of("This is a test using a larger than block-size key and a larger than "
                     "block-size data. The key needs to be hashed before being used by the HMAC "
                     "algorithm."),
              "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

int main(void)
{
    char hex[DIGEST_HEX], text[100000];
    is_text(hex_of("", 0, hex), "cae66941d9efbd404e4d88758ea67670", "digest of nothing");
    is_text(hex_of(NULL, 0, hex), "cae66941d9efbd404e4d88758ea67670", "digest of NULL");
    is_text(hex_of("anneal", 6, hex), "3116691164b18abb0ae4da901578d71f", "digest of a word");
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i % 251);
    is_text(hex_of(text, sizeof text, hex), "7bafffc74b44b4a80f347888022ba2ae",
            "digest of 100000 bytes");
    bool same = true;
    for (size_t step = 1; step < 70000; step = step * 3 + 1) {
        struct digest_state s;
        digest_begin(&s);
        for (size_t at = 0; at < sizeof text; at += step)
            digest_add(&s, text + at, sizeof text - at < step ? sizeof text - at : step);
        digest_add(&s, NULL, 0);
        struct digest d = digest_end(&s), want = digest_of(text, sizeof text);
        same = same && memcmp(&d, &want, sizeof d) == 0;
    }
    ok(same, "adding in pieces gives the same digest");
    ok(digest_64("anneal", 6) == 0xbb8ab16411691631ull, "digest_64 is the first eight bytes");
    ok(digest_64("a", 1) != digest_64("b", 1), "different content, different number");
    ok(mix64(mix64(0, 1), 2) != mix64(mix64(0, 2), 1), "mixing depends on the order");
    ok(mix64(0, 0) != 0 && mix64(1, 0) != mix64(0, 0), "and has no fixed point at 0");
    test_hmac();
    return tap_done();
}
