#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The completion in zsh: an interactive shell on a terminal of its own, where a wrapped compadd tells what is added.
. "$(dirname "$0")/lib.sh"
. "$top/tests/cli/completion.sh"
requires zsh
completion_setup
export HOME=$TMP top

cat >"$TMP/rc" <<'RC'
PS1=; unsetopt zle_bracketed_paste prompt_sp 2>/dev/null
fpath=($top/completions $fpath)
autoload -U compinit; compinit -u -d $TMP/dump
LISTMAX=10000
compadd() {
	# -O, -A and -D only fill arrays
	if [[ ${@[1,(i)(-|--)]} == *-[a-zA-Z]#[OAD]* ]]; then builtin compadd "$@"; return; fi
	typeset -a told; builtin compadd -O told "$@"
	print -rl -- $told >>$TMP/told
	builtin compadd "$@"
}
# A key behind the tabulator shows that the completion is over.
over() { print >$TMP/over; }
zle -N over
bindkey '^Xo' over
RC
cat >"$TMP/probe" <<'PROBE'
zmodload zsh/zpty
zpty z zsh -f -i
rm -f $TMP/over
zpty -w z "setopt extendedglob; . $TMP/rc; : >$TMP/told; print RE''ADY"
zpty -r -m z x '*READY*'
zpty -w -n z "$1"$'\t\C-xo'
repeat 1000; do
	zpty -r -t z x
	[[ -e $TMP/over ]] && break
	sleep 0.01
done
zpty -d z
PROBE
offers() {
	zsh -f "$TMP/probe" "$1"
	cat "$TMP/told"
}
check_completions --output= '' folder
