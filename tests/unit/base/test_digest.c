/* test_digest.c - against values computed independently (python3 hashlib.blake2b, digest_size=16)
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
    return tap_done();
}
