# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The part of a figure in a VM that runs in the guest: our initiator and the kernel's at one target of the kernel's, and our target
# and the kernel's under one initiator of the kernel's. The disk is null_blk, which costs nothing. What the kernel's initiator does
# is measured by fio on its block device.
# shellcheck shell=dash disable=SC2154 # from tests/vm/lib.sh

rounds=5
secs=1
fio_out=/run/fio.out

# fio_kernel CELL WHO DEVICE DEPTH [FIO-OPTION…]; fio_ours CELL DEPTH
fio_kernel() {
	fio_load "$1" "$2" "" --ioengine=io_uring --direct=1 --filename="$3" --iodepth="$4" --runtime=${secs}s ${5:+"$5"}
}
fio_ours() { fio_load "$1" "rdmastor export, fio nbd" "" --ioengine=nbd --uri="$nbd" --size=1G --iodepth="$2" --runtime=${secs}s; }

# compare_initiators rdma|tcp: the target listens at 10.0.0.1:4420
compare_initiators() {
	uri=nvme+$1://10.0.0.1:4420/t1/1
	modprobe null_blk nr_devices=1 queue_mode=2 irqmode=0 gb=1 bs=512
	nvmet_subsystem t1 /dev/nullb0
	nvmet_port 1 "$1" 10.0.0.1 4420
	nvmet_link 1 t1
	device=$(kernel_connect "$1" 10.0.0.1 4420 t1)
	export_start "$uri?queues=1"
	round=1
	while [ $round -le $rounds ]; do
		for depth in 1 32; do
			cell="nvme over $1 in a VM: 4 KiB random read QD$depth, 2 CPUs, not pinned"
			bench_load "$cell" "rdmastor in process" iops rdmastor bench "$uri" --iodepth $depth --runtime $secs --poll-us 0
			fio_kernel "$cell" "kernel, fio io_uring" "$device" $depth
			fio_ours "$cell" $depth
			load "$cell" "rdmastor export, nbd-load" iops nbd-load /run/nbd.sock qd=$depth seconds=$secs
		done
		cell="nvme over $1 in a VM: discovery, exec to exit"
		exec_to_exit "$cell" "rdmastor nvmf-discover" 5 0 rdmastor nvmf-discover -t "$1" -a 10.0.0.1 -s 4420 -q "$hostnqn"
		exec_to_exit "$cell" "nvme discover" 5 0 nvme discover -t "$1" -a 10.0.0.1 -s 4420 -q "$hostnqn" -I "$hostid"
		round=$((round + 1))
	done
	passed "$((round - 1)) rounds of figures"
	check "SIGTERM ends the export cleanly" export_stop
}

# host_of rdma|tcp PORT NQN NUMBER: the kernel's initiator, which names its disks in the order it meets them
host_of() {
	nvme connect -t "$1" -a 10.0.0.1 -s "$2" -n "$3" -q "$hostnqn" -I "$hostid" >/dev/null
	wait_for 20 test -b "/dev/nvme$4n1"
}

# compare_targets rdma|tcp ADDRESS-OPTION…: of serve, at 10.0.0.1:4421
compare_targets() {
	kind=$1
	shift
	modprobe "nvme-$kind"
	modprobe null_blk nr_devices=2 queue_mode=2 irqmode=0 gb=1 bs=512
	nvmet_subsystem t1 /dev/nullb0
	nvmet_port 1 "$kind" 10.0.0.1 4420
	nvmet_link 1 t1
	serve_start /dev/nullb1 null:1G --nvmf --nqn nqn.disk --nqn nqn.null "$@"
	host_of "$kind" 4420 t1 0
	host_of "$kind" 4421 nqn.disk 1
	host_of "$kind" 4421 nqn.null 2
	round=1
	while [ $round -le $rounds ]; do
		for depth in 1 32; do
			cell="kernel's initiator, nvme over $kind in a VM: 4 KiB random read QD$depth, 2 CPUs, not pinned"
			fio_kernel "$cell" "kernel nvmet" /dev/nvme0n1 $depth
			fio_kernel "$cell" "rdmastor serve" /dev/nvme1n1 $depth
			fio_kernel "$cell" "rdmastor serve null:" /dev/nvme2n1 $depth
		done
		round=$((round + 1))
	done
	passed "$((round - 1)) rounds of figures"
	nvme disconnect-all >/dev/null
	check "SIGTERM ends the target cleanly" serve_stop
}

# secured_host_of PORT NQN NUMBER: the same with TLS; tls-daemon does the handshakes of both ends
secured_host_of() {
	rdmastor nvmf-connect "nvme+tcp://10.0.0.1:$1/$2" -q "$hostnqn" -I "$hostid" --tls-key-file /run/key --monitor off >/dev/null
	wait_for 20 test -b "/dev/nvme$3n1"
}

# compare_tls: our initiator and the kernel's at the kernel's target, then our target and the kernel's under the kernel's initiator,
# with AES-128-GCM, which the key decides
compare_tls() {
	echo NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ: >/run/key
	echo "$hostnqn tls=$(cat /run/key)" >/run/hosts
	chmod 600 /run/key /run/hosts
	modprobe -a tls nvme-tcp
	modprobe null_blk nr_devices=2 queue_mode=2 irqmode=0 gb=1 bs=512
	nvmet_subsystem t1 /dev/nullb0
	nvmet_port 1 tcp 10.0.0.1 4420
	echo tls1.3 >"$nvmet/ports/1/addr_tsas"
	nvmet_link 1 t1
	serve_start /dev/nullb1 null:1G --nvmf --nqn nqn.disk --nqn nqn.null --tcp 10.0.0.1:4421 --hosts-file /run/hosts
	rdmastor tls-daemon --ready-fd 3 3>/run/ready &
	daemon=$!
	wait_for 10 [ -s /run/ready ]
	secured_host_of 4420 t1 0
	secured_host_of 4421 nqn.disk 1
	secured_host_of 4421 nqn.null 2
	uri="nvme+tcp://10.0.0.1:4420/t1/1?hostnqn=$hostnqn&tls-key-file=/run/key"
	passed "the kernel's AES-GCM: $(awk '/^name/ { name = $3 } /^driver/ && name == "gcm(aes)" { print $3 }' /proc/crypto | tr '\n' ' ')"
	round=1
	while [ $round -le $rounds ]; do
		for load in "4 KiB 1" "4 KiB 32" "128 KiB 8"; do
			size=${load% *} depth=${load##* }
			bs=${size% *}k
			cell="nvme over tcp with TLS in a VM: $size random read QD$depth, 2 CPUs, not pinned"
			bench_load "$cell" "rdmastor in process" iops rdmastor bench "$uri" --bs "$bs" --iodepth "$depth" --runtime $secs --poll-us 0
			fio_kernel "$cell" "kernel, fio io_uring" /dev/nvme0n1 "$depth" "--bs=$bs"
			cell="kernel's initiator, nvme over tcp with TLS in a VM: $size random read QD$depth, 2 CPUs, not pinned"
			fio_kernel "$cell" "kernel nvmet" /dev/nvme0n1 "$depth" "--bs=$bs"
			fio_kernel "$cell" "rdmastor serve" /dev/nvme1n1 "$depth" "--bs=$bs"
			fio_kernel "$cell" "rdmastor serve null:" /dev/nvme2n1 "$depth" "--bs=$bs"
			cell="TLS records on a socket alone in a VM: answers of $size, QD$depth, 2 CPUs, not pinned"
			for engine in own kernel none; do
				load "$cell" "tls=$engine" iops floor tcp=1 tls=$engine bs=$((${size% *} * 1024)) qd="$depth" seconds=$secs
			done
		done
		round=$((round + 1))
	done
	passed "$((round - 1)) rounds of figures"
	rdmastor nvmf-disconnect --all >/dev/null
	kill $daemon
	check "SIGTERM ends the target cleanly" serve_stop
}

# null_lun: LUN 1 of the kernel's target $t1 is LIO's ram disk that neither reads nor writes; needs iscsi.sh
null_lun() {
	mkdir -p $lio/core/rd_mcp_0/null
	echo rd_pages=262144,rd_nullio=1 >$lio/core/rd_mcp_0/null/control
	echo 1 >$lio/core/rd_mcp_0/null/enable
	mkdir "$lio/iscsi/$t1/tpgt_1/lun/lun_1"
	ln -s $lio/core/rd_mcp_0/null "$lio/iscsi/$t1/tpgt_1/lun/lun_1/s1"
}

# iscsi_perf CELL WHO URI DEPTH: of libiscsi, which prints an average
iscsi_perf() {
	perf=$(iscsi-perf -r -m "$4" -b 8 -t $secs "$3" 2>&1 | tr '\r' '\n' | sed -nE 's/^iops average ([0-9]+) .*/\1/p' | tail -n 1)
	[ -n "$perf" ] || { echo "bench: $1: $2 gave no figures" >&2; return 1; }
	emit "$1" "$2" iops "$perf"
}

# compare_iser: our initiator, the kernel's and libiscsi's at the kernel's target
compare_iser() {
	disk_random /run/disk 4
	iscsi_target "$t1" /run/disk
	null_lun
	iscsi_portal "$t1" 10.0.0.1:3260 iser
	uri=iser://10.0.0.1/$t1/1
	login "iser://10.0.0.1/$t1" >/dev/null
	theirs=$(login --print dev "$uri")
	round=1
	while [ $round -le $rounds ]; do
		for depth in 1 32; do
			cell="iser in a VM: 4 KiB random read QD$depth, 2 CPUs, not pinned"
			bench_load "$cell" "rdmastor in process" iops rdmastor bench "$uri" --iodepth $depth --runtime $secs --poll-us 0
			fio_kernel "$cell" "kernel ib_iser, fio io_uring" "$theirs" $depth
			iscsi_perf "$cell" "libiscsi iscsi-perf" "$uri" $depth
		done
		round=$((round + 1))
	done
	passed "$((round - 1)) rounds of figures"
	logout "iser://10.0.0.1/$t1"
}

# compare_iscsi_targets iscsi|iser LISTEN-OPTION: of serve, at 10.0.0.1:3261; a file in memory each, then a disk of zeroes each; needs
# iscsi.sh
compare_iscsi_targets() {
	scheme=$1
	shift
	disk_random /run/disk 64
	cp /run/disk /run/other
	iscsi_target "$t1" /run/disk
	null_lun
	iscsi_portal "$t1" 10.0.0.1:3260 "${scheme#iscsi}"
	serve_start /run/other null:1G --iscsi "$@" --iqn "$t2" --iqn "$t2"
	login "$scheme://10.0.0.1/$t1" >/dev/null
	login "$scheme://10.0.0.1:3261/$t2" >/dev/null
	round=1
	while [ $round -le $rounds ]; do
		for depth in 1 32; do
			for disk in "0 file in memory" "1 disk of zeroes"; do
				cell="kernel's initiator, $scheme in a VM, a ${disk#* }: 4 KiB random read QD$depth, 2 CPUs, not pinned"
				fio_kernel "$cell" "kernel LIO" "$(login --print dev "$scheme://10.0.0.1/$t1/${disk%% *}")" $depth
				fio_kernel "$cell" "rdmastor serve" "$(login --print dev "$scheme://10.0.0.1:3261/$t2/${disk%% *}")" $depth
			done
		done
		round=$((round + 1))
	done
	passed "$((round - 1)) rounds of figures"
	logout "$scheme://10.0.0.1/$t1" "$scheme://10.0.0.1:3261/$t2"
	check "SIGTERM ends the target cleanly" serve_stop
}

# compare_srp: our initiator and the kernel's at the kernel's target, and our target and the kernel's under the kernel's initiator.
# The kernel's disk is LIO's ram disk that neither reads nor writes, ours is null:.
compare_srp() {
	srpt_up null
	guid=$(sed s/0x// /sys/module/ib_srpt/parameters/srpt_service_guid)
	uri=srp+cm://10.0.0.1:5555/$guid/$guid/0
	serve_start null:1G --srp --rdma '10.0.0.1:5556?rdma=verbs'
	theirs=$(rdmastor srp-connect --print dev "id_ext=$guid,ioc_guid=$guid,dest=10.0.0.1:5555")
	own=$(rdmastor srp-connect --print dev "$(sed -n 's/^ *add_target: *//p' /run/serve.out)")
	round=1
	while [ $round -le $rounds ]; do
		for depth in 1 32; do
			cell="srp in a VM: 4 KiB random read QD$depth, 2 CPUs, not pinned"
			bench_load "$cell" "rdmastor in process" iops rdmastor bench "$uri" --iodepth $depth --runtime $secs --poll-us 0
			fio_kernel "$cell" "kernel ib_srp, fio io_uring" "$theirs" $depth
			cell="kernel's initiator, srp in a VM: 4 KiB random read QD$depth, 2 CPUs, not pinned"
			fio_kernel "$cell" "kernel ib_srpt" "$theirs" $depth
			fio_kernel "$cell" "rdmastor serve null:" "$own" $depth
		done
		round=$((round + 1))
	done
	passed "$((round - 1)) rounds of figures"
	rdmastor srp-disconnect --all
	check "SIGTERM ends the target cleanly" serve_stop
}

# fio_device CELL WHO DEVICE DEPTH
fio_device() { fio_load "$1" "$2" "" --ioengine=libaio --direct=1 --filename="$3" --iodepth="$4" --runtime=${secs}s; }

# device_of WORD DISK OPTION…: a process of ours behind /dev/WORDN, which is printed
device_of() {
	word=$1
	shift
	mkfifo "/run/ready.$word"
	rdmastor export "$@" --ready-fd 4 4>"/run/ready.$word" >"/run/out.$word" 2>/dev/null &
	read -r _ <"/run/ready.$word"
	rm "/run/ready.$word"
	sed -n 's/^\(\/dev\/[a-z0-9]*\): .*/\1/p' "/run/out.$word"
}

# device_of_qemu N OPTION…: what qemu-nbd serves, as /dev/nbdN of nbd-client
device_of_qemu() {
	n=$1
	shift
	qemu-nbd --fork --persistent --shared=4 --socket="/run/qemu$n" "$@"
	nbd-client -unix "/run/qemu$n" "/dev/nbd$n" >/dev/null 2>&1
}

# rounds_of CELL, and for each device: WHO DEVICE
rounds_of() {
	what=$1
	shift
	round=1
	while [ $round -le $rounds ]; do
		for depth in 1 32; do
			cell="block device over $what in a VM: 4 KiB random read QD$depth, 2 CPUs, not pinned"
			left=$#
			while [ "$left" -gt 0 ]; do
				fio_device "$cell" "$1" "$2" $depth
				set -- "$@" "$1" "$2"
				shift 2
				left=$((left - 2))
			done
		done
		round=$((round + 1))
	done
}

compare_devices() {
	modprobe nbd
	set -- "rdmastor --nbd-dev" "$(device_of a null:1G --nbd-dev 0)" "rdmastor --ublk" "$(device_of b null:1G --ublk 0)"
	device_of_qemu 1 --image-opts driver=null-co,size=1G,read-zeroes=on
	rounds_of "memory of zeroes" "$@" "qemu-nbd, nbd-client" /dev/nbd1
	uri=nvme+rdma://10.0.0.1:4420/t1/1
	modprobe null_blk nr_devices=1 queue_mode=2 irqmode=0 gb=1 bs=512
	nvmet_subsystem t1 /dev/nullb0
	nvmet_port 1 rdma 10.0.0.1 4420
	nvmet_link 1 t1
	kernels=$(kernel_connect rdma 10.0.0.1 4420 t1)
	set -- "rdmastor --nbd-dev" "$(device_of c "$uri" --nbd-dev 2)" "rdmastor --ublk" "$(device_of d "$uri" --ublk 1)"
	device_of_qemu 3 -f raw --cache=none --aio=native "$kernels"
	rounds_of "nvme+rdma" "$@" "qemu-nbd on nvme-rdma, nbd-client" /dev/nbd3 "nvme-rdma" "$kernels"
	passed "$rounds rounds of figures"
}
