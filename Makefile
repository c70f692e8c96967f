# `make` installs what is missing, configures and builds build/grbm; `make test` also runs every test.
.DEFAULT_GOAL := build
.PHONY: setup build test sanitize mutants install format lint clean

JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

setup:
	@tools/setup

build: setup
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

test: build
	@ctest --preset release -j $(JOBS)

# The whole suite under the address, undefined-behaviour and thread sanitizers.
sanitize: setup
	@for preset in asan-ubsan tsan; do \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) && ctest --preset $$preset -j $(JOBS) || exit 1; \
	done

# Known mistakes, applied one by one to a copy: each must turn its named test red.
mutants: setup
	@/usr/bin/python3 tests/mutants/run.py

install: build
	@cmake --install build --prefix $(PREFIX)

format:
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

lint: build
	@git ls-files 'src/*.cc' 'apps/*.cc' | grep -v _test.cc | xargs clang-tidy --quiet -p build

clean:
	@rm -rf build build-*
