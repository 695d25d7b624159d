# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Scenarios on the simulator that answers for all nodes (sim.md), instead of ibsim and opensm. Sourced by the scenarios that use
# it.
# shellcheck shell=bash disable=SC2154 # from lib.sh

# simulate WORDS…: until the scenario ends, or the next one
simulate() {
	[ -z "${simulator_pid:-}" ] || { kill "$simulator_pid" && wait "$simulator_pid" || true; }
	rm -f sim.console
	"$FABRIC/sim" -n "$sim" -c sim.console "$@" >sim.log 2>&1 &
	simulator_pid=$!
	wait_for 10 grep -q '^ready$' sim.log || { cat sim.log; return 1; }
}

# tell WORD…: of the console; done when it returns
tell() { "$FABRIC/sim" -x sim.console "$@"; }

# lines FILE: how many of targets; alike FILE FILE: in any order
lines() { grep -c '^id_ext=' "$1" || true; }
alike() { diff <(sort "$1") <(sort "$2"); }
# all_of FILE FILE: the second has every line of the first
all_of() { [ -z "$(comm -23 <(sort "$1") <(sort "$2") | tee missing)" ] || { cat missing; return 1; }; }
# without GUID… <FILE: lines of other nodes; a node's GUID is 0x0002c90300000000 + 0x1000 (n + 1), written here as n
without() {
	local n words=()
	for n; do words+=(-e "$(printf 'dgid=fe800000000000000002c903%05x' $((n + 1)))"); done
	grep -v "${words[@]}"
}
