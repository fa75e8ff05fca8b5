/* phase_op.c - named operations as tables of phases
 *
 * What an operation is about (its subjects) is what was asked for, or everything.  Besides, what is
 * started wants all that it depends on to be started, on whatever node, and what is stopped
 * everywhere takes along all that depends on it.  Where a service goes on running on other nodes,
 * nobody loses it, and who depends on it stays.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase.h"

#include <stdlib.h>

#include "planner/phase_i.h"

enum {
    NEW_MACHINE = PHASE_F_CREATE | PHASE_F_CONFIRM | PHASE_F_BOOTSTRAP,
    NEW_SERVICE = PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_INITIALIZE | PHASE_F_START,
    ANEW = PHASE_F_STOP | PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_START,
};
enum {                           /* op.how */
       STARTS_NEEDED = 1u << 0,  /* what it starts wants what it depends on started */
       TAKES_ALONG = 1u << 1,    /* stop and start of those who depend on what is stopped */
       WHERE_WORK = 1u << 2,     /* the machine only where a subject has something to do */
       NOT_ON_DEAD = 1u << 3,    /* of a dead machine nothing but its end */
       NAMES_SERVICES = 1u << 4, /* must say which services */
       NAMES_NODES = 1u << 5,
       IN_TURN = 1u << 6,
       MAY_BE_IN_TURN = 1u << 7,
       UPGRADES = 1u << 8, /* who has an action for that needs no other */
};
static const struct {
    const char *name;
    uint16_t machine, service, how;
} ops[PHASE_OP_COUNT] = {
    [PHASE_OP_CREATE] = {"create", NEW_MACHINE, NEW_SERVICE, STARTS_NEEDED},
    [PHASE_OP_DELETE] = {"delete", PHASE_F_DELETE, 0, 0},
    [PHASE_OP_CONFIGURE] = {"configure", PHASE_F_BOOTSTRAP, PHASE_F_CONFIGURE, WHERE_WORK},
    [PHASE_OP_CONFIGURE_RESTART] = {"configure-restart", PHASE_F_BOOTSTRAP,
                                    PHASE_F_STOP | PHASE_F_CONFIGURE | PHASE_F_START,
                                    WHERE_WORK | STARTS_NEEDED | TAKES_ALONG | MAY_BE_IN_TURN},
    [PHASE_OP_START] = {"start", 0, PHASE_F_START, STARTS_NEEDED},
    [PHASE_OP_STOP] = {"stop", 0, PHASE_F_STOP, TAKES_ALONG},
    [PHASE_OP_RESTART] = {"restart", 0, PHASE_F_STOP | PHASE_F_START,
                          STARTS_NEEDED | TAKES_ALONG | MAY_BE_IN_TURN},
    [PHASE_OP_ADD] = {"add-services", PHASE_F_BOOTSTRAP, NEW_SERVICE,
                      WHERE_WORK | STARTS_NEEDED | NAMES_SERVICES},
    [PHASE_OP_REMOVE] = {"remove-services", 0, PHASE_F_STOP | PHASE_F_REMOVE, NAMES_SERVICES},
    [PHASE_OP_EXPAND] = {"expand", NEW_MACHINE, NEW_SERVICE, NAMES_NODES},
    [PHASE_OP_SHRINK] = {"shrink", PHASE_F_DELETE, PHASE_F_STOP | PHASE_F_REMOVE,
                         NAMES_NODES | NOT_ON_DEAD},
    [PHASE_OP_UPGRADE] = {"upgrade", PHASE_F_BOOTSTRAP, ANEW, WHERE_WORK | IN_TURN | UPGRADES},
    [PHASE_OP_ACT] = {"act", 0, PHASE_F_ACTION, 0},
};

const char *phase_op_name(enum phase_op op)
{
    return op < PHASE_OP_COUNT ? ops[op].name : "unknown";
}

int phase_op_from(struct str name)
{
    for (int i = 0; i < PHASE_OP_COUNT; i++)
        if (str_is(name, ops[i].name))
            return i;
    return -1;
}

/* --- the table --- */

int phase_work_init(struct phase_work *w, const struct phase_cluster *c, struct arena *mem,
                    struct err *e)
{
    uint64_t n = 0;
    if (c->n_nodes > PHASE_MAX_NODES)
        return err_set(e, ERR_LIMIT, "%u nodes in a cluster, more than %d", c->n_nodes,
                       PHASE_MAX_NODES);
    for (uint32_t i = 0; i < c->n_nodes; i++)
        n += c->nodes[i].n_services;
    if (n > PHASE_MAX_VERTICES)
        return err_set(e, ERR_LIMIT, "%llu services on nodes, more than %d", (unsigned long long)n,
                       PHASE_MAX_VERTICES);
    *w = (struct phase_work){.first = arena_new(mem, uint32_t, (size_t)c->n_nodes + 1),
                             .cells = arena_new(mem, uint16_t, n),
                             .pulled = arena_new(mem, uint16_t, n),
                             .machine = arena_new(mem, uint16_t, c->n_nodes)};
    for (uint32_t i = 0; i < c->n_nodes; i++)
        w->first[i + 1] = w->first[i] + c->nodes[i].n_services;
    return 0;
}

struct asking {
    const struct phase_request *req;
    const struct phase_cluster *c;
    const struct phase_deps *d;
    struct phase_work *w;
    uint32_t how;
    bool in_turn;
};

static uint16_t subject_phases(const struct asking *a, uint32_t service)
{
    uint16_t has = a->c->services[service].actions;
    if (a->req->services && !a->req->services[service])
        return 0;
    if ((a->how & UPGRADES) && (has & PHASE_F_UPGRADE))
        return PHASE_F_UPGRADE;
    return has & ops[a->req->op].service;
}

static void subjects_fill(const struct asking *a)
{
    for (uint32_t i = 0; i < a->c->n_nodes; i++) {
        const struct phase_node *node = &a->c->nodes[i];
        bool work = false;
        if (a->req->nodes && !a->req->nodes[i])
            continue;
        for (uint32_t k = 0; k < node->n_services; k++) {
            uint16_t phases = subject_phases(a, node->services[k]);
            if (!phases || ((a->how & NOT_ON_DEAD) && node->dead))
                continue;
            a->w->cells[a->w->first[i] + k] |= phases | (a->in_turn ? PHASE_F_IN_TURN : 0);
            work = true;
        }
        if (work || !(a->how & WHERE_WORK))
            a->w->machine[i] |= ops[a->req->op].machine & node->machine;
    }
}

/* --- what comes with it --- */

/* Services that are subjects somewhere; everywhere: wherever they are on a node that is alive. */
static void subjects_mark(const struct asking *a, bool everywhere, bool *ret)
{
    bool *elsewhere = xcalloc((size_t)a->c->n_services + 1, sizeof *elsewhere);
    for (uint32_t i = 0; i < a->c->n_nodes; i++)
        for (uint32_t k = 0; k < a->c->nodes[i].n_services; k++) {
            uint32_t service = a->c->nodes[i].services[k];
            if (a->req->services && !a->req->services[service])
                continue;
            if (!a->req->nodes || a->req->nodes[i])
                ret[service] = true;
            else if (everywhere && !a->c->nodes[i].dead)
                elsewhere[service] = true;
        }
    for (uint32_t s = 0; s < a->c->n_services; s++)
        ret[s] = ret[s] && !elsewhere[s];
    free(elsewhere);
}

/* Those that one of them depends on; or that depend on one of them. */
static void related_mark(const struct asking *a, const bool *of, bool behind, bool *ret)
{
    const struct phase_deps *d = a->d;
    const struct phase_reach *r = &d->of[PHASE_WHEN_RUN];
    uint64_t *all = xcalloc((size_t)d->words + 1, sizeof *all);
    for (uint32_t s = 0; s < a->c->n_services; s++) {
        const uint64_t *row = (behind ? r->behind : r->ahead) + (size_t)r->place[s] * d->words;
        for (uint32_t w = 0; of[s] && w < d->words; w++)
            all[w] |= row[w];
    }
    for (uint32_t s = 0; s < a->c->n_services; s++)
        ret[s] = phase_bit(all, r->place[s]);
    free(all);
}

static void pull(const struct asking *a, const bool *services, uint16_t phases)
{
    for (uint32_t i = 0; i < a->c->n_nodes; i++)
        for (uint32_t k = 0; !a->c->nodes[i].dead && k < a->c->nodes[i].n_services; k++) {
            uint32_t service = a->c->nodes[i].services[k], cell = a->w->first[i] + k;
            uint16_t more = phases & a->c->services[service].actions & ~a->w->cells[cell];
            if (!services[service] || !more)
                continue;
            a->w->cells[cell] |= more;
            a->w->pulled[cell] |= more;
        }
}

static void pulled_fill(const struct asking *a)
{
    size_t n = (size_t)a->c->n_services + 1;
    bool *of = xcalloc(n, sizeof *of), *along = xcalloc(n, sizeof *along);
    bool *needed = xcalloc(n, sizeof *needed);
    if ((a->how & TAKES_ALONG) && !a->in_turn) {
        subjects_mark(a, true, of);
        related_mark(a, of, true, along);
        pull(a, along, ops[a->req->op].service & (PHASE_F_STOP | PHASE_F_START));
    }
    if (a->how & STARTS_NEEDED) {
        for (uint32_t s = 0; s < a->c->n_services; s++)
            of[s] = false;
        subjects_mark(a, false, of);
        for (uint32_t s = 0; s < a->c->n_services; s++)
            of[s] |= along[s];
        related_mark(a, of, false, needed);
        pull(a, needed, PHASE_F_START);
    }
    free(of);
    free(along);
    free(needed);
}

int phase_request_op(const struct phase_request *req, const struct phase_cluster *c,
                     const struct phase_deps *d, struct phase_work *w, struct err *e)
{
    struct asking a = {.req = req, .c = c, .d = d, .w = w, .how = ops[req->op].how};
    if ((a.how & NAMES_SERVICES) && !req->services)
        return err_set(e, ERR_INVALID, "%s: which services?", ops[req->op].name);
    if ((a.how & NAMES_NODES) && !req->nodes)
        return err_set(e, ERR_INVALID, "%s: which nodes?", ops[req->op].name);
    a.in_turn = (a.how & IN_TURN) || ((a.how & MAY_BE_IN_TURN) && req->in_turn);
    subjects_fill(&a);
    pulled_fill(&a);
    return 0;
}
