/* queue.c - the facade: names for the two sides of a backend's table */
/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/queue.h"

#include "queue/queue_i.h"

void queue_free(struct queue *q)
{
    if (q)
        q->ops->free(q);
}

void queue_server_attach(struct queue *q, struct loop *l, queue_deliver_f *deliver, void *arg)
{
    q->ops->attach(q, QUEUE_SERVER, l, deliver, arg);
}

void queue_server_detach(struct queue *q)
{
    q->ops->detach(q, QUEUE_SERVER);
}

void queue_worker_attach(struct queue *q, struct loop *l, queue_deliver_f *deliver, void *arg)
{
    q->ops->attach(q, QUEUE_WORKER, l, deliver, arg);
}

void queue_worker_detach(struct queue *q)
{
    q->ops->detach(q, QUEUE_WORKER);
}

void queue_to_worker(struct queue *q, struct str message)
{
    q->ops->send(q, QUEUE_WORKER, message);
}

void queue_to_server(struct queue *q, struct str message)
{
    q->ops->send(q, QUEUE_SERVER, message);
}

void queue_flush(struct queue *q)
{
    q->ops->flush(q);
}

size_t queue_depth(struct queue *q)
{
    return q->ops->depth(q, QUEUE_WORKER);
}
