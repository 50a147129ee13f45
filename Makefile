# Every target sets up what it needs by itself, once: python3 with pip and venv is all that must be there.
PYTHON ?= python3
BIN := .venv/bin
PEERS := .venv/peers/bin

.PHONY: demo kernels manifest wheel test test-slow coverage check bench bench-full accuracy docs clean

demo: .venv/installed
	@$(BIN)/python -m novikoff._compiled.build --first
	@echo "569 biopsies: each is classified first, then its diagnosis is learned:"
	@$(BIN)/novikoff learn breast-cancer --save demo.model
	@echo
	@echo "What the model looks at:"
	@$(BIN)/novikoff inspect demo.model --top 8
	@rm -f demo.model

# The compiled library for this machine; what was built before is used again while its sources are the same.
kernels: .venv/developer
	$(BIN)/python -m novikoff._compiled.build

# Writes the list of kernels again: all that tests and tests/kernel_matrix.py call. Numba compiles those that are not in the library yet.
CALLED := $(CURDIR)/build/called-kernels.txt
manifest: .venv/developer .venv/chromium
	rm -f $(CALLED) && mkdir -p build
	NOVIKOFF_RECORD_KERNELS=$(CALLED) $(BIN)/python -m tests.kernel_matrix
	NOVIKOFF_JIT=1 NOVIKOFF_RECORD_KERNELS=$(CALLED) $(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"
	$(BIN)/python -m tests.manifest --write $(CALLED)

# A wheel for publication: all CPU levels, for Linux since 2014.
wheel: .venv/developer
	rm -rf build/wheel
	NOVIKOFF_WHEEL=portable $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/auditwheel show dist/novikoff-*-py3-none-manylinux_2_17_x86_64.whl

test: .venv/developer .venv/chromium kernels
	@rm -f $(CALLED) && mkdir -p build
	NOVIKOFF_RECORD_KERNELS=$(CALLED) $(BIN)/pytest -n 2 --dist worksteal -m "not slow"
	$(BIN)/python -m tests.manifest $(CALLED)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m "not slow" tests/test_machine.py tests/test_twins.py tests/test_columns.py

test-slow: .venv/developer .venv/chromium kernels
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -n 2
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=search $(BIN)/pytest -n 2 tests/test_machine.py tests/test_twins.py tests/test_sameness.py tests/test_theory.py \
		tests/test_columns.py tests/test_schemes.py

# Lines of the package that tests reach, in three runs that are added up. Compiled loops can't be watched: a selection of the tests runs them as
# Python, where what overflows warns. What speaks to a cluster is in the slow set.
PLAIN := $(addprefix tests/test_,machine.py twins.py columns.py decimals.py hashing.py vw.py csv.py text.py auto.py \
	confident_columns.py kernel_perceptron.py kernels.py svmlight.py jsonl.py bulk.py schemes.py maps.py network.py one_at_a_time.py \
	score_lane.py winnow.py boolean_learners.py multiclass_svm.py online_to_batch.py query_ranking.py online_ensembles.py cache.py)
WATCHED := $(BIN)/coverage run -m pytest -q
coverage: .venv/developer .venv/chromium kernels
	rm -rf .coverage && mkdir .coverage
	$(WATCHED) -n 2 --dist worksteal -m "not slow"
	$(WATCHED) -m slow tests/test_cluster_dask.py tests/test_wheel.py
	NUMBA_DISABLE_JIT=1 $(WATCHED) -n 2 --dist worksteal -m "not slow" -k "not scikit_learn and not real" \
		-W ignore::RuntimeWarning $(PLAIN)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --show-missing --sort=cover

check: .venv/developer
	$(BIN)/ruff check .  # its rules S are those of bandit for each line; what bandit has besides is next
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/pip check  # known holes of packages are in a database elsewhere: pip-audit asks it where there is a network
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_style.py  # dialect words, duplicate classes, large folders, private access

# Peers have an environment of their own, with novikoff in it: pairs are measured in one process where that is fair.
bench: .venv/peers/installed
	$(PEERS)/python -m benchmarks

bench-full: .venv/peers/installed
	$(PEERS)/python -m benchmarks --full

accuracy: .venv/peers/installed
	$(PEERS)/python -m benchmarks.accuracy

docs: .venv/docs
	$(BIN)/python -m docs.builder site

# Without build isolation: pip would install Numba and a linker a second time, to build nothing.
PIP := $(BIN)/pip --disable-pip-version-check --quiet
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) install "hatchling>=1.26" "editables>=0.5"
	$(PIP) install --no-build-isolation -e ".[sklearn,jit]"
	@$(BIN)/python -m compileall -q src  # as pip does with what it copies: the first start need not
	@touch $@

.venv/developer: .venv/installed
	$(PIP) install --no-build-isolation -e ".[dev]"
	@touch $@

# Pages are looked at in a real browser where there is one or Debian's can be installed; elsewhere those tests are skipped.
.venv/chromium: .venv/installed
	@test -x /usr/bin/chromium || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& (apt-get update && apt-get install --yes --no-install-recommends chromium) >/dev/null 2>&1; } \
		|| echo "there is no Chromium here, and none could be installed: pages are not looked at"
	@touch $@

.venv/docs: .venv/installed
	$(PIP) install --no-build-isolation -e ".[docs]"
	@touch $@

.venv/peers/installed: pyproject.toml
	$(PYTHON) -m venv .venv/peers
	$(PEERS)/pip install --quiet --disable-pip-version-check "hatchling>=1.26" "editables>=0.5"
	$(PEERS)/pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[bench]"
	$(PEERS)/python -m novikoff._compiled.build
	@$(PEERS)/python -m compileall -q src
	@command -v liblinear-train >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& (apt-get update && apt-get install --yes --no-install-recommends liblinear-tools) >/dev/null 2>&1; } \
		|| echo "liblinear-train is not here, and could not be installed: its row is left out"
	@touch $@

clean:
	rm -rf .venv build dist src/novikoff/_compiled/lib .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis site
