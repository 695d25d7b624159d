# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# One non-recursive makefile: the shipped binary (musl, static-pie), the test build (glibc, sanitizers), fuzzers, installation.
# Rooms are found by wildcard: a new .c file in a room, or a new test, needs no line here. `make help` lists the targets.
# ARCH=arm64: for that architecture, with a cross compiler.
ARCH      :=
CROSS     := $(patsubst arm64,aarch64-linux-gnu-,$(ARCH))
B         ?= build$(ARCH:%=/%)
SAN       ?= $(if $(ARCH),0,1)
SECONDS   ?= 60
PREFIX    ?= /usr/local
OPT       ?= -Os
# The hot path: optimized for speed; all else is optimized for size.
HOT       ?= core/base/loop.c core/base/crc32c.c core/base/aes_gcm_x86.c core/proto/inflight.c core/proto/cutter.c core/proto/ring.c \
	$(addprefix core/target/,buffers.c cmd.c conn.c rdma.c xfer.c) \
	$(addprefix core/net/,verbs.c tcp.c tls_record.c iwarp.c ddp_rx.c ddp_tx.c stag.c) \
	$(addprefix core/proto/nvme/,lane.c qp.c rdma.c pdu.c tcp.c codec_tcp.c tgt_io.c tgt_queue.c tgt_rdma.c tgt_tcp.c) \
	$(addprefix core/proto/scsi/,ini_io.c lane.c) core/proto/srp/chan.c $(addprefix core/proto/iscsi/,pdu.c sess.c tcp.c iser.c tgt_tcp.c) \
	$(addprefix core/proto/nbd/,codec.c ini_lane.c ini_rx.c srv_conn.c srv_request.c srv_reply.c) \
	$(addprefix core/block/,bdev.c split.c instant.c null.c ram.c file_lane.c io_threads.c paths_lane.c) \
	$(addprefix core/load/,load_disk.c load_order.c load_verify.c load_tcp.c load_listen.c load_rdma.c load_end.c load_answer.c) \
	$(addprefix core/serve/,ublk_io.c ublk_queue.c) tests/bench/%
OPT_HOT   ?= -O2

parallel  := $(if $(filter -j% --jobserver%,$(MAKEFLAGS))$(MAKELEVEL:0=),,-j$(shell nproc))
MAKEFLAGS += -rR $(parallel)
SHELL     := /bin/bash
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check unit tsan tsan-run faults demo demo-vm vm vm-one vm-kernels vm-boots fabric fabric-one one one-tsan fuzz bench lint install install-data uninstall dist deb tarball release packages check-arm64 check-emulated vm-arm64 vm-emulated clean help FORCE
all: $(B)/rdmastor

# Sources, and the selection for each build.
CORE      := $(wildcard core/*/*.c core/*/*/*.c)
# Files that open real devices are left out of the test build, whose tests link tests/fake/ instead; choosing a device has its
# own test.
TESTABLE  := $(filter-out core/net/ep.c core/net/verbs%.c core/mad/port%.c core/kernel/disks/nbd_nl.c core/kernel/iscsi/iscsi_socket.c,$(CORE))
# What fuzzers use: the other rooms get no bytes from outside but through these.
FUZZED    := $(filter-out $(addsuffix /%,$(addprefix core/,inspect monitor serve srpd attach/iscsi attach/nvme kernel/disks kernel/process kernel/scsi)), \
	$(TESTABLE)) core/inspect/status/serving_read.c core/serve/ublk_io.c core/srpd/srp_rules.c
# What check-arm64 and tsan use.
ifdef ARCH
TESTABLE  := $(FUZZED)
else ifeq ($(SAN),thread)
TESTABLE  := $(filter-out $(addsuffix /%,$(addprefix core/,attach boot inspect mad monitor srpd) \
	$(addprefix core/kernel/,iscsi net nfs nvme process scsi srp)),$(TESTABLE))
endif
SHIPPED   := main.c $(wildcard applets/*.c) $(CORE)
FAKES     := $(wildcard tests/fake/*.c tests/toy/*.c)
UNIT      := $(wildcard tests/core/*/*.c tests/core/*/*/*.c)
PAIR      := $(wildcard tests/pair/*.c)
FUZZ      := $(wildcard tests/fuzz/*.c)
BENCH     := $(wildcard tests/bench/*.c)
FABRIC    := $(wildcard tests/fabric/*.c)

SYS       := $(B)/sysroot
T         := $(B)/test/$(if $(filter thread,$(SAN)),tsan,$(if $(filter-out 0,$(SAN)),san,plain))
F         := $(B)/fuzz
UNIT_BIN  := $(UNIT:%.c=$(T)/%)
PAIR_BIN  := $(PAIR:%.c=$(T)/%)
TSAN_BIN  := $(patsubst %,$(T)/tests/%,$(shell sed '/^\#/d; s/ .*//' tests/tsan.threads))
FAULTS    := $(addprefix $(T)/tests/pair/,faults paths_faults)
REPLAY    := $(FUZZ:tests/fuzz/%.c=$(T)/replay/%)
FUZZ_BIN  := $(FUZZ:tests/fuzz/%.c=$(F)/%)
FABRIC_BIN := $(addprefix $(T)/fabric/,box agent subscribe trap kernel fakeverbs.so $(if $(wildcard tests/fabric/sim.c),sim))
VM_BIN    := $(addprefix $(B)/vm-bin/,port-watch iscsi-login sink-writes ib-sa served)
BENCH_BIN := $(subst _,-,$(BENCH:tests/%.c=$(B)/%))

WARN      := -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wmissing-prototypes -Wswitch $(if $(filter-out 0,$(W)),-Werror)
COMMON    := -std=gnu11 -D_GNU_SOURCE -g -fstack-protector-strong -ffile-prefix-map=$(CURDIR)=. -Iinclude
SHIP_CC   := $(CROSS)gcc -specs=deps/musl.specs -B$(SYS)/lib
SHIP_C    := $(COMMON) -fPIE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -DRDMA_STATIC_PROVIDERS=all \
	-isystem $(SYS)/include -isystem $(SYS)/uapi
SHIP_LD   := -static-pie -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noseparate-code -Wl,-z,stack-size=1048576
SANITIZE  := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
TEST_CC   := $(CROSS)gcc $(if $(filter thread,$(SAN)),-fsanitize=thread,$(if $(filter-out 0,$(SAN)),$(SANITIZE)))
# gold links a test in a fifth of the time, where it is installed.
TEST_LD   := $(if $(shell command -v $(CROSS)ld.gold),-fuse-ld=gold)
TEST_C    := $(COMMON) -g1 -O1 -pthread -DDEBUG_CONTRACTS -Itests/fake -isystem $(SYS)/glibc/include
FUZZ_CC   := clang $(SANITIZE)

# Quiet output unless V=1. A room sees the contracts and its own folder, a test also the folder that it mirrors.
run  = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2);)
empty :=
room = $(subst $(empty) ,/,$(wordlist 1,2,$(subst /, ,$(1))))
own  = $(addprefix -I,$(sort $(filter core/%,$(call room,$(1:tests/%=%)) $(patsubst %/,%,$(patsubst tests/%,%,$(dir $(1)))))) $(if $(filter tests/fuzz/% tests/pair/%,$(1)),core/proto))
opt  = $(if $(filter $(HOT),$(1)),$(OPT_HOT),$(OPT))
# Rewrite a file only if its text has changed, so that its dependents are rebuilt only then.
keep = @mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' >$@

## make            build/rdmastor: the static binary, stripped (build/rdmastor.debug: the same with symbols)
$(B)/rdmastor: $(B)/rdmastor.debug
	$(call run,STRIP,$@)$(CROSS)strip -R .comment -o $@ $<

$(B)/rdmastor.debug: $(SHIPPED:%.c=$(B)/obj/%.o) $(B)/sources
	$(call run,LD,$@)$(SHIP_CC) $(SHIP_LD) -o $@ $(filter %.o,$^) -Wl,--start-group $(SYS)/lib/*.a -Wl,--end-group

$(B)/obj/%.o: %.c $(B)/flags.ship $(SYS).stamp
	@mkdir -p $(@D)
	$(call run,CC,$<)$(SHIP_CC) $(SHIP_C) $(WARN) $(call opt,$<) $(call own,$<) $(DEFINE) -MMD -MP -c -o $@ $<

$(B)/obj/main.o: DEFINE = -DRDMASTOR_VERSION='"$(shell cat $(B)/VERSION)"' \
	-DDEPS_VERSIONS='"$(shell awk '!/^#/ && NF { printf "%s%s %s", sep, $$1, $$2; sep = ", " }' deps/deps.lock)"'
$(B)/obj/main.o: $(B)/VERSION deps/deps.lock

$(B)/VERSION: FORCE
	$(call keep,$(shell packaging/version))
# Relink after a source was removed.
$(B)/sources: FORCE
	$(call keep,$(SHIPPED) $(FAKES))
$(B)/flags.ship: FORCE
	$(call keep,$(SHIP_CC) $(SHIP_C) $(OPT) $(HOT) $(OPT_HOT))
$(T)/flags.test: FORCE
	$(call keep,$(TEST_CC) $(TEST_C))
$(F)/flags.fuzz: FORCE
	$(call keep,$(FUZZ_CC) $(TEST_C))

# Load generators, built like the shipped binary.
$(B)/bench/startup: $(B)/obj/tests/bench/startup.o
$(B)/bench/nbd-load: $(B)/obj/tests/bench/nbd_load.o
$(B)/bench/hosts $(B)/bench/chart $(B)/bench/floor: $(B)/bench/%: $(B)/obj/tests/bench/%.o $(CORE:%.c=$(B)/obj/%.o)
$(B)/bench/aes-gcm: $(B)/obj/tests/bench/aes_gcm.o $(CORE:%.c=$(B)/obj/%.o)
$(BENCH_BIN):
	@mkdir -p $(@D)
	$(call run,LD,$@)$(SHIP_CC) $(SHIP_LD) -o $@ $(filter %.o,$^) -Wl,--start-group $(SYS)/lib/*.a -Wl,--end-group

# Programs that run a room against a VM's kernel or other programs: linked with all rooms, like the binary.
$(B)/vm-bin/port-watch: $(B)/obj/tests/vm/port-watch/port_watch.o $(CORE:%.c=$(B)/obj/%.o)
$(B)/vm-bin/iscsi-login: $(B)/obj/tests/vm/iser-peers/iscsi_login.o $(CORE:%.c=$(B)/obj/%.o)
$(B)/vm-bin/sink-writes: $(B)/obj/tests/vm/serve-siw/sink_writes.o $(B)/obj/tests/fake/raw_host.o $(CORE:%.c=$(B)/obj/%.o)
$(B)/vm-bin/served: $(B)/obj/tests/fabric/srp-served/served.o $(CORE:%.c=$(B)/obj/%.o)
$(B)/vm-bin/ib-sa: $(B)/obj/tests/vm/ib-srp/sa.o $(B)/obj/tests/fabric/umad.o
$(VM_BIN):
	@mkdir -p $(@D)
	$(call run,LD,$@)$(SHIP_CC) $(SHIP_LD) -s -o $@ $(filter %.o,$^) -Wl,--start-group $(SYS)/lib/*.a -Wl,--end-group

# Packages and libraries.
$(B)/have-%: deps/packages deps/install
	@mkdir -p $(@D)
	@deps/install $*
	@touch $@
$(SYS).stamp: deps/deps.lock deps/build deps/musl.specs $(if $(wildcard $(SYS)/lib/libibverbs.a),,FORCE) | $(B)/have-build $(ARCH:%=$(B)/have-%)
	@CROSS=$(CROSS) deps/build $(SYS)

# The test build. Tests themselves are neither optimised nor checked for undefined behaviour, which takes a third of the time to compile
# them. Without optimisation gcc guesses about two kinds of warnings.
$(addprefix $(T)/obj/,$(UNIT:%.c=%.o) $(PAIR:%.c=%.o)): private TEST_C += -O0 -fno-sanitize=undefined -Wno-maybe-uninitialized -Wno-format-truncation
$(T)/obj/%.o: %.c $(T)/flags.test $(SYS).stamp | $(B)/have-test
	@mkdir -p $(@D)
	$(call run,CC-T,$<)$(TEST_CC) $(TEST_C) $(WARN) $(call own,$<) -MMD -MP -c -o $@ $<

# Create the archive from scratch and without replacing, as members of different rooms may have the same name.
$(T)/libcore.a: $(TESTABLE:%.c=$(T)/obj/%.o)
$(T)/libfake.a: $(FAKES:%.c=$(T)/obj/%.o)
$(F)/libcore.a: $(FUZZED:%.c=$(F)/obj/%.o)
$(F)/libfake.a: $(FAKES:%.c=$(F)/obj/%.o)
$(T)/libcore.a $(T)/libfake.a $(F)/libcore.a $(F)/libfake.a: $(B)/sources
	@mkdir -p $(@D)
	@rm -f $@
	$(call run,AR,$@)$(CROSS)ar qcs $@ $(filter %.o,$^)

# Fakes come before the objects that they replace.
TEST_LIBS = -Wl,--start-group $(filter %.a,$^) $(addprefix $(SYS)/glibc/lib/,liburing.a libcjson.a libmbedtls.a libnl-3.a) -Wl,--end-group -pthread
# A test's lines "Link:" name functions that it wraps, objects that it uses in their place, and "leap" for the clock of tests/fake/leap.c.
comma     := ,
LEAP      := clock_gettime epoll_wait poll socket timerfd_settime
link_words = $(shell sed -n 's|^/[*] Link: \(.*\) [*]/$$|\1|p' $(1))
wrapped    = $(addprefix -Wl$(comma)--wrap=,$(filter-out leap %.o,$(1)) $(if $(filter leap,$(1)),$(LEAP)))
linked     = $(call wrapped,$(link_words))
# tests/core/net/ep.c:core/net/ep.o
REPLACED  := $(shell awk '/^\#include/ { nextfile } sub("^/[*] Link: ", "") { for (i = 1; i <= NF; i++) if ($$i ~ /[.]o$$/) print FILENAME ":" $$i }' $(UNIT) $(PAIR))
$(foreach r,$(REPLACED),$(eval $(T)/$(basename $(firstword $(subst :, ,$(r)))): $(T)/obj/$(lastword $(subst :, ,$(r)))))
# Tests for another architecture find its libc where Debian's cross compiler has it.
LIBC       = /usr/$(CROSS:%-=%)/lib
LIBC_AT    = -Wl,-rpath,$(LIBC),-dynamic-linker,$(wildcard $(LIBC)/ld-linux-*)
OWN_RUNNER := $(ARCH)$(filter thread,$(SAN))
RUNNER    := $(T)/obj/tests/$(if $(OWN_RUNNER),runner,criterion).o
$(UNIT_BIN) $(PAIR_BIN): $(RUNNER)
$(UNIT_BIN) $(PAIR_BIN): $(T)/%: $(T)/obj/%.o $(T)/libfake.a $(T)/libcore.a
	@mkdir -p $(@D)
	$(call run,LD-T,$@)$(TEST_CC) $(TEST_LD) -o $@ $(filter %.o,$^) $(call linked,$*.c) $(TEST_LIBS) $(if $(OWN_RUNNER),,-lcriterion) $(if $(ARCH),$(LIBC_AT))
$(REPLAY): $(T)/replay/%: $(T)/obj/tests/fuzz/%.o $(T)/obj/tests/replay.o $(T)/libfake.a $(T)/libcore.a
	@mkdir -p $(@D)
	$(call run,LD-T,$@)$(TEST_CC) $(TEST_LD) -o $@ $(filter %.o,$^) $(call linked,tests/fuzz/$*.c) $(TEST_LIBS) $(if $(ARCH),$(LIBC_AT))

# Programs for simulated fabrics; box and sim consist of several files. fakeverbs.so is preloaded into other programs.
fabric_obj = $(patsubst %.c,$(T)/obj/%.o,$(filter $(addprefix tests/fabric/,$(1)),$(FABRIC)))
$(T)/fabric/box: $(call fabric_obj,box.c box_%.c)
$(T)/fabric/sim: $(call fabric_obj,sim.c sim_%.c)
$(addprefix $(T)/fabric/,agent subscribe trap kernel): $(T)/fabric/%: $(T)/obj/tests/fabric/%.o $(T)/obj/tests/fabric/umad.o
$(filter-out %.so,$(FABRIC_BIN)):
	@mkdir -p $(@D)
	$(call run,LD-T,$@)$(TEST_CC) -o $@ $^
$(T)/fabric/fakeverbs.so: $(wildcard tests/fabric/fakeverbs*.[ch]) tests/fabric/ibsim.h $(T)/flags.test $(SYS).stamp | $(B)/have-test
	@mkdir -p $(@D)
	$(call run,LD-T,$@)gcc $(TEST_C) $(filter-out -Wmissing-prototypes,$(WARN)) -fPIC -shared -o $@ $(filter %.c,$^)

$(F)/obj/%.o: %.c $(F)/flags.fuzz $(SYS).stamp | $(B)/have-test
	@mkdir -p $(@D)
	$(call run,CC-F,$<)$(FUZZ_CC) -fsanitize=fuzzer-no-link $(TEST_C) $(WARN) $(call own,$<) -MMD -MP -c -o $@ $<
$(FUZZ_BIN): $(F)/%: $(F)/obj/tests/fuzz/%.o $(F)/libfake.a $(F)/libcore.a
	$(call run,LD-F,$@)$(FUZZ_CC) $(TEST_LD) -fsanitize=fuzzer -o $@ $< $(call linked,tests/fuzz/$*.c) $(TEST_LIBS)

# Running tests. tests/run counts results; with RESULTS=file in the environment it only appends to that file, and the caller
# prints the summary.
HAVE_VM   := $(if $(wildcard tests/vm/run),$(B)/have-vm)
SUITES     = ARCH='$(ARCH)' B='$(B)' T='$(T)' UNIT='$(UNIT_BIN)' PAIR='$(PAIR_BIN)' TSAN='$(TSAN_BIN)' REPLAY='$(REPLAY)' FUZZ='$(FUZZ_BIN)' \
	SCHEDULES='$(SCHEDULES)' SECONDS_EACH='$(SECONDS)' SEED='$(SEED)' RUNS='$(RUNS)' \
	RDMASTOR='$(abspath $(B)/rdmastor)' FABRIC='$(abspath $(T)/fabric)' SHIP_CC='$(SHIP_CC) $(SHIP_C) $(WARN)' FUZZ_CC='$(FUZZ_CC) $(TEST_C) $(WARN)' tests/run

## make check      every fast test: unit and pair tests under sanitizers, fuzz corpora, command line, lint, a few in a VM
check: $(B)/rdmastor $(VM_BIN) $(UNIT_BIN) $(PAIR_BIN) $(REPLAY) $(B)/have-test $(HAVE_VM)
	@$(SUITES) vm lint unit pair replay cli
## make one        one test: make one S=unit/core/uri/uri, S=cli/version, S=fuzz/uri …, as a failure names it
SUITE     := $(firstword $(subst /, ,$(S)))
NAME      := $(S:$(SUITE)/%=%)
one: $(if $(filter tsan,$(SUITE)),one-tsan,$(B)/have-test $(if $(ARCH),$(B)/have-check-arm64) $(if $(filter cli lint,$(SUITE)),$(B)/rdmastor $(VM_BIN)) \
	$(if $(filter unit tsan-run,$(SUITE)),$(T)/tests/$(NAME)) $(if $(filter pair,$(SUITE)),$(T)/tests/$(S)) \
	$(if $(filter faults,$(SUITE)),$(FAULTS)) $(if $(filter replay,$(SUITE)),$(T)/$(S)) $(if $(filter fuzz,$(SUITE)),$(F)/$(NAME)) \
	$(if $(filter packages,$(SUITE)),deb tarball $(B)/have-packages))
	$(if $(filter tsan,$(SUITE)),,@DEB=$(DEB) TARBALL=$(TARBALL) EPOCH=$(EPOCH) \
		$(subst tests/run,$(if $(ARCH),tests/emulated) tests/run,$(SUITES)) $(S:tsan-run/%=tsan/%))
one-tsan:
	@$(MAKE) --no-print-directory SAN=thread one S=tsan-run/$(NAME)
## make unit       unit and pair tests only (SAN=0: without sanitizers, for gdb and valgrind)
unit: $(UNIT_BIN) $(PAIR_BIN)
	@$(SUITES) unit pair
## make tsan       unit and pair tests that have threads, under ThreadSanitizer (tests/tsan.threads)
tsan:
	@$(MAKE) --no-print-directory SAN=thread tsan-run
tsan-run: $(TSAN_BIN)
	@$(SUITES) tsan
## make faults     initiator against target on wires that misbehave, by SCHEDULES=2000 (SEED=n: others than those of the commit)
faults: $(FAULTS)
	@$(SUITES) faults
## make lint       layers, headers, licences, scripts, leftovers
lint: $(B)/rdmastor $(B)/have-test
	@$(SUITES) lint
## make demo       the tour: installs what it needs, then shows a disk travel over software RDMA on loopback
demo: $(B)/rdmastor $(B)/have-demo
	@RDMASTOR='$(abspath $(B)/rdmastor)' tests/demo
## make demo-vm    the same with a real Linux target on soft-RoCE, in a VM
demo-vm: $(B)/rdmastor $(B)/have-vm
	@RDMASTOR='$(abspath $(B)/rdmastor)' tests/vm/run --demo
## make vm         every scenario against real kernels in a VM (make vm-one S=name: one of them; REST=1: all but those of make check;
##                 KERNEL=6.1|6.12|6.18|7.3: default 6.12)
export KERNEL
vm: $(B)/rdmastor $(VM_BIN) $(HAVE_VM)
	@$(SUITES) $(if $(REST),vm-rest,vm-all)
## make vm-kernels some scenarios against the other kernels: 6.1, 6.18 and 7.3
vm-kernels: $(B)/rdmastor $(VM_BIN) $(HAVE_VM)
	@$(SUITES) vm-kernels
## make vm-boots   Debian boots by every protocol in a VM, which takes long
vm-boots: $(B)/rdmastor $(VM_BIN) $(HAVE_VM)
	@RDMASTOR='$(abspath $(B)/rdmastor)' tests/vm/run --boots
vm-one: $(B)/rdmastor $(VM_BIN) $(HAVE_VM)
	@RDMASTOR='$(abspath $(B)/rdmastor)' tests/vm/run $(S)
## make fabric     SRP discovery on simulated InfiniBand with a real subnet manager, as root (make fabric-one S=name: one of them)
fabric: $(B)/rdmastor $(B)/vm-bin/served $(FABRIC_BIN) $(B)/have-fabric
	@$(SUITES) fabric
fabric-one: $(B)/rdmastor $(B)/vm-bin/served $(FABRIC_BIN) $(B)/have-fabric
	@RDMASTOR='$(abspath $(B)/rdmastor)' FABRIC='$(abspath $(T)/fabric)' tests/fabric/run $(S)
## make fuzz       every fuzzer for SECONDS=60 each (RUNS=5000: so many inputs, SEED=n: others than those of the commit)
fuzz: $(FUZZ_BIN)
	@$(SUITES) fuzz
## make bench      figures against other people's software (make bench PART='native net vm start': some of them)
bench: $(B)/rdmastor $(BENCH_BIN) $(B)/have-test $(HAVE_VM)
	@B='$(B)' RDMASTOR='$(abspath $(B)/rdmastor)' tests/bench/run $(PART)

## make install    DESTDIR= PREFIX=/usr/local INSTALL_LINKS=1 (rdmastor --install): binary, man pages, documents, completions, systemd unit,
##                 udev rules, scripts for dracut, initramfs-tools and mkinitcpio
share := $(DESTDIR)$(PREFIX)/share
doc   := $(share)/doc/rdmastor
install: $(B)/rdmastor install-data
	install -D -m 755 $(B)/rdmastor $(DESTDIR)$(PREFIX)/bin/rdmastor
	$(if $(INSTALL_LINKS),$(DESTDIR)$(PREFIX)/bin/rdmastor --install $(DESTDIR)$(PREFIX)/bin)
# All but the binary. Manual pages get the version and the path of the documents; the README keeps its links to what is installed.
install-data: $(B)/VERSION
	for page in $(wildcard man/*.[178]); do \
		sed 's#^\.Os.*#.Os rdmastor $(VERSION)#; s#/usr/share/doc/rdmastor#$(PREFIX)/share/doc/rdmastor#' $$page | \
			install -D -m 644 /dev/stdin $(share)/man/man$${page##*.}/$${page##*/}; done
	install -D -m 644 -t $(doc)/schema doc/schema/*.json
	install -D -m 644 -t $(doc) CHANGELOG.md doc/peers.md doc/matrix.svg
	sed -E 's#\]\(doc/#](#g; s#\[([^]]*)\]\((man/|deps/|HACKING)[^)]*\)#\1#g' README.md | install -D -m 644 /dev/stdin $(doc)/README.md
	for page in $(notdir $(wildcard man/rdmastor-*-*.1)); do ln -sf $$page $(share)/man/man1/$${page#rdmastor-}; done
	$(if $(wildcard completions/rdmastor.bash),install -D -m 644 completions/rdmastor.bash $(share)/bash-completion/completions/rdmastor)
	$(if $(wildcard completions/_rdmastor),install -D -m 644 completions/_rdmastor $(share)/zsh/site-functions/_rdmastor)
	$(if $(wildcard completions/rdmastor.fish),install -D -m 644 completions/rdmastor.fish $(share)/fish/vendor_completions.d/rdmastor.fish)
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	for unit in $(basename $(notdir $(wildcard systemd/*.in))); do \
		sed 's#@PREFIX@#$(PREFIX)#' systemd/$$unit.in >$(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit || exit 1; done
	install -D -m 644 systemd/60-rdmastor-srp.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/60-rdmastor-srp.rules
	install -D -t $(DESTDIR)$(PREFIX)/lib/dracut/modules.d/71rdmastor initramfs/dracut/71rdmastor/*.sh
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/dracut/modules.d/71rdmastor initramfs/dracut/71rdmastor/*.rules
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/udev/rules.d initramfs/dracut/71rdmastor/*.rules
	for file in $(wildcard initramfs/initramfs-tools/*/rdmastor initramfs/initramfs-tools/*/*/rdmastor); do \
		install -D $$file $(share)/$${file#initramfs/}; done
	install -D -t $(DESTDIR)$(PREFIX)/lib/initcpio/install initramfs/mkinitcpio/install/*
	install -D -t $(DESTDIR)$(PREFIX)/lib/initcpio/hooks initramfs/mkinitcpio/hooks/*
	install -D -m 644 initramfs/mkinitcpio/rdmastor-boot.service $(DESTDIR)$(PREFIX)/lib/initcpio/rdmastor-boot.service
	install -D -m 644 packaging/copyright $(doc)/copyright
	packaging/sbom $(VERSION) $(EPOCH) >$(doc)/rdmastor.cdx.json
## make uninstall  DESTDIR= PREFIX=/usr/local: what `make install` with the same variables has installed, and links to the binary beside it
uninstall:
	@bin=$(DESTDIR)$(PREFIX)/bin; [ ! -x $$bin/rdmastor ] || $$bin/rdmastor --install $$bin --uninstall || :
	+@all=$$(mktemp -d) && trap 'rm -rf "$$all"' EXIT && $(MAKE) -s --no-print-directory install-data DESTDIR=$$all PREFIX=$(PREFIX) >/dev/null && \
		{ echo $(PREFIX)/bin/rdmastor; find $$all ! -type d -printf '/%P\n'; } | while read -r file; do rm -fv "$(DESTDIR)$$file"; done && \
		find $$all -mindepth 1 -depth -type d -printf '/%P\n' | grep rdmastor | while read -r dir; do \
			[ ! -d "$(DESTDIR)$$dir" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$dir"; done

# Packages, reproducible: what `make install` installs, with the time of the commit; an unpacked `make dist` has it, too.
VERSION    = $(shell cat $(B)/VERSION)
EPOCH      = $(shell if [ -e .git ]; then git log -1 --format=%ct; else stat -c %Y VERSION; fi)
DEB_ARCH   = $(or $(ARCH),$(shell dpkg --print-architecture 2>/dev/null || uname -m))
DEB        = $(B)/rdmastor_$(VERSION)_$(DEB_ARCH).deb
TARBALL    = $(B)/rdmastor-$(VERSION)-$(DEB_ARCH).tar.xz
packed     = rm -rf $(B)/$@ && umask 022 && $(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(B)/$@) PREFIX=$(1) INSTALL_LINKS= >/dev/null
## make deb        a Debian package of the binary (ARCH=arm64: for arm64)
deb: $(B)/rdmastor
	+$(call run,DEB,$(DEB))$(call packed,/usr)
	@VERSION=$(VERSION) DEB_ARCH=$(DEB_ARCH) SOURCE_DATE_EPOCH=$(EPOCH) packaging/deb $(B)/deb $(DEB)
## make tarball    the same files for /usr/local: tar -C / --strip-components=1 -xf FILE
tarball: $(B)/rdmastor
	+$(call run,TAR,$(TARBALL))$(call packed,/usr/local)
	@cp -r LICENSES $(B)/tarball/usr/local/share/doc/rdmastor/
	@tar -C $(B)/tarball --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime=@$(EPOCH) \
		--transform='s#^\.#rdmastor-$(VERSION)#S' -c . | xz -9 -T1 >$(TARBALL)
## make packages   both twice, from two folders, compared and checked
packages: deb tarball $(B)/have-packages
	@DEB=$(DEB) TARBALL=$(TARBALL) EPOCH=$(EPOCH) $(SUITES) packages

## make check-arm64  what can differ between CPUs, of the build for arm64 (make ARCH=arm64), emulated: the runtime, wire formats,
##                   every decoder over its corpus, two protocols whole, data through every applet
# Handshakes of TLS take minutes there, in arithmetic that is the same C for every CPU.
EMULATED_UNIT = $(patsubst %.c,$(T)/%,$(filter-out tests/core/net/tls_handshake.c,$(wildcard $(addprefix tests/core/,base/*.c net/*.c mad/codec.c \
	proto/*.c proto/*/codec*.c proto/iscsi/chap.c proto/nvme/chap.c proto/scsi/tgt_io.c block/file.c block/copy.c))))
EMULATED_PAIR = $(addprefix $(T)/tests/pair/,frame_nvme_tcp frame_nbd faults)
check-arm64:
	@$(MAKE) --no-print-directory ARCH=arm64 check-emulated
check-emulated: $(B)/rdmastor $(B)/vm-bin/iscsi-login $(EMULATED_UNIT) $(EMULATED_PAIR) $(REPLAY) $(B)/have-test $(B)/have-check-arm64
	@$(subst tests/run,tests/emulated tests/run,$(SUITES)) unit pair replay cli
check-emulated: UNIT_BIN = $(EMULATED_UNIT)
check-emulated: PAIR_BIN = $(EMULATED_PAIR)
check-emulated: export CLI = $(shell sed '/^\#/d; /^$$/d; s|.*|tests/cli/&.sh|' tests/arm64/cli)
## make vm-arm64   the same build in a VM: the kernel's nvme-tcp, and software iWARP
vm-arm64:
	@$(MAKE) --no-print-directory ARCH=arm64 vm-emulated
vm-emulated: $(B)/rdmastor $(B)/have-vm-arm64
	@$(SUITES) vm-arm64

## make dist       a reproducible source archive of the last commit
dist: $(B)/VERSION
	@git diff --quiet HEAD || { echo 'make dist: the tree has changes that no commit holds: commit them first' >&2; exit 1; }
	$(call run,DIST,$(B)/rdmastor-$$(<$<).tar.xz)git archive --prefix=rdmastor-$$(<$<)/ --add-file=$< HEAD . ':(exclude)VERSION' | xz -9 -T1 >$(B)/rdmastor-$$(<$<).tar.xz

## make release    what a release offers, in build/release: binary, both packages, source archive, SHA256SUMS (ARCH=arm64: for arm64)
release: deb tarball dist
	rm -rf $(B)/release && mkdir $(B)/release
	cp $(DEB) $(TARBALL) $(B)/rdmastor-$(VERSION).tar.xz $(B)/release
	cp $(B)/rdmastor $(B)/release/rdmastor-$(VERSION)-$(DEB_ARCH)
	cd $(B)/release && sha256sum * >SHA256SUMS

## make clean      removes the output folder (B=build); the libraries stay in the cache
clean:
	rm -rf $(B)
help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))
	@echo 'everywhere: V=1 whole command lines, W=1 warnings are errors, B=dir another output folder'

-include $(patsubst %.c,$(B)/obj/%.d,$(SHIPPED) $(BENCH) $(wildcard tests/vm/*/*.c)) \
	$(patsubst %.c,$(T)/obj/%.d,$(addprefix core/net/,ep.c verbs.c verbs_dev.c) $(TESTABLE) $(FAKES) $(UNIT) $(PAIR) $(FUZZ) $(FABRIC) tests/replay.c tests/runner.c tests/criterion.c) \
	$(if $(filter fuzz $(F)/%,$(MAKECMDGOALS) $(SUITE)),$(patsubst %.c,$(F)/obj/%.d,$(FUZZED) $(FAKES) $(FUZZ)))
