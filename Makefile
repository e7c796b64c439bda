# Leakwise. `make` alone lists what can be made.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage bench papers paper attack wheel docs screenshots format lock clean

VENV   := .venv
BIN    := $(VENV)/bin
LIGHT  := $(VENV)/.light
STAMP  := $(VENV)/.installed

help: ## this list
	@echo "Leakwise: make <target>"
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 12

setup: $(STAMP) ## .venv with all that the tests need, from nothing but Python 3.11 or newer

$(BIN)/python:
	@python="$$(scripts/find-python)" && echo "Python: $$("$$python" --version)" && "$$python" -m venv $(VENV)

# The demo installs the library and what draws its pictures, and nothing else.
$(LIGHT): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[plots]'
	@touch $@

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ $(LIGHT)

demo: $(LIGHT) ## the Adult table, from prior to recovered frequencies; leaves files in demo-output/
	$(BIN)/python examples/adult_demo.py

test: setup ## everything that must pass: style, types, import contracts, tests
	scripts/check

coverage: setup ## the same, with the branch coverage of the tests, which must reach 95 % (two thirds more time)
	scripts/check -n 2 --cov=leakwise --cov-report=term

bench: setup ## every script of benchmarks/, one after the other, with its figures
	scripts/bench

attack: setup ## look for a false promise for MINUTES=10, from where the last attack stopped
	OMP_NUM_THREADS=1 $(BIN)/python attack/run.py --minutes $(or $(MINUTES),10)

wheel: setup ## build the wheel once, and try that wheel with lowest and newest versions and with each extra alone
	scripts/wheel

papers: setup ## every computed figure and table of the five papers, with a gallery, in papers-output/
	scripts/papers

paper: setup ## the article on what no paper has, with its proofs, as PDF and HTML in paper-output/
	scripts/paper

docs: setup ## the documentation as HTML in docs/_build/html, warnings are errors
	scripts/docs

screenshots: setup ## the pictures of the documentation again, in docs/pictures/, as the browser tests see the pages
	LEAKWISE_SCREENSHOTS=1 $(BIN)/pytest -q tests/browser -k 'picture or together'

format: setup ## let ruff sort the imports and lay out the code
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

lock: ## take the newest allowed versions into constraints.txt (names and versions, nothing else)
	scripts/lock

clean: ## remove everything that can be made again, .venv too
	rm -rf $(VENV) build dist docs/_build demo-output papers-output paper-output
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
