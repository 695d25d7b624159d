#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# "-" as the source: input is written from the start of the destination, the rest of it stays; unsupported options are refused.
. "$(dirname "$0")/lib.sh"
requires cmp jq
head -c 20M /dev/urandom >before
head -c 5000001 /dev/urandom >odd
{ head -c 3M /dev/urandom; head -c 10M /dev/zero; head -c 7M /dev/urandom; } >whole
for options in '' '--depth 64 --request 512' '--depth 1' '--no-sparse --request 3M'; do
	cp before dst
	# shellcheck disable=SC2086
	{ head -c 100000 odd; sleep 0.2; tail -c +100001 odd; } | "$RDMASTOR" copy - dst $options >out 2>err || die "$options: $(cat err)"
	cmp -n 5000001 odd dst || die "$options: the data"
	cmp <(head -c $((5000192 - 5000001)) /dev/zero) <(tail -c +5000002 dst | head -c $((5000192 - 5000001))) || die "$options: rest of the block"
	cmp -i 5000192 before dst || die "$options: what was behind it"
	cp before dst
	# shellcheck disable=SC2086
	"$RDMASTOR" copy - dst $options <whole >out 2>err || die "$options: from a file: $(cat err)"
	cmp whole dst || die "$options: from a file"
done
cat whole | ours copy - dst --json | jq -e '.source == "-" and .size == 20971520 and .copied_bytes + .zeroed_bytes == 20971520' >/dev/null || die "result"

too_long() { cat whole odd | "$RDMASTOR" copy - dst "$@"; }
empty() { : | "$RDMASTOR" copy - dst "$@"; }
error 2 usage dst 20971520 too_long --json
error 1 io - 'no.data' empty --json
! grep -q hint error.err || die "no way out, but a hint: $(cat error.err)"
mkfifo silent
too_slow() { "$RDMASTOR" copy - dst --timeout 0.5 "$@" <>silent; }
error 1 timeout '' '0.5.s' too_slow --json
error 1 not-found new '>new standard.input' "$RDMASTOR" copy - new
[ ! -e new ] || die "a destination was made for nothing"
for option in --verify '--resume map' --keep-going; do
	# shellcheck disable=SC2086
	error 2 usage '' "${option%% *} standard.input" "$RDMASTOR" copy - dst $option
done
error 1 unsupported - 'standard.input' "$RDMASTOR" info -
