#!/usr/bin/env bash
# docs/clusters.md, as written: every command, in order, and what it prints.
top=${ANNEAL_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
TUTORIAL=$top/docs/clusters.md exec "$(dirname "$0")/t0800-tutorial.t"
