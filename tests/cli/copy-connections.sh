#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A copy opens as many connections to its source as it has CPUs, four at most, and more only if its queue depth needs them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit taskset applet:copy

# connections COMMAND…: how many the server accepted for it
connections() {
	: >server.out
	"$@" >out 2>err || die "$*: $(cat err)"
	grep -c 'accepted connection' server.out
}

mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
one=(taskset -c "${cpus[0]}" "$RDMASTOR" copy)
kit -v --filter=multi-conn memory 8M multi-conn-mode=plugin
n=$(connections "${one[@]}" "$URI" file)
[ "$n" = 1 ] || die "one CPU: $n connections"
n=$(connections "${one[@]}" --depth 16 "$URI&depth=4" file)
[ "$n" = 4 ] || die "one CPU, 16 requests, 4 per connection: $n connections"
n=$(connections "${one[@]}" --depth 16 "$URI&depth=4&queues=2" file)
[ "$n" = 2 ] || die "one CPU, but two connections at most: $n connections"
want=$((${#cpus[@]} < 4 ? ${#cpus[@]} : 4))
n=$(connections "$RDMASTOR" copy "$URI" file)
[ "$n" = "$want" ] || die "${#cpus[@]} CPUs: $n connections"
