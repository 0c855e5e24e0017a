# Thin: cmake does the work. `make demo` and `make test` set everything up on a bare Debian 12 (as root) and may be
# repeated; knobs: MODE=tap|ofi and SEED=N (of the demo), PREFIX=DIR and DESTDIR=DIR (of install),
# CPU=SECONDS and ONLY=NAME (of fuzz), RAILWITNESS_NCCL_ROOT=DIR, WITHOUT_NCCL=1, WITHOUT_VM=1, JOBS=N.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /opt/railwitness

.PHONY: help build install demo test fuzz clean

help:
	@echo 'make demo    four faults on the real NCCL over Soft-RoCE, each named by railwitness'
	@echo '             MODE=ofi: over libfabric and TCP, without a virtual machine; SEED=N: the same faults again'
	@echo 'make test    all tests: unit, sanitizers, fuzzers, the real libnccl, the virtual machine'
	@echo 'make fuzz    searches with every fuzzer for what it lacks to ten minutes on its present sources (CPU=SECONDS: so long)'
	@echo 'make build   the plugin in build/release/lib and the program in build/release/bin'
	@echo 'make install puts them under PREFIX=$(PREFIX), with a systemd unit; builds first'
	@echo 'make clean   removes build/'

build:
	@cmake/setup.sh build
	@cmake --preset release -DRAILWITNESS_WITHOUT_NCCL=ON
	@cmake --build --preset release -j $(JOBS) --target railwitness nccl-net-railwitness

install: build
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

demo:
	@tests/demo/run.sh $(if $(MODE),--mode '$(MODE)') $(if $(SEED),--seed '$(SEED)')

test:
	@tests/run.sh

fuzz:
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@tests/fuzz/run.py $(if $(CPU),--cpu $(CPU)) $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf build
