# SPDX-License-Identifier: GPL-2.0 OR MIT
# Each target is a script of tools/testing/ualink, with its usage at its head.

S := tools/testing/ualink
# these may be given on make's command line
export SPHINXDIRS SOAK_SECONDS SEED CPUS INPUTS LONG PLAIN DEBUG KERNEL KSRC FORCE PODS ACCELS TIERS SUITES TESTS NAME EMAIL JOBS BUILD IGT_SRC LIBDRM_SRC DEBIAN_MIRROR

.PHONY: help run check tree absorb refresh verify lint bisect kunit igt selftests top ci bench \
	faults fuzz model kcsan coverage emu emu-run check-amdgpu check-docs \
	igt-patches check-libdrm libdrm-refresh signoff clean distclean

help:
	@echo 'For a start:'
	@echo '  make run        build a kernel with UALink, boot it (no root, no KVM), see it work'
	@echo '                  PODS=n ACCELS=n: so many pods of so many accelerators (1, 2)'
	@echo '  make check      all tests; results in build/results; TIERS="...": some of them, see check.sh'
	@echo '  make emu-run    three VMs with the real amdgpu driver on emulated GPUs: shared, revoked, killed, back again'
	@echo
	@echo 'To read and change the code: edit drivers/, include/, Documentation/ here, then'
	@echo '  make run, make kunit, make igt ...   use the edit at once'
	@echo '  make absorb     move each edit into the patch it belongs to'
	@echo
	@echo 'The series as git commits:'
	@echo '  make tree       build/linux: a kernel tree with the patches as commits; edit it as you like'
	@echo '                  KSRC=dir: on your own kernel tree, which is only read'
	@echo '  make refresh    write the commits of build/linux to patches/ and to the folders'
	@echo '  make libdrm-refresh  likewise the commits of build/libdrm (make check-libdrm makes it) to patches/libdrm'
	@echo
	@echo 'Tests one by one:'
	@echo '  make verify     patches and folders are the same series, which applies to the pristine kernel'
	@echo '  make kunit      KUnit in a kernel with lockdep and KASAN; SUITES="ualink_npa* ..."'
	@echo '  make igt        IGT tests in the same kernel; TESTS="ualink_revoke ualink_uapi@subtest ..."'
	@echo '  make selftests  the selftests of the kernel tree, of 64 and 32 bit'
	@echo '  make top        ualink-top, which shows who shares what with whom'
	@echo '  make lint       checkpatch, W=1, sparse, coccinelle, kernel-doc, headers'
	@echo '  make check-libdrm  patches/libdrm: built, and tested with virtual accelerators; LIBDRM_SRC=dir: on a copy of your tree'
	@echo '  make bench      times and sizes, in build/results/bench.json'
	@echo '  make faults     failing allocations, a soak against a model, others in trouble; SOAK_SECONDS=600'
	@echo '  make fuzz       the decoder of messages in user space'
	@echo '  make model      the protocol in Promela, all its states; LONG=1 for larger ones'
	@echo '  make kcsan      data races: KUnit and the soak with KCSAN, in QEMU; SOAK_SECONDS=600 CPUS=4'
	@echo '  make coverage   which branches of the core the tests take'
	@echo '  make emu        the emulated GPU by itself'
	@echo '  make check-amdgpu  amdgpu on emulated GPUs in QEMU: KUnit, IGT, a pod of VMs; LONG=1: all of IGT; PLAIN=1: no lockdep, no KASAN'
	@echo '  make check-docs htmldocs without a warning, ABI entries, what the pages say of symptoms; pages in build/docs'
	@echo '  make ci         jobs for the CI of others, in tools/testing/ualink/ci, run here'
	@echo '  make bisect     each patch builds and passes its KUnit'
	@echo
	@echo 'To send it upstream, for a human:'
	@echo '  make signoff NAME="..." EMAIL=...   signed patches in build/signed'
	@echo '  make igt-patches                    patches/igt-gpu-tools; IGT_SRC=dir: applied to your IGT tree'
	@echo
	@echo '  make clean      what was built; keeps build/linux, downloads and compiler cache'
	@echo '  make distclean  all of build/'
	@echo
	@echo 'JOBS=n: so many compilers at a time. FORCE=1: tree and refresh may overwrite work.'
	@echo 'KERNEL=file: run, kunit, igt and bench boot this UML kernel as it is.'

run tree absorb refresh verify bisect lint kunit selftests top ci bench faults fuzz model kcsan coverage check signoff:
	@$(S)/$@.sh

igt:
	@$(S)/igt.sh $(TESTS)

emu:
	@$(S)/emu.sh

emu-run:
	@$(S)/emu-demo.sh

check-amdgpu:
	@$(S)/amdgpu.sh $(TESTS)

check-libdrm:
	@$(S)/libdrm.sh

libdrm-refresh:
	@$(S)/libdrm.sh refresh

check-docs:
	@$(S)/docs.sh

igt-patches:
	@$(S)/igt-patches.sh

clean distclean:
	@$(S)/clean.sh $@
