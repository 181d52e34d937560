# Each target bootstraps its own .venv: uv if present, else python3 -m venv and pip.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(STAMP)run  ## the main job on a fresh home: no key, no network
	@$(BIN)/hermes-memory demo

test: $(STAMP)test  ## all tests
	$(BIN)/python -m pytest -n auto --dist worksteal tests $(PLUGIN_TESTS)

check: $(STAMP)check  ## style, types, layers, docs, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=providers $(BIN)/lint-imports --no-cache
	$(BIN)/python docs/_tools/cli_reference.py --check
	$(BIN)/python docs/_tools/code_reference.py --check
	$(BIN)/python -m pytest -q tests/contracts
	$(BIN)/codespell hermes_memory_core providers plugins tests docs bench README.md CONTRIBUTING.md CHANGELOG.md

docs: $(STAMP)docs  ## the documentation site in docs/_build
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(STAMP)test  ## benchmarks; set MEMBENCH_PY_HERMES for the peer
	$(BIN)/python -m bench

third-party: $(STAMP)test  ## slow jobs with real third-party packages
	bash .ci/third-party

clean:  ## remove what the targets made
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache

# PLUGIN_TESTS grows by one folder a plugin that has tests without third-party packages.
PLUGIN_TESTS := $(wildcard plugins/*/tests)

$(VENV)/bin/python:
	@if command -v uv >/dev/null 2>&1; then uv venv --quiet --python $(PYTHON) $(VENV); \
	else $(PYTHON) -m venv $(VENV) && $(VENV)/bin/python -m pip install --quiet --upgrade pip; fi

# $(1) = stamp, $(2) = dependency groups
define install
	@$(PYTHON) .ci/install.py $(VENV) $(2)
	@touch $(STAMP)$(1)
endef

$(STAMP)run: $(VENV)/bin/python pyproject.toml plugins/hermes-command/pyproject.toml .ci/install.py
	$(call install,run,)
$(STAMP)test: $(VENV)/bin/python pyproject.toml plugins/hermes-command/pyproject.toml .ci/install.py
	$(call install,test,test)
	@touch $(STAMP)run
$(STAMP)check: $(VENV)/bin/python pyproject.toml plugins/hermes-command/pyproject.toml .ci/install.py
	$(call install,check,test check)
	@touch $(STAMP)run $(STAMP)test
$(STAMP)docs: $(VENV)/bin/python pyproject.toml .ci/install.py
	$(call install,docs,docs)
	@touch $(STAMP)run

.PHONY: help demo test check docs bench third-party clean
