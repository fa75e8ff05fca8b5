/* builtin.c - answers that need no operation: health, readiness, version, metrics, OpenAPI */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

static void pair_answer(struct request *req, const char *json)
{
    answer_bytes(req, MHD_HTTP_OK, "application/json", str_of(json));
}

static void ready_answer(struct request *req)
{
    struct err e;
    if (server_is_ready(req->api->server)) {
        pair_answer(req, "{\"ready\":true}");
        return;
    }
    err_set(&e, ERR_BUSY, "the server is still starting");
    answer_problem(req, &e);
}

static void openapi_answer(struct request *req)
{
    const struct api_book *book = req->api->book;

    snprintf(req->answer.tag, sizeof req->answer.tag, "%s", book->openapi_tag);
    if (head_none_match(&req->head, book->openapi_tag))
        answer_bytes(req, MHD_HTTP_NOT_MODIFIED, NULL, (struct str){"", 0});
    else
        answer_bytes(req, MHD_HTTP_OK, "application/json", buf_str(&book->openapi));
}

static void metric(struct buf *b, const char *name, const char *kind, const char *about, uint64_t v)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, about, name, kind, name, v);
}

static void metrics_answer(struct request *req)
{
    const struct api *a = req->api;
    struct buf *b = &req->out;

    buf_clear(b);
    server_metrics(req->api->server, b);
    buf_puts(b, "# HELP anneal_api_answers_total Answers by hundreds of the status.\n"
                "# TYPE anneal_api_answers_total counter\n");
    for (unsigned i = 2; i < 6; i++)
        buf_printf(b, "anneal_api_answers_total{code=\"%uxx\"} %" PRIu64 "\n", i, a->answers[i]);
    metric(b, "anneal_api_requests", "gauge", "Requests and streams in flight.", a->n_live);
    metric(b, "anneal_api_streams", "gauge", "Streams open.", a->streams.n);
    metric(b, "anneal_api_streams_opened_total", "counter", "Streams opened.", a->streams.opened);
    metric(b, "anneal_api_streams_refused_total", "counter", "Streams refused for want of room.",
           a->streams.refused);
    metric(b, "anneal_api_event_chunks_built_total", "counter", "Chunks of events formatted.",
           a->events.built);
    metric(b, "anneal_api_event_chunks_shared_total", "counter",
           "Chunks of events that were formatted already.", a->events.shared);
    answer_bytes(req, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", buf_str(b));
}

void builtin_answer(struct request *req)
{
    switch (req->match.route->special) {
    case API_SPECIAL_HEALTH: pair_answer(req, "{\"status\":\"ok\"}"); return;
    case API_SPECIAL_READY: ready_answer(req); return;
    case API_SPECIAL_VERSION:
        pair_answer(req, "{\"version\":\"" ANNEAL_VERSION "\",\"api\":\"v1\"}");
        return;
    case API_SPECIAL_OPENAPI: openapi_answer(req); return;
    case API_SPECIAL_METRICS: metrics_answer(req); return;
    case API_SPECIAL_NONE:
    case API_SPECIAL_EVENTS:
    case API_SPECIAL_LOG:
    case API_SPECIAL_WORKER_POLL:
    case API_SPECIAL_WORKER_MESSAGES:
    case API_SPECIAL_COUNT: break;
    }
    assert(!"not a built-in answer");
}
