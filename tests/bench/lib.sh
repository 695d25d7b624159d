# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# How a figure is taken and written down; for bash on this machine and for busybox sh in a VM.
# A figure is a line: BENCH <tab> cell <tab> who <tab> metric <tab> round <tab> value. $round is the caller's.
# shellcheck shell=dash disable=SC2154

emit() { printf 'BENCH\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$round" "$4"; }

# load CELL WHO iops|mib_s COMMAND…: of nbd-load or floor, which print name and value in turn
load() {
	load_cell=$1 load_who=$2 load_first=$3
	shift 3
	# shellcheck disable=SC2046 # words are wanted
	set -- $("$@") "$load_first"
	[ $# = 9 ] || { echo "bench: $load_cell: $load_who gave no figures" >&2; return 1; }
	if [ "$load_first" = iops ]; then emit "$load_cell" "$load_who" iops "$2"; else emit "$load_cell" "$load_who" mib_s "$8"; fi
	emit "$load_cell" "$load_who" p50_us "$4"
	emit "$load_cell" "$load_who" p99_us "$6"
}

# bench_load CELL WHO iops|mib_s rdmastor bench ARGUMENT…: of our applet, reads
bench_load() {
	bench_cell=$1 bench_who=$2 bench_first=$3
	shift 3
	# shellcheck disable=SC2046
	set -- $("$@" --json -q | sed -nE 's/.*"read":\{[^{]*"iops":([0-9]+)[^{]*"bytes_per_second":([0-9]+),[^{]*\{[^{]*\{"50":([0-9]+),[^}]*"99":([0-9]+),.*"write":\{.*/\1 \2 \3 \4/p') "$bench_first"
	[ $# = 5 ] || { echo "bench: $bench_cell: rdmastor bench gave no figures" >&2; return 1; }
	if [ "$bench_first" = iops ]; then emit "$bench_cell" "$bench_who" iops "$1"; else emit "$bench_cell" "$bench_who" mib_s $(($2 / 1048576)); fi
	emit "$bench_cell" "$bench_who" p50_us $(($3 / 1000))
	emit "$bench_cell" "$bench_who" p99_us $(($4 / 1000))
}

# fio_load CELL WHO PREFIX FIO-OPTION…: random reads of 4 KiB; the prefix is a command such as "taskset -c 0", or ""
fio_load() {
	fio_cell=$1 fio_who=$2 fio_prefix=$3
	shift 3
	# shellcheck disable=SC2086 # words are wanted
	$fio_prefix fio --name=x --rw=randread --bs=4k --time_based --norandommap --randrepeat=0 --lat_percentiles=1 --clat_percentiles=0 --output-format=terse "$@" >"$fio_out" || return
	# shellcheck disable=SC2046
	set -- $(awk -F';' '$1 == 3 {
		for (i = NF; i > 8; i--) if (split($i, p, /%=/) == 2) { if (p[1] == 50) p50 = p[2]; if (p[1] == 99) p99 = p[2] }
		print $8, p50, p99
	}' "$fio_out")
	[ $# = 3 ] || { echo "bench: $fio_cell: fio against $fio_who gave no figures" >&2; return 1; }
	emit "$fio_cell" "$fio_who" iops "$1"
	emit "$fio_cell" "$fio_who" p50_us "$2"
	emit "$fio_cell" "$fio_who" p99_us "$3"
}

# exec_to_exit CELL WHO RUNS STATUS COMMAND…: only when it ends with that status
exec_to_exit() {
	exec_cell=$1 exec_who=$2 exec_runs=$3 exec_status=$4
	shift 4
	# shellcheck disable=SC2046
	set -- $(startup "$exec_runs" "$@")
	[ "${4:-}" = "$exec_status" ] || { echo "bench: $exec_cell: $exec_who ended with status ${4:-unknown}" >&2; return 1; }
	emit "$exec_cell" "$exec_who" ms "$2"
}
