/* http_pin.c - a server that is held to its public key instead of to an authority
 *
 * The fingerprint is SHA-256 over the key as certificates hold it, in hex; libcurl wants the same
 * bytes in base64.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

enum { PIN_BYTES = 32 };

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int http_pin_parse(const char *hex, char ret_pin[HTTP_PIN_TEXT], struct err *e)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t raw[PIN_BYTES + 1] = {0}; /* one more, so that the last group of three is whole */
    char *to = ret_pin;
    bool good = strlen(hex) == (size_t)2 * PIN_BYTES;
    for (size_t i = 0; good && i < PIN_BYTES; i++) {
        int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        good = high >= 0 && low >= 0;
        raw[i] = (uint8_t)(high << 4 | low);
    }
    if (!good) {
        err_set(e, ERR_INVALID, "\"%.80s\" is not a fingerprint", hex);
        return err_hint(e, "it has 64 hexadecimal digits");
    }
    memcpy(to, "sha256//", 8);
    to += 8;
    for (size_t i = 0; i < PIN_BYTES; i += 3) {
        uint32_t three = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 |
                         (i + 2 < sizeof raw ? raw[i + 2] : 0u);
        for (int shift = 18; shift >= 0; shift -= 6)
            *to++ = letters[three >> shift & 63];
    }
    to[-1] = '='; /* 32 bytes leave two over */
    *to = '\0';
    return 0;
}
