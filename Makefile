# Every command a contributor needs. `make` alone lists them.

PYTHON  ?= # interpreter for .venv; found by itself when empty
WORKERS ?= 3# test processes: on two cores, since many tests wait for somebody
ARGS    ?= # passed on to pytest, `mainspring bench` or `uv pip compile`

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PAGE  := src/mainspring/page/index.html
SAY   := printf '\033[1;36m%s\033[0m %s\n' '›'

##@ Use it

.PHONY: install
install: $(STAMP) $(PAGE) ## Create .venv with the command .venv/bin/mainspring, and build the page
	@:

.PHONY: up
up: install ## Start everything with the examples; Ctrl-C stops it
	@exec $(BIN)/mainspring up --dags examples --trigger hello --trigger daily_sales

.PHONY: bench
bench: install ## Measure this machine (ARGS="all --runs 3")
	@exec $(BIN)/mainspring bench $(ARGS)

.PHONY: bench-check
bench-check: install ## Measure briefly and compare with bench/baseline.json
	@exec $(BIN)/mainspring bench throughput latency dag --seconds 6 --samples 400 \
	  --check bench/baseline.json $(ARGS)

.PHONY: bench-page
bench-page: install ## Measure the page in a browser, with the demo (ARGS="--minutes 0 --json FILE")
	@exec $(BIN)/python -m tests.page.bench $(ARGS)

##@ Change it

.PHONY: test
test: install ## Run the tests but those of tests/fault and tests/page (WORKERS=3, ARGS="-k lease")
	@$(SAY) "pytest, $(WORKERS) at a time"
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal --ignore tests/fault --ignore tests/page $(ARGS)

.PHONY: fault
fault: install ## Try to break every promise: storms, races, crash points, the bug museum
	@$(SAY) "pytest tests/fault, $(WORKERS) at a time"
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup tests/fault $(ARGS)

.PHONY: browser
browser: install ## Click through the page in a real browser
	@$(SAY) "pytest tests/page, $(WORKERS) at a time"
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile tests/page $(ARGS)

.PHONY: pictures
pictures: install ## Take the documentation's pictures of the page anew
	@$(BIN)/python -m tests.page.pictures $(ARGS)

.PHONY: storm
storm: install ## Storms and races with random seeds (ARGS="--minutes 20")
	@exec $(BIN)/python -m tests.fault $(ARGS)

.PHONY: fuzz
fuzz: install ## Ask a server all that its document allows, and more (ARGS="--max-examples 600")
	@exec $(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: check
check: check-format check-lint check-types check-imports check-generated check-page ## Format, lint, types, layers, generated files, size of the page

.PHONY: check-format
check-format: install
	@$(SAY) "ruff format --check"
	@$(BIN)/ruff format --check --quiet --diff .

.PHONY: check-lint
check-lint: install
	@$(SAY) "ruff check"
	@$(BIN)/ruff check --quiet .

.PHONY: check-types
check-types: install
	@$(SAY) "mypy"
	@$(BIN)/mypy --no-error-summary

.PHONY: check-imports
check-imports: install
	@$(SAY) "lint-imports"
	@$(BIN)/lint-imports --no-logo --cache-dir .import_linter_cache

.PHONY: check-generated
check-generated: install
	@$(SAY) "generated files are current"
	@$(BIN)/python tools/generate.py --check

.PHONY: check-page
check-page: install
	@$(SAY) "size of the page"
	@$(BIN)/python tools/page_size.py

.PHONY: format
format: install ## Rewrite the code in the house format, with safe lint fixes
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

.PHONY: gen
gen: install ## Write the generated files anew
	@$(BIN)/python tools/generate.py
	@$(BIN)/python tools/schema_snapshot.py

.PHONY: lock
lock: install ## Pin the requirements anew (ARGS=--upgrade for newer releases)
	@$(SAY) "requirements/base.txt"
	@$(LOCK) requirements/base.in --output-file requirements/base.txt
	@$(SAY) "requirements/dev.txt"
	@$(LOCK) requirements/dev.in --output-file requirements/dev.txt

.PHONY: clean
clean: ## Remove .venv, caches and build products
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests tools examples bench -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: help
help:
	@printf '\n  \033[1mMainspring\033[0m: cron, DAGs and durable jobs, on one PostgreSQL\n'
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n  \033[1m%s\033[0m\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "    \033[36mmake %-11s\033[0m  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\n'

# One file for all systems and Pythons: hashes of every wheel, and no address of where they came from.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-package mainspring --no-annotate --no-header $(ARGS)

# The stamp is older than what it depends on only if there is something to install.
# Names are tried by running them: a name on the path may be a shim for a Python that is not there.
$(STAMP): requirements/dev.txt pyproject.toml
	@if [ ! -x $(BIN)/python ] || ! $(BIN)/python -c '$(RECENT)' 2>/dev/null; then \
	  found=; \
	  for name in $(or $(strip $(PYTHON)),python3 python3.13 python3.12 python3.11 python3.14); do \
	    if "$$name" -c '$(RECENT)' >/dev/null 2>&1; then found=$$name; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "error: Mainspring needs Python 3.11 or newer; found $$($(or $(strip $(PYTHON)),python3) --version 2>&1 | head -n 1)" >&2; \
	    echo "hint: install one, then run \`make install PYTHON=/path/to/python3\`" >&2; \
	    exit 1; \
	  fi; \
	  $(SAY) "$(VENV) with $$("$$found" --version)"; \
	  "$$found" -m venv --clear $(VENV); \
	fi
	@$(SAY) "requirements/dev.txt, pinned by hash (about a minute the first time)"
	@$(PIP) --require-hashes --requirement requirements/dev.txt
	@$(SAY) "mainspring, editable"
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(PAGE): $(STAMP) $(shell find web -name node_modules -prune -o -type f -print)
	@$(SAY) "the page"
	@$(BIN)/python tools/build_page.py

RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PIP    := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
