/* queue_i.h - what a backend of the queue supplies */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_QUEUE_I_H
#define QUEUE_QUEUE_I_H

#include "queue/queue.h"

enum queue_side { QUEUE_SERVER, QUEUE_WORKER, QUEUE_SIDE_COUNT };

struct queue_ops {
    void (*attach)(struct queue *q, enum queue_side side, struct loop *l, queue_deliver_f *deliver,
                   void *arg);
    void (*detach)(struct queue *q, enum queue_side side);
    void (*send)(struct queue *q, enum queue_side to, struct str message);
    void (*flush)(struct queue *q);
    size_t (*depth)(struct queue *q, enum queue_side to);
    void (*free)(struct queue *q);
};
struct queue { /* first in a backend's own structure */
    const struct queue_ops *ops;
};

#endif
