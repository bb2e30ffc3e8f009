PYTHON ?= $(shell for p in python3.11 python3.12 python3; do command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The GPU builds only where an NVIDIA device is: their fbgemm does not import without the driver.
ifeq ($(wildcard /dev/nvidia0),)
EXTRA := cpu
SHIM := ./.ci/fbgemm-gpu-shim
else
EXTRA := gpu
SHIM :=
endif

.PHONY: setup lint check test coverage test-all bench demo clean
.DEFAULT_GOAL := help

help:  ## Show the targets.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## Create .venv with everything (CPU or GPU builds, by what is here).

$(STAMP): pyproject.toml .ci/fbgemm-gpu-shim/pyproject.toml
	@test -n "$(PYTHON)" || { echo "recplan needs Python 3.11 or 3.12 on the PATH (or make PYTHON=...)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRA),dev]" $(SHIM)
	@touch $@

lint: $(STAMP)  ## Style: ruff, and its formatter in check mode.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: $(STAMP)  ## Types: mypy --strict on source and tests.
	$(BIN)/mypy

test: $(STAMP)  ## The test suite (slower tests: make test-all).
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile

coverage: $(STAMP)  ## The same with branch coverage, of which there must be 90 %.
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile --cov --cov-report=term:skip-covered --cov-fail-under=90

test-all: $(STAMP)  ## Every test, the slow ones included.
	$(BIN)/python -m pytest -m "slow or not slow"

bench: $(STAMP)  ## Run the benchmarks and write docs/benchmarks/.
	$(BIN)/python -m tests.benchmarks

demo: $(STAMP)  ## The main job on the bundled data: out/quickstart/report.html.
	$(BIN)/recplan plan docs/examples/quickstart.toml --out out/quickstart

clean:  ## Remove what the targets made.
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
