# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Our NVMe-oF target and initiator over TCP sockets on this machine, held against what such a socket can do without a protocol:
# one connection, client and server on a CPU each and polling, and both on one CPU with nothing set.
# shellcheck shell=bash disable=SC2154 # from run

secs=0.5 # of one figure
nqn=nqn.2014-08.org.nvmexpress:uuid:72646d61-7374-6f72-2062-656e63682032
head -c 256M /dev/urandom >"$tmp/disk"

# target DISK CPUS PORT OPTION…: ready once it says so
target() {
	taskset -c "$2" "$RDMASTOR" serve "$1" --nvmf --nqn "$nqn" --tcp "127.0.0.1:$3" --rdma "127.0.0.1:$3?rdma=iwarp&crc=0" --ready-fd 3 "${@:4}" \
		3>"$tmp/ready" >"$tmp/target.log" 2>&1 &
	pids+=($!)
	for _ in {1..200}; do
		[ ! -s "$tmp/ready" ] || { rm "$tmp/ready"; return 0; }
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	cat "$tmp/target.log" >&2
	return 1
}

# ours WHO URI: one row of the caller's cell
ours() { bench_load "$cell" "$1" "$metric" taskset -c 0 "$RDMASTOR" bench "$2" --runtime $secs --bs "$bs" --iodepth "$depth" --poll-us "$poll"; }

# queues CARRIER URI: the same load through one queue and through two, each with a thread on either side
queues() {
	local jobs
	for jobs in 1 2; do
		bench_load "$cell" "rdmastor $1, $jobs queue$([ $jobs = 1 ] || echo s)" iops "$RDMASTOR" bench "$2" --runtime $secs --iodepth $((32 / jobs)) --numjobs $jobs
	done
}

# cells TEXT METRIC BYTES DEPTH POLL-US SPIN SERVER-CPU: every carrier and disk, and the floor of this round
cells() {
	local cell="$1, $where" metric=$2 bs=$3 depth=$4 poll=$5
	load "$cell" "socket alone" "$metric" floor tcp=1 spin="$6" client=0 server="$7" seconds=$secs bs="$bs" qd="$depth"
	ours "rdmastor nvme/tcp" "nvme+tcp://127.0.0.1:4431/$nqn"
	ours "rdmastor iwarp" "nvme+rdma://127.0.0.1:4431/$nqn?rdma=iwarp"
	ours "rdmastor iwarp, no CRC" "nvme+rdma://127.0.0.1:4431/$nqn?rdma=iwarp&crc=0"
	ours "rdmastor nvme/tcp ram" "nvme+tcp://127.0.0.1:4432/$nqn"
	ours "rdmastor iwarp ram" "nvme+rdma://127.0.0.1:4432/$nqn?rdma=iwarp"
}

end_targets() {
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid"
		wait "$pid" || true
	done
	pids=()
}

# placement TEXT POLL-US SPIN SERVER-CPU OPTION…
placement() {
	local where=$1 args=("$2" "$3" "$4")
	target null:1G "$4" 4431 "${@:5}"
	target ram:256M "$4" 4432 "${@:5}"
	"$RDMASTOR" copy -q "$tmp/disk" "nvme+tcp://127.0.0.1:4432/$nqn" >/dev/null
	for ((round = 1; round <= rounds; round++)); do
		echo "net, $where: round $round of $rounds" >&2
		cells "4 KiB random read QD1" iops 4096 1 "${args[@]}"
		cells "4 KiB random read QD32" iops 4096 32 "${args[@]}"
		cells "128 KiB random read QD8" mib_s 131072 8 "${args[@]}"
	done
	end_targets
}

placement "polling, a CPU each" 1000 1 1 --poll-us 1000
placement "both on CPU 0" 0 0 0
rm "$tmp/disk"

target null:1G "0-$(($(nproc) - 1))" 4431 --queues 2
for ((round = 1; round <= rounds; round++)); do
	echo "net, queues: round $round of $rounds" >&2
	cell="4 KiB random read, 32 in flight, $(nproc) CPUs, not pinned, nothing set"
	load "$cell" "socket alone" iops floor tcp=1 qd=32 seconds=$secs
	queues nvme/tcp "nvme+tcp://127.0.0.1:4431/$nqn"
	queues iwarp "nvme+rdma://127.0.0.1:4431/$nqn?rdma=iwarp"
done
end_targets
