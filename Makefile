# Works from a clean clone; needs make, and Python 3.10 or newer with its venv module.
#   make demo    an enriched trace of a shipped capture
#   make compare two shipped builds compared, and the README's picture of it
#   make test    all tests             (TESTS="tests/sql -k layers" for some of them)
#   make lint    style and types
#   make bench   speed and memory      (BENCH="--events 100000 --repeat 3" for less of it)
#   make clean   remove what the above made
# Another interpreter: make PYTHON=python3.12 demo

PYTHON ?= python3
VENV ?= .venv
OUT ?= out
TESTS ?=
BENCH ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
# The project itself is installed editable: only its requirements make a new installation.
REQUIREMENTS := pyproject.toml constraints.txt
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

CAPTURE := traces/vllm-gptoss20b.pt.trace.json.gz
ENRICHED := $(OUT)/vllm-gptoss20b.autoviz.zip
BUILDS := traces/qwen3-8b-builds
COMPARED := $(OUT)/compare

.DEFAULT_GOAL := help
.PHONY: help demo compare test lint bench clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(INSTALLED)
	@mkdir -p $(OUT)
	@$(BIN)/autoviz annotate $(CAPTURE) --force -o $(ENRICHED) || { \
	  echo "No demo without a trace processor: '$(BIN)/autoviz doctor' tells what is missing;" \
	    "on Debian, 'apt-get install nodejs npm' is enough." >&2; exit 1; }
	@echo
	@echo "The enriched trace is $(ENRICHED)"
	@echo "  to see it:   drag the file into https://ui.perfetto.dev"
	@echo "               or: $(BIN)/autoviz open $(ENRICHED)"
	@echo "  to ask it:   $(BIN)/autoviz query $(ENRICHED)" \
	  "'SELECT phase, count() AS steps FROM autoviz_phase GROUP BY phase'"

compare: $(INSTALLED)
	@$(BIN)/autoviz compare $(BUILDS)/a --with $(BUILDS)/b --steady --force -o $(COMPARED)
	@cp $(COMPARED)/pairs/P1.1-P1.1/waterfall.svg $(BUILDS)/waterfall.svg

test: $(INSTALLED_DEV)
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(TESTS)

lint: $(INSTALLED_DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(INSTALLED_DEV)
	@$(BIN)/python -m tests.benchmarks $(BENCH)

clean:
	rm -rf .venv $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "$(PYTHON) isn't Python 3.10 or newer: name one that is, make PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo "$(PYTHON) can't make environments: on Debian, apt-get install python3-venv" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(INSTALLED): $(REQUIREMENTS) | $(BIN)/python
	@echo "Installing into $(VENV); PyTorch makes the first time take a minute or more."
	@$(PIP_INSTALL) -e .
	@touch $@

$(INSTALLED_DEV): $(REQUIREMENTS) | $(BIN)/python
	@echo "Installing into $(VENV), tools for development too."
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $(INSTALLED) $@
