# make demo    serve the app on http://127.0.0.1:8501        make lint      style, types, imports, Dockerfile
# make test    the quick tests, browser included             make test-all  every test this machine can run
# make bench   the numbers the docs quote                    make clean     remove what is built here (never your data)
# make screenshots   the pictures in docs/screenshots        make kills     100 kills, and what was lost
#
# Each sets up what it needs in .venv first. AS2_TORCH replaces the requirement for torch, for instance
#   make demo AS2_TORCH="torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell command -v python3.11 || command -v python3)
AS2_TORCH ?= $(shell grep '^torch==' constraints.txt)
EXTRAS := app,auth,hub,postgres,serve,dev

# The stamp carries a sum of what it was made from: a checkout that only touches the files does not set up again.
STAMP := $(VENV)/.setup-$(shell cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
QUICK := not slow and not gpu and not postgres and not shared and not clients and not milvus and not ray
# tests wait now and then, so two cores carry three testers
TESTERS ?= 3

.PHONY: setup demo test test-all lint bench screenshots kills sbom clean browser
.DEFAULT_GOAL := help
.PHONY: help
help:
	@sed -n 's/^# \{0,1\}//; 1,7p' Makefile

setup: $(STAMP) browser

$(STAMP):
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or set PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: set PYTHON" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || .ci/apt "$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing $(AS2_TORCH), then the rest, into $(VENV): some minutes, once"
	@$(BIN)/python -m pip install --no-compile -qq $(AS2_TORCH)
	@grep -v '^torch==' constraints.txt > $(VENV)/constraints.txt
	@$(BIN)/python -m pip install --no-compile -qq -c $(VENV)/constraints.txt -e '.[$(EXTRAS)]'
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true  # pip compiles on one core, which takes twice as long
	@rm -f $(VENV)/.setup-* && touch $@

# Only the tests need a browser. Debian's own is preferred, best the one without windows, which takes less of the
# processor; elsewhere Playwright fetches one.
browser: $(STAMP)
	@for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; done; \
	{ grep -qs '^ID=debian' /etc/os-release \
	    && { .ci/apt chromium-headless-shell fonts-liberation 2>/dev/null || .ci/apt chromium fonts-liberation; }; } \
	  || $(BIN)/python -m playwright install chromium

demo: $(STAMP)
	@$(BIN)/as2 app --port 8501

test: setup
	@$(BIN)/python -m pytest -m "$(QUICK)" -n $(TESTERS) --dist loadfile

test-all: setup
	@$(BIN)/python -m pytest

lint: $(STAMP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/hadolint Dockerfile

bench: $(STAMP)
	@$(BIN)/python -c 'from importlib.util import find_spec as f; exit(not (f("bm25s") and f("sentence_transformers")))' \
	  || $(BIN)/python -m pip install -qq -c $(VENV)/constraints.txt -e '.[bench]'
	@failed=; for script in $(filter-out %/ensemble.py,$(wildcard benchmarks/[a-z]*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script || failed="$$failed $$script"; done; \
	  test -z "$$failed" || { echo "did not finish:$$failed"; exit 1; }

screenshots: setup
	@$(BIN)/python tests/e2e/screenshots.py

kills: $(STAMP)
	@$(BIN)/python tests/kills/kill_processes.py

# what is installed, as a CycloneDX bill of materials; its maker gets an environment of its own
sbom: $(STAMP)
	@$(PYTHON) -m venv build/sbom && build/sbom/bin/pip install -qq cyclonedx-bom
	@build/sbom/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --of JSON -o sbom.json && echo sbom.json

clean:
	rm -rf $(VENV) build sbom.json dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
