#!/usr/bin/env bash
# Installs what is missing for a target of the Makefile: from apt as root on Debian and its relatives. Elsewhere it says
# what is missing and how to get it, and fails only if the target cannot do without.
#
#   checks/setup.sh demo|test|full
set -euo pipefail
for_what=${1:-full}

has_header() { printf '#include <%s>\n' "$1" | "${CC:-cc}" -fsyntax-only -x c - 2> /dev/null; }
has() { command -v "$1" > /dev/null; }

missing=()
# want PACKAGE TEST...: the package of Debian that is missing if the test fails.
want() {
    local package=$1
    shift
    "$@" || missing+=("$package")
}

# ring, the cryptography of QUIC, is C and assembly in part.
want build-essential has "${CC:-cc}"
if [ "$for_what" != demo ] && [ "$(uname -s)" = Linux ]; then
    # Programs for the running kernel.
    want clang has clang
    want libelf-dev has_header libelf.h
    want zlib1g-dev has_header zlib.h
    # The Python package and its tests.
    want python3-venv python3 -c 'import ensurepip'
    # Network namespaces of tests.
    want iproute2 has ip
fi 2> /dev/null
if [ "$for_what" = full ] && [ "$(uname -s)" = Linux ]; then
    want chromium has chromium
    want chromium-driver has chromedriver
    want npm has npm
    # The clean system of `make check-dist`.
    want debootstrap has debootstrap
    # Programs of other projects in tests of hosts.
    want iperf3 has iperf3
    want openssh-server test -x /usr/sbin/sshd
fi

if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && has apt-get; then
    echo "Installing ${missing[*]}."
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y "${missing[@]}"; } < /dev/null > /dev/null || true
elif [ ${#missing[@]} -gt 0 ]; then
    echo "Missing, by the names of Debian's packages: ${missing[*]} ('make setup' as root installs them)." >&2
fi

has "${CC:-cc}" || { echo "make: a C compiler is needed: 'sudo apt-get install build-essential'." >&2; exit 1; }
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
has cargo || { echo "make: Rust $rust or later is needed: see https://rustup.rs" >&2; exit 1; }
if [ "$for_what" != demo ]; then
    for part in fmt clippy; do
        cargo "$part" --version > /dev/null 2>&1 && continue
        { has rustup && rustup component add rustfmt clippy; } ||
            { echo "make: cargo $part is needed: run 'rustup component add rustfmt clippy'." >&2; exit 1; }
    done
fi
