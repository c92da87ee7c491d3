# Everything sets itself up: Python >= 3.10 and make are all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test lint bench bench-short bench-stream docs clean

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

demo: $(VENV)/base  ## a PUMA 560 simulated with noise, identified, validated, reported
	$(BIN)/python examples/demo.py

test: $(VENV)/test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2  # two workers, each with one thread of BLAS: a quarter less processor time

lint: $(VENV)/lint
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

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site dist out
