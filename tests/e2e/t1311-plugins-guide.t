#!/usr/bin/env bash
# docs/plugins.md, as written: every command, in order, and what it prints.
top=${ANNEAL_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
TUTORIAL=$top/docs/plugins.md exec "$(dirname "$0")/t0800-tutorial.t"
