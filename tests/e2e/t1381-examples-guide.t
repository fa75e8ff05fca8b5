#!/usr/bin/env bash
# docs/examples.md, as written: every command, in order, and what it prints.
# SPDX-License-Identifier: Apache-2.0
top=${ANNEAL_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
[ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null || { echo "1..0 # SKIP hosts in namespaces need root"; exit 0; }
missing=$(. "$top/tools/setup.sh"; packages_missing examples | xargs)
[ -z "$missing" ] || { echo "1..0 # SKIP packages are missing: $missing"; exit 0; }
TUTORIAL=$top/docs/examples.md TUTORIAL_SECONDS=300 exec "$(dirname "$0")/t0800-tutorial.t"
