#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# Have the network configured if there is something to attach, and the initqueue wait for it. Words that
# modules of dracut's own handle are left to them.

rdmastor_skip=
[ ! -e /sbin/nvmf-autoconnect.sh ] || rdmastor_skip="$rdmastor_skip --skip nvmf"
[ ! -e /sbin/iscsiroot ] || rdmastor_skip="$rdmastor_skip --skip iscsi"
[ ! -e /sbin/nfsroot ] || rdmastor_skip="$rdmastor_skip --skip nfs"

# shellcheck disable=SC2086 # words
if rdmastor boot --dry-run --mount "$NEWROOT" $rdmastor_skip --json 2> /dev/null | grep -q '"from":'; then
	mkdir -p /run/rdmastor
	echo "$rdmastor_skip" > /run/rdmastor/skip
	echo rd.neednet=1 > /etc/cmdline.d/40-rdmastor.conf
	echo '[ -e /run/rdmastor/status ]' > "$hookdir/initqueue/finished/rdmastor.sh"
	need_shutdown
	case $root in
		nfs:* | nfs4:* | nfs+rdma:* | /dev/nfs)
			if [ ! -e /sbin/nfsroot ]; then
				root=nfs
				rootok=1
			fi
			;;
		iscsi:* | iser:*)
			if [ ! -e /sbin/iscsiroot ]; then
				rootok=1
			fi
			;;
	esac
fi
unset rdmastor_skip
