#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A secret file that other users can read is used, with one warning, by every applet that opens a disk.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
echo longenoughsecret >secret
echo '* user=joe secret=longenoughsecret' >initiators
chmod 600 secret initiators
ready serve ram:1M --iscsi --iqn iqn.2024-01.test:d --initiators-file initiators --tcp 127.0.0.1:0
at=$(sed -n 's/^rdmastor: *\(iscsi:[^?]*\)?user=NAME&.*/\1/p' out)
uri="$at?user=joe&secret-file=$TMP/secret&queues=2"
warned() { # COUNT APPLET WORD…
	local count=$1
	shift
	ours "$@" >out 2>err || die "$*: $(cat err)"
	same "warnings of $*" "$(grep -c "warning: $TMP/secret: .*readable" err || true)" "$count"
}
warned 0 info "$uri"
chmod 644 secret
warned 1 info "$uri"
warned 1 info "$at?user=joe&secret_file=$TMP/secret"
warned 1 copy "$uri" null:
warned 1 bench "$uri" --runtime 1ms
warned 1 export "$uri" --nbd "unix:$SOCK" --run true
warned 1 iser-discover "${at%/iqn*}" --user joe --secret-file "$TMP/secret"
warned 0 info "$uri" --quiet
stop
