#!/usr/bin/env bash
# Makes the packages: a wheel, a source distribution, and a .deb of the command in the wheel (on Linux).
#
#   checks/dist/build.sh OUT TOOLS [OPTION...]
#
# OUT gets the packages; TOOLS, a virtual environment with maturin and zig, is made if it does not exist. OPTIONS are
# those of maturin: `--profile dev` builds quickly, and without the profile of training runs that other builds use. zig
# links against glibc 2.17, so that the command runs on every Linux distribution since 2014. Without zig, or with ZIG=no,
# the wheel asks for the glibc of this machine, and this script says which.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Absolute, since compilers of crates run in folders of their own.
out=$(realpath -m "$1") tools=$(realpath -m "$2")
shift 2
mkdir -p "$out"
rm -f "$out"/shallop*

[ -x "$tools/bin/maturin" ] || {
    python3 -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
}
options=(--locked --out "$out" "$@")
if [[ " $* " != *" --profile "* ]]; then
    host=$(rustc -vV | sed -n 's/^host: //p')
    profile=$(bash checks/pgo/train.sh "${CARGO_TARGET_DIR:-target}/pgo" --profile dist --locked --package shallop \
        --target "$host")
    export RUSTFLAGS="${RUSTFLAGS:-} ${profile:+-Cprofile-use=$profile}"
    options+=(--target "$host")
fi
if [ "$(uname -s)" = Linux ]; then
    if [ "${ZIG:-yes}" != no ] && "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: ziglang; then
        options+=(--zig --compatibility manylinux2014)
    else
        echo "make dist: without zig, the wheel asks for $(ldd --version | head -n 1)."
    fi
fi
PATH="$tools/bin:$PATH" "$tools/bin/maturin" build "${options[@]}"
"$tools/bin/maturin" sdist --out "$out"

if [ "$(uname -s)" = Linux ] && command -v dpkg-deb > /dev/null; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    python3 -m zipfile --extract "$out"/shallop-*.whl "$work"
    command=$(find "$work" -path '*/scripts/shallop')
    chmod +x "$command"
    bash checks/dist/deb.sh "$command" "$out"
else
    echo "SKIPPED make dist: the .deb, which takes Linux and dpkg-deb"
fi
ls -l "$out"
