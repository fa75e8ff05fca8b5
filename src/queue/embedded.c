/* embedded.c - the queue inside one process: a mailbox per side
 *
 * A mailbox is a chain of blocks that messages are copied into one behind the other.  The receiver
 * takes the whole chain under the lock, reads it without, and gives a few blocks back for reuse, so
 * that a steady stream allocates nothing. Waking: a flush posts to the receiver's loop unless a
 * post is already on its way, so a batch costs one post however many messages it has.  A flush from
 * either side announces both mailboxes; for the one that the caller does not fill this is at worst
 * an early wake-up.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "queue/queue_i.h"

enum { BLOCK_BYTES = 64 * 1024, SPARE_BLOCKS = 16 };

struct block {
    struct block *next;
    size_t used, cap; /* bytes of data */
    char data[];      /* size_t length, then the message, over and over; unaligned */
};
struct chain {
    struct block *first, *last;
    size_t n; /* messages */
};

struct mailbox {
    pthread_mutex_t lock; /* of all but the receiver's own */
    struct chain in;
    struct block *spare;
    size_t n_spare;
    struct loop *loop; /* NULL: nobody is attached */
    bool announced;    /* a post is on its way */
    queue_deliver_f *deliver;
    void *arg;
    VEC(struct str) messages; /* the receiver's: the batch being delivered */
    bool delivering;
};
struct embedded {
    struct queue base;
    struct mailbox box[QUEUE_SIDE_COUNT];
};

static void chain_free(struct block *b)
{
    while (b) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
}

/* A block with room for `need` more bytes at the end of the chain. */
static struct block *block_for(struct mailbox *m, size_t need)
{
    struct block *b = m->in.last;
    if (b && b->cap - b->used >= need)
        return b;
    if (m->spare && need <= m->spare->cap) {
        b = m->spare;
        m->spare = b->next;
        m->n_spare--;
    } else {
        size_t cap = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        b = xrealloc(NULL, 1, sizeof *b + cap);
        b->cap = cap;
    }
    b->next = NULL;
    b->used = 0;
    if (m->in.last)
        m->in.last->next = b;
    else
        m->in.first = b;
    m->in.last = b;
    return b;
}

static void embedded_send(struct queue *q, enum queue_side to, struct str message)
{
    struct mailbox *m = &((struct embedded *)q)->box[to];
    pthread_mutex_lock(&m->lock);
    struct block *b = block_for(m, sizeof message.n + message.n);
    memcpy(b->data + b->used, &message.n, sizeof message.n);
    b->used += sizeof message.n;
    if (message.n)
        memcpy(b->data + b->used, message.s, message.n);
    b->used += message.n;
    m->in.n++;
    pthread_mutex_unlock(&m->lock);
}

static void take_chain(struct mailbox *m, struct chain *ret)
{
    pthread_mutex_lock(&m->lock);
    *ret = m->in;
    m->in = (struct chain){0};
    m->announced = false;
    pthread_mutex_unlock(&m->lock);
}

static void give_back(struct mailbox *m, struct block *b)
{
    pthread_mutex_lock(&m->lock);
    while (b && m->n_spare < SPARE_BLOCKS) {
        struct block *next = b->next;
        if (b->cap > BLOCK_BYTES) { /* one large message must not pin its memory */
            free(b);
        } else {
            b->next = m->spare;
            m->spare = b;
            m->n_spare++;
        }
        b = next;
    }
    pthread_mutex_unlock(&m->lock);
    chain_free(b);
}

static void list_messages(struct mailbox *m, const struct chain *c)
{
    vec_clear(&m->messages);
    vec_reserve(&m->messages, c->n);
    for (const struct block *b = c->first; b; b = b->next)
        for (size_t at = 0; at < b->used;) {
            struct str s;
            memcpy(&s.n, b->data + at, sizeof s.n);
            s.s = b->data + at + sizeof s.n;
            at += sizeof s.n + s.n;
            vec_push(&m->messages, s);
        }
}

/* On the receiver's loop. */
static void deliver_batch(void *arg)
{
    struct mailbox *m = arg;
    struct chain c;
    take_chain(m, &c);
    if (!c.n)
        return;
    list_messages(m, &c);
    m->delivering = true;
    m->deliver(m->arg, m->messages.at, m->messages.n); /* may detach */
    m->delivering = false;
    give_back(m, c.first);
}

static void announce(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    if (m->in.n && m->loop && !m->announced) {
        m->announced = true;
        loop_post(m->loop, deliver_batch, m); /* never takes our lock: no order to get wrong */
    }
    pthread_mutex_unlock(&m->lock);
}

static void embedded_flush(struct queue *q)
{
    struct embedded *em = (struct embedded *)q;
    announce(&em->box[QUEUE_WORKER]);
    announce(&em->box[QUEUE_SERVER]);
}

static void embedded_attach(struct queue *q, enum queue_side side, struct loop *l,
                            queue_deliver_f *deliver, void *arg)
{
    struct mailbox *m = &((struct embedded *)q)->box[side];
    pthread_mutex_lock(&m->lock);
    assert(!m->loop);
    m->deliver = deliver;
    m->arg = arg;
    m->loop = l;
    pthread_mutex_unlock(&m->lock);
    loop_hold(l);
    announce(m); /* what came before us */
}

static void embedded_detach(struct queue *q, enum queue_side side)
{
    struct mailbox *m = &((struct embedded *)q)->box[side];
    struct chain c;
    pthread_mutex_lock(&m->lock);
    struct loop *l = m->loop;
    m->loop = NULL;
    pthread_mutex_unlock(&m->lock);
    if (!l)
        return;
    loop_unpost(l, deliver_batch, m);
    loop_release(l);
    take_chain(m, &c);
    give_back(m, c.first);
}

static size_t embedded_depth(struct queue *q, enum queue_side to)
{
    struct mailbox *m = &((struct embedded *)q)->box[to];
    pthread_mutex_lock(&m->lock);
    size_t n = m->in.n;
    pthread_mutex_unlock(&m->lock);
    return n;
}

static void embedded_free(struct queue *q)
{
    struct embedded *em = (struct embedded *)q;
    for (int i = 0; i < QUEUE_SIDE_COUNT; i++) {
        struct mailbox *m = &em->box[i];
        assert(!m->loop && !m->delivering);
        chain_free(m->in.first);
        chain_free(m->spare);
        vec_done(&m->messages);
        pthread_mutex_destroy(&m->lock);
    }
    free(em);
}

struct queue *queue_new_embedded(void)
{
    static const struct queue_ops ops = {
        .attach = embedded_attach,
        .detach = embedded_detach,
        .send = embedded_send,
        .flush = embedded_flush,
        .depth = embedded_depth,
        .free = embedded_free,
    };
    struct embedded *em = xcalloc(1, sizeof *em);
    em->base.ops = &ops;
    for (int i = 0; i < QUEUE_SIDE_COUNT; i++)
        pthread_mutex_init(&em->box[i].lock, NULL);
    return &em->base;
}
