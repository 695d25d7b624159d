#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect with paths=auto: a dry run lists what the discovery controller reports of the subsystem, and each failure its reason.
. "$(dirname "$0")/lib.sh"
requires jq
nqn=nqn.2024-01.lab:t1 other=nqn.2024-01.lab:t2 id=abff48c0-ecbe-4d8c-a64a-54f12797e8c2
c="$RDMASTOR nvmf-connect --dry-run -q nqn.host -I $id"

serve ram:1M --nvmf --nqn $nqn --tcp 127.0.0.1:0 --tcp 127.0.0.2:0
serve=$PORT
second=127.0.0.2:$(sed -n 's#^rdmastor: nvme+tcp://127.0.0.2:\([0-9]*\)/.*#\1#p' out)

uri=nvme+tcp://127.0.0.1:$serve/$nqn
ours nvmf-connect --dry-run --json -q nqn.host -I $id "$uri/1?paths=auto&loss=7" >out 2>err || die "$(cat out err)"
[ "$(jq -r '[.succeeded, .failed, .results[].uri] | map(tostring) | join(" ")' out)" = \
	"2 0 $uri/1?paths=auto&loss=7 nvme+tcp://$second/$nqn" ] || die "$(cat out)"
[ "$(jq -r '.results[].line | capture("trsvcid=(?<p>[0-9]+),nqn=(?<n>[^,]*),hostnqn=nqn.host,.*ctrl_loss_tmo=(?<t>[0-9]+)") | .p + " " + .n + " " + .t' out)" = \
	"$serve $nqn 7
${second#*:} $nqn 7" ] || die "$(cat out)"

# Both are named: each once
ours nvmf-connect --dry-run --json -q nqn.host -I $id "$uri?paths=auto" "nvme+tcp://$second/$nqn" >out 2>err || die "$(cat out err)"
[ "$(jq -r '.results | length' out)" = 2 ] || die "$(cat out)"
# A subsystem that is not reported is the one path that is named
ours nvmf-connect --dry-run --json "nvme+tcp://127.0.0.1:$serve/$other?paths=auto" >out 2>err || die "$(cat out err)"
[ "$(jq -r '[.results[].uri] | join(" ")' out)" = "nvme+tcp://127.0.0.1:$serve/$other?paths=auto" ] || die "$(cat out)"

# shellcheck disable=SC2086 # several words
{
	error 3 refused '127.0.0.1:9' '' $c "nvme+tcp://127.0.0.1:9/$nqn?paths=auto"
	[ "$(jq -r '[.succeeded, .failed] | map(tostring) | join(" ")' error.out)" = "1 1" ] || die "$(cat error.out)"
	error 2 usage '.*' "'all' auto" $c "$uri?paths=all"
	error 2 usage '.*' "paths=auto NQN" $c "nvme+tcp://127.0.0.1:$serve?paths=auto" -n $nqn
	error 2 usage '.*' '--devid-file' $c "$uri?paths=auto" --devid-file devid
	error 2 usage '' "'fastest' numa" $c "$uri" --policy fastest
	error 2 usage '.*' 'paths=auto' "$RDMASTOR" nvmf-connect-all --dry-run "$uri?paths=auto"
}
stop
