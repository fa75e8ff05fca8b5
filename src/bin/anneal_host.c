/* anneal_host.c - the program that owns one host in namespaces; see host/host.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

int main(int argc, char **argv)
{
    return host_main(argc, argv);
}
