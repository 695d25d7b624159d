#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --ready-fd accepts only a descriptor of the caller, not one that the target has opened itself.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
for fd in {3..20}; do
	exec {fd}>&- # what the runner may have left open
	error 1 system '' "--ready-fd \b$fd\b bad.file.descriptor" \
		"$RDMASTOR" serve ram:1M --nvmf --tcp 127.0.0.1:0 \
		--daemon --pid-file pid --ready-fd "$fd"
	[ ! -e pid ] || die "the target runs"
done
