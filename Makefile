# Everything a developer types; each target does its own set-up. VERBOSE=1 shows the commands' output.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON := .venv/bin/python
STEP := tools/step
# Compiler caches are shared between checkouts.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

# Folders are listed too: their times change when a file is added or removed.
SOURCES := $(shell find src include python -not -name __pycache__ -not -path '*/__pycache__/*' 2>/dev/null) \
  CMakeLists.txt pyproject.toml README.md LICENSE

.PHONY: help setup build dashboard wheels test-pythons demo test test-long check bench asan tsan fuzz docs format stub build-times clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{ printf "  make %-13s %s\n", $$1, $$2 }'

# ---- set-up and build

# What a step needs: Debian packages (as root) and Python packages in .venv. `build` is in all others.
.venv/.ready-build: tools/setup.sh tools/python_packages.py tools/debian-packages.txt pyproject.toml
	@$(STEP) "set-up: what the build needs" tools/setup.sh build

.venv/.ready-%: .venv/.ready-build
	@$(STEP) "set-up: what make $* needs" tools/setup.sh $*

setup: .venv/.ready-test .venv/.ready-check  ## install all that tests and checks need

# The dashboard's page goes into what is built, unless DASHBOARD=no or there is no Node.js.
PAGE_SOURCES := $(shell find dashboard -name node_modules -prune -o -type f -print 2>/dev/null) python/fray/_version.py
ifndef DASHBOARD
DASHBOARD := $(shell tools/dashboard.sh find >/dev/null && echo yes || echo no)
endif
PAGE := $(if $(filter yes,$(DASHBOARD)),build/.dashboard)

build/.dashboard: tools/dashboard.sh $(PAGE_SOURCES)
	@mkdir -p build
	@$(STEP) "build the dashboard's page" tools/dashboard.sh build
	@touch $@

dashboard: .venv/.ready-dashboard  ## build the dashboard's page into build/dashboard; `make build` takes it along
	@$(MAKE) --no-print-directory build/.dashboard

# The wheel is built in build/dev, the folder of the dev preset, so that the C++ tests share its objects.
build/.installed: .venv/.ready-build $(SOURCES) $(PAGE)
	@$(STEP) "build the wheel" tools/build_wheel.sh build/dev build/wheel
	@$(STEP) "install the wheel" $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps \
	  --force-reinstall build/wheel/fray-*.whl
	@touch $@

build: build/.installed  ## build everything and install the package into .venv

build-times:  ## show the slowest units and the headers they read, and the total
	@$(PYTHON) tools/build_times.py

# PYTHONS="3.12 3.13" means these only.
wheels: .venv/.ready-build $(PAGE)  ## build the wheels that users get, one for each Python found from 3.11 on, into dist/
	@$(PYTHON) tools/wheels.py $(PYTHONS)

test-pythons: .venv/.ready-build $(PAGE)  ## run the Python suites on each of these Pythons, against its wheel
	@$(PYTHON) tools/test_pythons.py $(PYTHONS)

# ---- use

demo:  ## clean up and count the text of this machine's own Python installation, on all cores
	@$(MAKE) --no-print-directory -j2 DASHBOARD=no build .venv/.ready-demo
	@rm -rf build/demo
	@$(PYTHON) examples/corpus.py "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
	  --out build/demo --seed 7 --files 25000 --compare --timeline build/demo-timeline.json

# While the compiler works, the packages of the tests are fetched.
.PHONY: test-build
test-build:
	@$(MAKE) --no-print-directory -j2 build .venv/.ready-test
	@$(STEP) "build the C++ tests" bash -c 'cmake -DFRAY_TESTS=ON build/dev && cmake --build build/dev'
	@$(PYTHON) tools/build_times.py --total

test: test-build  ## run all tests; the last line is `N passed, N failed`
	@$(PYTHON) tools/run_tests.py

test-long: test-build  ## run the tests that take minutes
	@$(PYTHON) tools/run_tests.py --long

check: .venv/.ready-check build  ## format, lint, layers, types, locking, and small rules of this repository
	@$(PYTHON) tools/check.py

format: .venv/.ready-check  ## format all C++ and Python files
	@$(PYTHON) tools/check.py --format

stub: .venv/.ready-check build  ## write the typed stub of the extension anew
	@$(PYTHON) tools/check.py --stub

bench: .venv/.ready-bench  ## measure beside Ray and multiprocessing, into build/bench.json; BENCH_ONLY=a,b for some rows
	@$(STEP) "configure bench" cmake --preset bench
	@$(STEP) "build bench" cmake --build build/bench
	@cmake --install build/bench --component python --prefix build/bench/site >/dev/null
	@$(PYTHON) -m compileall -q build/bench/site/fray  # as pip does; else each start would compile, or measure the first one
	@PATH="$(CURDIR)/build/bench/site/fray/_bin:$$PATH" PYTHONPATH="$(CURDIR)/build/bench/site" RAY_worker_niceness=0 \
	  $(PYTHON) -m benchmarks

asan: .venv/.ready-sanitizers build  ## all C++ tests and the Python suites under ASan and UBSan
	@$(STEP) "configure asan" cmake --preset asan
	@$(STEP) "build asan" cmake --build build/asan
	@$(PYTHON) tools/run_tests.py --sanitizer asan

tsan: .venv/.ready-sanitizers  ## all C++ tests under ThreadSanitizer
	@$(STEP) "configure tsan" cmake --preset tsan
	@$(STEP) "build tsan" cmake --build build/tsan
	@$(PYTHON) tools/run_tests.py --sanitizer tsan

FUZZ_SECONDS ?= 60
fuzz: .venv/.ready-sanitizers  ## run each fuzz target for FUZZ_SECONDS (60)
	@$(STEP) "configure fuzz" cmake --preset fuzz
	@$(STEP) "build fuzz" cmake --build build/fuzz
	@tools/fuzz.sh $(FUZZ_SECONDS)

docs: .venv/.ready-docs build  ## build the site of all documents into build/site: guides, references of Python, C++, commands, HTTP
	@tools/docs/build.sh

clean:  ## remove build/ and dist/, keep .venv
	@rm -rf build dist
