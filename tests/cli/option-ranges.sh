#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every numeric option of every applet refuses 0 (unless documented), numbers out of its range, and what is not a number; the message names
# the option and the range, or the bound where the other one is only the type's.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

# where 0 has a meaning: never, at once, off, none, the first
zero() {
	case $1 in
	--timeout | --poll-us | --ready-fd | --rwmixread | --offset | --ramp-time | --retry-connected | --ublk | --nbd-dev) ;;
	*) return 1 ;;
	esac
}

bounds='(\S+.to.\S+|more.than.0|at.(least|most).\S+)(.seconds)?$'
numbers=0
for applet in $("$RDMASTOR" --list); do
	while IFS= read -r row; do
		option=${row%%$'\t'*}
		read -r min max unit <<<"${row##*$'\t'}"
		[ -n "$min" ] || continue
		if zero "$option"; then
			same "$applet $option: its least" 0 "$min"
		else
			[ "$min" -gt 0 ] || die "$applet $option: 0 is accepted"
			error 2 usage '' "$option\\> $bounds" "$RDMASTOR" "$applet" "$option=0"
		fi
		for value in $((max + 1)) ${max}0 99999999999999999999999; do
			error 2 usage '' "$option\\> $bounds" \
				"$RDMASTOR" "$applet" "$option=$value$unit"
		done
		error 2 usage '' "$option\\> '10x'" "$RDMASTOR" "$applet" "$option=10x"
		error 2 usage '' "$option\\> '-1'" "$RDMASTOR" "$applet" "$option=-1"
		numbers=$((numbers + 1))
	done < <("$RDMASTOR" "$applet" --option-rows)
done
[ $numbers -gt 40 ] || die "found only $numbers numeric options"
error 2 - '^rdmastor export: .*--buffer\>' '64K.to.32M' \
	"$RDMASTOR" export ram:1M --nbd "unix:$SOCK" --buffer 1K
error 2 - '^rdmastor srp-discover: .*--answer-timeout\>' '0.001.to.3600.seconds' \
	"$RDMASTOR" srp-discover --answer-timeout 3601
"$RDMASTOR" copy --help | grep -q '1 to 1024' || die 'no range in --help'

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
error 2 usage "$(ere "$NVME?loss=soon")" "loss= 'soon' fail-fast" "$RDMASTOR" info "$NVME?loss=soon"
for applet in 'info ram:1M' "nvmf-connect $NVME" 'iser-login iscsi://127.0.0.1/iqn.x' 'srp-connect srp+cm://127.0.0.1:1/2/1'; do
	# shellcheck disable=SC2086 # words
	error 2 usage '.*' '--on-loss 0.001.to.[0-9]+ fail-fast forever' \
		"$RDMASTOR" $applet --on-loss 0
	# shellcheck disable=SC2086
	error 2 usage '.*' '--on-loss 10x wait=SECONDS' "$RDMASTOR" $applet --on-loss wait=10x
done
"$RDMASTOR" info ram:1M --on-loss wait=5 --timeout 0 >/dev/null || die 'wait=5 is refused'
