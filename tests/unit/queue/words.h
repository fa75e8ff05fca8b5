/* words.h - messages of tests: their first letter is their rank, the digit behind it their owner */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_QUEUE_WORDS_H
#define TESTS_QUEUE_WORDS_H

#include <inttypes.h>

#include "queue/remote.h"

static enum queue_rank words_rank(struct str m)
{
    return m.s[0] == 'r'   ? QUEUE_RESULT
           : m.s[0] == 'l' ? QUEUE_LOG
           : m.s[0] == 's' ? QUEUE_STATE
                           : QUEUE_WORD;
}
static uint64_t words_owner(struct str m)
{
    return (uint64_t)(m.s[1] - '0');
}
static void words_dropped(struct buf *b, uint64_t owner, uint64_t bytes)
{
    buf_printf(b, "l%" PRIu64 " dropped %" PRIu64, owner, bytes);
}
static const struct queue_words words = {words_rank, words_owner, words_dropped};

#endif
