# Thin: cmake does the work. `make demo` and `make test` set everything up on a bare Debian 12 (as root) and may be
# repeated; knobs: MODE=tap|ofi (of the demo), RAILWITNESS_NCCL_ROOT=DIR, WITHOUT_NCCL=1, WITHOUT_VM=1, JOBS=N.
SHELL := /bin/bash
JOBS ?= $(shell nproc)

.PHONY: help build demo test clean

help:
	@echo 'make demo    four faults on the real NCCL over Soft-RoCE, each named by railwitness'
	@echo '             MODE=ofi: over libfabric and TCP, without a virtual machine'
	@echo 'make test    all tests: unit, sanitizers, fuzzers, the real libnccl, the virtual machine'
	@echo 'make build   the plugin and the program in build/release'
	@echo 'make clean   removes build/'

build:
	@cmake/setup.sh build
	@cmake --preset release && cmake --build --preset release -j $(JOBS)

demo:
	@tests/demo/run.sh $(if $(MODE),--mode $(MODE))

test:
	@tests/run.sh

clean:
	rm -rf build
