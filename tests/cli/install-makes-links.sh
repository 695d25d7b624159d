#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --install: all links or none, printed; no generic names without --all; --only, --force and --uninstall.
. "$(dirname "$0")/lib.sh"
requires jq
mkdir links bindir half
"$RDMASTOR" --install links >out || die "exit status $?"
replaced=(ibsrpdm mount.nfsrdma srp_daemon)
aliases=(iscsi-discover iscsi-login iscsi-logout)
tools=(iscsiadm iscsistart nvme "${replaced[@]}")
all=$({ "$RDMASTOR" --list; printf '%s\n' "${replaced[@]}" "${aliases[@]}"; } | sort)
usual=$({ "$RDMASTOR" --list | grep -e -; printf '%s\n' "${tools[@]}" "${aliases[@]}"; } | sort)
same links "$(ls links)" "$usual"
same printed "$(sed 's#^links/\(.*\) -> .*#\1#' out | sort)" "$usual"
"$RDMASTOR" --install links --all | grep -q '^links/info -> ' || die "--all"
same "links of --all" "$(ls links)" "$all"
links/iscsi-login --help | head -n 1 | grep -q '^Usage: rdmastor iser-login ' || die "the alias is not the applet"
links/info --help | head -n 1 | grep -q '^Usage: rdmastor info ' || die "the link is not the applet"
ours --install links --json | jq -e '.links | length > 20 and all(.existed)' >/dev/null || die "again: $(cat out)"

cp "$RDMASTOR" bindir/rdmastor
bindir/rdmastor --install bindir --all >/dev/null || die "bindir: exit status $?"
same "links next to the binary" "$(readlink bindir/info)" rdmastor

# A name that is taken: nothing changes, unless forced
rm links/*
echo mine >links/info
ln -s /nowhere links/copy
error 1 busy links 'copy info --force' "$RDMASTOR" --install links --all
same "links after a refusal" "$(ls links | tr '\n' ' ')" 'copy info '
"$RDMASTOR" --install links --all --force --dry-run >/dev/null || die "dry run"
same "links after a dry run" "$(ls links | tr '\n' ' ')" 'copy info '
"$RDMASTOR" --install links --all --force >/dev/null || die "force"
same "links, forced" "$(ls links)" "$all"
[ -L links/info ] || die "info is not a link"
rm links/copy
mkdir links/copy
error 1 busy links copy "$RDMASTOR" --install links --all --force
rmdir links/copy

# What was created before a failure is removed
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # expanded inside
	error 1 io '.*' 'no.space' unshare -m bash -c 'mount -t tmpfs -o nr_inodes=8 none half && "$@"; rc=$?; ls half >left; exit $rc' - "$RDMASTOR" --install half
	[ ! -s left ] || die "left behind: $(cat left)"
	# a mount point can't be replaced: neither new names nor replaced files stay changed
	echo mine >half/copy
	# shellcheck disable=SC2016 # expanded inside
	error 1 busy '.*/nvmf-connect' '' unshare -m bash -c '>half/nvmf-connect; mount --bind /dev/null half/nvmf-connect && "$@"' - "$RDMASTOR" --install half --all --force
	same "after a failed --force" "$(ls half | tr '\n' ' ')$(cat half/copy)" 'copy nvmf-connect mine'
	rm half/*
fi
ln -s gone half/ibsrpdm.rdmastor-new # of an interrupted run

"$RDMASTOR" --install half --only replacements >/dev/null || die "replacements"
same "replacements" "$(ls half)" "$(printf '%s\n' "${tools[@]}" | sort)"
echo mine >half/other
"$RDMASTOR" --install half --uninstall >out || die "uninstall"
same "after --uninstall" "$(ls half)" other
same "removed" "$(wc -l <out)" 6
bindir/rdmastor --install bindir --uninstall >/dev/null || die "uninstall next to the binary"
same "after --uninstall next to the binary" "$(ls bindir)" rdmastor
"$RDMASTOR" --install half --only applets >/dev/null || die "applets"
[ ! -e half/ibsrpdm ] && [ ! -e half/info ] && [ -e half/nvmf-connect ] || die "applets: $(ls half)"
"$RDMASTOR" --install half --only applets --all >/dev/null || die "applets --all"
[ ! -e half/ibsrpdm ] && [ -e half/info ] || die "applets --all: $(ls half)"

error 1 not-found nowhere 'no.such.file' "$RDMASTOR" --install nowhere
error 2 usage '' DIR "$RDMASTOR" --install
error 2 usage '' 'sideways applets replacements' "$RDMASTOR" --install half --only sideways
