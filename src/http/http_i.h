/* http_i.h - what the files of http share: the client, one exchange, and errors from both sides */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_HTTP_I_H
#define HTTP_HTTP_I_H

#include <assert.h>
#include <curl/curl.h>

#include "http/http.h"

/* Options are constants of ours: a refusal is a mistake in this file. */
#define OPT(easy, option, value)                                                                   \
    do {                                                                                           \
        CURLcode opt_rc_ = curl_easy_setopt((easy), (option), (value));                            \
        assert(opt_rc_ == CURLE_OK);                                                               \
        (void)opt_rc_;                                                                             \
    } while (0)

enum { HTTP_PIN_TEXT = 64 };
int http_pin_parse(const char *hex, char ret_pin[HTTP_PIN_TEXT], struct err *e);

struct http {
    CURLM *multi;
    char *base, *cacert, *token, *agent, *if_down;
    char pin[HTTP_PIN_TEXT]; /* as libcurl wants it; "": none */
    bool loopback, tls;
    struct http_options o; /* numbers with defaults filled in; its texts are not used */
};

/* One request on the wire and what came back of it so far. */
struct http_exchange {
    struct http *h;
    CURL *easy;
    struct curl_slist *headers;
    struct buf body; /* request */
    struct buf got;  /* answer, or the problem that a refused stream answered */
    struct buf etag, type, location;
    uint32_t status; /* 0 until the status line came */
    char why[CURL_ERROR_SIZE];
    bool over; /* libcurl is through with it */
    CURLcode result;
    http_data_f *fn; /* stream: takes what a 2xx answers instead of `got` */
    void *arg;
    struct err fn_err;           /* of fn, or of a limit */
    uint64_t began_ms, heard_ms; /* heard: when the last bytes of the answer came */
};

/* key: Idempotency-Key, NULL for none.  after: Last-Event-ID, NULL for none. */
int exchange_begin(struct http_exchange *x, struct http *h, const struct http_request *q,
                   const char *key, const char *after, bool stream, struct err *e);
/* Lets all exchanges of the client work once, waiting up to timeout_ms if nothing is due. */
int exchange_work(struct http *h, int timeout_ms, struct err *e);
/* Ends a stream that has been silent for idle_ms.  libcurl's own limit is a speed in whole bytes a
 * second, which takes a heartbeat for silence.  To be asked after exchange_work(), which has read
 * what there is: a pause of this process is no silence. */
void exchange_listen(struct http_exchange *x);
void exchange_end(struct http_exchange *x);

/* One part of an address as a copy of the caller's, "" if it has none. */
char *http_url_part(CURLU *url, CURLUPart part);
bool http_host_is_loopback(const char *host);
uint64_t http_clock_ms(void);
void http_pause(uint32_t ms);
/* The error of a finished exchange whose transfer failed. */
int http_transport_error(const struct http_exchange *x, struct err *e);
/* The error that an answer with a status of 300 or more stands for. */
int http_answer_error(struct arena *mem, const struct http_exchange *x, struct err *e);
bool exchange_is_json(const struct http_exchange *x);

#endif
