#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An iSCSI target under an initiator that uses features that others don't: default bursts, the whole command window, immediate
# commands, racing logins; names that are not in iSCSI's formats.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3
set -e

truncate -s 16M disk
serve disk --iscsi --tcp 127.0.0.1:0 --iqn iqn.2024-01.lab:d
PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
python3 "$HERE/iscsi_raw.py" "${PORTAL##*:}" iqn.2024-01.lab:d disk
stop

serve disk --iscsi --tcp 127.0.0.1:0 --iqn iqn.2024-01.lab:d --allow-initiator client7
PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
python3 "$HERE/iscsi_raw.py" "${PORTAL##*:}" iqn.2024-01.lab:d disk client7
! python3 "$HERE/iscsi_raw.py" "${PORTAL##*:}" iqn.2024-01.lab:d disk client8 2>refused || die 'a stranger logs in'
grep -q 'login status 02' refused || die "$(cat refused)"
stop
