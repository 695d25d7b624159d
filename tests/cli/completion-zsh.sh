#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The completion in zsh: an interactive shell on a terminal of its own, where a wrapped compadd prints what is added.
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
	typeset -a candidates; builtin compadd -O candidates "$@"
	print -rl -- $candidates >>$TMP/told
	builtin compadd "$@"
}
# A key behind the tabulator shows that the completion is over.
over() { print >$TMP/over; }
zle -N over
bindkey '^Xo' over
RC
# One interactive zsh for all lines: each is typed into an empty line.
cat >"$TMP/probe" <<'PROBE'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "setopt extendedglob; . $TMP/rc; print RE''ADY"
zpty -r -m z x '*READY*'
while IFS= read -r line; do
	rm -f $TMP/over
	: >$TMP/told
	zpty -w -n z $'\C-u'"$line"$'\t\C-xo'
	while [[ -e $TMP && ! -e $TMP/over ]]; do
		zpty -r -t z x
		sleep 0.01
	done
	print >$TMP/offered
done
zpty -d z
PROBE
mkfifo "$TMP/lines" "$TMP/offered"
zsh -f "$TMP/probe" <"$TMP/lines" &
# held open: an answer read while the writer of the one before still closes would be empty
exec 3>"$TMP/lines" 4<>"$TMP/offered"
offers() {
	printf '%s\n' "$1" >&3
	read -r _ <&4
	cat "$TMP/told"
}
check_completions --output= '' folder
exec 3>&- 4>&-
wait
