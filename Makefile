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
PIP := -m pip install --quiet --constraint requirements/constraints.txt
CMAKE = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DWELLFED_PYTHON=OFF

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

.venvs/%: .venvs/%/.made ;

.PRECIOUS: .venvs/%/.made .venvs/%/.wellfed
.venvs/%/.made: requirements/%.txt requirements/constraints.txt
	$(PYTHON) -m venv --clear .venvs/$*
	.venvs/$*/bin/python $(PIP) --requirement requirements/$*.txt
	touch $@

# The wheel is built from the sdist in an empty environment, as an installer without a wheel would build it.
build/.wheel: .venv/.build-tools $(PACKAGE)
	rm -rf dist && mkdir -p build dist
	$(PY) -c 'from scikit_build_core.build import build_sdist; print("sdist:", build_sdist("dist"))'
	$(PY) -m pip wheel --quiet --no-deps --wheel-dir dist dist/wellfed-*.tar.gz
	@ls dist/*.whl
	touch $@

.venvs/%/.wellfed: .venvs/%/.made build/.wheel
	.venvs/$*/bin/python -m pip uninstall --quiet --yes wellfed
	.venvs/$*/bin/python $(PIP) "$$(echo dist/wellfed-*.whl)[test]"
	touch $@

# --- Checks ------------------------------------------------------------------------------------------------------

.PHONY: check
check: setup ## Format, lint, types, arrows, spelling, stubs, docstrings, sizes, docs, fast tests.
	$(BIN)/ruff format --check .
	$(call looked,ruff,$(PY_FILES))
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(call looked,codespell,$(TEXT_FILES))
	$(BIN)/codespell $(TEXT_FILES)
	$(call looked,clang-format,$(CC_FILES))
	$(BIN)/clang-format --dry-run -Werror $(CC_FILES)
	$(PY) scripts/stub.py --check
	$(PY) scripts/check_docstrings.py
	$(PY) scripts/check_sizes.py
	$(PY) scripts/check_docs.py
	$(BIN)/pytest --quiet tests/tools $(wildcard tests/test_*.py)

.PHONY: fix
fix: setup ## Repair what a tool can repair.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CC_FILES)
	$(BIN)/codespell --write-changes $(TEXT_FILES)
	$(PY) scripts/stub.py

# --- Tests -------------------------------------------------------------------------------------------------------

.PHONY: test test-native test-python test-tensorflow
test: test-native test-python test-tensorflow ## What the package by itself promises: native, Python, parity with TensorFlow.

test-native: setup
	$(CMAKE) -B build/native -DCMAKE_BUILD_TYPE=Release -DWELLFED_NATIVE_TESTS=ON
	$(BIN)/cmake --build build/native
	$(BIN)/ctest --test-dir build/native --output-on-failure --no-tests=error
	$(CMAKE) -B build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWELLFED_NATIVE_TESTS=ON -DWELLFED_SANITIZE=address,undefined
	$(BIN)/cmake --build build/asan
	$(BIN)/ctest --test-dir build/asan --output-on-failure --no-tests=error

test-python: setup
	$(BIN)/pytest tests src --ignore=tests/parity --doctest-modules

# The wheel is what is tested here, not the tree.
test-tensorflow: .venvs/tensorflow/.wellfed
	.venvs/tensorflow/bin/pytest tests/parity -m tensorflow

.PHONY: test-all
test-all: test-tfds ## The partners, each in an environment of its own.

.PHONY: test-tfds
test-tfds: .venvs/tfds/.wellfed
	.venvs/tfds/bin/pytest tests -m tfds

.PHONY: sanitize
sanitize: test-native .venvs/sanitize/.made ## The native part's Python tests under ASan and UBSan.
	.venvs/sanitize/bin/python -m pip uninstall --quiet --yes wellfed
	.venvs/sanitize/bin/python $(PIP) --config-settings cmake.define.WELLFED_SANITIZE=address,undefined \
	  --config-settings build-dir=build/sanitize '.[test]'
	LD_PRELOAD=$$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
	  .venvs/sanitize/bin/pytest tests/native tests/io tests/example

.PHONY: fuzz
fuzz: setup ## Run each fuzz target for TIME=60 seconds under ASan and UBSan.
	$(CMAKE) -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWELLFED_FUZZ=ON -DWELLFED_SANITIZE=address,undefined
	$(BIN)/cmake --build build/fuzz
	$(PY) scripts/fuzz.py --seconds $(TIME)

.PHONY: soak
soak: setup ## Feed for TIME seconds with random breaks, errors and resumes; nothing may grow.
	$(PY) scripts/soak.py --seconds $(TIME)

# --- The rest ----------------------------------------------------------------------------------------------------

.PHONY: bench
bench: setup .venvs/tensorflow/.wellfed ## Time wellfed beside TensorFlow (ROWS=..., PAIRS=5, PEERS=all).
	$(PY) benchmarks/run.py --pairs $(PAIRS) $(ROWS)

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
