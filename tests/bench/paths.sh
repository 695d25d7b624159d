# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Two paths to one disk: the longest time without an answer when the first path is lost and when it is back, what the second path costs,
# and two paths on two CPUs. As root, in network namespaces of its own.
# shellcheck shell=bash disable=SC2154 # from run

if [ -z "${apart:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "bench: paths: namespaces of its own need root" >&2; return 1; }
	apart=1 here=$here B=$B RDMASTOR=$RDMASTOR rounds=$rounds tmp=$tmp PATH=$PATH:/usr/sbin \
		unshare --mount --net --pid --fork --kill-child --mount-proc \
		bash -euc 'mount -t tmpfs bench /run; . "$here/lib.sh"; . "$here/paths.sh"'
	return
fi

nqn=nqn.2014-08.org.nvmexpress:uuid:72646d61-7374-6f72-2062-656e63682033
iqn=iqn.2026-11.test:paths
head -c 64M /dev/urandom >"$tmp/disk"
ip link set lo up
unshare -n sleep infinity &
peer=$!
other() { nsenter -n -t "$peer" "$@"; }
until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
for n in 1 2; do
	ip link add here$n type veth peer name there$n netns "$peer"
	ip addr add 10.0.$n.2/24 dev here$n
	ip link set here$n up
	other ip addr add 10.0.$n.1/24 dev there$n
	other ip link set there$n up
done

# serve_on NAME CPUS DISK ADDRESS…: a server of all protocols there; its process is server[NAME], its srp+cm URI srp
declare -A server
serve_on() {
	local name=$1 cpus=$2 disk=$3 nvme=() iscsi=() srps=() address
	shift 3
	for address; do
		nvme+=(--tcp "$address:4420" --rdma "$address:4421?rdma=iwarp")
		iscsi+=(--tcp "$address:3260" --rdma "$address:3261?rdma=iwarp")
		srps+=(--rdma "$address:5555?rdma=iwarp")
	done
	rm -f "$tmp/served"
	nsenter -n -t "$peer" taskset -c "$cpus" "$RDMASTOR" serve "$disk" --force --nvmf --nqn "$nqn" "${nvme[@]}" \
		--iscsi --iqn $iqn "${iscsi[@]}" --srp "${srps[@]}" --json >"$tmp/served" 2>"$tmp/server.$name.log" &
	server[$name]=$!
	until grep -q 5555 "$tmp/served"; do
		kill -0 "${server[$name]}" || { cat "$tmp/server.$name.log" >&2; return 1; }
		sleep 0.02
	done
	srp=$(sed -E 's/.*"(srp\+cm:[^"]*)".*/\1/; s/10\.0\.2\.1/10.0.1.1/' "$tmp/served")
}
end_servers() {
	kill "${server[@]}" 2>/dev/null || true
	wait "${server[@]}" 2>/dev/null || true
	server=()
}
uris() {
	echo "nvme+tcp nvme+tcp://10.0.1.1/$nqn?path=10.0.2.1"
	echo "nvme+rdma nvme+rdma://10.0.1.1:4421/$nqn?rdma=iwarp&path=10.0.2.1"
	echo "iscsi iscsi://10.0.1.1/$iqn?path=10.0.2.1"
	echo "iser iser://10.0.1.1:3261/$iqn?rdma=iwarp&path=10.0.2.1"
	echo "srp $srp&path=10.0.2.1"
}

# gap WHO URI RW: the longest time of a request of the caller's cell, while lose and then restore run
gap() {
	local load
	"$RDMASTOR" bench "$2" --rw "$3" --bs 4K --iodepth 4 --runtime 7 --json >"$tmp/load" 2>"$tmp/load.log" &
	load=$!
	sleep 1.5
	lose
	sleep 3
	restore
	wait $load || { cat "$tmp/load.log" >&2; return 1; }
	emit "$cell" "$1, ${3#rand}s" ms "$(grep -o '"max":[0-9]*' "$tmp/load" | awk -F: '$2 > max { max = $2 } END { printf "%.1f", max / 1e6 }')"
}
gaps() {
	local who uri
	while read -r who uri; do
		gap "$who" "$uri" randread
		gap "$who" "$uri" randwrite
	done < <(uris)
}

# rate WHO URI CPUS JOBS: 32 requests at once
rate() { bench_load "$cell" "$1" iops taskset -c "$3" "$RDMASTOR" bench "$2" --runtime 0.5 --bs 4K --iodepth $((32 / $4)) --numjobs "$4"; }

for round in $(seq "$rounds"); do
	serve_on one 0-1 "$tmp/disk" 10.0.1.1 10.0.2.1
	cell="a silent network, one target"
	lose() { other ip link set there1 down; }
	restore() { other ip link set there1 up; }
	gaps
	cell="reset connections, one target"
	lose() { other ss -KH src 10.0.1.1 >"$tmp/killed"; }
	restore() { :; }
	gaps
	end_servers

	cell="one of two servers killed"
	serve_on one 0-1 "$tmp/disk" 10.0.1.1
	serve_on two 0-1 "$tmp/disk" 10.0.2.1
	lose() { kill -KILL "${server[one]}"; wait "${server[one]}" 2>/dev/null || true; }
	restore() { serve_on one 0-1 "$tmp/disk" 10.0.1.1; }
	gaps
	end_servers

	serve_on one 0 "$tmp/disk" 10.0.1.1
	serve_on two 1 "$tmp/disk" 10.0.2.1
	while read -r who uri; do
		cell="$who, 4 KiB QD32"
		rate "one path, one CPU" "${uri%[?&]path=*}" 0 1
		rate "rdmastor, another path" "$uri" 0 1
		rate "rdmastor, two, two CPUs" "$uri&policy=round-robin" 0-1 2
	done < <(uris)
	end_servers
done
