#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Results that could not be written are a failure, said on stderr: full disk, closed descriptor, reader gone.
. "$(dirname "$0")/lib.sh"
full() { "$RDMASTOR" "$@" >/dev/full; }
closed() { "$RDMASTOR" "$@" >&-; }
gone() { (sleep 0.2; exec "$RDMASTOR" "$@") | true; return "${PIPESTATUS[0]}"; }
for words in --version --help --option-rows; do
	fails 1 '^rdmastor: standard output: write: no space left' full "$words"
	fails 1 '^rdmastor: standard output: write: bad file descriptor' closed "$words"
	fails 1 '^rdmastor: standard output: write: broken pipe' gone "$words"
done
requires applet:info
fails 1 '^rdmastor info: standard output: write: no space left' full info ram:1M
