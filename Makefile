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

SHALLOP = $(CARGO) run --release --locked --quiet --package shallop --
# The crates that must run in a browser.
PURE = core control switch proto sim lab
WASM = wasm32-unknown-unknown
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: help demo test check-full bench compiler lints docs wasm msrv

help: ## What there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1@\2/p' $(MAKEFILE_LIST) | while IFS=@ read -r name what; do \
	    printf '%-16s%s\n' "$$name" "$$what"; \
	done

demo: compiler ## The headline experiment, its results in results/demo
	@echo "Building, which takes a few minutes the first time, then running fp-fig10a."
	@$(SHALLOP) reproduce fp-fig10a --out $(DEMO_OUT)
	@echo "Results are in $(DEMO_OUT)."

test: compiler lints ## All checks and tests, and every experiment in its quick form
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked
	$(CARGO) run --quiet --locked --package xtask -- all
	$(if $(QUICK_EXPERIMENTS),$(SHALLOP) $(QUICK_EXPERIMENTS))

check-full: test docs wasm msrv ## test, then docs, browser build, oldest Rust and every experiment in full
	$(if $(FULL_EXPERIMENTS),$(SHALLOP) $(FULL_EXPERIMENTS))

bench: compiler ## Packet-hops a second in the standard cases
	@$(SHALLOP) bench

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

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

# Zstandard, inside the Parquet writer, is C.
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
