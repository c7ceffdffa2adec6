# `make shell` and `make test` work on a fresh machine: they make .venv by themselves (PYTHON=... names another interpreter).
.DEFAULT_GOAL := help
.PHONY: help shell test check style types bench soak venv stubs man completions dictionary checks-page generated onefile clean .venv/shell .venv/dev

PY := .venv/bin/python
SECONDS ?= 600
# Of three processes one waits for Kafka's servers most of its time.
WORKERS ?= 3
# Where this variable is set nothing keeps what it has compiled: each run would compile the project, and rewrite the asserts of all tests, again.
export PYTHONDONTWRITEBYTECODE :=
# Plugins are named, not searched for: loading all that happen to be installed costs half a second a run.
PYTEST := PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(PY) -m pytest -p xdist.plugin

help:                   ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

# The script knows whether there is anything to do. What the shell needs is there in seconds; what the tests need holds Spark.
.venv/shell .venv/dev:
	@tools/make_venv.sh $(@F)

venv: .venv/dev         ## .venv with metashell and its development tools

shell: .venv/shell      ## kafka-shell on the directory that ships with the package
	@$(PY) -m compileall -q metashell
	@.venv/bin/kafka-shell --demo

test: .venv/dev         ## everything
	@$(PYTEST) -q -n $(WORKERS) --dist worksteal tests

style: .venv/dev        ## ruff, and the sizes of metashell/
	@.venv/bin/ruff check -q metashell tests tools spark_reports
	@.venv/bin/ruff format --check -q metashell tests tools spark_reports
	@$(PY) -m tools.structure --check

types: .venv/dev        ## mypy
	@.venv/bin/mypy

check: .venv/dev        ## style, types and unit tests, in less than 60 seconds
	@$(MAKE) --no-print-directory style types & types=$$!; \
	$(PYTEST) -q -n 2 --dist worksteal -m "not slow and not golden" --durations=9 --durations-min=2 tests; tests=$$?; \
	wait $$types && exit $$tests

soak: .venv/dev         ## properties with new seeds, the quick tests in other surroundings, mutations: make soak SECONDS=3600
	@$(PY) -m tools.soak --seconds $(SECONDS)

bench: .venv/dev        ## figures beside those of Kafka's own tools
	@$(PY) -m tools.bench

stubs: .venv/dev        ## the .pyi file of the messages, and the table from keys to names
	@$(PY) -m tools.gen_stubs
	@$(PY) -m tools.gen_dispatch

man: .venv/dev          ## man pages, from the declared options
	@$(PY) -m tools.gen_man

completions: .venv/dev  ## completions for bash, zsh and fish, from the declared options
	@$(PY) -m tools.gen_completions

dictionary: .venv/dev   ## the list of all columns, and docs/dictionary.md
	@$(PY) -m tools.gen_dictionary

checks-page: .venv/dev  ## docs/checks.md, from the registry of checks
	@$(PY) -m tools.gen_checks

onefile: .venv/dev      ## dist/metashell.pyz: one executable file, for a host with nothing but this Python
	@$(PY) -m tools.onefile

generated: stubs dictionary man completions checks-page ## all that is generated; pages and completions are not committed

clean:                  ## what the other goals made, but for .venv
	@rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find metashell tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
