# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Start-up, memory, size, build time.
# shellcheck shell=bash disable=SC2154 # from run

# closure FILE…: KB of programs, plugins and every library they are linked with
closure() {
	local f
	for f; do
		realpath "$f"
		ldd "$f" 2>/dev/null | grep -o '/[^ ]*' | xargs -r realpath
	done | sort -u | xargs stat -c %s | awk '{sum += $1} END {printf "%.0f\n", sum / 1024}'
}

# idle WHO COMMAND…: KB resident once it serves; its socket is $tmp/idle
idle() {
	"${@:2}" >/dev/null 2>&1 &
	pids=($!)
	for _ in {1..100}; do [ ! -S "$tmp/idle" ] || break; sleep 0.05; done
	sleep 0.2
	emit "memory of an idle server of 1 GiB" "$1" kb "$(awk '/^VmRSS/ {print $2}' "/proc/${pids[0]}/status")"
	kill "${pids[0]}"
	wait "${pids[0]}" || true # nbdkit dies of the signal
	pids=()
	rm -f "$tmp/idle"
}

truncate -s 1G "$tmp/empty"
for ((round = 1; round <= rounds; round++)); do
	cell="--version, exec to exit"
	exec_to_exit "$cell" rdmastor 40 0 "$RDMASTOR" --version
	exec_to_exit "$cell" nbdkit 40 0 nbdkit --version
	exec_to_exit "$cell" qemu-nbd 40 0 qemu-nbd --version
	cell="discovery at a port without a listener, exec to exit"
	exec_to_exit "$cell" rdmastor 20 1 "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -s 1
	idle rdmastor "$RDMASTOR" export ram:1G --nbd "unix:$tmp/idle"
	idle "nbdkit (sparse memory)" nbdkit -f -U "$tmp/idle" memory 1G
	idle "qemu-nbd (empty file)" qemu-nbd -t -f raw -k "$tmp/idle" "$tmp/empty"
done
round=1
emit "size with libraries" rdmastor kb $(($(stat -c %s "$RDMASTOR") / 1024))
emit "size with libraries" nbdkit kb "$(closure "$(command -v nbdkit)" "$(nbdkit --dump-config | sed -n 's/^plugindir=//p')/nbdkit-memory-plugin.so")"
emit "size with libraries" qemu-nbd kb "$(closure "$(command -v qemu-nbd)")"

# build CELL: of the binary from an empty folder
build() {
	local start=${EPOCHREALTIME/[.,]/}
	env -u MAKEFLAGS -u MAKELEVEL make B="$tmp/build" "$tmp/build/rdmastor" >"$tmp/make.log" 2>&1 || { tail "$tmp/make.log" >&2; return 1; }
	emit "$1" rdmastor s "$(awk "BEGIN {print (${EPOCHREALTIME/[.,]/} - $start) / 1e6}")"
	rm -rf "$tmp/build"
}
build "build, libraries in the cache"
[ -z "${COLD:-}" ] || RDMASTOR_CACHE=$tmp/cache build "build, libraries too"
