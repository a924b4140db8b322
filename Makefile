# Everything happens in .venv, which belongs to this Makefile: it is made on first use, brought up to date
# when pyproject.toml changes, and made anew when the folder was moved or another PYTHON is asked for.
# After the first run nothing here needs the network.

PYTHON  ?= python3
WORKERS ?= 2
PY      := .venv/bin/python

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYRIGHT_PYTHON_CACHE_DIR = .venv/pyright
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.DEFAULT_GOAL := help
.PHONY: help demo test cover matrix lint docs bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

demo: .venv/ready-demo ## set up what is needed and compare two tables that ship with mercer
	$(PY) -m mercer demo

test: export OMP_NUM_THREADS ?= 1
test: export OPENBLAS_NUM_THREADS ?= 1
test: lint ## set up everything, then lint and test (WORKERS=2 processes)
	$(PY) -m pytest -n $(WORKERS) --dist worksteal

cover: .venv/ready-test ## the same tests, and which lines they run: a third slower
	$(PY) -m pytest -n $(WORKERS) --cov --cov-report=term

matrix: ## run the suite on other processors, Pythons and versions: an hour (ARGS="zen oldest" for some)
	$(PYTHON) tools/matrix.py $(ARGS)

lint: .venv/ready-test ## check style, types and layers
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m pyright --pythonpath $(PY)
	.venv/bin/lint-imports --no-logo

docs: .venv/ready-docs ## build the site into docs/_build/html; warnings are errors
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

bench: .venv/ready-bench ## measure this machine and mercer on it (ARGS=--quick)
	$(PY) -m benchmarks $(ARGS)

clean: ## remove .venv and everything that was built
	rm -rf .venv build dist htmlcov .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis
	rm -rf .import_linter_cache docs/_build docs/api/generated docs/gallery docs/sg_execution_times.rst
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------ the environment

# .venv/made says with which Python and in which folder the environment was made; an environment
# that says something else, or that cannot run, is made anew.
HERE := $(PYTHON) in $(shell pwd -P)
ifneq ($(shell $(PY) -c "import pip; print(open('.venv/made').read())" 2>/dev/null),$(HERE))
.PHONY: .venv/made
endif

.venv/made:
	$(PYTHON) -m venv --clear .venv
	@printf '%s\n' "$(PYTHON) in $$(pwd -P)" > $@

.venv/ready-demo: pyproject.toml .venv/made
	$(PY) -m pip install --quiet -e ".[report]"
	@touch $@

# torch comes first, so that nothing else chooses its version; a Python it has no wheel for does without.
.venv/ready-test: pyproject.toml .venv/made
	$(PY) -m pip install --quiet torch==2.13.0 || echo "No torch for this Python: its tests will be skipped."
	$(PY) -m pip install --quiet -e ".[dev]"
	$(PY) -m pyright --version
	@touch $@ .venv/ready-demo

.venv/ready-docs: pyproject.toml .venv/made
	$(PY) -m pip install --quiet -e ".[docs]"
	@touch $@ .venv/ready-demo

# torch as in the tests; a peer that cannot be installed here is left out, and the scoreboard says so.
.venv/ready-bench: pyproject.toml .venv/made
	$(PY) -m pip install --quiet torch==2.13.0 || echo "No torch for this Python: its peers are left out."
	$(PY) -m pip install --quiet -e ".[bench]" || $(PY) -m pip install --quiet -e ".[compiled,frames,learn,plot]" psutil
	@touch $@ .venv/ready-demo
