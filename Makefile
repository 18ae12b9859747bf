# The one command surface: `make help` lists it.

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Native sources that reach the extension; tests, benches, examples and fuzz targets do not.
NATIVE := $(shell find native \( -path native/fuzz -o -path '*/tests' -o -path '*/benches' -o -path '*/examples' \) -prune \
            -o -type f \( -name '*.rs' -o -name '*.toml' \) -print)
PACKAGING := Cargo.toml Cargo.lock pyproject.toml
# A new dependency is written to Cargo.lock at a desk; in CI a lock that is behind is a failure.
LOCKED := $(if $(CI),--locked)
# Extension, cargo tests and simulator share one profile and one target folder, so that nothing is built twice.
CARGO_CI := --profile ci $(LOCKED)
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# A build that is handed to others names no folder of the machine that made it. Benches build with the same flags, or
# cargo would compile everything again.
CARGO_HOME_DIR := $(or $(CARGO_HOME),$(HOME)/.cargo)
REMAP := RUSTFLAGS="$(strip $(RUSTFLAGS) --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(CARGO_HOME_DIR)=cargo)"
# maturin runs the pip and the python of the environment it is told of, and finds nothing to say about what is satisfied.
MATURIN := PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" PIP_QUIET=1 maturin
# maturin prefers a stray header.h in the target folder to the declarations of the crate.
DROP_STRAY_HEADER := rm -f "$(TARGET_DIR)/header.h"
PYTEST := $(BIN)/python -m pytest
# A workspace of its own, whose lock has nothing to do with ours.
RUST_CLIENT := tests/rust_client/Cargo.toml
RUST_CLIENT_FETCH = cargo fetch --quiet --manifest-path $(RUST_CLIENT) --locked --target $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
FUZZ_SECONDS ?= 600
TRIALS ?= 2000
# `make sim SEED=n SEEDS=m`, `make sim-long SECONDS=s`.
SIM := cargo run --quiet $(CARGO_CI) -p ng-sim
SEED ?= 1
SEEDS ?= 100
SECONDS ?= 600
# `make damage SEED=n TRIALS=m`.
TRIALS ?= 2000
# `make mutants CAMPAIGN=unit-tests MOST=50`.
MOST ?= 1000000
MUTANTS_TOOL := 27.1.0
MUTANTS_PATH := $(CURDIR)/build/cargo-mutants/bin:$$PATH
# `make generate GENERATED=DIR` writes below DIR instead of in place: the test that compares the two does so.
GENERATED ?= .
GENERATED_FILES := server_ng/wire/tables.py server_ng/config/table.py server_ng/engine/table.py native/abi/include/server_ng.h configs/server.toml docs/coming-from-iggy.md docs/metrics.md
# `make lock UPGRADE=--upgrade` takes the newest versions that pyproject.toml allows.
LOCK := build/lock-writer/bin/uv pip compile pyproject.toml $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
          --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' --quiet
# `make wheel WHEEL_PROFILE=ci DIST=DIR` packs what the tests run: the wheel test installs that one.
WHEEL_PROFILE ?= release
WHEEL_release = $(REMAP) $(MATURIN) build --release $(LOCKED) --strip
WHEEL_ci = $(MATURIN) build $(CARGO_CI)
DIST ?= dist

.PHONY: build run spark test test-native test-plants test-python test-machine rust-client lint fmt generate bench bench-load bench-spark fuzz sim sim-long sim-plants damage mutants wheel release lock clean help preflight

# Tests start thousands of interpreters: where PYTHONDONTWRITEBYTECODE is set, each of them would compile every module.
build: $(VENV)/.extension-ci ## build the environment and the extension into .venv (what plain `make` does)
	@$(BIN)/python -m compileall -q server_ng tests

run: build ## start the server on its defaults, data under local_data
	$(BIN)/server-ng serve

test: test-native test-plants test-python ## run every test that needs no more than the build does

test-native: | preflight ## the Rust half of `make test`
	cargo test --workspace $(CARGO_CI) --no-fail-fast

test-plants: | preflight ## see that the simulator finds each bug that is planted; a build by itself
	cargo test -p ng-sim --features plants --test planted $(CARGO_CI) --no-fail-fast

test-python: build $(VENV)/.spark ## the Python half of `make test`
	$(MAKE) --silent rust-client > /dev/null
	$(PYTEST) --ignore=tests/machine

rust-client: | preflight ## build the program of the real Rust client that tests run, and say where it is
	@$(RUST_CLIENT_FETCH) || { echo "The crates of the real Rust client are not here and cannot be fetched: cargo needs its registry once." >&2; exit 1; }
	@cargo build --quiet --manifest-path $(RUST_CLIENT) --locked --offline --target-dir $(TARGET_DIR)/rust-client
	@echo $(TARGET_DIR)/rust-client/debug/ng-rust-client

test-machine: build $(VENV)/.spark ## run the tests that need root, strace, systemd-analyze, fuse, loop devices and ext4
	$(PYTEST) tests/machine

lint: build $(VENV)/.spark ## check formats, lints, types and import directions
	cargo fmt --all --check
	cargo fmt --manifest-path native/fuzz/Cargo.toml --check
	cargo fmt --manifest-path benches/load/Cargo.toml --check
	cargo fmt --manifest-path $(RUST_CLIENT) --check
	cargo clippy --workspace --all-targets $(CARGO_CI) -- -D warnings
	cargo clippy -p ng-sim --all-targets --features plants $(CARGO_CI) -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" lint-imports

fmt: $(VENV)/.python ## rewrite sources in the one format
	cargo fmt --all
	cargo fmt --manifest-path native/fuzz/Cargo.toml
	cargo fmt --manifest-path benches/load/Cargo.toml
	cargo fmt --manifest-path $(RUST_CLIENT)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

generate: | preflight ## rewrite what is generated: Python tables and settings, the C header, configs/server.toml, docs
	mkdir -p $(addprefix $(GENERATED)/,$(dir $(GENERATED_FILES)))
	cargo run --quiet $(CARGO_CI) -p ng-wire --bin ng-tables wire > $(GENERATED)/server_ng/wire/tables.py.new
	cargo run --quiet $(CARGO_CI) -p ng-wire --bin ng-tables config > $(GENERATED)/server_ng/config/table.py.new
	cargo run --quiet $(CARGO_CI) -p ng-wire --bin ng-tables engine > $(GENERATED)/server_ng/engine/table.py.new
	cargo run --quiet $(CARGO_CI) -p ng-abi --example header > $(GENERATED)/native/abi/include/server_ng.h.new
	mv $(GENERATED)/server_ng/wire/tables.py.new $(GENERATED)/server_ng/wire/tables.py
	mv $(GENERATED)/server_ng/config/table.py.new $(GENERATED)/server_ng/config/table.py
	mv $(GENERATED)/server_ng/engine/table.py.new $(GENERATED)/server_ng/engine/table.py
	mv $(GENERATED)/native/abi/include/server_ng.h.new $(GENERATED)/native/abi/include/server_ng.h
	$(MAKE) build
	$(BIN)/server-ng config defaults > $(GENERATED)/configs/server.toml.new
	$(BIN)/server-ng config iggy > $(GENERATED)/docs/coming-from-iggy.md.new
	$(BIN)/server-ng inspect metrics > $(GENERATED)/docs/metrics.md.new
	mv $(GENERATED)/configs/server.toml.new $(GENERATED)/configs/server.toml
	mv $(GENERATED)/docs/coming-from-iggy.md.new $(GENERATED)/docs/coming-from-iggy.md
	mv $(GENERATED)/docs/metrics.md.new $(GENERATED)/docs/metrics.md

bench: release ## measure the release build against benches/baselines
	$(REMAP) cargo bench --workspace --bench '*' $(LOCKED)
	$(REMAP) $(BIN)/python -m benches
	$(BIN)/python -m benches.load

bench-load: release ## load the release build through the real client, beside a server that does nothing
	$(BIN)/python -m benches.load

spark: build $(VENV)/.spark ## install Spark, the table formats and a Java into .venv

bench-spark: release $(VENV)/.spark ## measure jobs on a topic of a gigabyte with the release build
	$(BIN)/python -m benches.spark

fuzz: | preflight ## fuzz each decoder for FUZZ_SECONDS seconds
	for target in client_frame request_body primitives segment_columns; do native/fuzz/run $$target -seconds $(FUZZ_SECONDS) || exit 1; done

sim: | preflight ## live SEEDS simulated worlds from SEED on
	$(SIM) -- --seed $(SEED) --seeds $(SEEDS)

sim-long: | preflight ## live simulated worlds for SECONDS seconds, strike at every step, and sum up in build/sim-summary.txt
	mkdir -p build
	$(SIM) -- --seed $(SEED) --seconds $(SECONDS) --summary build/sim-summary.txt --every-step yes

sim-plants: | preflight ## look for each planted bug among 200 simulated worlds from a random seed on
	NG_SIM_PLANT_SEED=$$(date +%s) NG_SIM_PLANT_WORLDS=200 \
	  cargo test -p ng-sim --features plants --test planted $(CARGO_CI) --no-fail-fast

damage: build ## damage one file of a data directory, TRIALS times from SEED on, and judge each answer of the server
	$(BIN)/python -m tests.support.damage --seed $(SEED) --trials $(TRIALS)

mutants: $(VENV)/.python ## judge mutants of the source that wait for a verdict: MOST of CAMPAIGN, or all (days)
	@PATH="$(MUTANTS_PATH)" cargo mutants --version 2>/dev/null | grep -qx 'cargo-mutants $(MUTANTS_TOOL)' \
	  || cargo install --quiet --locked --root build/cargo-mutants cargo-mutants@$(MUTANTS_TOOL)
	PATH="$(MUTANTS_PATH)" $(BIN)/python -m tests.support.mutants $(CAMPAIGN:%=--campaign %) --most $(MOST)

wheel: $(VENV)/.python ## build an LTO wheel into dist
	$(DROP_STRAY_HEADER)
	$(WHEEL_$(WHEEL_PROFILE)) --out $(DIST)

release: $(VENV)/.extension-release ## build the LTO extension into .venv

lock: build/lock-writer/.uv ## resolve pyproject.toml again and rewrite the locks
	$(LOCK) --output-file requirements.lock
	$(LOCK) --group development --constraints requirements.lock --output-file requirements-dev.lock
	$(LOCK) --all-extras --group spark-tests --constraints requirements-dev.lock --output-file requirements-spark.lock

clean: ## remove everything that was built; data and locks stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache server_ng/_native
	cargo clean
	find server_ng tests -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

preflight: ## name each tool that is missing, in one sentence
	@missing=0; \
	say() { echo "$$1" >&2; missing=1; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || say "Python 3.11 or newer is needed and was not found: install python3, or set PYTHON to one."; \
	$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || say "The venv module of Python is needed and was not found: install python3-venv."; \
	cargo --version 2>/dev/null \
	  | awk '{ split($$2, v, "."); found = v[1] > 1 || (v[1] == 1 && v[2] >= 95) } END { exit !found }' \
	  || say "cargo 1.95 or newer is needed and was not found: install Rust with rustup."; \
	command -v cc >/dev/null \
	  || say "A C compiler is needed and was not found: install gcc."; \
	command -v git >/dev/null \
	  || say "git is needed and was not found: install git."; \
	exit $$missing

# Stamps: each says what was put into its folder last, and is older than whatever asks for it again.

$(VENV)/.python: requirements-dev.lock | preflight
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	touch $@

# Installed for tests and lints alone: what `make run` needs is a tenth of it. Of pyspark there is no wheel.
$(VENV)/.spark: requirements-spark.lock $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
	  --no-binary pyspark --no-build-isolation -r $<
	touch $@

$(VENV)/.extension-ci: $(VENV)/.python $(NATIVE) $(PACKAGING)
	$(DROP_STRAY_HEADER)
	$(MATURIN) develop $(CARGO_CI)
	rm -f $(VENV)/.extension-release
	touch $@

$(VENV)/.extension-release: $(VENV)/.python $(NATIVE) $(PACKAGING)
	$(DROP_STRAY_HEADER)
	$(REMAP) $(MATURIN) develop --release $(LOCKED)
	rm -f $(VENV)/.extension-ci
	touch $@

build/lock-writer/.uv: | preflight
	$(PYTHON) -m venv build/lock-writer
	build/lock-writer/bin/python -m pip install --quiet --disable-pip-version-check uv
	touch $@
