# `make help` lists the targets; none is needed: the README's commands do without make.
PYTHON ?= .venv/bin/python

.PHONY: help setup test test-vm lint types format refresh bench
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' Makefile
setup: ## a virtual environment in .venv with everything
	python3 -m venv .venv && .venv/bin/pip install -c constraints.txt -e '.[dev]'
test: ## the whole test suite
	$(PYTHON) -m pytest
test-vm: ## the facts of an emulated machine with a real kernel, against what it was made of (minutes; no root needed)
	$(PYTHON) -m pytest -m vm tests/vm
lint: ## ruff, rules and formatting
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .
types: ## mypy, strict
	$(PYTHON) -m mypy
format: ## formats the code
	$(PYTHON) -m ruff check --fix . ; $(PYTHON) -m ruff format .
refresh: ## rewrites generated pages, schemas and goldens; read the difference before you commit it
	$(PYTHON) -m tests.refresh
bench: ## speed of `advisor probe` against its peers, as ratios measured in one run
	$(PYTHON) benchmarks/probe_peers.py
