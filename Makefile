# `make` alone lists the targets. Everything below installs what it needs into .venv first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WHEEL_DIR := dist
BENCH_READY := .venv-bench/.ready
BROWSER := .venv-browser/bin
BROWSER_READY := .venv-browser/.ready
# A lock is complete, and its names have no extras: whoever resolves again meets versions it does not hold.
FROM_LOCK = python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r
COMPLETE = python -m pip --disable-pip-version-check check >&2
PEERS = $(if $(AGAINST),,$(BENCH_READY))
# Of the tests through a pooler those that `make test` runs, too: all ways of a job, and its stops.
POOLED = $(addprefix tests/acceptance/test_,$(addsuffix .py,builds early_claims locked_rows odd_handlers \
  results retries stopping))
# By file, in the order of tests/support/order.py: a long file that began last would be waited for alone.
LONG_FIRST = --dist loadfile --no-loadscope-reorder
CORE_RULES = --rcfile=tests/core_coverage.ini
CORE_COVERED = $(BIN)/coverage erase $(CORE_RULES) && $(BIN)/coverage run $(CORE_RULES) -m pytest -n 2
CORE_REPORT = $(BIN)/coverage combine -q $(CORE_RULES) && \
  $(BIN)/coverage report $(CORE_RULES) --fail-under=100 --precision=2 --skip-covered --show-missing

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-unit test-quick test-faults test-pooler test-browser test-api screens check quick fmt \
        fmt-check lint types imports \
        catalogue law vectors points mutants coverage coverage-core bench bench-quick trace soak wheel lock up down psql clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (once)"
	@$(BIN)/$(FROM_LOCK) requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/$(COMPLETE)
	@touch $(READY)

$(BENCH_READY): requirements/bench.lock
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@echo "installing the peers into .venv-bench (once)"
	@.venv-bench/bin/$(FROM_LOCK) requirements/bench.lock
	@.venv-bench/bin/$(COMPLETE)
	@touch $(BENCH_READY)

$(BROWSER_READY): requirements/dev.lock requirements/browser.lock pyproject.toml
	@test -x $(BROWSER)/python || $(PYTHON) -m venv .venv-browser
	@echo "installing what drives a browser into .venv-browser (once)"
	@$(BROWSER)/$(FROM_LOCK) requirements/dev.lock
	@$(BROWSER)/$(FROM_LOCK) requirements/browser.lock
	@$(BROWSER)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BROWSER)/$(COMPLETE)
	@touch $(BROWSER_READY)

setup: $(READY) ## the virtual environment with everything pinned

demo: $(READY) ## the main job, on an embedded PostgreSQL
	@$(BIN)/bpc-worker demo

test: $(READY) ## all tests, on a real PostgreSQL and a real RabbitMQ that it gets and starts itself
	$(CORE_COVERED) tests/unit
	$(CORE_REPORT)
	$(BIN)/pytest -n 2 $(LONG_FIRST) tests/contract tests/integration
	$(BIN)/pytest -n 4 $(LONG_FIRST) tests/acceptance
	BPC_TEST_POOLER=1 $(BIN)/pytest -n 4 $(LONG_FIRST) $(POOLED)

test-unit: $(READY) ## tests that need no server
	$(BIN)/pytest -q -n 2 tests/unit

test-quick: $(READY)
	$(BIN)/pytest -q -n 2 -m "not slow" tests/unit

test-faults: $(READY) ## minutes of broken servers and killed processes
	$(BIN)/pytest tests/faults
	BPC_TEST_HISTORIES=10 $(BIN)/pytest tests/contract/test_random_histories.py

test-pooler: $(READY) ## the acceptance tests once more, through a real pgbouncer that it gets and starts itself
	BPC_TEST_POOLER=1 $(BIN)/pytest -n 3 --dist loadfile tests/acceptance

test-browser: $(BROWSER_READY) ## every page in a real browser, which it gets itself, by mouse, keyboard and without JavaScript
	$(BROWSER)/pytest -n 2 --dist loadfile tests/browser

screens: $(BROWSER_READY) ## pictures of every page, for the docs
	$(BROWSER)/python -m tests.browser.screens

test-api: $(BROWSER_READY) ## every call that the API's document allows, made up by schemathesis, at a real server
	$(BROWSER)/pytest tests/calls

check: fmt-check lint types imports vectors test wheel ## everything a change must pass

quick: lint types imports test-quick ## without a server, in seconds

fmt: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .

fmt-check: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY) ## ruff
	$(BIN)/ruff check .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

imports: $(READY) ## who may import whom
	$(BIN)/lint-imports

catalogue: $(READY) ## what the migrations make, for `bpc-worker doctor`; after every change of them or of functions
	$(BIN)/python -m tests.support.catalogue

law: $(READY) ## the law's table into the rule text; after every change of bpc_worker/files/law
	$(BIN)/python -m tests.support.law_table

vectors: $(READY) ## the golden vectors are what a second implementation makes
	$(BIN)/python tests/vectors/make_vectors.py --check

points: $(READY) ## every point of the law's list, for every class and on three days, as golden batteries exercise it
	$(BIN)/python -m tests.golden.expect --check
	$(BIN)/python -m tests.golden.points

mutants: $(READY) ## the shipped rules changed in every small way, or in SAMPLE=… of them: their tests must notice
	$(BIN)/python -m tests.mutation.mutate_rules $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

coverage-core: $(READY) ## every line and branch of the core; `make test` asks for it too
	$(CORE_COVERED) -q tests/unit/core
	$(CORE_REPORT)

soak: $(READY) ## twenty minutes of 200 jobs a second: memory, files, threads, children, connections stay flat
	$(BIN)/python -m tests.bench.soak

coverage: $(READY) ## branch coverage of the unit, contract and integration tests
	$(BIN)/coverage run -m pytest -q tests/unit tests/contract tests/integration
	$(BIN)/coverage report --skip-covered --sort=cover

bench: $(READY) $(PEERS) ## us beside our peers, a quarter of an hour; with AGAINST=<checkout> beside that one; fails when a goal is missed
	$(BIN)/python -m $(if $(AGAINST),tests.bench.against $(AGAINST),tests.bench.run --docs docs/benchmarks.md)

bench-quick: $(READY) $(PEERS) ## the same with less of everything, in two minutes
	$(BIN)/python -m $(if $(AGAINST),tests.bench.against $(AGAINST),tests.bench.run) --quick

trace: $(READY) ## the files that a plain job crosses; of another checkout with TREE=<checkout>
	$(BIN)/python -m tests.bench.trace_job $(if $(TREE),--tree $(TREE))

wheel: $(READY) ## the wheel, in dist/
	$(BIN)/python -m hatchling build -t wheel -d $(WHEEL_DIR)

lock: $(READY) ## resolve the dependencies anew (needs uv)
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate --upgrade pyproject.toml -o requirements/runtime.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate --upgrade pyproject.toml --extra demo --extra tracing --extra web --group dev -o requirements/dev.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate --upgrade --group pyproject.toml:browser -c requirements/dev.lock -o requirements/browser.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate --upgrade --group pyproject.toml:bench -o requirements/bench.lock

up: ## PostgreSQL, RabbitMQ and a worker in containers
	docker compose up --build --wait

down: ## stop the containers
	docker compose down

psql: ## a psql on the containers' database
	docker compose exec postgres psql -U bpc bpc

clean: ## remove what the targets made
	rm -rf .venv .venv-bench .venv-browser dist out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
