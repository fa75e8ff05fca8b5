/* tap.h - a test program in TAP: ok(), is_int(), is_text(), done
 *
 * Each check prints one TAP line at once, so that a crash shows how far the program came.  main()
 * ends with return tap_done().  Labels are formatted from the arguments of the case where possible.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_run_, tap_failed_;

/* A label is one line, whatever the case put into it. */
__attribute__((unused)) static void tap_label_(char *label, size_t n, const char *text)
{
    size_t i = 0;
    for (; text[i] && i + 1 < n; i++)
        label[i] = (unsigned char)text[i] < 0x20 ? ' ' : text[i];
    label[i] = '\0';
}

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok_(bool good, const char *file,
                                                                  int line, const char *fmt, ...)
{
    char text[1024], label[sizeof text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tap_label_(label, sizeof label, text);
    printf("%sok %d - %s\n", good ? "" : "not ", ++tap_run_, label);
    if (!good) {
        tap_failed_++;
        printf("#   at %s:%d\n", file, line);
    }
    fflush(stdout);
    return good;
}
#define ok(cond, ...) tap_ok_((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                                                     \
    do {                                                                                           \
        int64_t got_ = (int64_t)(got), want_ = (int64_t)(want);                                    \
        if (!tap_ok_(got_ == want_, __FILE__, __LINE__, __VA_ARGS__))                              \
            printf("#   got %lld, wanted %lld\n", (long long)got_, (long long)want_);              \
    } while (0)
#define is_text(got, want, ...)                                                                    \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (!tap_ok_(got_ && want_ && !strcmp(got_, want_), __FILE__, __LINE__, __VA_ARGS__))      \
            printf("#   got    \"%s\"\n#   wanted \"%s\"\n", got_ ? got_ : "(null)",               \
                   want_ ? want_ : "(null)");                                                      \
    } while (0)
#define has_text(got, part, ...)                                                                   \
    do {                                                                                           \
        const char *got_ = (got), *part_ = (part);                                                 \
        if (!tap_ok_(got_ && strstr(got_, part_), __FILE__, __LINE__, __VA_ARGS__))                \
            printf("#   got    \"%s\"\n#   without \"%s\"\n", got_ ? got_ : "(null)", part_);      \
    } while (0)
#define skip(why) printf("ok %d # SKIP %s\n", ++tap_run_, (why))
#define note(...) (printf("# " __VA_ARGS__), printf("\n"))

__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_run_);
    return tap_failed_ ? 1 : 0;
}

#endif
