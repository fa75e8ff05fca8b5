/* macro_expand.c - what macros stand for in one cluster
 *
 * Who has a service is known in two orders before anything is expanded: by name, for lists, and by
 * number, for single ones.  A list is made once, whatever the number of nodes that it is for.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/macro_i.h"

#include <stdlib.h>

#include "base/sort.h"

/* --- who has what --- */

struct node_order {
    const struct macro_node *node;
    uint32_t index;
};

static int by_name(const void *a, const void *b)
{
    const struct node_order *x = a, *y = b;
    int order = str_cmp(x->node->name, y->node->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_number(const void *a, const void *b)
{
    const struct node_order *x = a, *y = b;
    if (x->node->number != y->node->number)
        return x->node->number < y->node->number ? -1 : 1;
    return by_name(a, b);
}

static bool has_before(const struct macro_node *node, uint32_t service)
{
    for (uint32_t i = 0; i < service; i++)
        if (str_eq(node->services[i], node->services[service]))
            return true;
    return false;
}

static void services_count(struct macro_cluster *c)
{
    const struct macro_view *v = c->view;
    uint32_t room = 0;

    for (uint32_t i = 0; i < v->n_nodes; i++)
        for (uint32_t k = 0; k < v->nodes[i].n_services; k++)
            strmap_put(&c->by_service, v->nodes[i].services[k], 0);
    c->services = arena_new(&c->mem, struct macro_service, c->by_service.n);
    for (uint32_t i = 0; i < c->by_service.n; i++)
        c->by_service.at[i].val = i;
    for (uint32_t i = 0; i < v->n_nodes; i++)
        for (uint32_t k = 0; k < v->nodes[i].n_services; k++) {
            uintptr_t s = 0;
            strmap_get(&c->by_service, v->nodes[i].services[k], &s);
            c->services[s].n += !has_before(&v->nodes[i], k);
        }
    for (uint32_t i = 0; i < c->by_service.n; i++)
        room += c->services[i].n;
    uint32_t *names = arena_new(&c->mem, uint32_t, room),
             *numbers = arena_new(&c->mem, uint32_t, room);
    for (uint32_t i = 0; i < c->by_service.n; i++) {
        struct macro_service *s = &c->services[i];
        s->by_name = names;
        s->by_number = numbers;
        names += s->n;
        numbers += s->n;
        s->n = 0;
    }
}

/* Fills one of the two orders of every service. */
static void services_fill(struct macro_cluster *c, struct node_order *order, bool numbers)
{
    const struct macro_view *v = c->view;

    if (v->n_nodes)
        qsort(order, v->n_nodes, sizeof *order, numbers ? by_number : by_name);
    for (uint32_t i = 0; i < c->by_service.n; i++)
        c->services[i].n = 0;
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct macro_node *node = order[i].node;
        for (uint32_t k = 0; k < node->n_services; k++) {
            uintptr_t s = 0;
            if (has_before(node, k))
                continue;
            strmap_get(&c->by_service, node->services[k], &s);
            struct macro_service *service = &c->services[s];
            (numbers ? service->by_number : service->by_name)[service->n++] = order[i].index;
        }
    }
}

struct macro_cluster *macro_cluster_new(const struct macro_view *view)
{
    struct macro_cluster *c = xcalloc(1, sizeof *c);
    SCOPED_ARENA(mem);
    struct node_order *order = arena_new(&mem, struct node_order, view->n_nodes);

    c->view = view;
    arena_init(&c->mem);
    for (uint32_t i = 0; i < view->n_nodes; i++)
        order[i] = (struct node_order){&view->nodes[i], i};
    services_count(c);
    services_fill(c, order, true);
    services_fill(c, order, false);
    return c;
}

void macro_cluster_free(struct macro_cluster *c)
{
    if (!c)
        return;
    strmap_done(&c->by_service);
    strmap_done(&c->lists);
    strmap_done(&c->texts);
    u64map_done(&c->values);
    arena_done(&c->mem);
    free(c);
}

int macro_cluster_room(const struct macro_cluster *c, struct err *e)
{
    if (c->mem.total_bytes <= MACRO_MAX_TOTAL)
        return 0;
    return err_set(e, ERR_LIMIT, "macros of this cluster make more than %d MB",
                   MACRO_MAX_TOTAL >> 20);
}

/* --- elements --- */

static struct str node_address(const struct macro_node *node, struct str type)
{
    for (uint32_t i = 0; i < node->n_addresses; i++)
        if (str_eq(node->addresses[i].type, type))
            return node->addresses[i].address;
    return (struct str){"", 0};
}

static void form_put(struct buf *out, const struct macro_piece *p, struct str element)
{
    if (!p->mapped) {
        buf_put(out, element.s, element.n);
        return;
    }
    for (size_t i = 0; i < p->form.n; i++) {
        if (p->form.s[i] != '$') {
            buf_putc(out, p->form.s[i]);
        } else if (i + 1 < p->form.n && p->form.s[i + 1] == '$') {
            buf_putc(out, '$');
            i++;
        } else {
            buf_put(out, element.s, element.n);
        }
    }
}

static int node_put(const struct macro_cluster *c, const struct macro_piece *p, uint32_t index,
                    struct buf *out, struct err *e)
{
    const struct macro_node *node = &c->view->nodes[index];
    struct str element = p->what == MACRO_HOST ? node->hostname : node_address(node, p->type);

    if (!element.n && p->what == MACRO_HOST)
        return err_set(e, ERR_REFUSED, "%.*s: node \"%.*s\" has no hostname", (int)p->written.n,
                       p->written.s, (int)node->name.n, node->name.s);
    if (!element.n)
        return err_set(e, ERR_REFUSED, "%.*s: node \"%.*s\" has no address %.*s", (int)p->written.n,
                       p->written.s, (int)node->name.n, node->name.s, (int)p->type.n, p->type.s);
    form_put(out, p, element);
    return 0;
}

static void number_put(struct buf *out, const struct macro_piece *p, uint64_t number)
{
    SCOPED_BUF(text);
    buf_u64(&text, number);
    form_put(out, p, buf_str(&text));
}

/* Which of the service's nodes it is, from 1 on; 0: none of them. */
static uint32_t instance_of(const struct macro_cluster *c, const struct macro_service *s,
                            uint32_t self)
{
    const struct macro_node *nodes = c->view->nodes;
    size_t at = sort_first(s->by_number, s->n, it, nodes[*it].number >= nodes[self].number);

    while (at < s->n && s->by_number[at] != self &&
           nodes[s->by_number[at]].number == nodes[self].number)
        at++;
    return at < s->n && s->by_number[at] == self ? (uint32_t)at + 1 : 0;
}

/* --- lists --- */

static int list_make(struct macro_cluster *c, const struct macro_piece *p,
                     const struct macro_service *s, struct str *ret, struct err *e)
{
    SCOPED_BUF(text);
    int rc = macro_cluster_room(c, e);

    for (uint32_t i = 0; rc == 0 && i < s->n; i++) {
        if (i)
            buf_put(&text, p->separator.s, p->separator.n);
        rc = node_put(c, p, s->by_name[i], &text, e);
        if (rc == 0 && text.len > MACRO_MAX_TEXT)
            rc = err_set(e, ERR_LIMIT, "%.*s makes more than %d MB", (int)p->written.n,
                         p->written.s, MACRO_MAX_TEXT >> 20);
    }
    if (rc < 0)
        return rc;
    *ret = (struct str){arena_strndup(&c->mem, buf_str(&text).s, text.len), text.len};
    return 0;
}

static int list_put(struct macro_cluster *c, const struct macro_piece *p,
                    const struct macro_service *s, struct buf *out, struct err *e)
{
    uintptr_t known = 0;

    if (!strmap_get(&c->lists, p->written, &known)) {
        struct str *made = arena_new(&c->mem, struct str, 1);
        int rc = list_make(c, p, s, made, e);
        if (rc < 0)
            return rc;
        known = (uintptr_t)made;
        strmap_put(&c->lists, p->written, known);
    }
    const struct str *list = (const struct str *)known;
    buf_put(out, list->s, list->n);
    return 0;
}

/* --- texts --- */

static int service_put(struct macro_cluster *c, const struct macro_piece *p,
                       const struct macro_service *s, uint32_t self, struct buf *out, struct err *e)
{
    if (p->what == MACRO_NUM) {
        number_put(out, p, s->n);
        return 0;
    }
    if (p->what == MACRO_INSTANCE) {
        uint32_t instance = self == MACRO_NO_NODE ? 0 : instance_of(c, s, self);
        if (instance)
            number_put(out, p, instance);
        else
            buf_put(out, p->written.s, p->written.n);
        return 0;
    }
    if (!p->indexed)
        return list_put(c, p, s, out, e);
    if (p->index >= s->n)
        return err_set(e, ERR_REFUSED, "%.*s: there are %u of them", (int)p->written.n,
                       p->written.s, s->n);
    return node_put(c, p, s->by_number[p->index], out, e);
}

static int piece_put(struct macro_cluster *c, const struct macro_piece *p, uint32_t self,
                     struct buf *out, struct err *e)
{
    uintptr_t service;

    if (p->what == MACRO_OWNER) {
        form_put(out, p, c->view->owner);
        return 0;
    }
    if (p->what != MACRO_PLAIN && p->service.n && strmap_get(&c->by_service, p->service, &service))
        return service_put(c, p, &c->services[service], self, out, e);
    if (p->what == MACRO_NUM) { /* of what is not there none, which is as good a number */
        number_put(out, p, 0);
        return 0;
    }
    if (p->what != MACRO_PLAIN && !p->service.n && self != MACRO_NO_NODE)
        return node_put(c, p, self, out, e);
    buf_put(out, p->written.s, p->written.n); /* text, or about what is not there */
    return 0;
}

int macro_text_expand(const struct macro_text *t, struct macro_cluster *c, uint32_t self,
                      struct buf *out, struct err *e)
{
    size_t before = out->len;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < t->n; i++) {
        rc = piece_put(c, &t->pieces[i], self, out, e);
        if (rc == 0 && out->len - before > MACRO_MAX_TEXT)
            rc = err_set(e, ERR_LIMIT, "a text makes more than %d MB", MACRO_MAX_TEXT >> 20);
    }
    return rc;
}
