# Every target installs what it needs, once. It needs only python3 with pip and venv.
PYTHON ?= python3
BIN := .venv/bin
PEERS := .venv/peers/bin

.PHONY: demo kernels manifest wheel test test-slow coverage check bench bench-full accuracy docs clean

demo: .venv/installed
	@$(BIN)/python -m novikoff._compiled.build --first
	@echo "569 biopsies: each is classified first, then its diagnosis is learned:"
	@$(BIN)/novikoff learn breast-cancer --save demo.model
	@echo
	@echo "The most important features:"
	@$(BIN)/novikoff inspect demo.model --top 8
	@rm -f demo.model

# Build the compiled library for this machine; kernels whose code has not changed are reused.
kernels: .venv/developer
	$(BIN)/python -m novikoff._compiled.build

# Rewrite the manifest of kernels: all that the tests and tests/compiled/kernel_matrix.py call.
# Numba compiles kernels that the library lacks.
CALLED := $(CURDIR)/build/called-kernels.txt
manifest: .venv/developer .venv/chromium
	rm -f $(CALLED) && mkdir -p build
	NOVIKOFF_RECORD_KERNELS=$(CALLED) $(BIN)/python -m tests.compiled.kernel_matrix
	NOVIKOFF_JIT=1 NOVIKOFF_RECORD_KERNELS=$(CALLED) $(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"
	$(BIN)/python -m tests.compiled.check_manifest --write $(CALLED)

# Build a wheel for publication: all CPU levels, for Linux since 2014.
wheel: .venv/developer
	rm -rf build/wheel
	NOVIKOFF_WHEEL=portable $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/auditwheel show dist/novikoff-*-py3-none-manylinux_2_17_x86_64.whl

test: .venv/developer .venv/chromium kernels
	@rm -f $(CALLED) && mkdir -p build
	NOVIKOFF_RECORD_KERNELS=$(CALLED) $(BIN)/pytest -n 2 --dist worksteal -m "not slow"
	$(BIN)/python -m tests.compiled.check_manifest $(CALLED)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m "plain_python and not slow" tests

test-slow: .venv/developer .venv/chromium kernels
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -n 2
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=search $(BIN)/pytest -n 2 -m "plain_python or plain_python_slow" tests

# Measure line coverage of the package in three runs and combine them. Compiled kernels can't be traced, so the tests
# with the marker plain_python or plain_python_coverage run them as Python, where an overflow warns. Tests of a Dask
# cluster are in the slow set.
WATCHED := $(BIN)/coverage run -m pytest -q
coverage: .venv/developer .venv/chromium kernels
	rm -rf .coverage && mkdir .coverage
	$(WATCHED) -n 2 --dist worksteal -m "not slow"
	$(WATCHED) -m slow tests/distributed/test_dask_executor.py tests/packaging/test_wheel.py
	NUMBA_DISABLE_JIT=1 $(WATCHED) -n 2 --dist worksteal -m "(plain_python or plain_python_coverage) and not slow" \
		-k "not scikit_learn and not real" -W ignore::RuntimeWarning tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --show-missing --sort=cover

check: .venv/developer
	$(BIN)/ruff check .  # includes bandit's rules for single lines (S)
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/pip check  # for known vulnerabilities run pip-audit, which needs a network
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_style.py  # dialect words, duplicate classes, large folders, private access

# Peers have their own environment, with novikoff in it, so that pairs can be measured in one process.
bench: .venv/peers/installed
	$(PEERS)/python -m benchmarks

bench-full: .venv/peers/installed
	$(PEERS)/python -m benchmarks --full

accuracy: .venv/peers/installed
	$(PEERS)/python -m benchmarks.accuracy

docs: .venv/docs
	$(BIN)/python -m docs.builder site

# No build isolation: pip would install Numba and a linker again, although nothing is built.
PIP := $(BIN)/pip --disable-pip-version-check --quiet
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) install "hatchling>=1.26" "editables>=0.5"
	$(PIP) install --no-build-isolation -e ".[sklearn,jit]"
	@$(BIN)/python -m compileall -q src  # as pip does for installed files, so that the first start is fast
	@touch $@

.venv/developer: .venv/installed
	$(PIP) install --no-build-isolation -e ".[dev]"
	@touch $@

# Install Debian's Chromium if possible. Tests that need a browser are skipped without one.
.venv/chromium: .venv/installed
	@test -x /usr/bin/chromium || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& (apt-get update && apt-get install --yes --no-install-recommends chromium) >/dev/null 2>&1; } \
		|| echo "Chromium is missing and could not be installed: browser tests are skipped"
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
		|| echo "liblinear-train is missing and could not be installed: its row is left out"
	@touch $@

clean:
	rm -rf .venv build dist src/novikoff/_compiled/lib .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis site
