#!/usr/bin/env bash
# Makes a profile for an optimised build of the command, and prints its path.
#
#   checks/pgo/train.sh TARGET [OPTION...]
#
# TARGET is the folder for the instrumented build and its profiles, OPTIONS are those of cargo with which the optimised
# build is made: the names of functions in a profile depend on them. A profile is made once for each instrumented
# command and training set. Prints nothing, and says so on standard error, where Rust's llvm-tools are missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "$1")
shift
host=$(rustc -vV | sed -n 's/^host: //p')
tool=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
[ -x "$tool" ] || rustup component add llvm-tools > /dev/null 2>&1 || true
[ -x "$tool" ] || {
    echo "PLAIN BUILD, without a profile: llvm-profdata is missing (rustup component add llvm-tools)." >&2
    exit 0
}
RUSTFLAGS="${RUSTFLAGS:-} -Cprofile-generate" CARGO_TARGET_DIR=$target "${CARGO:-cargo}" build "$@" >&2
command=$target/$host/dist/shallop
profile=$target/$(cat "$command" checks/pgo/* | sha256sum | cut -c 1-16).profdata
if [ ! -f "$profile" ]; then
    raw=$(mktemp -d -p "$target")
    trap 'rm -rf "$raw"' EXIT
    # Transports share the training in about equal parts. Each is given with two simulated times: of 20 and of 2,000
    # flows.
    run() {
        said=$(LLVM_PROFILE_FILE=$raw/%p.profraw "$command" run "checks/pgo/$1.toml" --jobs 1 --json "${@:2}" \
            < /dev/null 2>&1 > /dev/null) || { echo "$said" >&2; exit 1; }
    }
    for stack in linux linux-ideal; do
        while read -r transport few many; do
            for flows in "20 $few" "2000 $many"; do
                run dumbbell --schemes "$transport" --set "stack=$stack" --set "topology.senders=${flows% *}" \
                    --set "duration=${flows#* }"
            done
        done << END
newreno 2s 200ms
cubic 2s 200ms
bbr 1s 200ms
dctcp 2s 200ms
expresspass 1s 50ms
flashpass 500ms 10ms
END
        run leaf-spine --set "stack=$stack"
    done
    "$tool" merge -o "$profile.new" "$raw"
    mv "$profile.new" "$profile"
fi
echo "$profile"
