/* macro_i.h - macros that were read, and the cluster they are expanded for */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPLATE_MACRO_I_H
#define TEMPLATE_MACRO_I_H

#include "template/macro.h"

enum macro_what {
    MACRO_PLAIN, /* text as it is */
    MACRO_OWNER,
    MACRO_HOST,
    MACRO_IP,
    MACRO_NUM,
    MACRO_INSTANCE,
};
struct macro_piece {
    uint8_t what; /* enum macro_what */
    bool self;    /* of the node itself, or which instance it is */
    bool indexed; /* one of a list */
    bool mapped;  /* each in the form */
    uint32_t index;
    struct str written; /* all of it, with its percent signs */
    struct str service; /* "": of self */
    struct str type;    /* of address */
    struct str form, separator;
};
struct macro_text {
    struct macro_piece *pieces;
    uint32_t n;
    bool has_macros, of_self;
};

struct macro_service { /* nodes that have it, as indexes */
    uint32_t *by_name, *by_number;
    uint32_t n;
};
struct macro_memo { /* a text that was seen */
    const struct macro_text *text;
    bool done; /* the same for all nodes, and made */
    struct str made;
};
struct macro_cluster {
    const struct macro_view *view;
    struct arena mem;
    struct macro_service *services;
    struct strmap by_service;
    struct strmap lists;  /* macro as written -> struct str * */
    struct strmap texts;  /* text -> struct macro_memo * */
    struct u64map values; /* address of a list or map -> what it is for all nodes; 0: it depends */
};

/* Reads what lies between two percent signs; texts of the piece point into it. */
int macro_piece_read(struct str macro, struct macro_piece *ret, struct err *e);
/* Memory for one more text of all nodes; ERR_LIMIT past the total. */
int macro_cluster_room(const struct macro_cluster *c, struct err *e);

#endif
