#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# Have the network configured if there is something to attach, and the initqueue wait for it. Words that
# modules of dracut's own handle are left to them.

# The interfaces of NVMe boot firmware, unless dracut's nvmf module configures them, which that of dracut 059 does not.
rdmastor_words=
[ -e /sbin/nbftroot ] || rdmastor_words=$(rdmastor boot --network 2> /dev/null | grep nbft)

rdmastor_skip=
[ ! -e /sbin/nvmf-autoconnect.sh ] || [ "$rdmastor_words" ] || rdmastor_skip="$rdmastor_skip --skip nvmf"
case "$(getargs netroot=) $root" in
	*iser:*) ;; # not known to dracut's iscsi module
	*) [ ! -e /sbin/iscsiroot ] || rdmastor_skip="$rdmastor_skip --skip iscsi" ;;
esac
[ ! -e /sbin/nfsroot ] || rdmastor_skip="$rdmastor_skip --skip nfs"

# A failure is reported by the run that attaches. Without a network, names can't be looked up: don't wait.
# shellcheck disable=SC2086 # words
if ! rdmastor_plan=$(rdmastor boot --dry-run --timeout 100ms --mount "$NEWROOT" $rdmastor_skip --json 2> /dev/null) ||
	[ "${rdmastor_plan#*\"from\":}" != "$rdmastor_plan" ]; then
	mkdir -p /run/rdmastor
	echo "$rdmastor_skip" > /run/rdmastor/skip
	{
		echo rd.neednet=1
		[ -z "$rdmastor_words" ] || echo "$rdmastor_words"
	} > /etc/cmdline.d/40-rdmastor.conf
	# What configures networkd reads only the kernel's command line, whose ip= has precedence over the network of the host.
	if [ -x /usr/lib/systemd/systemd-network-generator ]; then
		case " $(cat /proc/cmdline)" in
			*[[:space:]]ip=*) ;;
			*) rdmastor_words="$rdmastor_words $(cat /etc/cmdline.d/71rdmastor.conf 2> /dev/null)" ;;
		esac
		# shellcheck disable=SC2086 # words
		/usr/lib/systemd/systemd-network-generator -- $rdmastor_words
	fi
	echo '[ -e /run/rdmastor/status ]' > "$hookdir/initqueue/finished/rdmastor.sh"
	need_shutdown
	# dracut without systemd mounts /run noexec, and then systemd-shutdown does not enter /run/initramfs
	[ -n "$DRACUT_SYSTEMD" ] || mount -o remount,exec /run
	case $root in
		nfs:* | nfs4:* | nfs+rdma:* | /dev/nfs)
			if [ ! -e /sbin/nfsroot ]; then
				root=nfs
				rootok=1
			fi
			;;
		iscsi:* | iser:*)
			if [ ! -x /sbin/iscsiroot ] || [ "${root#iser:}" != "$root" ]; then
				root=rdmastor
				rootok=1
			fi
			;;
	esac
	# dracut gives up on a netroot= without a handler, which it calls once the network is up: /sbin has links to this one
	echo '#!/bin/sh' > /run/rdmastor/handler
	chmod +x /run/rdmastor/handler
fi
unset rdmastor_skip rdmastor_words rdmastor_plan
