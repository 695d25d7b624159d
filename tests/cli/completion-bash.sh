#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The completion in bash: an interactive shell on a terminal of its own, with real readline.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
. "$top/tests/cli/completion.sh"
completion_setup
export HOME=$TMP

typed() { "$HERE/readline.py" "$top/completions/rdmastor.bash" "$@"; } # KEY…: the line afterwards
offers() {
	local line
	line=$(typed "$1" ALL) || die "no answer"
	tr ' ' '\n' <<<"${line#"${1% *} "}"
}
check_completions --output= file: folder/

# becomes LINE EXPECTED: after one TAB, and a second one changes nothing
becomes() {
	same "'$1' TAB" "$(typed "$1" TAB)" "$2"
	same "'$1' TAB TAB" "$(typed "$1" TAB TAB)" "$2"
}
becomes 'rdmastor info nvme+t' 'rdmastor info nvme+tcp://'
becomes 'rdmastor info nvme+tcp:' 'rdmastor info nvme+tcp://'
becomes 'rdmastor info n' 'rdmastor info n'
becomes 'rdmastor info file:fi' 'rdmastor info file:file.img '
becomes 'rdmastor info nvme+tcp://h/nqn.x:y?hostn' 'rdmastor info nvme+tcp://h/nqn.x:y?hostnqn='
becomes "rdmastor info 'nvme+tcp://h/nqn.x:y?tos=8&hostn" "rdmastor info 'nvme+tcp://h/nqn.x:y?tos=8&hostnqn="
becomes "rdmastor info 'nvme+t" "rdmastor info 'nvme+tcp://"
becomes 'rdmastor info --output=j' 'rdmastor info --output=json '
becomes 'rdmastor --install fo' 'rdmastor --install folder/'
: >'with space.img'
becomes 'rdmastor info wi' 'rdmastor info with\ space.img '

bash --norc --noprofile -c '. "$1/completions/rdmastor.bash"; complete -p rdmastor; for a in $(rdmastor --list); do complete -p "$a" 2>/dev/null; done' bash "$top" >registered
grep -q ' rdmastor$' registered || die "not registered"
! grep -Eq ' (info|copy|export)$' registered || die "takes a name that is not ours: $(cat registered)"
