# Every target makes what it needs: a Python of 3.11 or later and make are enough.
# uv is used if it is there, else venv and pip.
SHELL := /bin/sh
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$p; break; fi; done)
BIN := .venv/bin
RUN := $(BIN)/python
# Two workers suit two cores; the numerical libraries stay on one thread each.
WORKERS ?= 2
# Neighbouring tests stay with one worker, which makes their fixtures once.
IN_PARTS := -n $(WORKERS) --dist worksteal
# Tests start hundreds of programs, each of which reads what the first one compiled.
unexport PYTHONDONTWRITEBYTECODE
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help setup demo test check test-slow test-lowest tests-of coverage mutants smoke bench \
	bench-keep browser chromium docs references build clean
.DEFAULT_GOAL := help

help: ## Show this list
	@echo "make setup        .venv with all that the tests need, and the checks before each commit"
	@echo "make demo         measure elections, release and collect flight delays (a few minutes)"
	@echo "make test         all fast tests and checks, from nothing (a few minutes)"
	@echo "make check        style, types, layers, doctests"
	@echo "make test-slow    slow and statistical suites"
	@echo "make test-lowest  fast tests with the lowest dependencies that are allowed"
	@echo "make tests-of     the tests of a file: make tests-of FILE=src/... (ALL=1 shows all)"
	@echo "make coverage     which lines the fast tests do not run; fails below 95%"
	@echo "make mutants      breaks the rounding in more than 200 lines, one by one: tests must notice"
	@echo "make bench        speed, as a table, and which ratios fell by a third"
	@echo "make bench-keep   the same; later runs are compared with this one"
	@echo "make docs         the documentation site, strictly, into site/"
	@echo "make browser      the poll page's client anew, from browser/ (needs npm)"
	@echo "make chromium     a browser for the slow tests of pages"
	@echo "make references   write the reference values of the tests anew"
	@echo "make build        wheel and source distribution, into dist/"
	@echo "make clean        remove everything that make made"

# A stamp per set of extras: each is installed once, and again when pyproject.toml changes.
# A venv that failed half-way is removed, so that the next run starts afresh.
.venv/pyvenv.cfg:
	@if ! "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		got=$$("$(PYTHON)" -c 'import platform; print(platform.python_version())' 2>/dev/null); \
		echo "Expected Python 3.11 or later; got $${got:-none}."; \
		echo "Install it, or name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; \
		exit 1; fi
	@echo "==> making .venv with $$("$(PYTHON)" --version)"
	@if command -v uv >/dev/null 2>&1; then uv venv --quiet --allow-existing --python "$(PYTHON)" .venv; \
		else "$(PYTHON)" -m venv .venv; fi || { rm -rf .venv; exit 1; }

.venv/stamp-%: .venv/pyvenv.cfg pyproject.toml
	@echo "==> installing smoothdp[$(subst -,$(COMMA),$*)] into .venv"
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(RUN) -e ".[$(subst -,$(COMMA),$*)]"; \
		else $(RUN) -m pip install --quiet --disable-pip-version-check -e ".[$(subst -,$(COMMA),$*)]"; fi
	@touch $@

.PRECIOUS: .venv/stamp-%

COMMA := ,

# Another extra than those that the targets below install: make extra-spark.
extra-%: .venv/stamp-%
	@echo "smoothdp[$*] is in .venv"

setup: .venv/stamp-all-demo-peers-dev ## What a contributor needs
	@if command -v pre-commit >/dev/null 2>&1 && [ -e .git ]; then pre-commit install; \
		else echo "pre-commit is not installed: run make check before you commit"; fi

DEMO := build/demo

demo: .venv/stamp-plot-data-demo ## The main jobs on real input
	@mkdir -p $(DEMO)
	@echo "==> Measure: elections of 1920-2024, 0.2% of the votes lost at random"
	@$(BIN)/smoothdp papers figure smoothed-dp/1 --out $(DEMO)/elections.png
	@echo
	@echo "==> the same, on average over what the 56 units of 2020 say about a voter"
	@$(BIN)/smoothdp papers figure smoothed-dp/2 --out $(DEMO)/smoothed.png
	@echo
	@echo "==> Release: delays of 336,776 flights from New York in 2013"
	@$(RUN) -m demo.flights $(DEMO)
	@$(RUN) -m demo.releases $(DEMO)
	@echo
	@echo "==> Release: a table of them by carrier and month, sizes of groups included"
	@$(RUN) -m demo.by_carrier $(DEMO)
	@echo
	@echo "==> Collect: the same flights as users who trust nobody, through a shuffler"
	@$(RUN) -m demo.collected $(DEMO)

test: check smoke ## All fast tests and checks
	@echo "==> tests"
	@# What hides the extras ran in the smoke tests, where there are none.
	@$(RUN) -m pytest $(IN_PARTS) --ignore tests/house/test_required_only.py

check: .venv/stamp-all-demo-peers-dev
	@echo "==> style"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "==> layers"
	@$(BIN)/lint-imports --no-cache
	@$(MAKE) --no-print-directory -j 2 check-types check-doctests

# Types take one core for half a minute, so doctests run beside them.
.PHONY: check-types check-doctests
check-types: .venv/stamp-all-demo-peers-dev
	@echo "==> types"
	@$(BIN)/mypy

check-doctests: .venv/stamp-all-demo-peers-dev
	@echo "==> doctests"
	@$(RUN) -m pytest -q $(IN_PARTS) --doctest-modules src

# Tools that only the repository's own files need: any Python will do.
tests-of: ## Which tests a file has
	@"$(PYTHON)" -m tests.tests_of "$(FILE)" $(if $(ALL),--all)

coverage: .venv/stamp-all-demo-peers-dev ## Lines of src that the fast tests run
	@mkdir -p build
	@echo "==> tests, line by line (slower than make test)"
	@$(RUN) -m pytest $(IN_PARTS) --cov --cov-report=term-missing:skip-covered \
		--cov-report=html:build/coverage
	@echo "build/coverage/index.html"

# The lowest of each dependency of the library; the tools of the tests are those of make test.
build/lowest/stamp: pyproject.toml tests/lowest.py
	@echo "==> making an environment with the lowest dependencies"
	@rm -rf build/lowest && mkdir -p build/lowest
	@"$(PYTHON)" -m tests.lowest > build/lowest/constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --python "$(PYTHON)" build/lowest/venv && \
		uv pip install --quiet --python build/lowest/venv/bin/python -e ".[all,dev]" \
			-c build/lowest/constraints.txt; \
		else "$(PYTHON)" -m venv build/lowest/venv && \
		build/lowest/venv/bin/python -m pip install --quiet --disable-pip-version-check \
			-e ".[all,dev]" -c build/lowest/constraints.txt; fi
	@touch $@

test-lowest: build/lowest/stamp ## The fast tests where each dependency is the lowest allowed
	@echo "==> tests, lowest dependencies"
	@build/lowest/venv/bin/python -m pytest $(IN_PARTS)

# The smoke subset runs once where only the required dependencies are installed.
build/smoke/stamp: pyproject.toml .venv/pyvenv.cfg
	@echo "==> making an environment with the required dependencies alone"
	@rm -rf build/smoke && mkdir -p build/smoke
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python "$(PYTHON)" build/smoke/venv && \
		uv pip install --quiet --python build/smoke/venv/bin/python -e . pytest; \
		else "$(PYTHON)" -m venv build/smoke/venv && \
		build/smoke/venv/bin/python -m pip install --quiet --disable-pip-version-check -e . pytest; fi
	@touch $@

SMOKE := $(addprefix tests/house/test_,lazy_import.py public_names.py required_only.py)

smoke: build/smoke/stamp
	@echo "==> smoke tests, required dependencies alone"
	@build/smoke/venv/bin/python -m pytest -q -m smoke $(SMOKE)

# The packages of the browser client, where npm is there; its slow tests are skipped without.
browser/node_modules: browser/package.json browser/package-lock.json
	@if command -v npm >/dev/null 2>&1; then \
		cd browser && npm ci --omit-lockfile-registry-resolved --no-audit --no-fund && touch node_modules; \
		else echo "npm is not installed: no tests in a browser"; fi

chromium: ## A browser for the slow tests of pages, where one can be had
	@.ci/chromium

browser: browser/node_modules ## Writes src/smoothdp/services/shuffler/poll_page/poll.js
	@cd browser && npm run --silent build

test-slow: .venv/stamp-all-spark-demo-peers-dev browser/node_modules
	@echo "==> slow tests"
	@$(RUN) -m pytest $(IN_PARTS) -m slow

# In copies of the sources, one for each worker: the checkout is not touched.
mutants: .venv/stamp-all-demo-peers-dev ## Tests of the tests: at least 95% of the mutants die
	@$(RUN) -m tests.mutants.run --workers $(WORKERS)

bench: .venv/stamp-all-demo-peers-dev ## Speed, and what fell by a third
	@$(RUN) -m benchmarks.run

bench-keep: .venv/stamp-all-demo-peers-dev ## The same, and its ratios are kept
	@$(RUN) -m benchmarks.run --keep

docs: .venv/stamp-docs
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet
	@echo "site/index.html"

references: .venv/stamp-all-demo-peers-dev
	@$(RUN) -m tests.references.make

build: .venv/stamp-all-demo-peers-dev
	@$(RUN) -m build --outdir dist

clean:
	find src tests demo benchmarks docs docs_site -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .venv browser/node_modules build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
