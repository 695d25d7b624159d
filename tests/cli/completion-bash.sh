#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The completion in bash, as its programmable completion calls it.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
. "$top/tests/cli/completion.sh"
completion_setup

# shellcheck disable=SC2016 # expanded by the inner shell
offers() {
	bash --norc --noprofile -c '
		. "$1/completions/rdmastor.bash"
		compopt() { :; }
		COMP_LINE=$2 COMP_POINT=${#2}
		_rdmastor
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$top" "$1"
}
# bash takes ":" and "=" for ends of words: what is in front of them stays as typed
check_completions '' '' folder
has 'rdmastor info nvme+tcp:' //

# With ":" and "=" not among the breaks, whole words are expected
offers() { COMP_WORDBREAKS=' ' bash --norc --noprofile -c '
		COMP_WORDBREAKS=" "
		. "$1/completions/rdmastor.bash"
		compopt() { :; }
		COMP_LINE=$2 COMP_POINT=${#2}
		_rdmastor
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$top" "$1"; }
has 'rdmastor info --output=j' --output=json
has 'rdmastor info nvme+tcp:' nvme+tcp://

bash --norc --noprofile -c '. "$1/completions/rdmastor.bash"; complete -p rdmastor; for a in $(rdmastor --list); do complete -p "$a" 2>/dev/null; done' bash "$top" >registered
grep -q ' rdmastor$' registered || die "not registered"
! grep -Eq ' (info|copy|export)$' registered || die "takes a name that is not ours: $(cat registered)"
