/* anneal.c - the command `anneal`: the CLI, and the simulator as one of its verbs */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "sim/sim.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv, sim_main);
}
