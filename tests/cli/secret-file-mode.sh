#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A secret file that other users can read is used, with one warning, by every applet that reads one; not one of systemd's credentials.
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

# systemd.exec(5): the service's user has an ACL, whose mask is the group's bits
chmod 440 secret
credential() { env CREDENTIALS_DIRECTORY="$1" "$RDMASTOR" info "$uri" 2>&1 >out | grep -c readable || true; }
same 'warnings of a credential' "$(credential "$TMP")" 0
same 'warnings of a file elsewhere' "$(credential "${TMP%/*}")" 1
same 'warnings of a file without credentials' "$(credential '')" 1
chmod 444 secret
same 'warnings of a credential for all' "$(credential "$TMP")" 1
stop

# each option and key; a command may fail afterwards, as nothing listens
reads() { # FILE APPLET WORD…
	local file=$1 mode
	shift
	for mode in 600 644; do
		chmod $mode "$file"
		"$RDMASTOR" "$@" --timeout 5 >out 2>err </dev/null || true
		same "warnings of $*, mode $mode" "$(grep -c "warning: .*$file: .*readable.*chmod 600" err || true)" $((mode == 644))
	done
}
umask 077
"$RDMASTOR" nvme gen-dhchap-key >dhchap
"$RDMASTOR" nvme gen-tls-key >tls
echo "$(id -un):00112233445566778899aabbccddeeff" >psk
nvme=nvme+tcp://127.0.0.1:1/nqn.x iscsi=127.0.0.1:1/iqn.2024-01.test:x host='hostnqn=nqn.h'
for key in dhchap-secret-file=dhchap tls-key-file=tls; do
	file=${key#*=}
	reads "$file" info "$nvme?$key&$host"
	reads "$file" doctor "$nvme?$key&$host"
	reads "$file" nvmf-discover "${nvme%/*}?$key&$host"
	reads "$file" discover "${nvme%/*}?$key&$host"
	reads "$file" nvmf-connect "$nvme?$key" --hostnqn nqn.h --dry-run
	reads "$file" nvmf-connect "$nvme" --hostnqn nqn.h --dry-run "--${key%=*}" "$file"
	reads "$file" nvmf-connect-all -t tcp -a 127.0.0.1 -s 1 --hostnqn nqn.h --dry-run "--${key%=*}" "$file"
done
cp dhchap own
reads dhchap nvmf-connect "$nvme" --hostnqn nqn.h --dry-run --dhchap-secret-file own --dhchap-ctrl-secret-file dhchap
reads dhchap nvme check-dhchap-key --key-file dhchap
reads tls nvme check-tls-key --key-file tls
cp secret own
chmod 600 own
reads secret iser-discover 127.0.0.1:1 --user joe --secret-file secret
reads secret iser-login "iser://$iscsi" --dry-run --user joe --secret-file secret
reads secret iser-login "iser://$iscsi" --dry-run --user joe --secret-file own --target-secret-file secret
reads secret discover "iscsi://127.0.0.1:1?user=joe&secret-file=secret"
reads psk info 'nbds://127.0.0.1:1/?tls-psk-file=psk'
reads psk export ram:1M --nbd "unix:$SOCK" --tls-psk-file psk --run true
