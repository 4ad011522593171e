#!/usr/bin/env bash
# Installs the packages that `make dist` made where there is no Rust, and uses them: the .deb and the wheel in roots made
# by debootstrap, and the source distribution by building it. As root.
#
#   checks/dist/check.sh PACKAGES BASE
#
# BASE is a minimal Debian with python3-venv, made if it does not exist; each check has a copy of its own. SUITE is its
# release.
set -euo pipefail
packages=$(realpath "$1") base=$2 suite=${SUITE:-bookworm}
cd "$(dirname "$0")/../.."

skip() { echo "SKIPPED make check-dist: $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip "chroot needs root"
command -v debootstrap > /dev/null || skip "debootstrap is missing (make setup)"
one() { local found=("$packages"/$1); [ -f "${found[0]}" ] || { echo "make check-dist: no $1 in $packages: make dist" >&2; exit 1; }; echo "${found[0]}"; }
deb=$(one "shallop_*_$(dpkg --print-architecture).deb") wheel=$(one 'shallop-*.whl') sdist=$(one 'shallop-*.tar.gz')

[ -f "$base/made" ] || {
    rm -rf "$base"
    debootstrap --variant=minbase --include=python3-venv "$suite" "$base" > "$base.log" 2>&1 ||
        { tail "$base.log" >&2; skip "debootstrap cannot make Debian $suite"; }
    touch "$base/made"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/use.sh" << 'END'
# Uses the command in $1, from a folder of its own.
set -eu
mkdir -p /tmp/use && cd /tmp/use
"$1" --version
"$1" new --topology dumbbell --transport cubic --out scenario.toml > /dev/null
"$1" run scenario.toml --quick --out results > /dev/null
test -s results/summary.json && test -s results/report.html && test -s results/flows.parquet
echo "a run: $(du -k results/report.html | cut -f 1) KB of report.html"
END

# clean NAME: a copy of the base in $work/NAME.
clean() {
    cp -a "$base" "$work/$1"
    cp "$work/use.sh" "$work/$1/tmp/"
    ! chroot "$work/$1" sh -c 'command -v rustc cargo' || { echo "Rust is in the clean root" >&2; exit 1; }
}

echo "== $(basename "$deb"), in a clean Debian $suite"
clean deb
cp "$deb" "$work/deb/tmp/shallop.deb"
chroot "$work/deb" dpkg --install /tmp/shallop.deb > /dev/null
chroot "$work/deb" sh /tmp/use.sh shallop
for file in man/man1/shallop.1.gz man/man1/shallop-run.1.gz bash-completion/completions/shallop \
    zsh/vendor-completions/_shallop fish/vendor_completions.d/shallop.fish doc/shallop/copyright; do
    # dpkg in minbase has no rule that leaves out manual pages or docs.
    test -s "$work/deb/usr/share/$file" || { echo "the package has no $file" >&2; exit 1; }
done
chroot "$work/deb" dpkg --remove shallop > /dev/null
test ! -e "$work/deb/usr/bin/shallop"

echo "== $(basename "$wheel"), in a virtual environment of a clean Debian $suite"
clean wheel
# Its dependencies are downloaded here, so that the clean root needs no network.
python3 -m venv "$work/venv"
mkdir "$work/wheel/tmp/wheels"
"$work/venv/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: \
    --dest "$work/wheel/tmp/wheels" "$wheel"
chroot "$work/wheel" sh -c 'python3 -m venv /venv &&
    /venv/bin/python -m pip --isolated install --quiet --disable-pip-version-check --no-index --find-links /tmp/wheels shallop'
chroot "$work/wheel" sh /tmp/use.sh /venv/bin/shallop
chroot "$work/wheel" sh -c 'cd /tmp/use && env -i /venv/bin/python -c "
import shallop
results = shallop.run(\"scenario.toml\", quick=True)
print(\"from Python:\", shallop.__version__, len(results.summary[\"runs\"]), \"run\")
"'

echo "== $(basename "$sdist"), built by cargo"
mkdir "$work/source"
tar --extract --gzip --file "$sdist" --directory "$work/source" --strip-components 1
# Not --locked: Cargo.lock is that of the whole workspace, of which this has the crates of the command alone.
(cd "$work/source" && cargo run --quiet --package shallop -- --version)
echo "make check-dist: all packages work."
