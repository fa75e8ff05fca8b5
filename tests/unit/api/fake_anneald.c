/* fake_anneald.c - the API over the fake server as a program, to test the contract runner with
 *
 *   fake_anneald [host:port]     prints "ready PORT"; ends with SIGTERM, SIGINT or end of standard
 * input
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "fake_server.h"

static void end(void *arg)
{
    loop_stop(arg);
}

static void on_input(void *arg, unsigned events)
{
    char byte;
    (void)events;
    if (read(STDIN_FILENO, &byte, 1) <= 0)
        loop_stop(arg);
}

int main(int argc, char **argv)
{
    struct api_options o = {.listen = argc > 1 ? argv[1] : "127.0.0.1:0"};
    struct loop *loop = loop_new();
    struct server *server = fake_new(loop);
    struct api *api;
    struct err e;

    log_set_level(LOG_ERROR);
    fake_populate(server);
    if (api_new(loop, server, &o, &api, &e) < 0) {
        fprintf(stderr, "fake_anneald: %s\n", e.text);
        return 1;
    }
    struct loop_signal *term = loop_signal_new(loop, SIGTERM, end, loop);
    struct loop_signal *intr = loop_signal_new(loop, SIGINT, end, loop);
    struct loop_watch *input = isatty(STDIN_FILENO)
                                   ? NULL
                                   : loop_watch_new(loop, STDIN_FILENO, LOOP_READ, on_input, loop);
    printf("ready %u\n", api_port(api));
    fflush(stdout);
    loop_run(loop);
    loop_watch_free(input);
    loop_signal_free(term);
    loop_signal_free(intr);
    api_stop(api);
    fake_free(server);
    loop_free(loop);
    return 0;
}
