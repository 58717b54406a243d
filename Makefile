# Two commands do everything on a machine with python3 and make: `make demo` and `make test`.
# Every target sets up .venv first; after any of them the command stands at .venv/bin/skoupa.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
# uv is pinned here because nothing can lock the tool that reads the lock.
UV_VERSION := 0.13.7
STAMP := $(VENV)/.installed
# A control plane for each. On two cores too: most of what the tests do is to wait for one.
WORKERS ?= 4
# Provided before the tests, which would take the time that a build needs for a hang.
PROGRAMS := etcd kube-apiserver kube-controller-manager kubectl helm
# Else every command that the tests start would compile the whole package first.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check unit bench cluster cluster-down lock clean

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 22

setup: $(STAMP) ## .venv with everything pinned, and the command at .venv/bin/skoupa

$(STAMP): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Skoupa needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 (this is $$($(PYTHON) --version))" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "python3 can't make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	@test "$$($(UV) --version 2>/dev/null | cut -d' ' -f2)" = $(UV_VERSION) || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements/dev.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## a messy little cluster in memory, with time moving fast
	@$(BIN)/skoupa demo

test: check ## everything: checks, then all tests on the embedded cluster and on a real control plane
	@$(BIN)/python -m harness.controlplane build $(PROGRAMS)
	@$(BIN)/python -m harness.browser
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not soak"

unit: setup ## the tests that need no control plane
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m unit

check: setup ## ruff, mypy, import order of the house, docs and chart
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -q tests/unit/test_docs.py tests/unit/chart/test_files.py

bench: setup ## the benchmarks; writes docs/benchmarks.md
	@$(BIN)/python -m harness.controlplane build
	@$(BIN)/python -m harness.bench

cluster: setup ## a real local control plane to play with; prints the KUBECONFIG line
	@$(BIN)/python -m harness.controlplane up

cluster-down: setup ## stops it
	@$(BIN)/python -m harness.controlplane down

lock: setup ## writes requirements/dev.lock anew from pyproject.toml
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--extra demo --extra postgres --extra encryption --group dev --output-file requirements/dev.lock pyproject.toml

clean: ## removes .venv and everything that was made here (not the cache of built control planes)
	@test ! -x $(BIN)/python || $(BIN)/python -m harness.controlplane down 2>/dev/null || true
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
