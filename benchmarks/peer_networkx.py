#!/usr/bin/env python3
"""The peer of the area graph: Debian's networkx builds a graph of edges and sorts it.

usage: peer_networkx.py N EDGES.bin     N vertices; pairs of 32-bit numbers, from and to
Prints one JSON line with CPU seconds and the largest memory; reading the file is not counted.
"""
# SPDX-License-Identifier: Apache-2.0
import array
import json
import resource
import sys
import time

import networkx


def main():
    n, path = int(sys.argv[1]), sys.argv[2]
    numbers = array.array("I")
    with open(path, "rb") as file:
        numbers.frombytes(file.read())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    pairs = iter(numbers)
    graph.add_edges_from(zip(pairs, pairs))
    built = time.process_time()
    last = sum(1 for _ in networkx.topological_sort(graph))
    done = time.process_time()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"build": built - begun, "sort": done - built, "cpu": done - begun, "vertices": last,
                      "edges": graph.number_of_edges(), "mb": (after - before) / 1024}))


main()
