#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# libiscsi's conformance tests of SCSI and iSCSI against our target. A failed suite would leave its units to the next, so each
# has a target process of its own; one more has two paths.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires iscsi-test-cu
set -e

# What may fail: the status of past copies, which is not kept; and a step behind a wrong DataSN. We end the connection for that, the
# test logs in again with immediate data, and then there is no Data-Out PDU that it could spoil.
known='^(CopyStatus|iSCSIDataSnInvalid)$'

IQN=iqn.2024-01.lab:d
truncate -s 64M disk
serve disk --iscsi --tcp 127.0.0.1:0 --iqn $IQN
PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
LUN0=iscsi://$PORTAL/$IQN/0

iscsi-test-cu --list | grep -Eo '^i?SCSI\.[A-Za-z0-9]+' | sort -u >suites
[ "$(wc -l <suites)" -ge 45 ] || die "$(wc -l <suites) suites"
passed=0
while read -r suite; do
	iscsi-test-cu -d -V -t "$suite" "$LUN0" >"$suite.log" 2>&1 </dev/null || : # not 0 if any test failed
	grep -q 'Run Summary' "$suite.log" || die "$suite: $(tail -n 5 "$suite.log")"
	# a test's name, its messages, then how it ended
	failed=$(awk '/^  Test: /{name=$2} /FAILED$/{print name}' "$suite.log" | grep -Ev "$known" || :)
	[ -z "$failed" ] || die "$suite: $failed: $(grep -E 'FAILED|^ +[0-9]+\. ' "$suite.log" | head -n 5)"
	n=$(awk '$1 == "tests" {print $4}' "$suite.log")
	passed=$((passed + ${n:-0}))
done <suites
[ "$passed" -ge 228 ] || die "only $passed tests passed"

# What this target has may not be skipped.
for suite in CompareAndWrite ExtendedCopy GetLBAStatus Inquiry Prefetch10 Prefetch16 PrinReadKeys ProutReserve ProutPreempt Read16 Reserve6 Unmap WriteSame16 WriteVerify16; do
	! grep -Eq 'SKIPPED.*not implemented' "SCSI.$suite.log" || die "$suite: $(grep SKIPPED "SCSI.$suite.log")"
done

for name in Simple Reset CompareAndWrite CompareAndWriteAsync; do
	iscsi-test-cu -d -V -t ALL.MultipathIO.$name "$LUN0" "$LUN0" >paths.log 2>&1 </dev/null
	[ "$(awk '$1 == "tests" {print $4, $5}' paths.log)" = '1 0' ] || die "MultipathIO.$name: $(tail -n 20 paths.log)"
	! grep -q SKIPPED paths.log || die "MultipathIO.$name: $(grep SKIPPED paths.log)"
done
stop
