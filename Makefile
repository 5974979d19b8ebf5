# Every target does its own set-up: a machine with Python 3.11+ and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_OUT ?= demo-release

.PHONY: install demo studio test long mutants check bench record record-spark peers experiments docs gallery pycanon release clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	rm -rf $(DEMO_OUT)
	$(BIN)/understudy demo --out $(DEMO_OUT)

# the studio in a browser, over a folder of its own (STUDIO=FOLDER for another)
STUDIO ?= studio-root
studio: $(STAMP)
	$(BIN)/understudy studio --root $(STUDIO) --open

# two workers share the cores: a linear algebra that takes all of them for itself makes both wait, tenfold on a busy machine
TESTS := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test: $(STAMP)
	$(TESTS) --dist worksteal -q -m "not long" --ignore=tests/long

# evidence that takes long: every paying command struck down again and again, and whatever repeats a faster test
long: $(STAMP)
	$(TESTS) --dist worksteal -q -m long tests

# small faults put into the code that keeps the promise, one by one: do the tests notice? (hours for all; see decision 0178)
MUTANTS ?= --sample 150 --new
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants.campaign $(MUTANTS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/unit/test_layers.py tests/cli/test_reference.py

docs: $(STAMP)
	$(BIN)/python docs/reference/generate.py
	$(BIN)/python docs/methods/generate_index.py
	$(BIN)/python docs/methods/generate_concordance.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html is ready: open it in a browser"

# the pictures of the home page, taken again from real pages (needs Chromium)
gallery: $(STAMP)
	$(BIN)/python docs/site/make_gallery.py
	$(BIN)/python docs/site/make_studio_pictures.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# a billion rows counted and drawn, after 10 and 100 million (an hour, 12 GB of disk; stop it and give it again to go on)
RECORD ?= record
record: $(STAMP)
	$(BIN)/python -m benchmarks.record $(RECORD)

# 100 million rows counted and drawn on two workers of Spark, and the plan that foresaw it (hours; needs Java; goes on
# where it was cut short; 3 GB of disk in RECORD_SPARK)
RECORD_SPARK ?= record-spark
record-spark: $(STAMP)
	RECORD_SPARK=$(RECORD_SPARK) $(BIN)/python -m benchmarks spark-record

# each peer in an environment of its own, then the comparison (UNDERSTUDY_DATA adds Adult; an hour or more)
peers: $(STAMP) .venv-peers/.installed
	UNDERSTUDY_PEERS=.venv-peers $(BIN)/python -m benchmarks peers

.venv-peers/.installed: benchmarks/environments.py
	$(PYTHON) -m benchmarks.environments .venv-peers
	touch .venv-peers/.installed

experiments: $(STAMP)
	$(BIN)/python -m experiments

# pycanon pins old versions of its own: an environment apart, for the tests of group pycanon
pycanon: .venv-pycanon/.installed

.venv-pycanon/.installed:
	$(PYTHON) -m venv .venv-pycanon
	.venv-pycanon/bin/python -m pip install --quiet --disable-pip-version-check "pycanon==1.3.6"
	touch .venv-pycanon/.installed

# wheel and sdist; the wheel is then tried where nothing else is installed: no extras, not this folder, no test
RELEASE := .venv-release
release: $(STAMP)
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	mkdir $(RELEASE)/try
	cd $(RELEASE)/try && ../bin/understudy demo --out demo
	cd $(RELEASE)/try && ../bin/understudy verify demo
	@ls -l dist

clean:
	rm -rf $(VENV) dist $(RELEASE) site .venv-pycanon .venv-peers $(DEMO_OUT) $(DEMO_OUT)-* $(RECORD_SPARK) .pytest_cache .mypy_cache .ruff_cache .hypothesis
