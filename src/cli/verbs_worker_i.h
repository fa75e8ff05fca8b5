/* verbs_worker_i.h - rows of the verbs about workers, for verbs.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_WORKER_I_H
#define CLI_VERBS_WORKER_I_H

#include "cli/verbs_row_i.h"

/* One argument a line reads better than filled lines. */
/* clang-format off */
#define A_WORKER {"NAME", KIND_WORKER, 0, "name of a worker", NULL}
#define WORKER_CHANGE_ROUTES "GET /v1/workers/{worker}, PATCH /v1/workers/{worker}"

#define WORKER_ROWS \
    {"worker", "list", "list workers", cmd_worker_list, S, \
     .routes = "GET /v1/workers", \
     .opts = OPTS(LIMIT)}, \
    {"worker", "show", "show one worker", cmd_worker_show, S, \
     .routes = "GET /v1/workers/{worker}", \
     .args = {A_WORKER}}, \
    {"worker", "token", "make a token that one worker may join with", cmd_worker_token, S, \
     .routes = "POST /v1/worker-tokens", \
     .opts = OPTS(OPT("name", "NAME", KIND_TEXT, "the name that it must have"), \
                  OPT("ttl", "DURATION", KIND_DURATION, "how long it is good (default 1h)"), \
                  MANY("label", "KEY=VALUE", KIND_TEXT, \
                       "a label that the worker gets; may be repeated"), \
                  OPT("address", "URL", KIND_TEXT, \
                      "where the worker finds the server (default: where this program did)"), \
                  OPT("save", "FILE", KIND_TEXT, "write it to FILE, readable by you only")), \
     .about = "Prints one line, ADDRESS#FINGERPRINT#SECRET, for `anneal-worker --join-file`.  It " \
              "is good for one worker, once, and for an hour unless told otherwise.", \
     .examples = "anneal worker token | ssh build1 anneal-worker --join-file - --join-only\n" \
                 "anneal worker token --name build1 --label rack=r7 --save build1.join"}, \
    {"worker", "drain", "give a worker nothing new", cmd_worker_drain, S, \
     .routes = WORKER_CHANGE_ROUTES, \
     .args = {A_WORKER}, \
     .opts = OPTS(REV), \
     .about = "What it runs ends as it would.  It stays so until `anneal worker undrain`."}, \
    {"worker", "undrain", "give a worker work again", cmd_worker_undrain, S, \
     .routes = WORKER_CHANGE_ROUTES, \
     .args = {A_WORKER}, \
     .opts = OPTS(REV)}, \
    {"worker", "remove", "take a worker's credential away", cmd_worker_remove, S, \
     .routes = "GET /v1/workers/{worker}, DELETE /v1/workers/{worker}", \
     .args = {A_WORKER}, \
     .opts = OPTS(FLAG("yes", 'y', "do not ask"), REV), \
     .about = "The program ends when it notices.  What it runs on nodes is given to another " \
              "worker; what it runs on its own machine counts as lost after its lease."}
/* clang-format on */

#endif
