# setup.sh - sourced by the scripts at the root: packages and the build, said once
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

# packages KIND...: installs what is missing of these kinds; says what it needs if it cannot.
packages() {
    local kind missing=() p
    command -v dpkg-query >/dev/null || { say "not Debian: assuming the packages of tools/packages.txt are there"; return 0; }
    for kind in "$@"; do
        for p in $(awk -v k="$kind" '$1 == k { for (i = 2; i <= NF; i++) print $i }' "$top/tools/packages.txt"); do
            [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
        done
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "needs these packages, and sudo is not here to install them: ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && return 0
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null || die "apt-get update failed"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null \
        || die "could not install ${missing[*]}"
}

# build DIR [MESON OPTIONS]: configures once, builds, puts the programs in DIR/bin.
build() {
    local dir=$1
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        meson setup "$dir" "$top" "$@" >"$dir.log" 2>&1 || { cat "$dir.log" >&2; die "meson setup failed"; }
        rm -f "$dir.log"
    fi
    ninja -C "$dir" >"$dir/build.log" 2>&1 || { tail -n 60 "$dir/build.log" >&2; die "the build failed; all of it is in $dir/build.log"; }
    mkdir -p "$dir/bin"
    local p
    for p in anneal anneald anneal-runner; do
        ln -sf "../src/bin/$p" "$dir/bin/$p"
    done
}
