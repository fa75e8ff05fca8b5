/* graphs.h - the task graphs that deployments run: the catalog's, and what was laid over them
 *
 * A layer is the newest overlay of a barclamp or of a deployment (overlays.h).  Over the catalog
 * lie those of its barclamps, in their order there, and over them the deployment's own.  Nothing is
 * kept merged: what is asked for is laid together again, which costs what reading the graph costs.
 *
 * Whatever becomes an overlay was checked with all that lies below it and all that lies above, and
 * a catalog that overlays do not fit is not loaded, so that what deployments run is sound at any
 * time. docs/rfc/07-task-graphs.md, section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_GRAPHS_H
#define SERVER_GRAPHS_H

#include "catalog/taskgraph.h"
#include "server/overlays.h"

#define GRAPHS_DEFAULT "default" /* the graph that is meant if none is named */

struct server;

/* The graph that a deployment runs (0: only what barclamps say).  ERR_NOT_FOUND if neither the
 * catalog nor an overlay has it, with the nearest name. */
int graphs_of(struct server *s, const struct catalog *cat, uint32_t deployment, struct str graph,
              struct graph_overlay **ret, struct err *e);
/* The same without a copy where nothing lies over it: then it is the catalog's own, and *ret_own is
 * NULL; else the caller's, and what *ret_graph is part of. */
int graphs_find(struct server *s, const struct catalog *cat, uint32_t deployment, struct str graph,
                const struct catalog_graph **ret_graph, struct graph_overlay **ret_own,
                struct err *e);

/* --- laying it together --- */

/* What is to be in the place of an overlay, for who wants to know what that would give. */
struct graphs_trial {
    struct overlay_key key;
    struct str text;           /* for lines of faults */
    const struct value *tasks; /* a list, or NULL: nothing */
};
/* The layers over a graph, lowest first, read into mem.  trial may be NULL. */
int graphs_layers(struct server *s, const struct catalog *cat, uint32_t deployment,
                  struct str graph, const struct graphs_trial *trial, struct arena *mem,
                  const struct graph_layer **ret, size_t *ret_n, struct err *e);
/* As graphs_of() with a trial, and everything that was found in the report. */
int graphs_merge(struct server *s, const struct catalog *cat, uint32_t deployment, struct str graph,
                 const struct graphs_trial *trial, struct catalog_report *report,
                 struct graph_overlay **ret, struct err *e);
/* A text as a list of vertices; places are those of the text, called as the overlay is. */
int graphs_parse(struct server *s, const struct overlay_key *k, struct str text, struct arena *mem,
                 const struct value **ret_tasks, struct err *e);
/* "deployment_tasks of web", for places and messages. */
const char *graphs_layer_name(const struct server *s, struct arena *mem,
                              const struct overlay_key *k);
/* The text of a version, which may be in the store only. */
int graphs_text(struct server *s, const struct overlay *v, struct arena *mem, struct str *ret,
                struct err *e);

/* --- is it sound? --- */

/* Would this overlay do, with all that lies below and above?  What is doubtful about it goes to the
 * report; an error of a deployment above names that. */
int graphs_check(struct server *s, const struct catalog *cat, const struct graphs_trial *trial,
                 struct catalog_report *report, struct err *e);
/* Do all overlays fit this catalog?  The error names the first that does not, and the remedy. */
int graphs_check_catalog(struct server *s, const struct catalog *cat, struct err *e);

#endif
