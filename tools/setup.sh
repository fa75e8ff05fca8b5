# setup.sh - sourced by the scripts at the root: packages and the build, said once
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

# packages_missing KIND...: those of these kinds that are not installed, one a line.
packages_missing() {
    local kind p
    for kind in "$@"; do
        for p in $(awk -v k="$kind" '$1 == k { for (i = 2; i <= NF; i++) print $i }' "$top/tools/packages.txt"); do
            [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
        done
    done
}

# packages KIND...: installs what is missing of these kinds; says what it needs if it cannot.
packages() {
    local missing=()
    command -v dpkg-query >/dev/null || { say "not Debian: assuming the packages of tools/packages.txt are there"; return 0; }
    mapfile -t missing < <(packages_missing "$@")
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

# packages_asleep KIND...: as packages, but no service that comes along is started on this machine, now or at a boot.  Those that
# were installed before stay as they are.
packages_asleep() (
    policy=/usr/sbin/policy-rc.d mark='# of anneal tools/setup.sh: nothing is started while packages are installed'
    installed() { dpkg-query -W -f '${Package}\n' | sort; }
    disable() { if command -v systemctl; then systemctl disable "$1"; else update-rc.d "$1" disable; fi }
    command -v dpkg-query >/dev/null || { say "not Debian: assuming the packages of tools/packages.txt are there"; exit 0; }
    [ -n "$(packages_missing "$@")" ] || exit 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "needs these packages, and sudo is not here to install them: $(packages_missing "$@" | xargs)"
        # shellcheck disable=SC2016
        exec sudo bash -c '. "$0" && packages_asleep "$@"' "$top/tools/setup.sh" "$@"
    fi
    if [ ! -e "$policy" ] || grep -qxF "$mark" "$policy"; then # one of ours may be there if we were killed
        trap 'rm -f "$policy"' EXIT
        trap 'exit 1' INT TERM HUP
        printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
        chmod 755 "$policy"
    elif "$policy" anneal-example start >/dev/null 2>&1; [ $? -ne 101 ]; then # invoke-rc.d(8): 101 is "no"
        die "$policy lets services start; install these yourself, and stop what starts: $(packages_missing "$@" | xargs)"
    fi
    before=$(installed)
    packages "$@"
    comm -13 <(echo "$before") <(installed) | xargs -r dpkg -L | sed -n 's#^\(/usr\)\{0,1\}/lib/systemd/system/\([^/@]*\.service\)$#\2#p' | sort -u |
        while read -r unit; do disable "${unit%.service}" >/dev/null 2>&1 || say "$unit could not be disabled: it starts at the next boot of this machine"; done
)

# build DIR [-Doption=value]... [target]...: configures, builds (the programs, if no target is named) and puts the
# programs in DIR/bin.
build() {
    local dir=$1 options=() targets=() arg
    shift
    for arg; do
        case $arg in -D*) options+=("$arg") ;; *) targets+=("$arg") ;; esac
    done
    [ ${#targets[@]} -gt 0 ] || targets=(src/bin/anneal src/bin/anneald src/bin/anneal-worker src/bin/anneal-runner src/bin/anneal-host)
    mkdir -p "$dir"
    if [ ! -f "$dir/build.ninja" ]; then
        meson setup "$dir" "$top" "${options[@]}" >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; die "meson setup failed"; }
    elif [ ${#options[@]} -gt 0 ]; then
        meson configure "$dir" "${options[@]}" >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; die "meson configure failed"; }
    fi
    ninja -C "$dir" "${targets[@]}" >"$dir/build.log" 2>&1 || { tail -n 60 "$dir/build.log" >&2; die "the build failed; all of it is in $dir/build.log"; }
    mkdir -p "$dir/bin"
    for arg in anneal anneald anneal-worker anneal-runner anneal-host; do
        ln -sf "../src/bin/$arg" "$dir/bin/$arg"
    done
}
