# Every name that people and CI call. It needs python3.11, g++, make and PyPI, and writes nothing outside this folder.
#
#   .venv/          the package (editable, native part compiled), its tests' and checks' tools
#   .venvs/NAME/    an environment of its own for each heavy partner, from requirements/NAME.txt
#   build/, dist/   what is compiled and packed
#
# A stamp file stands for each finished step, so a repeated call does only what changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3.11
TIME ?= 60
PEERS ?= tensorflow
ROWS ?=
PAIRS ?= 5

BIN := .venv/bin
PY := $(BIN)/python
# -qq: only errors. What an index far away is missing is no news here.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP := -m pip install --quiet --quiet --constraint requirements/constraints.txt
CMAKE = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
  -DWELLFED_PYTHON=OFF
NATIVE_TESTS := -DCMAKE_BUILD_TYPE=Release -DWELLFED_NATIVE_TESTS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
SANITIZE := -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWELLFED_SANITIZE=address,undefined

NATIVE := CMakeLists.txt $(wildcard native/*.cc native/*.h native/*/*.cc native/*/*.h)
PACKAGE := pyproject.toml README.md LICENSE $(NATIVE) $(shell find src -name '*.py' -o -name '*.pyi' -o -name py.typed)

# What the checks look at: what is committed and what is about to be.
FILES = git ls-files --cached --others --exclude-standard --deduplicate
PY_FILES = $(shell $(FILES) '*.py' '*.pyi')
CC_FILES = $(shell $(FILES) '*.cc' '*.h')
TEXT_FILES = $(shell $(FILES) '*.py' '*.pyi' '*.cc' '*.h' '*.md' '*.toml' '*.txt' Makefile)

# $(call looked,NAME,FILES): says how many files a silent tool is about to read; none is a failure.
looked = @test $(words $(2)) -gt 0 && echo "$(1): $(words $(2)) files"

.PHONY: help
help: ## Say what there is to call.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# --- Environments ------------------------------------------------------------------------------------------------

.PHONY: setup
setup: .venv/.installed ## Make .venv: the package with its native part, and every tool that checks it.

.venv/.made:
	$(PYTHON) -m venv --clear .venv
	touch $@

# Not isolated: the compiler's work in build/ is kept between calls, so only what changed is compiled again.
.venv/.build-tools: .venv/.made pyproject.toml requirements/constraints.txt
	$(PY) $(PIP) cmake ninja $$($(PY) -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	touch $@

.venv/.installed: .venv/.build-tools $(NATIVE)
	$(PY) $(PIP) --no-build-isolation --editable '.[dev]'
	touch $@

ENVIRONMENTS := $(patsubst requirements/%.txt,%,$(filter-out %/constraints.txt,$(wildcard requirements/*.txt)))
.PHONY: $(ENVIRONMENTS:%=.venvs/%)
$(ENVIRONMENTS:%=.venvs/%): .venvs/%: .venvs/%/.made

$(ENVIRONMENTS:%=.venvs/%/.made): .venvs/%/.made: requirements/%.txt requirements/constraints.txt
	$(PYTHON) -m venv --clear .venvs/$*
	.venvs/$*/bin/python -m pip install --quiet --quiet --requirement requirements/$*.txt
	touch $@

# The wheel is built from the sdist in an empty environment, as an installer without a wheel would build it.
build/.wheel: .venv/.build-tools $(PACKAGE)
	rm -rf dist && mkdir -p build dist
	$(PY) -c 'from scikit_build_core.build import build_sdist; print("sdist:", build_sdist("dist"))'
	$(PY) -m pip wheel --quiet --quiet --no-deps --wheel-dir dist dist/wellfed-*.tar.gz
	@ls dist/*.whl
	touch $@

$(ENVIRONMENTS:%=.venvs/%/.wellfed): .venvs/%/.wellfed: .venvs/%/.made build/.wheel
	.venvs/$*/bin/python -m pip uninstall --quiet --yes wellfed
	.venvs/$*/bin/python $(PIP) "$$(echo dist/wellfed-*.whl)[test]"
	touch $@

# As the others, but with the lowest versions that pyproject.toml states.
.venvs/lowest/.made: pyproject.toml requirements/constraints.txt scripts/lowest.py
	$(PYTHON) -m venv --clear .venvs/lowest
	$(PYTHON) scripts/lowest.py > .venvs/lowest/constraints.txt
	touch $@

.venvs/lowest/.wellfed: .venvs/lowest/.made build/.wheel
	.venvs/lowest/bin/python -m pip uninstall --quiet --yes wellfed
	.venvs/lowest/bin/python -m pip install --quiet --quiet --constraint .venvs/lowest/constraints.txt "$$(echo dist/wellfed-*.whl)[test]"
	touch $@

# --- Checks ------------------------------------------------------------------------------------------------------

CHECKS := format lint types arrows spelling native-format native-lint stub docstrings sizes docs fast-tests
.PHONY: check $(CHECKS:%=check-%)
check: $(CHECKS:%=check-%) ## Format, lint, types, arrows, spelling, stub, docstrings, sizes, docs, fast tests (-k for all).
$(CHECKS:%=check-%): setup

check-format:
	$(BIN)/ruff format --check .

check-lint:
	$(call looked,ruff,$(PY_FILES))
	$(BIN)/ruff check --quiet .

check-types:
	$(BIN)/mypy

check-arrows:
	$(BIN)/lint-imports

check-spelling:
	$(call looked,codespell,$(TEXT_FILES))
	@$(BIN)/codespell $(TEXT_FILES)

check-native-format:
	$(call looked,clang-format,$(CC_FILES))
	@$(BIN)/clang-format --dry-run -Werror $(CC_FILES)

# The tests' build knows how each file is compiled.
check-native-lint:
	$(CMAKE) -B build/native $(NATIVE_TESTS) >/dev/null
	$(call looked,clang-tidy,$(wildcard native/*.cc))
	# GCC 12 is given a warning option that clang does not know.
	printf '%s\n' native/*.cc | xargs -n 1 -P 2 $(BIN)/clang-tidy -p build/native --quiet --extra-arg=-Wno-unknown-warning-option

check-stub:
	$(PY) scripts/stub.py --check

check-docstrings:
	$(PY) scripts/check_docstrings.py

check-sizes:
	$(PY) scripts/check_sizes.py

check-docs:
	$(PY) scripts/check_docs.py

check-fast-tests:
	$(PY) -m pytest --quiet tests/tools $(wildcard tests/test_*.py)

.PHONY: fix
fix: setup ## Repair what a tool can repair.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@$(BIN)/clang-format -i $(CC_FILES)
	@$(BIN)/codespell --write-changes $(TEXT_FILES)
	$(PY) scripts/stub.py

# --- Tests -------------------------------------------------------------------------------------------------------

.PHONY: test test-native test-python test-tensorflow
test: test-native test-python test-tensorflow ## What the package by itself promises: native, Python, parity with TensorFlow.

test-native: setup
	$(CMAKE) -B build/native $(NATIVE_TESTS)
	$(BIN)/cmake --build build/native
	$(BIN)/ctest --test-dir build/native --output-on-failure --no-tests=error
	$(CMAKE) -B build/sanitize $(SANITIZE) -DWELLFED_NATIVE_TESTS=ON
	$(BIN)/cmake --build build/sanitize
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure --no-tests=error

test-python: setup
	$(PY) -m pytest tests --ignore=tests/parity --ignore=tests/adapters --ignore=tests/partners
	$(PY) -m pytest --doctest-modules src --ignore=src/wellfed/adapters

# The wheel is what is tested here, not the tree.
test-tensorflow: .venvs/tensorflow/.wellfed
	.venvs/tensorflow/bin/python -m pytest tests/parity -m tensorflow

.PHONY: test-all test-tfds test-partners test-hdfs test-lowest
test-all: test-tfds test-partners test-hdfs test-lowest ## The partners (TensorFlow Datasets, Arrow, JAX, PyTorch, Lightning, Dask, Ray, S3, HDFS), and the oldest packages.

test-tfds: .venvs/tfds/.wellfed
	.venvs/tfds/bin/python -m pytest tests/parity -m tfds

# One process for each library: DataLoader forks, and JAX's and Polars' threads must not be there when it does. The
# doctests of adapters/tensorflow.py are left out where TensorFlow is not installed; tests/parity has its tests.
test-partners: .venvs/partners/.wellfed
	.venvs/partners/bin/python -m pytest tests/partners --ignore=tests/partners/test_hdfs.py
	.venvs/partners/bin/python -m pytest tests/sources/test_parquet.py tests/sources/test_many_at_once.py tests/packing/test_export.py tests/cli/test_cli_pack.py
	for library in arrow jax torch torch_devices lightning; do .venvs/partners/bin/python -m pytest tests/adapters/test_$$library.py; done
	.venvs/partners/bin/python -m pytest --doctest-modules --doctest-ignore-import-errors --pyargs wellfed.adapters

# Hadoop's servers run beside it, on loopback.
test-hdfs: .venvs/hdfs/.wellfed
	.venvs/hdfs/bin/python -m pytest tests/partners/test_hdfs.py

# What calls the packages whose lowest versions are stated; ROOMS="..." other tests, such as tests/feed tests/queues tests/compat (minutes).
ROOMS ?= tests/io tests/image tests/example tests/cli tests/sources tests/packing tests/datasets \
  tests/feed/test_one_pass.py tests/feed/test_remote_copies.py tests/feed/test_remote_feed.py
test-lowest: .venvs/lowest/.wellfed
	.venvs/lowest/bin/python -m pytest $(ROOMS)

.PHONY: sanitize
sanitize: test-native .venvs/sanitize/.made ## The native part's Python tests under ASan and UBSan.
	.venvs/sanitize/bin/python -m pip uninstall --quiet --yes wellfed
	.venvs/sanitize/bin/python $(PIP) --config-settings cmake.define.WELLFED_SANITIZE=address,undefined \
	  --config-settings build-dir=build/sanitize-python '.[test]'
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  .venvs/sanitize/bin/python -m pytest tests/native tests/io tests/example

.PHONY: fuzz
fuzz: setup ## Run each fuzz target for TIME=60 seconds under ASan and UBSan.
	$(CMAKE) -B build/fuzz $(SANITIZE) -DWELLFED_FUZZ=ON
	$(BIN)/cmake --build build/fuzz
	rm -rf build/fuzz/corpus && cp -r native/fuzz/corpus build/fuzz/corpus
	@targets=(build/fuzz/*_fuzz); for target in "$${targets[@]}"; do \
	  $$target -max_total_time=$(TIME) -artifact_prefix=build/ build/fuzz/corpus/$$(basename $$target _fuzz); done; \
	echo "fuzz: $${#targets[@]} targets, $(TIME) s each"

.PHONY: soak
soak: setup ## Feed for TIME seconds with random breaks, errors and resumes; queues and programs again and again.
	$(PY) scripts/soak.py --seconds $(TIME)
	$(PY) tests/soak/queues_soak.py --runs 200
	$(PY) tests/soak/compat_soak.py --rounds 50

# --- The rest ----------------------------------------------------------------------------------------------------

BENCH_PEERS := $(if $(filter all,$(PEERS)),tensorflow dali tfrecord grain torch fsspec,$(PEERS))
# fsspec has no environment of its own: its rows run in those of wellfed and of the partners.
BENCH_VENVS := $(patsubst torch,partners,$(filter-out fsspec,$(BENCH_PEERS)))
BENCH_MADE := $(BENCH_VENVS:%=.venvs/%/.made) $(if $(filter fsspec,$(BENCH_PEERS)),.venvs/partners/.wellfed)
.PHONY: bench
bench: setup .venvs/tensorflow/.wellfed $(BENCH_MADE) ## Time wellfed beside its peers (ROWS=, PAIRS=, PEERS=all).
	$(PY) benchmarks/run.py $(ROWS) --pairs $(PAIRS) --peers $(BENCH_PEERS)

.PHONY: curves
curves: setup ## Print what 10^4 to 10^8 records cost (docs/profile.md); takes 5.4 GB of disk meanwhile.
	$(PY) benchmarks/curves.py

.PHONY: larger
larger: setup ## Print how rows are fed from a file that memory does not hold (docs/feed.md); takes 4 GB of disk, and root.
	$(PY) benchmarks/larger.py

.PHONY: docs
docs: setup ## Build the reference pages in build/docs.
	$(PY) scripts/check_docs.py
	$(BIN)/pdoc --docformat google --output-directory build/docs wellfed

.PHONY: demo
demo: setup ## From a folder of digits to a trained classifier.
	$(PY) examples/demo.py

.PHONY: clean
clean: ## Remove everything that these commands made.
	rm -rf .venv .venvs .demo build dist benchmarks/work .hypothesis .mypy_cache .pytest_cache .ruff_cache
