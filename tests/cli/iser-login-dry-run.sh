#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-login --dry-run prints what would be logged in to, the same for every spelling, and no secret.
. "$(dirname "$0")/lib.sh"
requires jq
echo longenoughsecret >secret

# plan JQ WORD…: one session, for which JQ is true
plan() {
	local want=$1
	shift
	ours iser-login --dry-run --json -i iqn.x:me "$@" >out 2>err || die "$*: $(cat err)"
	jq -e ".schema == \"rdmastor.iser-login\" and .dry_run and (.sessions | length) == 1 and (.sessions[0] | $want)" out >/dev/null || die "$*: $(cat out)"
}
a='.target == "iqn.x:a" and .initiator == "iqn.x:me" and .logged_in == false'
plan "$a and .traddr == \"127.0.0.1\" and .trsvcid == \"3260\" and .transport == \"tcp\"" iscsi://127.0.0.1/iqn.x:a
plan "$a and .traddr == \"127.0.0.1\" and .trsvcid == \"3260\" and .transport == \"tcp\"" iscsi://localhost:3260/iqn.x:a/0
plan "$a and .traddr == \"127.0.0.1\" and .trsvcid == \"3261\" and .transport == \"iser\"" iser://127.0.0.1:3261/iqn.x:a
plan "$a and .traddr == \"::1\" and .trsvcid == \"3260\" and .transport == \"tcp\"" 'iscsi://[::1]/iqn.x:a'
plan "$a and .traddr == \"::1\" and .trsvcid == \"3260\" and .transport == \"tcp\"" -T iqn.x:a -p ::1 -t tcp
# names of other targets are passed on; in capitals they are those in lower case
plan '.target == "kumo-disk-img37"' iscsi:127.0.0.1:tcp:3260:1:kumo-disk-img37
plan '.target == "kumo-disk-img37"' iscsi://127.0.0.1/kumo-disk-img37/1
plan "$a" iscsi://127.0.0.1/IQN.X:A
plan "$a" -T IQN.X:A -p 127.0.0.1 -t tcp
plan '.target == "iqn.x:A"' iscsi://127.0.0.1/iqn.x:A
plan '.initiator == "iqn.x:me"' -i IQN.X:ME iscsi://127.0.0.1/iqn.x:a
for tag in '' ,1 ,-1; do
	plan "$a and .traddr == \"::1\" and .trsvcid == \"3261\"" -T iqn.x:a -p "[::1]:3261$tag" -t tcp
done
plan "$a and .traddr == \"127.0.0.1\" and .trsvcid == \"9\" and .transport == \"iser\"" --target iqn.x:a --portal 127.0.0.1:9

for t in '15 ' '7 ?timeout=7' '1 ?timeout=200ms' '4 ?timeout=9&login-timeout=4' '3 ?timeout=9 --login-timeout 3'; do
	# shellcheck disable=SC2086 # several words
	plan ".timeouts.login_timeout_seconds == ${t%% *}" iscsi://127.0.0.1/iqn.x:a${t#* }
done

text() { "$RDMASTOR" iser-login --dry-run -i iqn.x:me "$@" 2>err || die "$*: $(cat err)"; }
# loss POLICY WORD…: in both forms
loss() {
	local want=$1
	shift
	text "$@" | grep -Eq "\b$want$" || die "$*: $(text "$@")"
	plan ".on_loss == \"$want\"" "$@"
}
to=iscsi://127.0.0.1/iqn.x:a
loss wait=60 $to
loss fail-fast $to --on-loss fail-fast
loss forever $to --on-loss forever
loss wait=30 $to --on-loss wait=30
loss wait=1 "$to?loss=500ms"
loss wait=7 "$to?loss=9" --on-loss 7
loss wait=5 "$to?loss=9" --replacement-timeout 5
loss forever "$to?replacement-timeout=-1"
plan '.timeouts.replacement_timeout_seconds == 7 and .timeouts.noop_interval_seconds == 9' \
	$to --on-loss 7 --noop-interval 9
plan '(.timeouts | has("replacement_timeout_seconds")) == false' $to --on-loss forever
[ "$(text -T iqn.x:a -p 127.0.0.1 -p 127.0.0.2 --sessions 2 | wc -l)" = 4 ] || die "two portals with two sessions each"
[ "$(text $to $to/0 iscsi://localhost/iqn.x:a | wc -l)" = 1 ] || die "one that is named twice"
[ "$("$RDMASTOR" iser-login --dry-run $to "$to?initiator=iqn.x:b" "$to?initiator=iqn.x:b" "$to?initiator=iqn.x:c" | wc -l)" = 3 ] || die "three hosts"
text iscsi://joe%longenoughsecret@127.0.0.1/iqn.x:a >told
text $to -u joe --secret-file secret -v >>told
! grep -q longenough told err || die "output: $(cat told err)"
[ "$(text $to/0 $to/1 $to/1 | wc -l)" = 2 ] || die "two units, one of them named twice"

# A secret of a descriptor or pipe can be read once, and is for all targets
two="$to iscsi://127.0.0.1/iqn.x:b -u joe"
# shellcheck disable=SC2086 # several words
{
	[ "$(text $two --secret-fd 3 3< <(cat secret) | wc -l)" = 2 ] || die "--secret-fd for two targets"
	[ "$(text $two --secret-fd 3 3<secret | wc -l)" = 2 ] || die "--secret-fd of a file for two targets"
	[ "$(cat secret | text $two --secret-file /dev/stdin | wc -l)" = 2 ] || die "a pipe for two targets"
}
