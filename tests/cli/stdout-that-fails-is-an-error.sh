#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Results that could not be written are a failure, reported on stderr: full disk, closed descriptor, reader gone.
. "$(dirname "$0")/lib.sh"
full() { "$RDMASTOR" "$@" >/dev/full; }
closed() { "$RDMASTOR" "$@" >&-; }
# a pipe whose reader is gone
mkfifo pipe
exec 4<>pipe 5>pipe 4>&-
gone() { "$RDMASTOR" "$@" >&5; }
for words in --version --help --option-rows; do
	error 1 - '^rdmastor: standard output: ' 'no.space.left' full "$words"
	error 1 - '^rdmastor: standard output: ' 'bad.file.descriptor' closed "$words"
	error 1 - '^rdmastor: standard output: ' 'broken.pipe' gone "$words"
done
requires applet:info
error 1 - '^rdmastor info: standard output: ' 'no.space.left' full info ram:1M
