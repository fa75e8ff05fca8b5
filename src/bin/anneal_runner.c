/* anneal_runner.c - the program that supervises one run of one task; see sys/runner.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/runner.h"

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
