/* bench_mhd.c - libmicrohttpd's own ceiling: one fixed body, one epoll thread, nothing else
 *
 * The peer that API reads are measured against in the same run.  Prints its port, serves until its
 * input closes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char body[4096];
static size_t body_n;

static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_n, void **state)
{
    (void)cls, (void)url, (void)method, (void)version, (void)data, (void)data_n;
    if (!*state) { /* headers only: an answer now would cost the connection */
        *state = body;
        return MHD_YES;
    }
    struct MHD_Response *r = MHD_create_response_from_buffer(body_n, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result ok = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return ok;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strlen(argv[1]) : 0;
    body_n = n < sizeof body ? n : sizeof body;
    memcpy(body, argc > 1 ? argv[1] : "", body_n);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
    if (!d)
        return 2;
    printf("%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    MHD_stop_daemon(d);
    return 0;
}
