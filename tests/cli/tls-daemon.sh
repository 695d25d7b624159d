#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# tls-daemon: wrong calls, the words of tlshd, and a process that may not answer the kernel, or whose kernel asks nobody.
. "$(dirname "$0")/lib.sh"
requires jq unshare
d="$RDMASTOR tls-daemon"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' "'x' operand" $d x
	error 2 usage '' '--ready-fd --daemon' $d --daemon --ready-fd 3
	error 2 - tls-daemon 'tlshd omit' $d -s
	error 2 - tls-daemon 'tlshd keyrings' $d --config /etc/tlshd.conf
	error 1 - tls-daemon 'TLS.handshakes' unshare -U $d
	error 1 - tls-daemon 'TLS.handshakes' unshare -U $d --daemon
}
