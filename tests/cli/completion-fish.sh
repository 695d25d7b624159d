#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The completion in fish, asked with its own `complete -C`.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
. "$top/tests/cli/completion.sh"
requires fish
completion_setup
export HOME=$TMP

# shellcheck disable=SC2016 # expanded by fish
offers() {
	fish --no-config -c 'source $argv[1]/completions/rdmastor.fish; complete -C $argv[2]' "$top" "$1" | cut -f1
}
check_completions --output= file: folder/
fish --no-config -c 'source $argv[1]/completions/rdmastor.fish; complete -C "rdmastor info --verb"' "$top" |
	grep -q "^--verbose	[a-z]" ||
	die "no description"
