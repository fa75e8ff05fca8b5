# shop.sh - sourced by the tests of desired state, after lib.sh: a database and its web servers
#
#   shop GREETING    loads the catalog; with another greeting it is another generation
#
# Every role keeps a file per node in $work/live: what is on disk is what really happened.  The
# nodes whose web converged are in $work/runs, what stop and remove did in $work/removed.  While
# $work/broken is there no web converges, while $work/stuck is there none can be removed.
#
#   shop_first       what every task does before its work; nothing unless told
#   shop_rm          how db removes its file: rm, which proves that there was one, unless told
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
shop_first=: shop_rm=rm
mkdir -p "$work/live"

shop() { # GREETING
    catalog shop <<Y
barclamp: shop
version: 1.0.0
roles:
  - name: db
    jig: shell
    flags: [cluster]
    actions:
      converge:
        - name: up-db
          params: {script: '$shop_first; echo db >"$work/live/db-\$ANNEAL_NODE"'}
      remove:
        - name: down-db
          params:
            script: |
              $shop_first
              echo "db \$ANNEAL_NODE" >>"$work/removed"
              $shop_rm "$work/live/db-\$ANNEAL_NODE"
  - name: web
    jig: shell
    requires: [db]
    attributes:
      port: {schema: {type: integer, minimum: 1}, default: 80}
    actions:
      converge:
        - name: up-web
          retries: 0
          params:
            script: |
              $shop_first
              test ! -e "$work/broken" || exit 1
              echo "$1 \$(jq .data.port)" >"$work/live/web-\$ANNEAL_NODE"
              echo "\$ANNEAL_NODE" >>"$work/runs"
      stop:
        - name: stop-web
          params: {script: '$shop_first; echo "stop \$ANNEAL_NODE" >>"$work/removed"'}
      remove:
        - name: down-web
          retries: 0
          params:
            script: |
              $shop_first
              echo "web \$ANNEAL_NODE" >>"$work/removed"
              test ! -e "$work/stuck" && rm -f "$work/live/web-\$ANNEAL_NODE"
Y
    anneal -q catalog load "$work/shop"
}
