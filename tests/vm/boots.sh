# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Clients that boot Debian from another VM, for tests/vm/run. A scenario's `boots` has the calls of dracut and client, and the
# checks of what the consoles show.
# shellcheck shell=bash disable=SC2034,SC2154

# disk_make NAME: the client's root as the target gets it, with the scenario's script and the binary
disk_make() {
	local lines
	cp --sparse=always "$debian/disk.img" "$tmp/disk.img"
	head -c 1M /dev/urandom >"$tmp/random"
	: >"$tmp/empty"
	lines=$(printf 'write %s\n' "$here/client /vm/client" "$here/lib.sh /vm/lib.sh" "$here/$1/client /vm/guest" "$tmp/random /vm/random" \
		"$binary /usr/bin/rdmastor" "$tmp/empty /vm/host_clock"; printf 'set_inode_field %s mode 0100755\n' /usr/bin/rdmastor /vm/guest)
	PATH=$PATH:/sbin:/usr/sbin debugfs -w -f - "$tmp/disk.img" <<<"$lines" >"$logs/$1-disk.log" 2>&1
}

# disk_add FROM TO: copy a file, or what a folder has, to the client's root
disk_add() {
	local lines="write $1 $2"
	[ ! -d "$1" ] || lines="mkdir $2
$(find "$1" -mindepth 1 -type d -printf "mkdir $2/%P\n" -o -type f -printf "write %p $2/%P\n")"
	PATH=$PATH:/sbin:/usr/sbin debugfs -w -f - "$tmp/disk.img" <<<"$lines" >>"$logs/$scenario-disk.log" 2>&1
}

# initramfs NAME COMMAND…: set $initrd to the file /out/NAME that the command, a generator, writes in the tree of Debian
initramfs() {
	local out
	out=$logs/initramfs/$({
		echo "$debian" "$@"
		cat "$binary" "$here/initramfs"
		tar -c --sort=name --mtime=@0 -C "$here/../.." initramfs
	} | sha256sum | cut -c1-16)
	initrd=$out/$1
	[ ! -e "$initrd" ] || return 0
	find "$logs/initramfs" -mindepth 1 -maxdepth 1 -mmin +240 -exec rm -rf {} + 2>/dev/null
	RDMASTOR=$binary "$here/initramfs" "$debian" "$out.new" "${@:2}" >"$logs/initramfs.log" 2>&1 || { tail "$logs/initramfs.log"; return 1; }
	mv -T "$out.new" "$out" 2>/dev/null || [ -e "$initrd" ]
}

# dracut MODULES DRIVERS: for clients that need these modules of dracut and of the kernel. $hook, if any, is a script for each of
# the folders $hooks in /lib/dracut/hooks.
dracut() {
	local release dir options="--no-hostonly --no-hostonly-cmdline --no-early-microcode --compress cat --force"
	release=$(cd "$vm/root/lib/modules" && echo *)
	for dir in ${hooks:-}; do options+=" --include /tmp/hook /lib/dracut/hooks/$dir/50-vm.sh"; done
	initramfs image sh -c "echo '${hook:-}' >/tmp/hook && dracut $options --kver $release \
		--modules 'base dash rootfs-block network kernel-network-modules udev-rules shutdown rdmastor $1' \
		--drivers 'virtio_net ext4 crc32c_generic crc32c-intel $2' --omit-drivers nbd --install rdma /out/image"
}

# dracut_way_out: the image that dracut-shutdown.service unpacks, to leave the root at the end: only what that needs. It
# skips an archive that is not compressed.
dracut_way_out() {
	local release initrd
	release=$(cd "$vm/root/lib/modules" && echo *)
	# its time limits are not for a busy machine
	initramfs image sh -c "sed 's/--timeout 5/--timeout 600/; s/-ge 5/-ge 600/' /usr/lib/dracut/modules.d/71rdmastor/rdmastor-shutdown.sh >/tmp/way_out &&
		chmod +x /tmp/way_out && dracut --no-hostonly --no-hostonly-cmdline --no-early-microcode --compress gzip --kver $release --force --no-kernel \
		--modules 'base dash shutdown' --omit ifcfg --install rdmastor \
		--include /tmp/way_out /lib/dracut/hooks/shutdown/25-rdmastor-shutdown.sh /out/image" || return
	disk_add "$initrd" "/boot/initrd.img-$release"
}

# target: start the VM that serves; client NAME WORDS…: boot a client from it with these words on its kernel command line, and wait
# until it ends. $acpi, if any, is the file with an ACPI table of its firmware.
target() {
	nic a b 1
	VM_TIMEOUT=$((10 * VM_TIMEOUT)) launch "$scenario-a" "$here/$scenario/guest-a" "${accel[@]}" "${card[@]}"
	target_pid=${pids[-1]}
	said '^BOOTED' >/dev/null
}

client() {
	local part=$scenario-$1 MEM=${CLIENT_MEM:-512}
	# on a busy host an emulated CPU may stand still for longer than the watchdogs allow
	local APPEND="vm.step=$1 net.ifnames=0 rw fsck.mode=skip systemd.show_status=auto rd.systemd.show_status=0 audit=0 mitigations=off"
	# QEMU translates a page of code once for each address that it is mapped at, and clearing that page then takes as much longer
	APPEND+=" norandmaps nowatchdog rcupdate.rcu_cpu_stall_suppress=1 ${*:2}"
	parts+=("$part")
	nic b a 2
	[ -z "${acpi:-}" ] || card+=(-acpitable "file=${acpi//,/,,}")
	qemu "$part" -initrd "$initrd" "${accel[@]/%max/$cpu}" "${card[@]}"
	client_pid=${pids[-1]}
	ended "$part"
}

# ended PART: the client has ended by itself; a check that it has not reached in time fails
ended() {
	local status=0
	wait "$client_pid" || status=$?
	unset 'pids[-1]'
	sed -i 's/\r$//' "$logs/$1.log" # from the terminal of systemd's unit
	[ "$status" = 0 ] || echo "FAILED the client did not end: status $status" >>"$logs/$1.log"
}

# console NAME REGEX…: the client's console has a line for each
console() {
	local log=$logs/$scenario-$1.log regex
	for regex in "${@:2}"; do
		if grep -aEq -e "$regex" "$log"; then echo "ok $1: $regex"; else echo "FAILED $1: no $regex"; fi
	done >>"$log"
	judge "$log"
}

# judge LOG: the verdict, once more
judge() {
	sed -i 's/^SCENARIO PASSED$/its script passed/' "$1"
	grep -aEq '^(SCENARIO )?FAILED' "$1" || echo "SCENARIO PASSED" >>"$1"
}

# said REGEX: wait until the target's console has that, or the target has ended, and print the last match
said() {
	until grep -aoE -e "$1" "$logs/$scenario-a.log" | tail -n 1 | grep -o '[^ ]*$'; do
		kill -0 "$target_pid" || return
		sleep 0.1
	done
}

# leaves NAME: the client's initramfs has unmounted the root, and the machine restarted; nothing blocked it. systemd waits 90 s and
# says so.
leaves() {
	local log=$logs/$scenario-$1.log seconds hangs
	seconds=$(sed -nE 's/^ENDED ([0-9]+).*/\1/p; s/^\[ *([0-9]+).*reboot: Restarting system$/\1/p' "$log" | paste -sd- - | sed 's/\(.*\)-\(.*\)/\2-\1/')
	hangs=$(grep -a 'Read-only file system' "$log"; sed '1,/^ENDED/d' "$log" | grep -aE '[Tt]imed out|blocked for more|[Uu]nmounting .* failed|Cannot umount|Blocking umount|Failed to (unmount|move|unpack)|restore|still has it open')
	if [[ "$seconds" == *-* ]] && [ -z "$hangs" ] && grep -aq 'Unmounted /oldroot' "$log"; then
		echo "ok $1: left in $((seconds)) s"
	else
		echo "FAILED $1: left in '$seconds' s; $hangs"
	fi >>"$log"
	judge "$log"
}

boots() {
	# each write to a page with translated code is slow under emulation, so clients clear and copy pages in words instead of bytes
	local scenario=$1 debian target_pid client_pid initrd link=stream cpu=max,-erms,-fsrm
	debian=$("$here/debian" "$vm" "$2") || return
	disk_make "$1"
	# shellcheck disable=SC1090
	. "$here/$1/boots"
	kill "$target_pid"
	wait "$target_pid" 2>/dev/null
}

# initramfs_tools MODULES [MISSING]: as dracut, made by Debian's initramfs-tools, which leaves out one module. $hook, if any, are the
# lines of a script that runs before disks are attached; $prepare a command that runs in the generator's folder before it.
initramfs_tools() {
	local release
	release=$(cd "$vm/root/lib/modules" && echo *)
	initramfs image sh -c "mkdir -p /boot && echo CONFIG_RD_GZIP=y >/boot/config-$release && cd /etc/initramfs-tools && mkdir -p scripts/init-premount &&
		echo RDMASTOR=yes >conf.d/rdmastor &&
		${prepare:-true} &&
		printf '%s\n' $1 >modules && printf '%s\n' '#!/bin/sh' '. /usr/share/initramfs-tools/hook-functions' 'copy_exec /usr/bin/rdma' \
			'find \$DESTDIR -name ${2:-}.ko -delete' >hooks/vm && printf '%s\n' '#!/bin/sh' '${hook:-}' >scripts/init-premount/vm &&
		chmod +x hooks/vm scripts/init-premount/vm && mkinitramfs -c gzip -o /tmp/image $release && zcat /tmp/image >/out/image"
}

# shell NAME WORDS…: boot a client whose initramfs gives up, and type the lines of $commands there, each when it shows $prompt
shell() {
	local part=$scenario-$1 pipe=$tmp/typed MEM=${CLIENT_MEM:-512} line typed=0 fd
	local APPEND="net.ifnames=0 rw panic= ${*:2}" # without panic= there is no shell
	parts+=("$part")
	nic b a 2
	mkfifo "$pipe.in"
	ln -s /dev/null "$pipe.out"
	: >"$logs/$part.console"
	qemu "$part" -chardev "pipe,id=typed,path=${pipe//,/,,},logfile=$logs/$part.console,logappend=on" -serial chardev:typed \
		-initrd "$initrd" "${accel[@]/%max/$cpu}" "${card[@]}"
	client_pid=${pids[-1]}
	exec {fd}<>"$pipe.in"
	while read -r line; do
		while [ "$(grep -aoF "$prompt" "$logs/$part.console" | wc -l)" -le $typed ] && kill -0 "$client_pid" 2>/dev/null; do sleep 0.2; done
		typed=$((typed + 1))
		echo "$line" >&$fd
	done <<<"$commands"
	ended "$part"
	exec {fd}>&-
	sed 's/\r$//' "$logs/$part.console" >>"$logs/$part.log"
	rm "$pipe".*
}
