# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Functions for guest scripts: networks, the kernel's NVMe-oF target, disks, checks. Busybox sh under `set -eu`: a set-up step
# that fails ends the scenario; a check that fails is counted, and the scenario continues.
# shellcheck shell=dash

nvmet=/sys/kernel/config/nvmet
lio=/sys/kernel/config/target
hostid=abff48c0-ecbe-4d8c-a64a-54f12797e8c2
hostnqn=nqn.2014-08.org.nvmexpress:uuid:$hostid
# the folder of the files that functions here use, the start of the names of checks, and the seconds below which nothing here is
# given up, if the clock is that of the host, which may be busy; a job has its own folder and start
own=/run prefix='' watchdog=0
[ ! -e /vm/host_clock ] || watchdog=1200

# busybox's sh prefers its own applets to those in PATH
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }
mke2fs() { /bin/mke2fs "$@"; }

# --- JSON

# Every JSON document is recorded for tests/vm/run, which validates it against doc/schema. A command in
# the background that is killed later needs its own pid: start it with `command rdmastor`.
rdmastor() { recorded rdmastor "$@"; }
timeout() { recorded timeout "$@"; }

# recorded COMMAND…: run it. With rdmastor and --json among its words, all of its stdout is recorded.
recorded() {
	local recorded_status=0
	case " $* " in
	*" rdmastor "*" --json "*) ;;
	*) command "$@"; return ;;
	esac
	command "$@" >"$own/recorded" || recorded_status=$?
	cat "$own/recorded" >>"$own/documents"
	cat "$own/recorded"
	return $recorded_status
}

# --- checks

# check NAME COMMAND…: passes if the command succeeds; otherwise its output is shown
check() {
	local check_name="$1"
	shift
	if "$@" >"$own/check.out" 2>&1; then
		passed "$check_name"
	else
		failed "$check_name: status $? of: $(printf "%.120s" "$*")" "$own/check.out"
	fi
}

# refused NAME STATUS CODE OBJECT WORDS COMMAND…: passes when the command, with --json behind it,
# ends with the status and that error (error_is), and stderr is one line with a reason, perhaps with
# a hint, and with the random name of a guest that has no identity. With the code '-', for commands
# without --json, stderr holds OBJECT and WORDS.
besides='^hint: |: warning: random (host NQN|initiator name) for this run: '
refused() {
	local check_name="$1" want="$2" code="$3" object="$4" words="$5" got=0
	shift 5
	[ "$code" = - ] || set -- "$@" --json
	"$@" >"$own/check.out" 2>"$own/check.err" || got=$?
	if [ "$got" = "$want" ] && [ "$(grep -vcE "$besides" "$own/check.err")" = 1 ] &&
		refusal "$code" "$object" "$words"; then
		passed "$check_name: $(cat "$own/check.err")"
	else
		cat "$own/check.out" >>"$own/check.err"
		failed "$check_name: status $got, wanted $want, $code '$object' '$words'" "$own/check.err"
	fi
}
refusal() {
	case $1 in
	-) grep -Eq -e "$2" "$own/check.err" && has_words "$3" <"$own/check.err" ;;
	*) error_is "$own/check.out" "$@" ;;
	esac
}

# error_is FILE CODE OBJECT WORDS: FILE has one JSON document, with an error of that code about that
# object (EREs for all of it, '' = none). Each of the blank-separated EREs WORDS is in its text or
# hint, in any case.
error_is() {
	grep '^{"schema":' "$1" >"$own/recorded" || return
	cat "$own/recorded" >>"$own/documents"
	[ "$(wc -l <"$own/recorded")" = 1 ] &&
		sed -n 's/^{"schema":.*"error":{\("code":.*\)}}$/\1/p' "$own/recorded" >"$own/error" &&
		grep -Eq "^\"code\":\"($2)\"," "$own/error" &&
		sed 's/.*,"object":"\(.*\)","text":.*/\1/; t; s/.*//' "$own/error" | grep -Eqx -e "$3" &&
		sed 's/.*,"text"://' "$own/error" | has_words "$4"
}

has_words() {
	local word text
	text=$(cat)
	for word in $1; do echo "$text" | grep -Eiq -e "$word" || return; done
}

passed() { verdict passed "ok $prefix$1"; }

failed() {
	verdict failed "FAILED $prefix$1"
	tail -n 20 "$2" | sed 's/^/    /'
	[ ! -s "$own/trace" ] || tail -n 5 "$own/trace" | sed 's/^/    export: /'
}

# without a process of its own, as each takes an emulated CPU 5 ms
verdict() {
	local line
	line="$(uptime_s) $2"
	echo "$line"
	echo "$line" >>"/run/$1"
}

uptime_s() {
	local now
	read -r now _ </proc/uptime
	echo "$now"
}

# within SECONDS SECONDS COMMAND…: returns its status, or 9 if it took less than the first or more than the second
within() {
	local least="$1" most="$2" begun ended status=0
	shift 2
	begun=$(uptime_s | tr -d .)
	"$@" || status=$?
	ended=$(uptime_s | tr -d .)
	echo "took $((ended - begun)) hundredths of a second"
	[ $((ended - begun)) -ge $((least * 100)) ] && [ $((ended - begun)) -le $((most * 100)) ] || return 9
	return $status
}

at_least_watchdog() { echo $(($1 > watchdog ? $1 : watchdog)); }

# wait_for SECONDS COMMAND…: try it ten times a second until it succeeds, on the clock of the host, where each try takes time that
# others need, twice a second
wait_for() {
	local left step=1
	[ $watchdog = 0 ] || step=5
	left=$((10 * $(at_least_watchdog "$1")))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - step))
		[ $left -gt 0 ] || { echo "timed out waiting for: $*"; return 1; }
		usleep ${step}00000
	done
}

# job NAME COMMAND…: run it at the same time as others; jobs_end: wait for all of them
jobs=
job() {
	local name="$1"
	shift
	mkdir -p "/run/job/$name"
	(
		own=/run/job/$name prefix="$name: "
		nbd="nbd+unix:///?socket=$own/nbd.sock"
		trap ': >"$own/ended"' EXIT
		"$@"
	) &
	jobs="$jobs $!"
}

jobs_end() {
	local pid status=0
	for pid in $jobs; do wait "$pid" || status=$?; done
	cat /run/job/*/documents >>/run/documents
	return $status
}

# status_says REGEX [OPERAND]: in JSON
status_says() {
	rdmastor status --json ${2:+"$2"} >"$own/status"
	grep -Eq "$1" "$own/status" || { cat "$own/status"; return 1; }
}

# --- networks

# net_up: 10.0.0.1 on a virtual card, with an MTU for RoCE's largest packets
net_up() {
	modprobe dummy
	ip link add d0 mtu 4200 type dummy
	ip addr add 10.0.0.1/24 dev d0
	ip link set d0 up
}

# rdma_up rxe|siw NETDEV
rdma_up() {
	modprobe -a rdma_ucm ib_uverbs
	case $1 in rxe) modprobe rdma_rxe ;; siw) modprobe siw ;; esac
	rdma link add "${1}0" type "$1" netdev "$2"
}

# ib_up: ibsim0, which passes for an InfiniBand adapter, with a subnet administrator
ib_up() {
	net_up
	modprobe -a rdma_ucm ib_uverbs ib_umad rxe_ib
	rdma link add ibsim0 type rxe netdev d0
	ib-sa >/run/sa.log 2>&1 &
}

rxe_up() { net_up && rdma_up rxe d0; }
siw_up() { net_up && rdma_up siw d0; }

# card_up ADDRESS: set up the card that joins two VMs; eth_up ADDRESS: with rxe over it
card_up() {
	modprobe virtio_net
	wait_for 20 test -e /sys/class/net/eth0
	ip link set eth0 mtu 4200
	ip addr add "$1/24" dev eth0
	ip link set eth0 up
}
eth_up() {
	card_up "$1"
	rdma_up rxe eth0
}

# wire_make NETDEV: call before it is used; wire_loses NETDEV PERCENT: 100 is silence, 0 no loss; wire_cut NETDEV SECONDS:
# silence for that time. The link and the queueing discipline stay: in Linux 6.12 rxe takes a packet refused in between for an
# error of its queue pair 1, which never sends again; and after its link went down and up under load it accepts no more
# connections. Packets of rxe to its own host do not pass here.
wire_make() { tc qdisc add dev "$1" root netem limit 100000 loss 0%; }
wire_loses() { tc qdisc change dev "$1" root netem limit 100000 loss "$2%"; }
wire_cut() {
	wire_loses "$1" 100
	sleep "$2"
	wire_loses "$1" 0
}

# root_make SCRIPT: create a root in memory to which the VM switches after this script, to run SCRIPT there
root_make() {
	mkdir /new
	mount -t tmpfs none /new
	mkdir /new/run /new/tmp /new/dev /new/sys /new/proc
	cp -a /bin /sbin /usr /lib /lib64 /etc /root /vm /init /new/
	cp "$1" /new/vm/guest
}

# --- the other VM: one serves, and its peer runs commands there

serve_peer() {
	nc -ll -p 9 -e sh &
	local server=$!
	until [ -e /run/bye ]; do usleep 100000; done
	kill $server
}

peer() { echo "$*" | nc 10.0.0.1 9; }

# --- disks

# an emulated CPU generates random bytes slowly, so the host provides them; every reader of the descriptor gets new ones
exec 5</vm/random

# disk_random FILE MEGABYTES: no two blocks are equal; false when there are no more of them: RANDOM_MIB of run
disk_random() {
	dd of="$1" bs=1M count="$2" iflag=fullblock <&5 2>&1 | grep -q "^$2+0 records in$" && return
	echo "no random bytes are left: more tries than RANDOM_MIB allows"
	false
}

# disk_loop FILE: print a block device (512-byte blocks) on top of it
disk_loop() {
	modprobe loop
	local dev
	dev=$(losetup -f)
	losetup "$dev" "$1"
	echo "$dev"
}

# disk_null NAME MEGABYTES BLOCKSIZE: print a block device in memory, filled with random bytes
disk_null() {
	local c=/sys/kernel/config/nullb/$1
	modprobe null_blk nr_devices=0
	mkdir "$c"
	echo 1 >"$c/memory_backed"
	echo 1 >"$c/discard"
	echo "$2" >"$c/size"
	echo "$3" >"$c/blocksize"
	echo 1 >"$c/power"
	disk_random "/dev/$1" "$2"
	echo "/dev/$1"
}

# sum FILE: print only its checksum; same FILE FILE. For 4 MiB an emulated CPU takes 0.02 s, and 0.4 s for the fastest of busybox's.
# begin_of FILE MEGABYTES: what it begins with; busybox's head copies byte by byte
begin_of() { dd if="$1" bs=1M count="$2" 2>/dev/null; }
sum() { xxh64sum "$1" | cut -d' ' -f1; }
same() { [ "$(sum "$1")" = "$(sum "$2")" ]; }

# --- the kernel's NVMe-oF target

# nvmet_subsystem NQN BACKING…: namespaces from 1 on, each a block device or file
nvmet_subsystem() {
	local s=$nvmet/subsystems/$1 backing nsid=1
	modprobe nvmet
	shift
	mkdir "$s"
	echo 1 >"$s/attr_allow_any_host"
	for backing in "$@"; do
		mkdir "$s/namespaces/$nsid"
		printf %s "$backing" >"$s/namespaces/$nsid/device_path"
		echo 1 >"$s/namespaces/$nsid/enable"
		nsid=$((nsid + 1))
	done
}

# nvmet_allow NQN HOSTNQN: from now on only allowed hosts
nvmet_allow() {
	[ -d "$nvmet/hosts/$2" ] || mkdir "$nvmet/hosts/$2"
	echo 0 >"$nvmet/subsystems/$1/attr_allow_any_host"
	ln -s "$nvmet/hosts/$2" "$nvmet/subsystems/$1/allowed_hosts/$2"
}

# nvmet_address FOLDER rdma|tcp ADDRESS PORT
nvmet_address() {
	mkdir "$1"
	echo "$2" >"$1/addr_trtype"
	echo "$3" >"$1/addr_traddr"
	echo "$4" >"$1/addr_trsvcid"
	case $3 in *:*) echo ipv6 ;; *) echo ipv4 ;; esac >"$1/addr_adrfam"
}

# nvmet_port ID rdma|tcp ADDRESS PORT
nvmet_port() {
	modprobe "nvmet-$2"
	nvmet_address "$nvmet/ports/$1" "$2" "$3" "$4"
}

# nvmet_referral ID NAME rdma|tcp ADDRESS PORT
nvmet_referral() {
	nvmet_address "$nvmet/ports/$1/referrals/$2" "$3" "$4" "$5"
	echo 1 >"$nvmet/ports/$1/referrals/$2/enable"
}

# nvmet_link ID NQN: the first one starts the port's listener; nvmet_unlink: the last one stops it and its connections
nvmet_link() { ln -s "$nvmet/subsystems/$2" "$nvmet/ports/$1/subsystems/$2"; }
nvmet_unlink() { rm "$nvmet/ports/$1/subsystems/$2"; }

# target_up rxe|siw|tcp MEGABYTES: subsystem t1 at 10.0.0.1:4420, whose namespace 1, at $uri, is on /run/disk
target_up() {
	local kind=rdma
	net_up
	case $1 in tcp) kind=tcp ;; *) rdma_up "$1" d0 ;; esac
	disk_random /run/disk "$2"
	nvmet_subsystem t1 "$(disk_loop /run/disk)"
	nvmet_port 1 $kind 10.0.0.1 4420
	nvmet_link 1 t1
	uri=nvme+$kind://10.0.0.1:4420/t1/1
}

# target_to_tcp: its port over rxe ends, and it is at the new $uri
target_to_tcp() {
	nvmet_unlink 1 t1
	rmdir $nvmet/ports/1
	nvmet_port 1 tcp 10.0.0.1 4420
	nvmet_link 1 t1
	uri=nvme+tcp://10.0.0.1:4420/t1/1
}

# target_away SECONDS: stop it with its connections, and start it again
target_away() {
	nvmet_unlink 1 t1
	sleep "$1"
	nvmet_link 1 t1
}

# --- the kernel's SRP target

# srpt_up FILE|BLOCK-DEVICE|null [DEVICE [INITIATOR]]: the file or device, or 1 GiB of nothing, as LUN 0, for initiators that
# connect by RDMA/CM to 10.0.0.1:5555; on InfiniBand for those at the port with this GUID, 0123:4567:89ab:cdef
srpt_up() {
	local disk=$lio/core/fileio_1/s0 port initiator=${3:-10.0.0.1}
	modprobe -a target_core_mod target_core_file ib_srpt
	[ "$1" != null ] || disk=$lio/core/rd_mcp_1/s0
	[ ! -b "$1" ] || disk=$lio/core/iblock_1/s0
	[ ! -b "$1" ] || modprobe target_core_iblock
	mkdir -p $disk
	if [ -b "$1" ]; then
		echo "udev_path=$1" >$disk/control
	elif [ "$1" = null ]; then
		echo "rd_pages=262144,rd_nullio=1" >$disk/control
	else
		echo "fd_dev_name=$1,fd_dev_size=$(stat -c %s "$1")" >$disk/control
	fi
	echo 5e5f0a4c-0d60-4a52-9b3a-2a0f3b0c7d11 >$disk/wwn/vpd_unit_serial
	echo 1 >$disk/enable
	mkdir -p $lio/srpt
	echo 5555 >$lio/srpt/discovery_auth/rdma_cm_port
	port=$(cut -d: -f5- /sys/class/infiniband/${2:-rxe0}/ports/1/gids/0)
	port=$lio/srpt/$port/$port
	mkdir -p "${port%/*}"
	mkdir -p "$port"
	mkdir "$port/lun/lun_0"
	ln -s $disk "$port/lun/lun_0/s0"
	# Linux 6.12 looks up the target's own address there
	mkdir "$port/acls/$initiator"
	mkdir "$port/acls/$initiator/lun_0"
	ln -s "$port/lun/lun_0" "$port/acls/$initiator/lun_0/l0"
	echo 0 >"$port/acls/$initiator/lun_0/write_protect"
	echo 1 >"$port/enable"
}

# srpt_acl: the port's list of initiators; one uses RDMA/CM
srpt_acl() { ls -d $lio/srpt/*/*/acls; }

# --- tgt, a userspace target; needs the programs of tgt

# tgt_up: on port 3260 of all addresses; also over iSER if there is an RDMA device, with 128 MiB of huge pages, its minimum.
# tgt_down stops it
tgt_up() {
	mkdir -p /var/run/tgtd
	[ ! -d /sys/class/infiniband ] || echo 66 >/proc/sys/vm/nr_hugepages
	tgtd -f --iser pool_sz_mb=128 >/run/tgtd.log 2>&1 &
	tgtd_pid=$!
	wait_for 30 tgtadm --op show --mode sys
}

tgt_down() {
	kill -9 "$tgtd_pid" || true
	wait "$tgtd_pid" || true
}

# tgt_try COMMAND…: up to six times, each with a new tgtd, which the scenario's tgt_made configures. tgtd 1.0.85 on soft-RoCE
# within one host: a request that arrives before its last response is reported as sent is an "Initiator error", a "non-login
# pdu", or gets no answer; and it often crashes after an iSER connection has ended.
tgt_try() {
	local left=5
	until "$@"; do
		tail -n 7 /run/tgtd.log
		[ $left -gt 0 ] || return 1
		left=$((left - 1))
		tgt_down
		tgt_made
	done
}

# tgt_target iscsi|iser TID IQN FILE…: each file is a LUN from 1 on, 0 is its controller. With 1.0.85 all initiators may log in
# over TCP, over iSER only those whose name was also given to tgt_admit
tgt_target() {
	local lld="$1" tid="$2" lun=0 file
	tgtadm --lld "$lld" --op new --mode target --tid "$tid" --targetname "$3"
	shift 3
	for file in "$@"; do
		lun=$((lun + 1))
		tgtadm --lld "$lld" --op new --mode logicalunit --tid "$tid" --lun $lun --backing-store "$file"
	done
	tgtadm --lld "$lld" --op bind --mode target --tid "$tid" --initiator-address ALL
}

# tgt_admit iscsi|iser TID INITIATOR
tgt_admit() { tgtadm --lld "$1" --op bind --mode target --tid "$2" --initiator-name "$3"; }

# tgt_account iscsi|iser TID|discovery USER SECRET [out]: CHAP for initiators; out: for the target. Algorithms are MD5 and its
# own SHA1, which uses the number of SHA-256; discovery over iSER has no CHAP
tgt_account() {
	local lld="$1" tid="$2" user="$3" secret="$4" out="${5:+--outgoing}"
	tgtadm --lld "$lld" --op new --mode account --user "$user" --password "$secret"
	# shellcheck disable=SC2086 # a word or none
	case $tid in
	discovery) tgtadm --lld "$lld" --op bind --mode account --user "$user" $out ;;
	*) tgtadm --lld "$lld" --op bind --mode account --tid "$tid" --user "$user" $out ;;
	esac
}

# tgt_redirect iscsi|iser TID ADDRESS PORT [Permanent]: logins of normal sessions are redirected there, except those from that
# address, which occur within one host: from 10.0.0.1 to [fd00::1] is one step, to a second address of the card it is a loop
tgt_redirect() {
	tgtadm --lld "$1" --op update --mode target --tid "$2" --name RedirectAddress --value "$3"
	tgtadm --lld "$1" --op update --mode target --tid "$2" --name RedirectPort --value "$4"
	tgtadm --lld "$1" --op update --mode target --tid "$2" --name RedirectReason --value "${5:-Temporary}"
}

# --- the kernel's NFS server, and mounts of it

nfsd=/proc/fs/nfsd

# nfsd_up: needs the programs of nfs; /exp for all clients, /only for another one, over TCP 2049 and RDMA 20049, with leases of $lease
# seconds, or 10; with rpcbind and rpc.mountd, which NFS 3 needs
nfsd_up() {
	echo '_rpc:x:111:111::/:/bin/sh' >>/etc/passwd
	mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /run/rpcbind /exp /only
	touch /var/lib/nfs/etab /var/lib/nfs/rmtab
	chown 111 /run/rpcbind
	modprobe -a nfsd
	mount -t nfsd none $nfsd
	mount -t tmpfs none /exp
	mount -t tmpfs none /only
	mkdir /exp/dir
	mkdir /exp/dir/deeper
	printf '%s\n' '/exp *(rw,no_root_squash,fsid=1,no_subtree_check,async)' '/only 192.0.2.7(rw,fsid=2,no_subtree_check)' >/etc/exports
	exportfs -ra
	rpcbind -w
	rpc.mountd -p 20048
	echo "${lease:-10}" >$nfsd/nfsv4leasetime
	echo 10 >$nfsd/nfsv4gracetime
	# 4.0 is off by default
	echo "+3 +4 +4.0 +4.1 +4.2" >$nfsd/versions || true
	rpc.nfsd 4
	echo "rdma 20049" >$nfsd/portlist
	# refused if the period has ended already, and by Linux 7.3 without a program that tracks clients, where it passes
	echo Y >$nfsd/v4_end_grace 2>/dev/null || true
}

# over_rdma DIR: check the kernel's statistics
over_rdma() { awk -v at="$1" '/mounted on/ {p = $5 == at} p && /xprt:/ {print $2; exit}' /proc/self/mountstats | grep -qx rdma; }

# nfs_written DIR EXPORTED: data written to DIR is in the exported folder
nfs_written() {
	dd if=/vm/random of="$1/file" bs=1M count=2 2>/dev/null && same "$1/file" "$2/file" && rm "$1/file"
}

# nfs_mounts NAME SOURCE OPTIONS [EXPORTED]: mount, write, check RDMA, mount again, unmount
nfs_mounts() {
	check "$1: mount" rdmastor nfsrdma-mount "$2" /mnt ${3:+-o "$3"}
	check "$1: it is over RDMA" over_rdma /mnt
	check "$1: written data is in the exported folder" nfs_written /mnt "${4:-/exp}"
	check "$1: status" status_says '"directory":"/mnt",.*"transport":"rdma","state":"connected",.*"rdma_device":"[a-z0-9]*","rdma_port":1' /mnt
	rdmastor nfsrdma-mount "$2" /mnt ${3:+-o "$3"} >/run/again
	check "$1: again is success" grep -q already /run/again
	check "$1: umount" umount /mnt
	check "$1: no leftovers" [ -z "$(grep nfs4\* /proc/self/mountinfo | grep -v nfsd)" ]
}

# --- the kernel's initiator

# kernel_connect rdma|tcp ADDRESS PORT NQN: print the block device of namespace 1
kernel_connect() {
	modprobe "nvme-$1"
	nvme connect -t "$1" -a "$2" -s "$3" -n "$4" -q "$hostnqn" -I "$hostid" >/dev/null
	wait_for 20 test -b /dev/nvme0n1 >&2
	echo /dev/nvme0n1
}

# kernel_discover rdma|tcp ADDRESS PORT [OPTION…]
kernel_discover() {
	local way="$1" address="$2" port="$3"
	shift 3
	modprobe "nvme-$way"
	nvme discover -t "$way" -a "$address" -s "$port" -q "$hostnqn" -I "$hostid" "$@"
}

# --- rdmastor's export, and the foreign clients that check it

nbd="nbd+unix:///?socket=$own/nbd.sock"

# export_start URI [OPTION…]: wait until it is ready; its trace is in $own/trace. export_stop: returns the status of the export
export_start() {
	rm -f "$own/ready"
	mkfifo "$own/ready"
	command rdmastor export "$@" --nbd "unix:$own/nbd.sock" --verbose --ready-fd 4 4>"$own/ready" >/dev/null 2>"$own/trace" &
	export_pid=$!
	read -r _ <"$own/ready" || { cat "$own/trace"; return 1; }
}

export_stop() {
	local status=0
	kill "$export_pid"
	wait "$export_pid" || status=$?
	[ ! -e "$own/nbd.sock" ] || status="the socket is left, $status"
	return $status
}

# connections rdma|tcp: number of connections of processes called rdmastor to port 4420
connections() {
	case $1 in
	rdma) rdma resource show qp | grep -c 'comm rdmastor' ;;
	tcp) grep -c ':1144 01 ' /proc/net/tcp ;;
	esac
}

# reads_alike FILE: data read over NBD equals the target's backing file. The target writes to a block device past the page
# cache, so drop that first.
reads_alike() {
	echo 1 >/proc/sys/vm/drop_caches
	[ "$(nbdcopy "$nbd" - | xxh64sum)" = "$(xxh64sum <"$1")" ]
}

# fio_nbd OPTION…: with a time limit, as an export that hangs must not block the scenario; $fio_rate requests a second, if set
fio_nbd() {
	timeout "$(at_least_watchdog 60)" fio --name=nbd --ioengine=nbd --uri="$nbd" --rw=randwrite --bs=4k --size=1M --iodepth=16 --verify=crc32c --eta=never ${fio_rate:+--rate_iops=$fio_rate} "$@"
}

# foreign_read NAME BACKING; foreign_write NAME BACKING [CLIENTS]
foreign_read() {
	check "$1: nbdinfo --json --map" nbdinfo --json --map "$nbd"
	check "$1: nbdcopy reads the disk" reads_alike "$2"
	check "$1: qemu-img compare" qemu-img compare -f raw -F raw "$nbd" "$2"
}

foreign_write() {
	local clients="${3:-1}"
	check "$1: fio writes and verifies" fio_nbd --numjobs="$clients" --size=$((1024 / clients))k --offset_increment=$((1024 / clients))k
	check "$1: nbdcopy reads the disk written" reads_alike "$2"
}

# queues_checked rdma|tcp [KEYS]: write, verify and read with 1, 2 and 4 queues, each used by its own client
queues_checked() {
	local queues
	for queues in 1 2 4; do
		export_start "$uri?queues=$queues${2:+&$2}" --queues $queues
		[ $queues != 2 ] || foreign_read "2 queues" /run/disk
		foreign_write "$queues queues" /run/disk $queues
		check "$queues queues: as many connections, and one for administration" [ "$(connections "$1")" = $((queues + 1)) ]
		check "$queues queues: SIGTERM ends it cleanly" export_stop
	done
}

# written: number of writes to the target's disk; at_least NUMBER COMMAND…
written() { awk '{print $5}' /sys/block/loop0/stat; }
at_least() { [ "$("$2")" -ge "$1" ]; }

# Repeat, as the time of a pass depends on the host.
fio_until_told() {
	while fio_nbd --loops="${fio_loops:-6}" --output="$own/fio.out"; do
		[ ! -e "$own/enough" ] || return 0
	done
	return 1
}

# survives NAME COMMAND…: fio writes and verifies with 16 requests in flight while the command causes the failure
survives() {
	local name="$1" load begun
	shift
	begun=$(written)
	rm -f "$own/enough"
	fio_until_told &
	load=$!
	wait_for 20 at_least $((begun + 64)) written
	"$@"
	check "$name: fio was still at it" kill -0 $load
	touch "$own/enough"
	check "$name: fio lost nothing" wait $load
	check "$name: the target has it" reads_alike /run/disk
}

# held NAME: the path was lost with requests in flight
lost_with_requests() { grep -Eq 'lost: .*[^0-9][1-9][0-9]* requests?' "$own/trace"; }
held() { check "$1: requests were in flight" lost_with_requests; }
# until_held COMMAND…: between two runs of fio none are in flight, so the failure is repeated until some were
until_held() {
	local try
	for try in $(seq 30); do
		"$@"
		! lost_with_requests || return 0
		wait_for 30 at_least "$try" restored
	done
}
restored() { grep -c 'connection restored' "$own/trace"; }

# --- rdmastor's export as a local block device, and checks of it

# device_start DISK OPTION…: wait until it is ready, and set $dev to the device. device_stop: returns its status; device_kill:
# kill it
device_start() {
	rm -f "$own/ready"
	mkfifo "$own/ready"
	command rdmastor export "$@" --verbose --ready-fd 4 4>"$own/ready" >/run/export.out 2>"$own/trace" &
	export_pid=$!
	read -r _ <"$own/ready" || { cat "$own/trace"; return 1; }
	dev=$(sed -n 's/^\(\/dev\/[a-z0-9]*\): .*/\1/p' /run/export.out)
}

device_stop() {
	local status=0
	kill "$export_pid"
	wait "$export_pid" || status=$?
	return $status
}

device_kill() {
	kill -9 "$export_pid"
	wait "$export_pid" || true
}

# fio_dev OPTION…: write and verify $dev
fio_dev() {
	timeout 200 fio --name=dev --ioengine=libaio --direct=1 --filename="$dev" --rw=randwrite --bs=4k --size=8M --iodepth=16 \
		--verify=crc32c --verify_fatal=1 --eta=never "$@"
}

dev_until_told() {
	while fio_dev --loops=2 --size=2M --output="$own/fio.out" "$@"; do
		[ ! -e "$own/enough" ] || return 0
	done
	cat "$own/fio.out"
	return 1
}

# dev_written: how many writes the device has done
dev_written() { awk '{print $5}' "/sys/block/${dev#/dev/}/stat"; }
dev_goes_on() { wait_for 60 at_least $(($(dev_written) + 64)) dev_written; }

# dev_survives NAME FIO-OPTIONS COMMAND…: fio writes and verifies on $dev while the command causes the failure
# shellcheck disable=SC2086 # words
dev_survives() {
	local name="$1" options="$2" load
	shift 2
	rm -f "$own/enough"
	dev_until_told $options &
	load=$!
	dev_goes_on
	"$@"
	check "$name: fio continues after it" dev_goes_on
	touch "$own/enough"
	check "$name: fio lost nothing" wait $load
}

# dev_restarted DISK OPTION…: the process behind $dev is killed and restarted
dev_restarted() {
	local before="$dev"
	device_kill
	sleep 1
	device_start "$@"
	check "killed: the device is taken over" [ "$dev" = "$before" ]
	check "killed: it is reported" grep -q 'taken over' /run/export.out
}

# device_proved NAME URI OPTION…: all checks of a block device on the target of target_up()
device_proved() {
	local name="$1" uri="$2"
	shift 2
	device_start "$uri" "$@"
	check "$name: fio of 512 bytes, 1 deep" fio_dev --bs=512 --iodepth=1 --size=64k
	check "$name: fio of 4 KiB, 128 deep" fio_dev --iodepth=128
	check "$name: fio up to 1 MiB" fio_dev --bsrange=512-1m --size=16M --iodepth=8
	check "$name: file system" filesystem "$dev"
	# longer than the kernel's own timer
	dev_survives "$name: target stopped and started" "" target_away 12
	dev_survives "$name: killed" "" dev_restarted "$uri" "$@"
	check "$name: a clean stop" device_stop
	check "$name: the kernel saw no error" no_errors
}

# --- rdmastor's serve, and the kernel's initiator that checks it

# serve_start DISK…, as OPTIONs of serve say, on 10.0.0.1; serve_stop: its status; serve_kill: with SIGKILL
serve_start() {
	: >/run/serve.out
	command rdmastor serve "$@" >/run/serve.out 2>>/run/serve.err &
	serve_pid=$!
	wait_for 20 grep -q '^rdmastor:' /run/serve.out
}

serve_stop() {
	local status=0
	kill "$serve_pid"
	wait "$serve_pid" || status=$?
	return $status
}

serve_kill() {
	kill -9 "$serve_pid"
	wait "$serve_pid" || true
}

# shellcheck disable=SC2086 # words
# host_connect rdma|tcp PORT [OPTIONS]: the kernel as a host of it, on 2 queues; /dev/nvme0n1
host_connect() {
	modprobe "nvme-$1"
	nvme connect -t "$1" -a 10.0.0.1 -s "$2" -n nqn.t1 -q "$hostnqn" -I "$hostid" -i 2 --reconnect-delay=1 --ctrl-loss-tmo=60 ${3:-} >/dev/null || return
	# the node is there before the link in /sys/block
	wait_for 20 test -e /sys/block/nvme0n1/wwid && test -b /dev/nvme0n1
}

host_disconnect() {
	nvme disconnect -n nqn.t1 >/dev/null
	wait_for 20 test ! -e /dev/nvme0n1
}

host_identity() { cat /sys/block/nvme0n1/wwid /sys/block/nvme0n1/uuid /sys/block/nvme0n1/device/serial; }
host_is_live() { grep -q live /sys/class/nvme/nvme0/state; }

# fio_host OPTION…: writes and verifies on the kernel's disk
fio_host() {
	timeout 100 fio --name=host --ioengine=libaio --direct=1 --filename=/dev/nvme0n1 --rw=randwrite --bs=4k --size=8M --iodepth=16 \
		--verify=crc32c --verify_fatal=1 --eta=never "$@"
}

# no_bugs: the kernel found no defect of its own, except two at logouts that are known (doc/kernel-defects.md)
no_bugs() { ! dmesg | grep -E 'BUG|WARNING' | grep -Ev 'WARNING: .* (iscsit_release_cmd|check_flush_dependency[.a-z0-9]*)\+'; }

# no_errors: the kernel logged none; messages about a lost connection are not errors. A busy machine may end one by the clock of the
# host, and then the requests of that path (nvme0c0n1) fail, to be repeated.
no_errors() { no_bugs && ! dmesg | path_errors_left_out | grep -E 'I/O error|critical|EXT4-fs error|Buffer I/O|lost async page'; }
path_errors_left_out() { if [ $watchdog = 0 ]; then cat; else grep -Ev 'I/O error, dev nvme[0-9]+c[0-9]+n'; fi; }

# filesystem DEVICE: made, filled, read again, checked
filesystem() {
	mke2fs -q -t ext4 -E nodiscard "$1" && mkdir -p /run/mnt && mount -t ext4 "$1" /run/mnt || return
	dd if=/vm/random of=/run/mnt/file bs=1M count=6 2>/dev/null
	sync
	echo 3 >/proc/sys/vm/drop_caches
	[ "$(sum /run/mnt/file)" = "$(begin_of /vm/random 6 | xxh64sum | cut -d' ' -f1)" ] || return
	umount /run/mnt && e2fsck -fn "$1"
}

# host_carried rdma|tcp PORT SIZE SIZE: connected and verified, what depends on the carrier
host_carried() {
	local name="$1" port="$2"
	modprobe "nvme-$name"
	nvme discover -t "$name" -a 10.0.0.1 -s "$port" -q "$hostnqn" -I "$hostid" >/run/discovered
	check "$name: discovery names the subsystem" grep -q 'subnqn: *nqn.t1$' /run/discovered
	check "$name: discovery names the transport" grep -q "trtype: *$name\$" /run/discovered
	check "$name: connect" host_connect "$name" "$port"
	check "$name: 2 queues for I/O" grep -q 3 /sys/class/nvme/nvme0/queue_count
	check "$name: fio verifies 4 KiB" fio_host --size="$3"
	check "$name: fio verifies up to 1 MiB" fio_host --bsrange=4k-1m --size="$4" --iodepth=4
}

# host_reset NAME
host_reset() {
	check "$1: controller reset" nvme reset /dev/nvme0
	check "$1: live after it" wait_for 20 host_is_live
	check "$1: fio verifies after it" fio_host --size=2M
}

# host_killed NAME COMMAND…: the target is killed under load, and the command restarts it
host_killed() {
	local name="$1" load
	shift
	fio_host --size=6M --rate=2m --output="$own/fio.out" &
	load=$!
	sleep 1
	serve_kill
	sleep 2
	"$@"
	check "$name: target killed and started again: fio lost nothing" wait $load
}

# host_checked_briefly rdma|tcp PORT COMMAND…: as host_checked, without what does not depend on the carrier
host_checked_briefly() {
	local name="$1"
	host_carried "$1" "$2" 2M 8M
	shift 2
	host_reset "$name"
	host_killed "$name" "$@"
	check "$name: the kernel saw no error" no_errors
	host_disconnect
}

# host_checked rdma|tcp PORT COMMAND…: all of it; the command restarts the target after it was killed
host_checked() {
	local name="$1" port="$2" before
	shift 2
	host_carried "$name" "$port" 8M 24M
	before=$(host_identity)
	check "$name: Identify" nvme id-ctrl /dev/nvme0
	check "$name: SMART log" nvme smart-log /dev/nvme0
	check "$name: error log" nvme error-log /dev/nvme0
	check "$name: firmware log" nvme fw-log /dev/nvme0
	check "$name: features" nvme get-feature /dev/nvme0 -f 7
	check "$name: Flush" nvme flush /dev/nvme0n1 -n 1
	dd if=/vm/random of=/run/block bs=4k count=1 2>/dev/null
	check "$name: Write with FUA" nvme write /dev/nvme0n1 -s 8 -c 7 -z 4096 -d /run/block -f
	check "$name: Compare of the same" nvme compare /dev/nvme0n1 -s 8 -c 7 -z 4096 -d /run/block
	refused "$name: Compare of others" 1 - 'COMPARE_FAILED|Compare Failure' '' nvme compare /dev/nvme0n1 -s 16 -c 7 -z 4096 -d /run/block
	check "$name: Write Zeroes" nvme write-zeroes /dev/nvme0n1 -n 1 -s 8 -c 7
	dd if=/dev/zero of=/run/block bs=4k count=1 2>/dev/null
	check "$name: they are zeroes" nvme compare /dev/nvme0n1 -s 8 -c 7 -z 4096 -d /run/block
	check "$name: Dataset Management" nvme dsm /dev/nvme0n1 -n 1 -d -s 0 -b 64
	check "$name: it has no reservation" [ "$(nvme resv-report /dev/nvme0n1 -n 1 --eds | grep -c '^\(regctl\|rtype\) *: 0$')" = 2 ]
	refused "$name: nor reports one without extended data" 1 - 'HOST_ID_INCONSIST|Host Identifier Inconsistent' '' nvme resv-report /dev/nvme0n1 -n 1
	host_reset "$name"
	host_disconnect
	check "$name: connect again" host_connect "$name" "$port"
	check "$name: identity is the same" [ "$before" = "$(host_identity)" ]
	host_killed "$name" "$@"
	check "$name: identity is the same" [ "$before" = "$(host_identity)" ]
	check "$name: file system" filesystem /dev/nvme0n1
	check "$name: the kernel saw no error" no_errors
	host_disconnect
}

# iscsi_target IQN FILE|BLOCK-DEVICE…: these as LUNs 0, 1, … of the kernel's iSCSI target, for all initiators, in portal group 1
iscsi_target() {
	local iqn=$1 group="$lio/iscsi/$1/tpgt_1" lun=0 disk
	modprobe -a target_core_mod target_core_file iscsi_target_mod
	mkdir -p "$lio/iscsi" "$lio/iscsi/$iqn" "$group"
	echo 0 >"$group/attrib/authentication"
	echo 1 >"$group/attrib/generate_node_acls"
	echo 0 >"$group/attrib/demo_mode_write_protect"
	shift
	for file; do
		disk=$lio/core/fileio_1/${file##*/}
		[ ! -b "$file" ] || disk=$lio/core/iblock_1/${file##*/}
		[ ! -b "$file" ] || modprobe target_core_iblock
		if [ ! -d "$disk" ]; then
			mkdir -p "$disk"
			if [ -b "$file" ]; then
				echo "udev_path=$file" >"$disk/control"
			else
				echo "fd_dev_name=$file,fd_dev_size=$(stat -c %s "$file")" >"$disk/control"
			fi
			echo "5e5f0a4c-0d60-4a52-9b3a-${file##*/}" >"$disk/wwn/vpd_unit_serial"
			echo 1 >"$disk/enable"
		fi
		mkdir "$group/lun/lun_$lun"
		ln -s "$disk" "$group/lun/lun_$lun/s0"
		lun=$((lun + 1))
	done
	echo 1 >"$group/enable"
}

# iscsi_group IQN NUMBER: another portal group of the target, with the disk of /run/disk
iscsi_group() {
	local group="$lio/iscsi/$1/tpgt_$2"
	mkdir "$group" "$group/lun/lun_0"
	echo 0 >"$group/attrib/authentication"
	echo 1 >"$group/attrib/generate_node_acls"
	echo 0 >"$group/attrib/demo_mode_write_protect"
	ln -s $lio/core/fileio_1/disk "$group/lun/lun_0/s0"
	echo 1 >"$group/enable"
}

# iscsi_portal IQN ADDRESS:PORT [iser]
iscsi_portal() {
	mkdir "$lio/iscsi/$1/tpgt_1/np/$2"
	[ -z "${3:-}" ] || { modprobe ib_isert; echo 1 >"$lio/iscsi/$1/tpgt_1/np/$2/iser"; }
}

# iscsi_chap IQN USER SECRET; iscsi_serves IQN 0|1: 0 ends all connections and refuses others
iscsi_chap() {
	local group="$lio/iscsi/$1/tpgt_1"
	echo 1 >"$group/attrib/authentication"
	printf %s "$2" >"$group/auth/userid"
	printf %s "$3" >"$group/auth/password"
}
iscsi_serves() { echo "$2" >"$lio/iscsi/$1/tpgt_1/enable"; }

# iscsi_away IQN SESSIONS SECONDS: disable the target for SECONDS, once SESSIONS of the export are logged in: LIO never ends a session
# that is still logging in, and each later login of it waits for that end. The export stands still meanwhile: LIO may wait forever for
# a session whose other end closes it at the same time.
iscsi_away() {
	wait_for 30 iscsi_sessions "$1" "$2"
	kill -STOP "$export_pid"
	iscsi_serves "$1" 0
	kill -CONT "$export_pid"
	sleep "$3"
	iscsi_serves "$1" 1
}
iscsi_sessions() { [ "$(cat "$lio/iscsi/$1/fabric_statistics/iscsi_instance/sessions")" = "$2" ]; }

# iscsi_is STATE: of all sessions of this machine
iscsi_is() { [ "$(cat /sys/class/iscsi_session/session*/state | sort -u)" = "$1" ]; }

# iscsi_load DISK FILE: writes it all the time until $own/enough is there; its status is that of the first write that failed
iscsi_load() {
	while [ ! -e "$own/enough" ]; do
		dd if="$2" of="$1" bs=64k oflag=direct 2>/dev/null || return 1
	done
}

# the monitor's pid; no monitor runs; the monitor has logged this
monitor_pid() { sed -n 's/.*FLOCK *ADVISORY *WRITE \([0-9]*\) .*/\1/p' /proc/locks; }
no_monitor() { [ -z "$(monitor_pid)" ] && ! pidof iscsi-monitor; }
monitor_logged() { dmesg | grep -q "rdmastor\[[0-9]*\]: monitor: $1"; }
