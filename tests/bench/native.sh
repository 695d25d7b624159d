# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# NBD servers on this machine over a unix socket, in three placements; every server holds the same bytes in memory of its own. Then NBD
# clients that copy from one server. At last the servers over TLS, with pre-shared keys.
# shellcheck shell=bash disable=SC2154 # from run

free_kb=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)
size=1G mib=1024
[ "$free_kb" -gt 7000000 ] || { size=256M mib=256; echo "bench: less than 7 GB free: disks of $size" >&2; }
secs=0.5 # of one figure; of fio's too

# server NAME CPUS COMMAND…: started on these CPUs ("" = wherever it likes); ready when its socket is there
declare -A pid
server() {
	local name=$1 pin=()
	[ -z "$2" ] || pin=(taskset -c "$2")
	"${pin[@]}" "${@:3}" >"$tmp/$name.log" 2>&1 &
	pid[$name]=$!
	pids+=($!)
	for _ in {1..200}; do
		[ ! -S "$tmp/$name" ] || return 0
		kill -0 "${pid[$name]}" 2>/dev/null || break
		sleep 0.05
	done
	cat "$tmp/$name.log" >&2
	echo "bench: $name does not serve" >&2
	return 1
}

stop_servers() {
	local name
	for name in "${!pid[@]}"; do
		kill "${pid[$name]}"
		wait "${pid[$name]}" || true
		rm -f "$tmp/$name"
	done
	pid=() pids=()
}

tls="" # or "yes"
uri() { echo "nbd${tls:+s}+unix://${tls:+alice@}/?socket=$tmp/$1${tls:+&tls-psk-file=$tmp/keys.psk}"; }

# One copy of the disk is qemu-nbd's; the others are filled from it, as what was never written is not read from memory.
start_servers() {
	local cpus=$1 name
	server rdmastor "$cpus" "$RDMASTOR" export "ram:$size" --nbd "unix:$tmp/rdmastor" ${tls:+--tls-psk-file "$tmp/keys.psk"}
	server nbdkit "$cpus" nbdkit -f -U "$tmp/nbdkit" ${tls:+--tls=require --tls-psk="$tmp/keys.psk"} memory allocator=malloc "$size"
	server qemu-nbd "$cpus" qemu-nbd -t -e 16 -f raw -k "$tmp/qemu-nbd" \
		${tls:+--object "tls-creds-psk,id=tls,dir=$tmp,endpoint=server" --tls-creds tls} "$tmp/disk"
	for name in "${!pid[@]}"; do
		[ "$name" = qemu-nbd ] || nbdcopy "$tmp/disk" "$(uri "$name")"
	done
}

# copy CELL WHO PREFIX
copy() {
	local start=${EPOCHREALTIME/[.,]/} end
	# shellcheck disable=SC2086 # words are wanted
	$3 nbdcopy "$(uri "$2")" null: || return
	end=${EPOCHREALTIME/[.,]/}
	emit "$1" "$2" mib_s $((mib * 1000000 / (end - start)))
}

# socket_floor CELL CLIENT-CPU SERVER-CPU ARGUMENT…: the bound for the first two kinds of cell
socket_floor() {
	[ -z "$2" ] || load "$1" "socket alone" "$4" floor "${@:5}" client="$2" server="$3" seconds=0.3
}

# placement TEXT CLIENT-CPU SERVER-CPU
placement() {
	local where=$1 pin="" names=(rdmastor nbdkit qemu-nbd) n
	[ -z "$2" ] || pin="taskset -c $2"
	start_servers "$3"
	for ((round = 1; round <= rounds; round++)); do
		echo "native, $where: round $round of $rounds" >&2
		for n in "${names[@]}"; do load "4 KiB random read QD1, $where" "$n" iops $pin nbd-load "$tmp/$n" qd=1 seconds=$secs; done
		socket_floor "4 KiB random read QD1, $where" "$2" "$3" iops qd=1
		for n in "${names[@]}"; do load "4 KiB random read QD32, $where" "$n" iops $pin nbd-load "$tmp/$n" qd=32 seconds=$secs; done
		socket_floor "4 KiB random read QD32, $where" "$2" "$3" iops qd=32
		[ -n "$2" ] || continue
		for n in "${names[@]}"; do
			fio_load "4 KiB random read QD1, fio, $where" "$n" "$pin" --ioengine=nbd --uri="$(uri "$n")" --iodepth=1 --runtime=500ms
		done
		for n in "${names[@]}"; do
			fio_load "4 KiB random read QD32, fio, $where" "$n" "$pin" --ioengine=nbd --uri="$(uri "$n")" --iodepth=32 --runtime=500ms
		done
		for n in "${names[@]}"; do load "256 KiB random read QD8, $where" "$n" mib_s $pin nbd-load "$tmp/$n" bs=262144 qd=8 seconds=$secs; done
		socket_floor "256 KiB random read QD8, $where" "$2" "$3" mib_s bs=262144 qd=8
		for n in "${names[@]}"; do copy "nbdcopy $size to null:, $where" "$n" "$pin"; done
	done
	stop_servers
}

# timed CELL WHO COMMAND…: a copy of the whole disk
timed() {
	local cell=$1 who=$2 start=${EPOCHREALTIME/[.,]/} end
	"${@:3}" >/dev/null || return
	end=${EPOCHREALTIME/[.,]/}
	emit "$cell" "$who" mib_s $((mib * 1000000 / (end - start)))
}

# What a client asks for is its own affair: nbdcopy makes four connections and as many threads, the others have one.
clients() {
	local from cell
	from=$(uri nbdkit)
	server nbdkit "" nbdkit -f -U "$tmp/nbdkit" memory allocator=malloc "$size"
	nbdcopy "$tmp/disk" "$from"
	for ((round = 1; round <= rounds; round++)); do
		echo "native, clients: round $round of $rounds" >&2
		cell="copy $size from nbdkit, read only"
		timed "$cell" "rdmastor copy" "$RDMASTOR" copy -q "$from" "null:$size"
		timed "$cell" nbdcopy nbdcopy "$from" null:
		timed "$cell" "qemu-img convert" qemu-img convert -n --image-opts --target-image-opts "driver=nbd,server.type=unix,server.path=$tmp/nbdkit" \
			"driver=null-co,size=$size"
		cell="copy $size from nbdkit to a file"
		timed "$cell" "rdmastor copy" "$RDMASTOR" copy -q "$from" "$tmp/to"
		rm "$tmp/to"
		timed "$cell" nbdcopy nbdcopy "$from" "$tmp/to"
		rm "$tmp/to"
		timed "$cell" "qemu-img convert" qemu-img convert -f raw -O raw "$from" "$tmp/to"
		rm "$tmp/to"
	done
	stop_servers
}

# Our client reads with AES-128-GCM; nbdcopy agrees on a suite with each server.
over_tls() {
	local n
	(umask 077; echo "alice:$(head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n')" >"$tmp/keys.psk")
	tls=yes
	start_servers 1
	for ((round = 1; round <= rounds; round++)); do
		echo "native, TLS: round $round of $rounds" >&2
		for n in rdmastor nbdkit qemu-nbd; do
			bench_load "4 KiB random read QD1 over TLS, a CPU each" "$n" iops taskset -c 0 "$RDMASTOR" bench "$(uri "$n")" --iodepth 1 --runtime 1
			copy "nbdcopy $size to null: over TLS, a CPU each" "$n" "taskset -c 0"
		done
	done
	stop_servers
	tls=""
}

head -c 64M /dev/urandom >"$tmp/part"
for ((i = 0; i < mib; i += 64)); do cat "$tmp/part"; done >"$tmp/disk"
rm "$tmp/part"
placement "client on CPU 0, server on CPU 1" 0 1
placement "both on CPU 0" 0 0
placement "not pinned" "" ""
clients
over_tls
rm "$tmp/disk"
