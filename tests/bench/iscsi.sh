# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Our iSCSI target over TCP on this machine: compared with a bare socket without a protocol, both sides polling on a CPU each,
# and both on one CPU with nothing set; then against tgt, under our initiator and under libiscsi's. In a VM against the kernel's: the
# scenario tests/vm/bench-tgt-iscsi.
# shellcheck shell=bash disable=SC2154 # from run

secs=0.5 # of one figure
iqn=iqn.2024-01.bench:d
head -c 64M /dev/urandom >"$tmp/disk"

# serve CPU DISK… [OPTION…]: LUNs 0 and up of one target at port 4435; ready once it says so
serve() {
	local cpu=$1 disk names=()
	shift
	for disk; do [[ $disk == --* ]] && break; names+=(--iqn "$iqn"); done
	taskset -c "$cpu" "$RDMASTOR" serve "${@:1:$((${#names[@]} / 2))}" --iscsi --tcp 127.0.0.1:4435 "${names[@]}" "${@:$((${#names[@]} / 2 + 1))}" \
		--ready-fd 3 3>"$tmp/ready" >"$tmp/serve.log" 2>&1 &
	pids+=($!)
	for _ in {1..200}; do
		[ ! -s "$tmp/ready" ] || { rm "$tmp/ready"; return 0; }
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	cat "$tmp/serve.log" >&2
	return 1
}

# tgt CPU: the same file as LUN 1 at port 4434
tgt() {
	admin() { tgtadm -C 7 --lld iscsi "$@" 2>/dev/null; }
	mkdir -p /run/tgtd
	taskset -c "$1" tgtd -f -C 7 --iscsi portal=127.0.0.1:4434 >"$tmp/tgt.log" 2>&1 &
	pids+=($!)
	for _ in {1..100}; do
		! admin --op show --mode sys >"$tmp/admin" || break
		sleep 0.05
	done
	admin --op new --mode target --tid 1 -T "$iqn"
	admin --op new --mode logicalunit --tid 1 --lun 1 -b "$tmp/disk"
	admin --op bind --mode target --tid 1 -I ALL
}

end_targets() {
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid"
		[ "$(cat "/proc/$pid/comm")" != tgtd ] || kill -9 "$pid" # it leaves no sooner
		wait "$pid" || true
	done 2>/dev/null
	pids=()
}

ours=iscsi://127.0.0.1:4435/$iqn theirs=iscsi://127.0.0.1:4434/$iqn/1
# client WHO URI: one row of the caller's cell
client() { bench_load "$cell" "$1" "$metric" taskset -c 0 "$RDMASTOR" bench "$2" --runtime $secs --bs "$bs" --iodepth "$depth" --poll-us "$poll"; }
# perf WHO URI: of libiscsi, which prints an average
perf() {
	local rate
	rate=$(taskset -c 0 iscsi-perf -r -m "$depth" -b 8 -t 1 "$2" | tr '\r' '\n' | sed -nE 's/^iops average ([0-9]+) .*/\1/p' | tail -n 1)
	[ -n "$rate" ] || { echo "bench: $cell: iscsi-perf against $1 gave no figures" >&2; return 1; }
	emit "$cell" "$1" iops "$rate"
}

# floor_cell TEXT METRIC BYTES DEPTH
floor_cell() {
	local cell="$1, $where" metric=$2 bs=$3 depth=$4
	load "$cell" "socket alone" "$metric" floor tcp=1 spin="$spin" client=0 server="$cpu" seconds=$secs bs="$bs" qd="$depth"
	client "rdmastor serve null:" "$ours/0"
	client "rdmastor serve ram:" "$ours/1"
}

# placement TEXT POLL-US SPIN SERVER-CPU OPTION…
placement() {
	local where=$1 poll=$2 spin=$3 cpu=$4
	serve "$cpu" null:1G ram:64M "${@:5}"
	"$RDMASTOR" copy -q "$tmp/disk" "$ours/1" >/dev/null
	for ((round = 1; round <= rounds; round++)); do
		echo "iscsi, $where: round $round of $rounds" >&2
		floor_cell "4 KiB random read QD1" iops 4096 1
		floor_cell "4 KiB random read QD32" iops 4096 32
		floor_cell "128 KiB random read QD8" mib_s 131072 8
	done
	end_targets
}

placement "polling, a CPU each" 1000 1 1 --poll-us 1000
placement "both on CPU 0" 0 0 0

# compare_tgt TEXT SERVER-CPU: no options set, as tgt can't poll; the disk is one file in tmpfs, and ram: for ours
compare_tgt() {
	local where=$1 depth metric=iops bs=4096 poll=0
	serve "$2" "$tmp/disk" ram:64M
	"$RDMASTOR" copy -q "$tmp/disk" "$ours/1" >/dev/null
	tgt "$2"
	for ((round = 1; round <= rounds; round++)); do
		echo "iscsi, against tgt, $where: round $round of $rounds" >&2
		for depth in 1 32; do
			cell="4 KiB random read QD$depth by rdmastor bench, $where"
			client "rdmastor serve FILE" "$ours/0"
			client "rdmastor serve ram:" "$ours/1"
			client "tgt FILE" "$theirs"
			cell="4 KiB random read QD$depth by iscsi-perf, $where"
			perf "rdmastor serve FILE" "$ours/0"
			perf "tgt FILE" "$theirs"
		done
	done
	end_targets
}

compare_tgt "a CPU each, asleep" 1
compare_tgt "both on CPU 0, asleep" 0
