# Everything sets itself up: Python >= 3.10 and make are all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help demo test pythons lowest lint docs screenshots bench bench-short bench-stream mutants mutants-short fuzz fuzz-short kills dist clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/base: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit('taupi needs Python 3.10 or newer, this is ' + sys.version) if sys.version_info < (3, 10) else None"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --editable ".[plot]"
	@touch $@

$(VENV)/test: $(VENV)/base
	$(PIP) install --editable ".[test]"
	@touch $@

$(VENV)/bench: $(VENV)/test
	$(PIP) install --editable ".[bench]"
	@touch $@

$(VENV)/lint: $(VENV)/base
	$(PIP) install --editable ".[lint]"
	@touch $@

$(VENV)/docs: $(VENV)/base
	$(PIP) install --editable ".[docs]"
	@touch $@

$(VENV)/dist: $(VENV)/base
	$(PIP) install --editable ".[dist]"
	@touch $@

demo: $(VENV)/base  ## a PUMA 560 simulated with noise, identified, validated, reported
	$(BIN)/python examples/demo.py

test: $(VENV)/test  ## every test but the long ones (pytest -m long)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2  # two workers, each with one thread of BLAS: a quarter less processor time

pythons:  ## every test on every Python from 3.10 to 3.14 that is here, each in its own environment below .pythons/
	$(PYTHON) tools/pythons.py

lowest:  ## every command once, with the lowest version of each direct dependency that pyproject.toml allows, below .lowest/
	$(PYTHON) tools/lowest.py

lint: $(VENV)/lint  ## ruff, mypy, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench  ## ratios against peers in one run; rewrites docs/benchmarks.md
	$(BIN)/python benchmarks/run.py

bench-short: $(VENV)/test  ## the same measurements with few repeats and no peer beyond the tests' own; writes nothing
	$(BIN)/python benchmarks/run.py --short

bench-stream: $(VENV)/test  ## ten million samples, from files: minutes, and 4 GB of disk for a while; rewrites its section
	$(BIN)/python benchmarks/run.py --only streaming

docs: $(VENV)/docs  ## the site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: $(VENV)/test  ## pictures of all pages in the documents, by Chromium where one is installed
	-$(BIN)/python tools/screenshots.py

mutants: $(VENV)/test  ## 200 small faults, one at a time: do the tests see them? half an hour; rewrites docs/mutants.md
	PYTHONPATH=tools $(BIN)/python -m mutants --seed 20261119 --size 200 --least 0.92 --report docs/mutants.md

mutants-short: $(VENV)/test  ## a dozen of them in files that are tested well; writes nothing
	PYTHONPATH=tools $(BIN)/python -m mutants --short

fuzz: $(VENV)/test  ## a million changed files of every format: does each reader answer soon? a quarter of an hour; adds to docs/fuzzing.md
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tools $(BIN)/python -m fuzz --inputs 1000000 --seed $$(date +%s) --keep --report docs/fuzzing.md

fuzz-short: $(VENV)/test  ## 21 000 of them; writes nothing
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tools $(BIN)/python -m fuzz --short

kills: $(VENV)/test  ## commands and clusters killed at 760 random instants: the old result or the new one; half an hour
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m long -s tests/e2e/test_kills.py tests/e2e/test_cluster_kills.py

dist: $(VENV)/dist  ## sdist and wheel into dist/, each installed in a fresh environment and tried
	$(BIN)/python tools/distribution.py

clean:  ## everything that the other targets made
	rm -rf $(VENV) .pythons .lowest site dist out .mutants .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
