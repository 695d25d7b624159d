#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# For a root over iSER, dracut's iscsi module, which knows no iSER, has written words of its own, which log in to the target a second
# time, over TCP. Remove them before that module reads them, if a word of ours has the target, and its network, which network-legacy must
# not find twice, if ours has it. Words of the boot loader stay.
getargs rd.rdmastor= | sed -n 's#^iser://[^/]*/\([^/?,]*\).*#\1#p' | while read -r rdmastor_target; do
	for rdmastor_file in /etc/cmdline.d/*iscsi*.conf; do
		[ ! -e "$rdmastor_file" ] || sed -i "\\#^netroot=iscsi:.*:$rdmastor_target\$#d" "$rdmastor_file"
	done
done
for rdmastor_file in /etc/cmdline.d/*iscsi*.conf; do
	[ -e "$rdmastor_file" ] && grep -qs ' ip=' /etc/cmdline.d/71rdmastor.conf || continue
	sed -i 's/\(^\| \)\(ifname\|ip\)=[^ ]*//g' "$rdmastor_file"
done
unset rdmastor_file
