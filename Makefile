# `make` installs what is missing, configures and builds build/grbm; `make demo` trains and draws a small model;
# `make test` runs every test.
.DEFAULT_GOAL := build
.PHONY: setup setup-test build demo test sanitize fuzz mutants campaign bench torch-baseline vae-baseline classifier test-arm64
.PHONY: python wheel python-benchmark install format lint clean

JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

setup:
	@tools/setup

setup-test:
	@tools/setup packages-test.txt

# The program and what it needs, no test.
build: setup
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target grbm_program

# A model of three Gaussians in the plane, trained, drawn and judged: seconds after the build.
demo: build
	@rm -rf demo
	@build/grbm train gmm-iso --out demo
	@build/grbm density demo/model.safetensors --data gmm-iso -o demo/density.png
	@echo "pictures: demo/density.png shows the true density, the learned density and samples from noise; below, faint modes and data"

test: setup-test
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j $(JOBS) --no-tests=error

# The whole suite under the address, undefined-behaviour and thread sanitizers; SANITIZERS=tsan: under one of them.
SANITIZERS ?= asan-ubsan tsan
sanitize: setup-test
	@for preset in $(SANITIZERS); do \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) && \
	  ctest --preset $$preset -j $(JOBS) --no-tests=error || exit 1; \
	done

# Random input for every reader of files and requests, FUZZ_SECONDS in all. Needs clang. Goes on where it was left; a
# finding stays in build-fuzz/findings. FUZZ="--executions 1e8 --seconds 0" and other options: tests/campaign/fuzz.py --help
FUZZ_SECONDS ?= 900
fuzz: setup
	@/usr/bin/python3 tests/campaign/fuzz.py --seconds $(FUZZ_SECONDS) --jobs $(JOBS) $(FUZZ)

# Known mistakes, one by one: each must turn its named test red.
mutants: setup-test
	@cmake --preset release
	@/usr/bin/python3 tests/mutants/run.py

# All that may go wrong, made to, part by part; PART="kills soak" chooses. Writes docs/reliability.md.
CAMPAIGN_MINUTES ?= 60
campaign: setup-test
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)
	@/usr/bin/python3 tests/campaign/run.py $(PART) --minutes $(CAMPAIGN_MINUTES)

# Every kernel, what of a step is not products, and one update of every sampler against what the machine could do.
bench: setup-test build
	@cmake --build --preset release -j $(JOBS) --target grbm_bench
	@build/grbm_bench
	@build/grbm bench

# The same updates in PyTorch, in turns with ours: about 25 minutes. Installs PyTorch. TORCH_BASELINE="--steps 10" and
# other options make it shorter.
torch-baseline: build
	@tools/setup packages-torch.txt
	@LD_LIBRARY_PATH=/usr/lib/$$(uname -m)-linux-gnu/openblas-openmp \
	  /usr/bin/python3 bench/torch_baseline.py $(TORCH_BASELINE)

# Digits of a variational autoencoder that was trained as long, judged like ours. Installs PyTorch.
VAE_MINUTES ?= 10
vae-baseline: build
	@tools/setup packages-torch.txt
	@build/grbm data get mnist
	@/usr/bin/python3 bench/vae_baseline.py ~/.cache/grbm/mnist build/vae.npy --minutes $(VAE_MINUTES) --threads $(JOBS)
	@build/grbm evaluate --given build/vae.npy --data mnist --samples 10000

# The Python package, in build/venv, which sees Debian's packages: build/venv/bin/python -c 'import grbm'.
PIP = GRBM_BUILD=build CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS)
python: build
	@tools/setup packages-python.txt
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target grbm_python
	@[ -x build/venv/bin/python ] || /usr/bin/python3 -m venv --system-site-packages build/venv
	@$(PIP) build/venv/bin/python -m pip install --quiet --no-index --no-build-isolation --no-deps --force-reinstall .
	@build/venv/bin/python -c 'import grbm; print("grbm", grbm.__version__, "is in build/venv:", grbm.__file__)'

# A wheel of it, with the library inside, in dist/.
wheel: build
	@tools/setup packages-python.txt
	@cmake --preset release
	@$(PIP) /usr/bin/python3 -m pip wheel --quiet --no-index --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist/*.whl

# The tables of docs/python.md: codes of MNIST for a classifier, times beside scikit-learn's BernoulliRBM, memory.
python-benchmark: python
	@build/grbm data get mnist
	@build/venv/bin/python python/tools/benchmark.py $(PYTHON_BENCHMARK)

# The classifier of `evaluate --metrics classes`, trained anew: some 15 minutes. Its weights become part of the program.
classifier: build
	@tools/setup packages-torch.txt
	@build/grbm data get mnist
	@/usr/bin/python3 python/tools/train_classifier.py ~/.cache/grbm/mnist classifiers/mnist.safetensors

# The kernels, models and samplers built for arm64, and their tests run by QEMU.
test-arm64:
	@tools/setup packages-test.txt packages-arm64.txt
	@tools/sysroot arm64 build-arm64/sysroot
	@cmake --preset arm64
	@cmake --build --preset arm64 -j $(JOBS)
	@ctest --preset arm64 -j $(JOBS)

install: build
	@cmake --install build --prefix $(PREFIX)

format:
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

lint: build
	@git ls-files 'src/*.cc' 'apps/*.cc' | grep -v _test.cc | xargs clang-tidy --quiet -p build

clean:
	@rm -rf build build-*
