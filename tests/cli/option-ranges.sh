#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Numbers of options and URI keys that are out of range, or not numbers: refused, and the message names the option and the range,
# or the bound where the other one is only the type's. One option of each type: what a type refuses is in core/base/opt, and which
# range each option has is in lint/options.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

while read -r value range applet; do
	option=${value%%=*}
	error 2 usage '' "$option\\> $range" "$RDMASTOR" "$applet" "$value"
done <<-'END'
	--depth=0 1.to.1024$ copy
	--depth=1025 1.to.1024$ copy
	--depth=99999999999999999999999 1.to.1024$ copy
	--depth=10x '10x' copy
	--depth=-1 '-1' copy
	--iters=0 more.than.0$ bench
	--iters=2147483648 at.most.2147483647$ bench
	--buffer=1K 64K.to.32M$ export
	--buffer=33M 64K.to.32M$ export
	--size=8E at.most.9223372036854775807$ bench
	--answer-timeout=0 0.001.to.3600.seconds$ srp-discover
	--answer-timeout=3601 0.001.to.3600.seconds$ srp-discover
	--timeout=4294968 at.most.4294967.seconds$ info
	--ublk=1048576 0.to.1048575$ export
	--watch=0 1.to.86400$ status
END
"$RDMASTOR" copy --help | grep -q '1 to 1024' || die 'no range in --help'

# --help has the number of disks
disks=()
for _ in {0..32}; do disks+=(ram:1M); done
error 2 usage '' '1.to.32$' "$RDMASTOR" serve "${disks[@]}" --nvmf --tcp 127.0.0.1:0
"$RDMASTOR" serve --help | grep -q 'up to 32 disks' || die 'no limit in the help of serve'
error 2 usage '' '1.to.16$' "$RDMASTOR" export "${disks[@]:0:17}" --nbd "unix:$SOCK"
"$RDMASTOR" export --help | grep -q 'up to 16 disks' || die 'no limit in the help of export'

# URI keys
NVME=nvme+tcp://127.0.0.1:1/nqn.x/1
for uri in "$NVME?queues=0" "$NVME?depth=1" "$NVME?depth=99999" "$URI&queues=0" "$URI&depth=0" "$NVME?tos=256" 'ram:1M?block=0'; do
	key=${uri##*[?&]}
	error 2 usage "$(ere "$uri")" "\\<${key%%=*}= [0-9]+.to.[0-9]+" "$RDMASTOR" info "$uri"
done
error 2 usage '' 'queues 1.to.65535' "$RDMASTOR" nvmf-connect --dry-run "$NVME?queues=0"
error 2 usage '' 'depth 16.to.1024' "$RDMASTOR" nvmf-connect --dry-run "$NVME?depth=15"
for uri in "$NVME?timeout=0" 'ram:1M?timeout=0' "$URI&io-timeout=0"; do
	key=${uri##*[?&]}
	error 2 usage "$(ere "$uri")" "\\<${key%%=*}= more.than.0" "$RDMASTOR" info "$uri"
done
error 2 usage "$(ere "$NVME?loss=0")" 'loss= 0.001.to.[0-9]+ fail-fast' \
	"$RDMASTOR" info "$NVME?loss=0"
error 2 usage "$(ere "$NVME?detect=0")" 'detect= more.than.0' "$RDMASTOR" info "$NVME?detect=0"
error 2 usage "$(ere "$NVME?detect=0.05")" "detect='0.05' 0.1.s" "$RDMASTOR" info "$NVME?detect=0.05"
error 2 usage "$(ere "$NVME?loss=soon")" "loss= 'soon' fail-fast" "$RDMASTOR" info "$NVME?loss=soon"
for applet in 'info ram:1M' "nvmf-connect $NVME" 'iser-login iscsi://127.0.0.1/iqn.x' 'srp-connect srp+cm://127.0.0.1:1/2/1'; do
	# shellcheck disable=SC2086 # words
	error 2 usage '.*' '--on-loss 0.001.to.[0-9]+ fail-fast forever' \
		"$RDMASTOR" $applet --on-loss 0
	# shellcheck disable=SC2086
	error 2 usage '.*' '--on-loss 10x wait=SECONDS' "$RDMASTOR" $applet --on-loss wait=10x
done
"$RDMASTOR" info ram:1M --on-loss wait=5 --timeout 0 >/dev/null || die 'wait=5 is refused'
