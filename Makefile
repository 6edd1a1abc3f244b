# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
# Python 3.12: that of pyenv, whose command of that name may say it is not there, or the system's.
PYTHON_3_12 := $(firstword $(wildcard $(HOME)/.pyenv/versions/3.12.*/bin/python) python3.12)
# Where `make peer` installs the peer (1 GB), and the Python 3.12 that it needs.
PEER_VENV ?= $(HOME)/.cache/agentcompass-peer
PEER_PYTHON ?= $(PYTHON_3_12)
# Where `make mini` installs mini-swe-agent, the package, which mini_swe_agent is compared with.
MINI_VENV ?= $(HOME)/.cache/agentcompass-mini
# Where `make inspect` installs Inspect, which reads exported logs.
INSPECT_VENV ?= $(HOME)/.cache/agentcompass-inspect
# Where `make harbor` installs Harbor, whose models check exported trajectories, and its Python.
HARBOR_VENV ?= $(HOME)/.cache/agentcompass-harbor
HARBOR_PYTHON ?= $(PYTHON_3_12)
# Where `make programs` installs Claude Code and Codex from npm.
PROGRAMS ?= $(HOME)/.cache/agentcompass-programs
# Where `make swebench` installs the package swebench in two versions (1 GB), and the public rows.
SWEBENCH ?= $(HOME)/.cache/agentcompass-swebench
SWEBENCH_ROWS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
BENCH := PEER_VENV=$(abspath $(PEER_VENV)) INSPECT_VENV=$(abspath $(INSPECT_VENV)) $(BIN)/python -m benchmarks

.PHONY: demo test check format lint types properties mutations peer mini inspect harbor programs swebench \
  bench bench-quick bench-peers bench-flat bench-docker clean

demo: $(VENV)/.installed
	$(BIN)/agentcompass run starter mini_swe_agent replay --model-api-protocol replay --task-concurrency 4

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4

check: format lint types

format: $(VENV)/.installed-check
	$(BIN)/ruff format --check .

lint: $(VENV)/.installed-check
	$(BIN)/ruff check .

types: $(VENV)/.installed-check
	$(BIN)/mypy

properties: $(VENV)/.installed-test
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -k properties

mutations: $(VENV)/.installed-test
	$(BIN)/python -m tests.mutations

peer: $(VENV)/.installed-test $(PEER_VENV)/.installed
	AGENTCOMPASS_PEER_PYTHON=$(abspath $(PEER_VENV))/bin/python $(BIN)/python -m pytest tests/peer/test_peer_reads_export.py

mini: $(VENV)/.installed-test $(MINI_VENV)/.installed
	AGENTCOMPASS_MINI_PYTHON=$(abspath $(MINI_VENV))/bin/python $(BIN)/python -m pytest tests/peer/test_mini_package.py

inspect: $(VENV)/.installed-test $(INSPECT_VENV)/.installed
	AGENTCOMPASS_INSPECT_PYTHON=$(abspath $(INSPECT_VENV))/bin/python $(BIN)/python -m pytest tests/peer/test_inspect_reads_export.py

harbor: $(VENV)/.installed-test $(HARBOR_VENV)/.installed
	AGENTCOMPASS_HARBOR_PYTHON=$(abspath $(HARBOR_VENV))/bin/python $(BIN)/python -m pytest tests/peer/test_harbor_reads_export.py

programs: $(VENV)/.installed-test $(PROGRAMS)/.installed
	AGENTCOMPASS_PROGRAMS=$(abspath $(PROGRAMS))/node_modules/.bin $(BIN)/python -m pytest tests/peer/test_real_programs.py

swebench: $(VENV)/.installed-test $(SWEBENCH)/.installed
	AGENTCOMPASS_SWEBENCH=$(abspath $(SWEBENCH)) AGENTCOMPASS_SWEBENCH_ROWS=$(SWEBENCH_ROWS) $(BIN)/python -m pytest tests/peer/test_swebench_package.py

bench: $(VENV)/.installed-bench
	$(BENCH)

bench-quick: $(VENV)/.installed-bench
	$(BENCH) --quick

bench-peers: $(PEER_VENV)/.installed $(INSPECT_VENV)/.installed-bench

bench-flat: $(VENV)/.installed
	$(BIN)/python -m benchmarks.flat

bench-docker: $(VENV)/.installed
	$(BIN)/python -m benchmarks.docker_transfers

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt $(VENV)/bin/python
	$(INSTALL) --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt $(VENV)/bin/python
	$(INSTALL) --editable '.[test]'
	$(INSTALL) --no-deps swebench unidiff
	touch $@ $(VENV)/.installed

$(VENV)/.installed-check: pyproject.toml constraints.txt $(VENV)/bin/python
	$(INSTALL) --editable '.[test,check]'
	$(INSTALL) --no-deps swebench unidiff
	touch $@ $(VENV)/.installed $(VENV)/.installed-test

$(VENV)/.installed-bench: pyproject.toml constraints.txt $(VENV)/bin/python
	$(INSTALL) --editable '.[bench]'
	touch $@ $(VENV)/.installed

$(PEER_VENV)/.installed:
	$(PEER_PYTHON) -m venv $(PEER_VENV)
	$(PEER_VENV)/bin/python -m pip install --quiet --disable-pip-version-check agentcompass==1.0.1
	touch $@

$(MINI_VENV)/.installed:
	$(PYTHON) -m venv $(MINI_VENV)
	$(MINI_VENV)/bin/python -m pip install --quiet --disable-pip-version-check mini-swe-agent==2.4.6
	touch $@

$(INSPECT_VENV)/.installed:
	$(PYTHON) -m venv $(INSPECT_VENV)
	$(INSPECT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check inspect-ai==0.3.285
	touch $@

# what its provider for any OpenAI-compatible endpoint needs
$(INSPECT_VENV)/.installed-bench: $(INSPECT_VENV)/.installed
	$(INSPECT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check openai==3.57.0
	touch $@

$(HARBOR_VENV)/.installed:
	$(HARBOR_PYTHON) -m venv $(HARBOR_VENV)
	$(HARBOR_VENV)/bin/python -m pip install --quiet --disable-pip-version-check harbor==0.26.0
	touch $@

$(SWEBENCH)/.installed:
	$(PYTHON) -m venv $(SWEBENCH)/4
	$(SWEBENCH)/4/bin/python -m pip install --quiet --disable-pip-version-check swebench==4.1.0
	$(PYTHON) -m venv $(SWEBENCH)/5
	$(SWEBENCH)/5/bin/python -m pip install --quiet --disable-pip-version-check swebench==5.0.2
	touch $@

$(PROGRAMS)/.installed:
	npm install --silent --prefix $(PROGRAMS) @anthropic-ai/claude-code @openai/codex
	touch $@
