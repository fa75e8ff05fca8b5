/* mutate_main.c - drives a fuzz target with damaged files of its corpus, for a while, as TAP
 *
 *   mutate_<target> SECONDS[/INPUTS] CORPUS-DIRECTORY [SEED [INPUT]]
 *
 * It ends when the time is over and there were at least so many inputs.
 *
 * For compilers without libFuzzer.  It knows nothing of coverage and makes up for it by speed and
 * by starting from files that reach far.  An input depends on the seed and its number alone: a
 * failure prints both, and with INPUT given exactly that one is written to standard output.
 *
 * Inputs run in children, a batch each, which tell in shared memory where they are.  A child that
 * dies, leaks (under the sanitizers) or does not come back has found something.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "corpus_read.h"

enum {
    INPUT_MOST = 1 << 16, /* bytes */
    DAMAGES_MOST = 8,     /* to one input */
    PIECE_MOST = 64,      /* bytes that one damage moves, usually */
    BATCH = 5000,         /* inputs of one child */
    HANG_S = 20,          /* for one input */
};

/* --- inputs --- */

struct dice {
    uint64_t state;
};

static uint64_t dice_next(struct dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 .. n-1; 0 if n is. */
static size_t dice_below(struct dice *d, size_t n)
{
    return n ? (size_t)(dice_next(d) % n) : 0;
}

static size_t dice_length(struct dice *d, size_t most)
{
    size_t usual = most < PIECE_MOST ? most : PIECE_MOST;
    return dice_below(d, (dice_below(d, 16) ? usual : most) + 1);
}

/* Puts n bytes at `at`, in place of `gone` bytes. */
static void splice(struct buf *b, size_t at, size_t gone, const char *bytes, size_t n)
{
    struct buf out = {0};
    buf_put(&out, buf_str(b).s, at);
    buf_put(&out, bytes, n);
    buf_put(&out, buf_str(b).s + at + gone, b->len - at - gone);
    buf_done(b);
    *b = out;
}

static const char *const words[] = {
    "0",
    "-1",
    "18446744073709551615",
    "9223372036854775808",
    "1e999",
    "null",
    "true",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\u0000",
    "\\ud800",
    ": ",
    "- ",
    "&a ",
    "*a",
    "!!",
    "\n",
    "\t",
    "\xff",
    "\xc0",
    "\xed\xa0\x80",
    "%00",
    "%2f",
    "../",
    "\xef\xbb\xbf",
};

static void damage(struct buf *b, const struct corpus *c, struct dice *d)
{
    size_t at = dice_below(d, b->len + 1), rest = b->len - at;
    const struct buf *other = &c->files[dice_below(d, c->n)].bytes;
    const char *word = words[dice_below(d, sizeof words / sizeof *words)];
    char byte = (char)dice_next(d);
    switch (dice_below(d, 8)) {
    case 0: /* one bit */
        if (rest)
            b->data[at] ^= (char)(1u << dice_below(d, 8));
        break;
    case 1: splice(b, at, rest ? 1 : 0, &byte, 1); break;
    case 2: splice(b, at, 0, word, strlen(word)); break;
    case 3: splice(b, at, dice_length(d, rest), word, strlen(word)); break;
    case 4: splice(b, at, dice_length(d, rest), "", 0); break;
    case 5: { /* twice */
        SCOPED_BUF(piece);
        buf_put(&piece, buf_str(b).s + at, dice_length(d, rest));
        splice(b, at, 0, buf_str(&piece).s, piece.len);
        break;
    }
    case 6: { /* from elsewhere */
        size_t from = dice_below(d, other->len + 1);
        size_t n = dice_length(d, other->len - from), gone = dice_length(d, rest);
        splice(b, at, gone, buf_str(other).s + from, n);
        break;
    }
    default: splice(b, at, rest, "", 0); break; /* cut off */
    }
}

/* Input number i of a seed. */
static void input_make(const struct corpus *c, uint64_t seed, uint64_t i, struct buf *ret)
{
    struct dice d = {seed * 0x2545f4914f6cdd1du + i};
    const struct buf *from = &c->files[dice_below(&d, c->n)].bytes;
    struct buf b = {0};
    buf_put(&b, buf_str(from).s, from->len);
    for (size_t k = dice_below(&d, DAMAGES_MOST) + 1; k > 0; k--)
        damage(&b, c, &d);
    buf_put(ret, buf_str(&b).s, b.len < INPUT_MOST ? b.len : INPUT_MOST);
    buf_done(&b);
}

/* --- runs --- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct aim {
    double until_s;
    uint64_t inputs;
};

static bool is_over(const struct aim *a, uint64_t inputs)
{
    return now_s() >= a->until_s && inputs >= a->inputs;
}

/* In the child: inputs from *at on, until the batch is over or the aim reached. */
static void batch_run(const struct corpus *c, uint64_t seed, volatile uint64_t *at,
                      const struct aim *aim)
{
    struct buf b = {0};
    for (int k = 0; k < BATCH && !is_over(aim, *at); k++) {
        buf_clear(&b);
        input_make(c, seed, *at, &b);
        alarm(HANG_S);
        if (LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&b).s, b.len) != 0)
            abort();
        (*at)++;
    }
    alarm(0);
    buf_done(&b);
}

/* The wait status of a child that ran a batch. */
static int batch_apart(struct corpus *c, uint64_t seed, volatile uint64_t *at,
                       const struct aim *aim)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        batch_run(c, seed, at, aim);
        corpus_done(c);
        exit(0); /* not _exit(): leaks are looked for */
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("fork");
        exit(1);
    }
    return status;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0;
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: %s SECONDS[/INPUTS] CORPUS-DIRECTORY [SEED [INPUT]]\n", argv[0]);
        return 2;
    }
    struct corpus c = corpus_read(argv[2]);
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 10);
    else if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return 1;
    seed &= UINT32_MAX; /* short enough to be typed */
    if (argc > 4) {
        SCOPED_BUF(b);
        input_make(&c, seed, strtoull(argv[4], NULL, 10), &b);
        fwrite(buf_str(&b).s, 1, b.len, stdout);
        corpus_done(&c);
        return 0;
    }
    volatile uint64_t *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *end;
    double start_s = now_s();
    struct aim aim = {.until_s = start_s + strtod(argv[1], &end)};
    int status = 0;
    if (*end == '/')
        aim.inputs = strtoull(end + 1, NULL, 10);
    while (status == 0 && !is_over(&aim, *at))
        status = batch_apart(&c, seed, at, &aim);
    printf("1..1\n%sok 1 - %" PRIu64 " inputs in %.0f s, seed %" PRIu64 "\n", status ? "not " : "",
           *at, now_s() - start_s, seed);
    if (status) {
        printf("#   input %" PRIu64 ": %s %d\n", *at,
               WIFSIGNALED(status) ? "signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        printf("#   as a file of the corpus: %s 0 %s %" PRIu64 " %" PRIu64 " > FILE\n", argv[0],
               argv[2], seed, *at);
    }
    corpus_done(&c);
    return status ? 1 : 0;
}
