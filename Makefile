# Needs Python 3.11 or newer, a C compiler and make; the rest goes into the virtual environment VENV.
#
#   make test ARGS="-k newton"               arguments for the program that the target runs
#   make test PYTHON=python3.12 VENV=.venv312
#   make test LOOPDBG_DEBUG_BUILD=1          extension modules with bounds and overflow checks
#   make test LOOPDBG_PORTABLE=1             without what is written for x86
#   make sanitize ARGS=tests/unit            the same under AddressSanitizer (gcc or clang)
#   make build V=1                           show what is run

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
V ?=

BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip $(if $(V),,-qq)
Q := $(if $(V),,@)
say := @printf '%s\n'

DEMO := sample_models/newton_sqrt.onnx
MODE := $(if $(filter address,$(LOOPDBG_DEBUG_BUILD)),address,$(if $(filter-out 0,$(LOOPDBG_DEBUG_BUILD)),debug,release))
MODE := $(MODE)$(if $(filter-out 0,$(LOOPDBG_PORTABLE)),-portable)
CYTHON_SOURCES := $(wildcard $(foreach folder,runtime runtime/* runtime/*/* runtime/*/*/*,$(addprefix src/loopdbg/$(folder)/*.,pyx pxd h c)))

C_SOURCES := $(wildcard $(foreach folder,runtime runtime/* runtime/*/* runtime/*/*/*,$(addprefix $(folder)/*.,h c)))

# What was done to VENV is noted in VENV. An extra of pyproject.toml has a stamp of its own.
STAMP := $(VENV)/.loopdbg
INSTALLED := $(STAMP)-installed
EXTENSIONS := $(STAMP)-extensions-$(MODE)

# PYTHONHOME breaks virtual environments, PYTHONPATH hides what is installed in them. Without bytecode every process that
# tests start compiles all modules again.
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.SUFFIXES:
# Two pips in one environment break it.
.NOTPARALLEL:
.PHONY: help demo test conformance sanitize fuzz editors check format bench screenshots docs build vsix wheels sbom lowest clean samples same-python

help:  ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED)-run $(EXTENSIONS) samples  ## open the debugger on a sample model (no terminal: run it headless)
	$(Q)if [ -t 0 ] && [ -t 1 ]; then $(BIN)/loopdbg $(DEMO); else $(BIN)/loopdbg run $(DEMO); fi
	$(say) 'loopdbg is installed in $(VENV). next: source $(BIN)/activate && loopdbg demo' >&2

# Tests run side by side in one process more than there are processors (tests/conftest.py), those of a file one after the
# other, files with slow ones first; ARGS=-n0: all in one process, as a debugger wants it.
PARALLEL := --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder

test: $(INSTALLED)-test $(EXTENSIONS) samples  ## run all tests (ARGS for pytest)
	$(Q)$(BIN)/pytest $(PARALLEL) --durations=20 $(ARGS)

# Python itself is not built for it, so the library comes first, but for our dlopen (tests/support/dlopen.c); C++ libraries throw
# through it, so theirs comes along. Leaks are what Python leaves behind at exit (tests/unit/test_memory_leaks.py looks for ours),
# some tests ask for more memory than there is, and in some a peer has to crash.
sanitize: export LOOPDBG_DEBUG_BUILD := address
sanitize:  ## run the tests with bounds checks and under AddressSanitizer (ARGS for pytest)
	$(Q)$(MAKE) --no-print-directory build
	$(Q)$(MAKE) --no-print-directory $(INSTALLED)-test samples
	$(Q)$(CC) -shared -fPIC -o build/dlopen.so tests/support/dlopen.c
	$(Q)LD_PRELOAD="$(CURDIR)/build/dlopen.so $$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" \
	    PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0:handle_segv=0 \
	    $(BIN)/pytest $(ARGS)

conformance: $(INSTALLED)-test $(EXTENSIONS) samples  ## run the operator suites and print what they count (ARGS for pytest)
	$(Q)$(BIN)/pytest -q $(PARALLEL) tests/conformance $(ARGS)

fuzz: $(INSTALLED)-test $(EXTENSIONS) samples  ## try thousands of broken models and traces (ARGS for tests/fuzz/file_fuzzer.py)
	$(Q)$(PY) tests/fuzz/file_fuzzer.py $(ARGS)

editors:  ## what tests of editors and agents need beside Python: node, a client and a tokenizer of npm
	$(Q)npm install --silent --no-audit --no-fund --no-save --prefix build @vscode/debugadapter-testsupport@1 \
		gpt-tokenizer@4

vsix:  ## package the extension for VS Code in dist/ (needs node)
	$(Q)mkdir -p dist; cd editors/vscode && npx --yes @vscode/vsce@3 package --allow-missing-repository --out ../../dist

check: $(INSTALLED)-dev  ## lint, format, types, imports, vocabulary, import contracts, changelog
	$(Q)$(BIN)/ruff check .
	$(Q)$(BIN)/ruff format --check .
	$(Q)$(BIN)/clang-format --dry-run -Werror $(C_SOURCES)
	$(Q)$(BIN)/mypy
	$(Q)$(PY) .ci/script_imports.py
	$(Q)$(PY) .ci/vocabulary.py
	$(Q)$(PY) .ci/import_tree.py build/imports
	$(Q)PYTHONPATH=build/imports $(BIN)/lint-imports --no-logo --no-cache
	$(Q)$(BIN)/towncrier build --draft --version next >build/changes.md

format: $(INSTALLED)-dev  ## format the code and repair what lint can repair
	$(Q)$(BIN)/ruff check --fix-only .
	$(Q)$(BIN)/ruff format .
	$(Q)$(BIN)/clang-format -i $(C_SOURCES)

bench: $(INSTALLED)-test $(EXTENSIONS) samples  ## run the benchmarks (ARGS for benchmarks/run.py)
	$(Q)$(PY) benchmarks/run.py $(ARGS)

screenshots: $(INSTALLED)-run $(EXTENSIONS) samples  ## draw the pictures of README and docs anew, from the app
	$(Q)$(PY) docs/make_screenshots.py
	$(Q)$(PY) docs/make_stepping.py

# Sphinx has an environment of its own, which sees the packages in VENV: the API reference imports loopdbg.
SITE := build/docs-venv
docs: $(INSTALLED)-run $(EXTENSIONS) $(SITE)/.installed  ## build the documentation site in build/site; warnings are errors
	$(Q)$(SITE)/bin/sphinx-build -qW --keep-going -b html -c docs . build/site

$(SITE)/.installed: pyproject.toml $(STAMP)-venv
	$(say) 'installing Sphinx into $(SITE)'
	$(Q)$(PY) -m venv --clear $(SITE)
	$(Q)$(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' >$(SITE)/needs.txt
	$(Q)$(SITE)/bin/pip $(if $(V),,-qq) install -r $(SITE)/needs.txt
	$(Q)$(PY) -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	    >"$$($(SITE)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/loopdbg-environment.pth"
	@touch $@

build: $(INSTALLED)-run $(EXTENSIONS)  ## install into VENV, extension modules in place

# The wheel is built from the sdist, so what that lacks shows. auditwheel names the oldest C library that it runs with.
wheels: $(INSTALLED)-wheels  ## make the sdist and a wheel for this Python in dist/; try the wheel without a compiler
	$(say) 'building sdist and wheel'
	$(Q)rm -rf dist build/wheels; mkdir -p build dist
	$(Q)$(PY) -P -m build --no-isolation --outdir build/wheels . $(call logged,build/wheels.log)
	$(Q)$(REPAIR) $(call logged,build/repair.log)
	$(Q)mv build/wheels/*.tar.gz dist
	$(say) 'trying the wheel'
	$(Q).ci/try_wheel $(PY) dist/*.whl
	@ls -lh dist | awk 'NR > 1 { print $$5, $$NF }'

logged = $(if $(V),,>$1 2>&1 || { cat $1; exit 1; })
AUDITWHEEL = PATH="$(BIN):$$PATH" auditwheel repair --wheel-dir dist build/wheels/*.whl
REPAIR = $(if $(filter Linux,$(shell uname)),$(AUDITWHEEL),mv build/wheels/*.whl dist)

lowest: $(INSTALLED)-test $(EXTENSIONS)  ## replace what the tests import by the lowest versions that pyproject.toml allows
	$(Q)$(PIP) install uv
	$(Q)$(BIN)/uv pip compile -q --resolution lowest-direct --extra test pyproject.toml >build/lowest.txt
	$(Q)$(PIP) install -r build/lowest.txt

# What a wheel in dist/ brings along, in CycloneDX's format.
sbom: $(INSTALLED)-wheels  ## write dist/loopdbg.cdx.json: what an installed wheel of dist/ consists of (after make wheels)
	$(Q)$(PY) -m venv --clear --without-pip build/sbom-venv
	$(Q)$(PIP) --python build/sbom-venv install dist/*.whl
	$(Q)$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --of JSON -o dist/loopdbg.cdx.json build/sbom-venv/bin/python

clean:  ## remove what make made, VENV included
	$(Q)rm -rf build dist src/*.egg-info; find runtime -name '*.so' -delete
	$(Q)rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	$(Q)if [ -e $(STAMP)-venv ]; then rm -rf $(VENV); fi

# Always: one second, and deleted files come back.
samples: $(INSTALLED)-run
	$(Q)$(PY) sample_models/build.py --large-only $(if $(V),,>/dev/null)

same-python:
ifneq ($(origin PYTHON),file)
	@if [ -e $(STAMP)-venv ] && \
	    [ "$$($(PYTHON) -c '$(PYTHON_VERSION)')" != "$$($(PY) -c '$(PYTHON_VERSION)')" ]; then \
	    echo "$(VENV) was made with another Python than $(PYTHON): name another VENV, or run make clean first" >&2; \
	    exit 1; \
	fi
endif

PYTHON_VERSION := import sys; print("%d.%d" % sys.version_info[:2])
PYTHON_SERVES := import sys; sys.exit(sys.version_info < (3, 11))

$(STAMP)-venv: | same-python
	@$(PYTHON) -c '$(PYTHON_SERVES)' || { \
	    echo "loopdbg needs Python 3.11 or newer; $(PYTHON) is not. Name one: make PYTHON=python3.12" >&2; exit 1; }
	$(say) 'making $(VENV)'
	$(Q)$(PYTHON) -m venv $(VENV)
	@touch $@

# What pyproject.toml says a build requires: builds then need no isolation, and rebuilds only setup.py.
$(STAMP)-tools: pyproject.toml $(STAMP)-venv
	$(Q)$(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' >$@.txt
	$(Q)$(PIP) install -r $@.txt
	@touch $@

# What a run needs is fetched while the extension modules compile: the first takes the network, the second the processor.
$(STAMP)-needs: pyproject.toml $(STAMP)-tools
	$(say) 'building the extension modules ($(MODE)), and fetching what loopdbg needs'
	$(Q)$(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' >$@.txt
	$(Q)trap 'kill $$fetching' INT TERM; $(PIP) install -r $@.txt & fetching=$$!; \
	    $(COMPILE) || { wait; exit 1; }; wait $$fetching
	@touch $@ $(EXTENSIONS)

# Every extra has what a run needs.
$(INSTALLED)-%: pyproject.toml setup.py $(STAMP)-needs
	$(say) 'installing loopdbg into $(VENV) ($*)'
	$(Q)$(PIP) install --no-build-isolation -e '.$(if $(filter-out run,$*),[$*])'
	@touch $(INSTALLED)-run $@

# Only one mode can be in place.
COMPILE = rm -f $(STAMP)-extensions-*; $(PY) setup.py $(if $(V),,-q) build_ext --inplace
$(EXTENSIONS): $(CYTHON_SOURCES) setup.py $(STAMP)-tools
	$(say) 'building the extension modules ($(MODE))'
	$(Q)$(COMPILE)
	@touch $@
