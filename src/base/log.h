/* log.h - structured lines: time level event key=value ...
 *
 * The only mutable file-scope state of the project: the level and the sink.  Layers below service
 * log nothing above debug.  Values with spaces or quotes are quoted; control characters are
 * escaped, so a line is always one line.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

#include "base/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* A secret is a type, so that it cannot reach a line by accident: the formatter prints ***. */
struct secret {
    const char *s;
};
enum log_kind { LOGV_END, LOGV_TEXT, LOGV_INT, LOGV_SECRET };
struct log_field {
    const char *key;
    enum log_kind kind;
    const char *text;
    int64_t num;
};
#define LOGT(k, v) ((struct log_field){(k), LOGV_TEXT, (v), 0})
#define LOGI(k, v) ((struct log_field){(k), LOGV_INT, 0, (int64_t)(v)})
#define LOGS(k, v) ((struct log_field){(k), LOGV_SECRET, (v).s, 0})
/* log_line(LOG_INFO, "noderole", LOGI("id", 12), LOGT("to", "ACTIVE")); */
#define log_line(level, event, ...)                                                                \
    log_fields((level), (event), (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})
void log_fields(enum log_level level, const char *event, const struct log_field *fields);
void log_err(enum log_level level, const char *event, const struct err *e);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* fd >= 0: lines are written there whole (default 2).  fn != NULL takes the line instead. */
void log_set_sink(int fd, void (*fn)(void *arg, const char *line, size_t n), void *arg);

#endif
