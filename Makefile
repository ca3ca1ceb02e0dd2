# SPDX-License-Identifier: GPL-2.0
# ScaleSwap: fetch the base, assemble, build, boot, test, measure, export.
#
# Each target is a program of its own; this file only says which one, and in what
# order. `make help` lists them.

# Where everything is built, outside the repository (the default is in lib.sh); base kernel
# as a tree (instead of the Debian package that BASE names); parallel jobs; which kernel.
BUILD  := $(shell bash -c '. scripts/build/lib.sh && echo "$$BUILD"')
JOBS   ?= $(shell nproc)
KSRC   ?=
CONFIG ?= test
# 0: the demo leaves the base kernel out
BASE   ?= 1
export BUILD JOBS KSRC
# a common word, of no use to what runs below this
unexport BASE

# make passes command-line variables on to every sub-make, the kernel's included,
# where some of these names mean other things (CONFIG, OUT, ARGS …).
MAKEOVERRIDES =

# The scripts take a lock and run the kernel's own parallel make.
.NOTPARALLEL:
.PHONY: help deps tree kernel boot demo test test-debug test-upstream test-model longrun lockless mutate check prefixes \
	bench bench-demo bench-evict bench-fault bench-parallel export deb refresh clean

help:
	@echo 'ScaleSwap: per-core swap for the Linux kernel (base: $(shell sed -n s/^version=//p BASE))'
	@echo
	@echo '  make demo        main job: swap 2x the memory of a guest with 4 CPUs and 4 drives; one table'
	@echo '                   (BASE=0: without the base kernel)'
	@echo '  make test        KUnit and selftests in guests; ends with N passed, N failed, N skipped'
	@echo '  make test-debug  the same under lockdep, KASAN and DEBUG_VM'
	@echo '  make test-upstream  the base kernel'\''s own selftests that swap, compared with the base'
	@echo '  make check       checkpatch, sparse, kernel-doc, builds on/off/without memcg/PREEMPT_RT/clang, export'
	@echo '  make lockless    the lockless sources in user space: sanitizers, models (LOCKLESS="TARGET...")'
	@echo '  make test-model  guests in parallel time against what can be calculated (MODEL=--quick)'
	@echo '  make mutate      break one line at a time and see a test fail (MUTATE="NAME..."; --list)'
	@echo '  make prefixes    build each prefix of the exported series, with ScaleSwap on and off'
	@echo '  make longrun     a long run in the background: LONGRUN="soak|churn|fault KERNEL ..."'
	@echo
	@echo '  make bench       instructions a page, locks, throughput, full areas (BENCH="options of bench/scale.py")'
	@echo '  make bench-parallel  how swap scales to 128 CPUs, in simulated parallel time (BENCH="options of bench/parallel.py")'
	@echo '  make bench-fault what a fault that waits for NVMe costs (BENCH="options of bench/fault.py")'
	@echo '  make bench-evict what reclaim in the faulting task costs (BENCH="options of bench/evict.py")'
	@echo '  make bench-demo  the demo in rounds: base kernel, off, on in turns (BENCH="options of bench/demo.py")'
	@echo '                   raw results of all: bench/results; what came out: bench/README.md'
	@echo
	@echo '  make deps        install the Debian packages that are missing (as root)'
	@echo '  make tree        assemble base + overlay + patches in BUILD/tree (FORCE=1: drop edits there)'
	@echo '  make kernel      build a kernel in BUILD/out/CONFIG'
	@echo '  make boot        boot it and run SCRIPT in the guest; its status is ours'
	@echo '  make refresh     bring edits made in BUILD/tree back into the repository'
	@echo '  make export      write the whole as a series for git am, to OUT'
	@echo '  make deb         kernel packages to install on a real machine'
	@echo '  make clean       remove what was built (keeps base, results, ccache)'
	@echo
	@echo 'Variables:'
	@echo '  BUILD=DIR    where all is built             [$(BUILD)]'
	@echo '  KSRC=DIR     a plain $(shell sed -n s/^series=//p BASE).y tree as the base     [the Debian package]'
	@echo '  JOBS=N       parallel jobs                  [$(JOBS)]'
	@echo '  CONFIG=NAME  test debug lockstat demo off nomemcg noevictor preempt rt, base-test base-lockstat  [$(CONFIG)]'
	@echo '  boot:    SCRIPT=FILE  ARGS="arguments of SCRIPT"  BOOT="options of scripts/guest/boot.py"'
	@echo '  refresh: PATCH=NNN-subsystem-what.patch  the hook that takes edits of base files'
	@echo '  export:  OUT=DIR        deb: DEBCONFIG=FILE'

deps:
	@scripts/build/deps.sh

tree: deps
	@FORCE='$(FORCE)' scripts/build/tree.py

kernel: tree
	@scripts/build/kernel.sh $(CONFIG)

boot:
	@[ -n '$(SCRIPT)' ] || { echo 'make boot: ERROR: give SCRIPT=FILE, what to run in the guest' >&2; exit 1; }
	@$(MAKE) --no-print-directory kernel CONFIG='$(CONFIG)'
	@scripts/guest/boot.py --kernel $(CONFIG) $(BOOT) $(SCRIPT) $(ARGS)

# says first what it will do, and then assembles the tree itself
demo:
	@command -v python3 >/dev/null || scripts/build/deps.sh
	@bench/demo.py $(if $(filter 0 n no,$(BASE)),--no-base)

test: tree
	@scripts/test/run.py test

test-upstream: tree
	@scripts/test/upstream.py

test-model: tree
	@scripts/test/model.py $(MODEL)

test-debug: tree
	@scripts/test/run.py debug

longrun: tree
	@[ -n '$(LONGRUN)' ] || { echo 'make longrun: ERROR: give LONGRUN="soak|churn|fault KERNEL ...", see scripts/test/longrun.sh' >&2; exit 1; }
	@case '$(word 2,$(LONGRUN))' in */*) ;; *) scripts/build/kernel.sh $(word 2,$(LONGRUN)) ;; esac
	@scripts/test/longrun.sh $(LONGRUN)

prefixes: tree
	@scripts/test/prefixes.py $(PREFIXES)

lockless: tree
	@scripts/test/lockless.sh $(LOCKLESS)

mutate: deps
	@scripts/test/mutate.py $(MUTATE)

bench: tree
	@bench/scale.py $(BENCH)

bench-parallel: tree
	@bench/parallel.py $(BENCH)

bench-fault: tree
	@bench/fault.py $(BENCH)

bench-evict: tree
	@bench/evict.py $(BENCH)

bench-demo: tree
	@bench/demo.py --full $(BENCH)

check: tree
	@scripts/test/check.sh

export: deps
	@OUT='$(OUT)' scripts/build/export.py

deb: tree
	@DEBCONFIG='$(DEBCONFIG)' scripts/build/deps.sh deb
	@DEBCONFIG='$(DEBCONFIG)' scripts/build/deb.sh

refresh: deps
	@PATCH='$(PATCH)' scripts/build/refresh.py

clean:
	@echo "clean: removing kernels, tree, initramfs and logs from $(BUILD)"
	@[ -n '$(BUILD)' ] && cd '$(BUILD)' 2>/dev/null || exit 0; rm -rf out tree tree.new tree.manifest* tree.stamp \
		initramfs logs run export deb .stage-* check-* config.* base.old base.new
