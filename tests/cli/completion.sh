# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# What every shell must complete. The test of a shell defines offers LINE: the candidates in that shell, one a line, and
# calls check_completions. Sourced after lib.sh; not a test itself.
# shellcheck disable=SC2154 # top is set by lib.sh
completion_setup() {
	requires applet:info
	mkdir -p bin here/folder
	ln -s "$RDMASTOR" bin/rdmastor
	PATH=$PWD/bin:$PATH
	: >here/file.img
	cd here || exit 1
}

has() { # LINE CANDIDATE…
	local line=$1 got want
	shift
	got=$(offers "$line")
	for want; do
		grep -qxF -e "$want" <<<"$got" || die "'$line' does not offer '$want' but: $got"
	done
}

hasnt() { # LINE CANDIDATE…
	local line=$1 got no
	shift
	got=$(offers "$line")
	for no; do
		! grep -qxF -e "$no" <<<"$got" || die "'$line' offers '$no'"
	done
}

# Shells differ in how much of the word a candidate repeats: before "json" in --output=j, before a file in file:NAME, and
# in how they write a folder.
check_completions() { # BEFORE-VALUE BEFORE-FILE FOLDER
	local option=$1 file=$2 folder=$3
	has 'rdmastor inf' info
	has 'rdmastor --inst' --install
	has 'rdmastor info --ver' --verbose
	hasnt 'rdmastor info --ver' --quiet
	has 'rdmastor info --output ' json text
	has 'rdmastor info --output j' json
	hasnt 'rdmastor info --output j' text
	has 'rdmastor info --output=j' "${option}json"
	has 'rdmastor info --json nvme+r' nvme+rdma://
	has 'rdmastor nfsrdma-mount nfs' nfs+rdma://
	has 'rdmastor iser-discover is' iser://
	has 'rdmastor iser-discover isc' iscsi://
	has 'rdmastor iser-login i' iser:// iscsi://
	has 'rdmastor srp-disconnect s' srp:// srp+cm://
	has 'rdmastor nvmf-connect n' nvme+rdma:// nvme+tcp://
	hasnt 'rdmastor nvmf-connect n' null:
	hasnt 'rdmastor iser-login n' nvme+tcp://
	has 'rdmastor copy n' nbd:// nbd+unix:// nvme+tcp://
	has 'rdmastor nfsrdma-mount --fallback ' none tcp
	has 'rdmastor serve --on-loss ' fail-fast forever wait=
	has 'rdmastor nfsrdma-mount server:/exp fo' "$folder"
	has 'rdmastor info fi' file: file.img
	has 'rdmastor info file:fi' "${file}file.img"
	has 'rdmastor info nvme+tcp://h/nqn.x:y?hostn' 'nvme+tcp://h/nqn.x:y?hostnqn='
	has "rdmastor info 'nvme+tcp://h/nqn.x:y?host" 'nvme+tcp://h/nqn.x:y?hostnqn=' 'nvme+tcp://h/nqn.x:y?hostid='
	hasnt 'rdmastor info nvme+tcp://h/nqn.x:y?hostn' 'nvme+tcp://h/nqn.x:y?hostid='
	has "rdmastor iser-login 'iscsi://h/iqn.x:y?queue-depth=4&noop-i" 'iscsi://h/iqn.x:y?queue-depth=4&noop-interval='
	has 'rdmastor --install fo' "$folder"
	hasnt 'rdmastor --install f' file.img
}
