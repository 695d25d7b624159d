#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# With --ro nothing is written, and the disk is reported as read-only.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file disk 2
cp disk before
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --ro
ours info "$TCP?ro=1" >/dev/null
ours copy -q --verify "$TCP?ro=1" back
cmp back disk
! ours copy -q back "$TCP" 2>copy.err || die 'written nevertheless'
cmp before disk
# to be served or exported on it needs --ro, which the hint names; a stop is reported with --verbose only
error 1 permission '.*' '--ro' ours serve "$TCP" --nvmf --tcp 127.0.0.1:0
error 1 permission '.*' '--ro' ours export "$TCP" --nbd "unix:$SOCK"
! grep -q SIGTERM err || die "$(cat err)"
stop
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --ro -v
kill -TERM "$SERVER"
wait "$SERVER"
SERVER=
grep -q SIGTERM err || die "$(cat err)"
