#!/usr/bin/env bash
# README.md, as written: every command of its tour, in order, and what it prints, but for how long things take.
# SPDX-License-Identifier: Apache-2.0
top=${ANNEAL_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
TUTORIAL=$top/README.md TUTORIAL_EXAMPLES=yes exec "$(dirname "$0")/t0800-tutorial.t"
