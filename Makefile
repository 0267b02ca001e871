# Paths are relative on purpose: the clone may live in a folder whose name has spaces.
.DEFAULT_GOAL := help
.PHONY: help setup model demo test lint format bench fuzz clean

EXTRAS ?= dev,local,pydantic,repl
PYTEST_ARGS ?=
PY := .venv/bin/python

help: ## show this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 10

setup: ## create .venv and install Kedi into it (PYTHON=… picks the interpreter)
	@PYTHON='$(PYTHON)' sh scripts/setup.sh '$(EXTRAS)'

model: setup ## fetch the weights of the local model into $KEDI_HOME (default ~/.kedi), once
	@.venv/bin/kedi model install

demo: model ## run fragments in one session, templates answered by the local model
	@$(PY) examples/demo.py

test: lint ## check everything and run the tests (PYTEST_ARGS=… is passed on)
	$(PY) -m pytest $(PYTEST_ARGS)

lint: setup ## style, format, types and import directions
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m pyright --pythonpath $(PY)
	.venv/bin/lint-imports --no-logo

format: setup ## rewrite files to the project's style
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: setup ## measure against peers and print one table
	$(PY) -m pip install --disable-pip-version-check -q -r benchmarks/requirements.txt
	$(PY) -m benchmarks

fuzz: setup ## feed 100,000 mutated programs to the parser
	$(PY) benchmarks/fuzz_parser.py

clean: ## remove what the other targets made inside the clone
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
