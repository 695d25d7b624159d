#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Completion offers the keys that reading the URI knows, each once, and reads no file that the URI names.
. "$(dirname "$0")/lib.sh"
requires applet:info applet:nvmf-connect applet:iser-login applet:srp-connect applet:nfsrdma-mount

keys() { "$RDMASTOR" --complete "$1" "$2" | cut -f1 | sed -nE 's/.*[?&](.*)=$/\1/p'; } # APPLET URI
while read -r applet uri more; do
	keys "$applet" "$uri?" | sort >offered
	# shellcheck disable=SC2086 # an operand or none
	error 2 usage '.*' "unknown.key 'zzz'" "$RDMASTOR" "$applet" "$uri?zzz" $more
	# A hint has no room for very many: the last one may be cut off
	# shellcheck disable=SC2086
	"$RDMASTOR" "$applet" --json "$uri?zzz" $more 2>err | jq -r .error.hint | sed 's/^known keys: //; s/, /\n/g' | head -n -1 | sort >known
	[ -s known ] || die "$applet $uri: no keys in the hint"
	[ -z "$(comm -13 offered known)" ] || die "$applet $uri does not offer: $(comm -13 offered known)"
	same "$applet $uri: twice" "$(uniq -d offered)" ''
done <<'URIS'
info nvme+tcp://127.0.0.1/nqn.x
info nvme+rdma://127.0.0.1/nqn.x
copy iscsi://127.0.0.1/iqn.x null:
bench iser://127.0.0.1/iqn.x
info srp+cm://127.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2
info nbd://127.0.0.1/x
info ram:1M
info file:/dev/null
nvmf-connect nvme+rdma://127.0.0.1/nqn.x
iser-login iscsi://127.0.0.1/iqn.x
srp-connect srp+cm://127.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2
nfsrdma-mount nfs+rdma://127.0.0.1/x /mnt
URIS
# Keys that a first one would be missing for, and none that is only there to be refused
keys info nbd+unix:///? | grep -qx socket || die 'no socket='
keys info 'srp://fe800000000000000002c903004ed0b3/0002c903004ed0b2/0002c903004ed0b2?' | grep -qx service_id || die 'no service_id='
! keys info nbd://127.0.0.1/x? | grep tls- || die 'keys of TLS without TLS'
! keys info iser://127.0.0.1/iqn.x? | grep -x iface || die 'iface= is not supported over iSER'
# A pipe with a secret would block
mkfifo pipe
same 'behind a secret' "$(keys info 'iscsi://127.0.0.1/iqn.x?user=joe&secret-file=pipe&que')" queues
same 'behind a secret' "$(keys iser-login 'iscsi://127.0.0.1/iqn.x?user=joe&secret-file=pipe&noop-int')" noop-interval
