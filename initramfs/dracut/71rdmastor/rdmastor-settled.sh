#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# Start attaching, in the background, as other jobs of the initqueue may have to bring up what it waits for. If it attached
# nothing, leave ten rounds of half a second to a root that does not depend on it, and then let dracut open its emergency shell.
if [ -e /run/rdmastor/skip ] && [ ! -e /run/rdmastor/started ]; then
	: > /run/rdmastor/started
	/sbin/rdmastor-boot &
elif grep -qsxv '[03]' /run/rdmastor/status; then
	rdmastor_rounds=$((${rdmastor_rounds:-0} + 1))
	[ "$rdmastor_rounds" != 10 ] || main_loop=$RDRETRY
fi
