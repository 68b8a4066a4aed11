# Every target does its own set-up: Python 3.11 or newer, make and a network to install from are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
DATA   ?= ../shared/data
SETUP   = pyproject.toml

.DEFAULT_GOAL := check
.PHONY: check demo test lint format bench docs clean

check: test lint

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Pinakes needs Python 3.11 or newer: make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(SETUP) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(SETUP) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(VENV)/.core $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/pinakes demo

# Two runs: compiled, and with the JIT off for the tests small enough, so that coverage sees inside the kernels.
# The cache of compiled kernels is fresh: Numba does not notice when a callee in another file has changed.
test: $(VENV)/.dev
	@rm -rf .coverage .coverage.*
	@cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && \
	  NUMBA_CACHE_DIR=$$cache PINAKES_DATA=$(DATA) $(BIN)/python -m pytest -n auto --dist worksteal --cov=pinakes --cov-report= --cov-fail-under=0 && \
	  NUMBA_DISABLE_JIT=1 PINAKES_DATA=$(DATA) $(BIN)/python -m pytest -n auto -q -m kernel tests --cov=pinakes --cov-append --cov-report= --cov-fail-under=0
	@$(BIN)/python -m coverage report

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.news20 --data $(DATA)

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.*
