# `make help` lists the targets. Needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
BIN := $(VENV)/bin
# No address of a package index comes into a file: whoever installs has their own.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv setup demo stack test test-all bench chaos crashes mutants faults matrix lint audit licences fmt pins clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

venv: $(VENV)/ready ## Make .venv, with what running needs and nothing else

setup: $(VENV)/ready-dev ## Make .venv, with everything that demo, test and lint need

demo: $(VENV)/ready ## See orders heal: the whole system with faults on (ARGS="--headless --orders 60 --seed 7")
	@$(BIN)/python manage.py demo $(ARGS)

stack: $(VENV)/ready ## Run the whole system in the foreground (ARGS="--web-port 8000")
	@$(BIN)/python manage.py stack $(ARGS)

test: $(VENV)/ready-dev ## Run a test of every promise; names what it leaves out (ARGS are pytest's)
	@$(BIN)/python -m tests.everywhere $(ARGS)

test-all: $(VENV)/ready-dev ## Run every test this machine can run, on every database that answers: half an hour
	@$(BIN)/python -m tests.everywhere --all $(ARGS)

$(BENCH)/ready: requirements-bench.txt benchmarks/peers/restate_server/package-lock.json
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.txt
	@command -v npm >/dev/null && npm ci --ignore-scripts --silent --prefix benchmarks/peers/restate_server || echo "no npm: Restate is left out"
	@touch $@

bench: $(BENCH)/ready ## Measure this engine beside what people use instead (ARGS="--quick --json FILE", "--list")
	@$(BENCH)/bin/python -m benchmarks $(ARGS)

crashes: $(VENV)/ready-dev ## Kill a process at every named point, each time it is reached, on both databases
	@$(BIN)/python -m tests.crashes $(ARGS)

chaos: $(VENV)/ready-dev ## Hurt the whole system at random and judge it (ARGS="--seed 7 --seconds 60", "--list")
	@$(BIN)/python -m tests.chaos $(ARGS)

mutants: $(VENV)/ready-dev ## Take every guard away once; a test must go red (ARGS="lease rate", parts of names)
	@$(BIN)/python -m tests.mutants $(ARGS)

faults: $(VENV)/ready-dev ## Run the tests that prove a fault is survived, and write the fault matrix (ARGS="--runs 5")
	@$(BIN)/python -m tests.fault_matrix $(ARGS)

matrix: $(VENV)/ready-dev ## Try the wheel with each supported Python, Django and Celery (ARGS="--only 5.4")
	@$(BIN)/python -m tests.matrix $(ARGS)

lint: $(VENV)/ready-dev ## Check style, types, layers, sizes and migrations
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy sasproject orders workers benchmarks/app
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.sizes
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@$(BIN)/python manage.py check
	@$(BIN)/python -m tests.audit

audit: $(VENV)/ready-dev ## Look for known vulnerabilities in what is installed, where the service answers
	@$(BIN)/python -m tests.audit

licences: $(VENV)/ready-dev ## Write the page of dependencies and their licences
	@$(BIN)/python -m tests.dependencies

fmt: $(VENV)/ready-dev ## Format the code
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

pins: $(VENV)/ready-dev ## Compile the exact versions of requirements*.in, with their hashes
	$(COMPILE) requirements.in -o requirements.txt
	$(COMPILE) -c requirements.txt requirements-dev.in -o requirements-dev.txt
	$(COMPILE) -c requirements.txt requirements-bench.in -o requirements-bench.txt

clean: ## Remove .venv, .venv-bench and the run folder
	rm -rf $(VENV) $(BENCH) .run
