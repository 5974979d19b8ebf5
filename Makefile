# Every target does its own set-up: a machine with Python 3.11+ and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_OUT ?= demo-release

.PHONY: install demo test check bench experiments docs clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	rm -rf $(DEMO_OUT)
	$(BIN)/understudy demo --out $(DEMO_OUT)

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/unit/test_layers.py tests/cli/test_reference.py

docs: $(STAMP)
	$(BIN)/python docs/reference/generate.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

experiments: $(STAMP)
	$(BIN)/python -m experiments

clean:
	rm -rf $(VENV) $(DEMO_OUT) $(DEMO_OUT)-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
