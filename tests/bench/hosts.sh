# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# How the cost of our servers grows with their hosts: 1 host, then 100 and 1,000 connections, on this machine. CPU time of the server for a
# read of 4 KiB at QD1, of one host while the others are idle, and of all at once; memory for each connection. Compared with nbdkit and tgt.
# NVMe has two connections for each host (admin and I/O), our iSCSI initiator two sessions. Server on CPU 1, hosts on CPU 0, asleep.
# shellcheck shell=bash disable=SC2154 # from run

ulimit -n "$(ulimit -H -n)"
reads=2000 # of one figure
port=4436
nqn=nqn.2014-08.org.nvmexpress:uuid:72646d61-7374-6f72-2062-656e63682032
iqn=iqn.2024-01.bench:d

# server COMMAND…: ready once it listens
server() {
	taskset -c 1 "$@" >"$tmp/server.log" 2>&1 &
	pids=($!)
	for _ in {1..200}; do
		[ -z "$(ss -Hltn "sport = :$port")" ] || return 0
		kill -0 "${pids[0]}" 2>/dev/null || break
		sleep 0.05
	done
	cat "$tmp/server.log" >&2
	echo "bench: no server at port $port: $1" >&2
	return 1
}

# as tgtadm makes the target once tgtd serves
tgt() {
	admin() { tgtadm -C 7 --lld iscsi "$@" 2>/dev/null; }
	mkdir -p /run/tgtd
	server tgtd -f -C 7 --iscsi portal=127.0.0.1:$port
	for _ in {1..100}; do
		! admin --op show --mode sys >"$tmp/admin" || break
		sleep 0.05
	done
	admin --op new --mode target --tid 1 -T "$iqn"
	admin --op new --mode logicalunit --tid 1 --lun 1 -b "$tmp/disk"
	admin --op bind --mode target --tid 1 -I ALL
}

end_server() {
	kill "${pids[0]}"
	[ "$(cat "/proc/${pids[0]}/comm")" != tgtd ] || kill -9 "${pids[0]}" # it leaves no sooner
	wait "${pids[0]}" || true
	pids=()
} 2>/dev/null

# measure PROTOCOL WHO CONNECTIONS-OF-A-HOST URI: of the server that runs, then end it
measure() {
	local hosts one all idle used used_locked where=$1 who=$2 each=$3
	taskset -c 0 hosts "${pids[0]}" "$4" $reads 1 $((100 / each)) $((1000 / each)) >"$tmp/hosts" || return
	while read -r hosts one all idle _ used used_locked; do
		cell="$where, $((hosts * each)) connections"
		[ "$hosts" != 1 ] || cell="$where, $each connections of one host"
		emit "$cell, one host active" "$who" us "$one"
		emit "$cell, all hosts active" "$who" us "$all"
		# earlier hosts were the first to use the data buffers, which all share
		[ $((hosts * each)) = 1000 ] || continue
		emit "$where, memory of a connection" "$who" kb "$(awk "BEGIN {print $idle / $each}")"
		emit "$where, memory of a connection with reads" "$who" kb "$(awk "BEGIN {print $used / $each}")"
		[ "$used_locked" = 0.00 ] || emit "$where, locked memory of a connection" "$who" kb "$(awk "BEGIN {print $used_locked / $each}")"
	done <"$tmp/hosts"
	end_server
}

options=(--queues 1 --poll-us 0)
nvmf=("$RDMASTOR" serve null:1G --nvmf --nqn "$nqn")
truncate -s 1G "$tmp/disk"
for ((round = 1; round <= rounds; round++)); do
	echo "hosts: round $round of $rounds" >&2
	server "$RDMASTOR" export null:1G --nbd 127.0.0.1:$port --clients 2000 "${options[@]}"
	measure NBD rdmastor 1 nbd://127.0.0.1:$port/
	server nbdkit -f -i 127.0.0.1 -p $port null 1G
	measure NBD nbdkit 1 nbd://127.0.0.1:$port/
	server "$RDMASTOR" serve "$tmp/disk" --iscsi --iqn "$iqn" --tcp 127.0.0.1:$port "${options[@]}"
	measure iSCSI/TCP rdmastor 2 iscsi://127.0.0.1:$port/$iqn/0
	tgt
	measure iSCSI/TCP tgt 2 iscsi://127.0.0.1:$port/$iqn/1
	server "${nvmf[@]}" --tcp 127.0.0.1:$port "${options[@]}"
	measure NVMe/TCP rdmastor 2 nvme+tcp://127.0.0.1:$port/$nqn
	server "${nvmf[@]}" --rdma "127.0.0.1:$port?rdma=iwarp" "${options[@]}"
	measure NVMe/iWARP rdmastor 2 "nvme+rdma://127.0.0.1:$port/$nqn?rdma=iwarp"
done

# points WHICH TITLE: one chart of the medians, for the picture
points() {
	printf 'chart\t%s\tconnections\tCPU time of the server\n' "$2"
	awk -F'\t' -v OFS='\t' -v which=", $1\$" '$3 == "us" && $1 ~ which {
		split($1, part, ", ")
		print "point", part[1] " " $2, part[2] + 0, $4 * 1000, $5 * 1000, $6 * 1000
	}' "$tmp/tsv"
}
"$here/table" -v tsv="$tmp/tsv" "$raw" >/dev/null
{ points "one host active" "A read of 4 KiB, the other hosts idle"; points "all hosts active" "A read of 4 KiB, all hosts at QD1"; } |
	chart "Cost of many hosts" "medians of $rounds rounds; bars: least and most" >"$B/bench/hosts.svg"
