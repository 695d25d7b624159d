#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# NBD errors carry the server's text: qemu-nbd's in our messages, also through an export of ours, and ours in libnbd's.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires qemu-nbd qemu-img nbdsh
set -e

random_file src 1
qemu-img convert -O qcow2 src disk
full=file.inject-error.0.event=write_aio,file.inject-error.0.errno=28
up qemu-nbd -x disk -k "$SOCK" -t --image-opts "driver=qcow2,file.driver=blkdebug,file.image.driver=file,file.image.filename=disk,$full"
error 1 not-found "unix:$SOCK" "export 'nosuch' 'export.*not.present'" "$RDMASTOR" info "nbd+unix:///nosuch?socket=$SOCK"
uri="nbd+unix:///disk?socket=$SOCK"
error 1 io "$(ere "$uri")" "write ENOSPC 'writing.to.file.failed'" "$RDMASTOR" copy src "$uri"
error 1 io "$(ere "$uri")" "write ENOSPC 'writing.to.file.failed'" "$RDMASTOR" bench "$uri" --rw write --runtime 3600 --force

offer "$uri" --nbd "unix:$TMP/through"
error 1 io '.*' "write ENOSPC writing.to.file.failed" "$RDMASTOR" copy src "nbd+unix:///?socket=$TMP/through"
stop 1
down

offer ram:1M --ro --nbd "unix:$SOCK"
LIBNBD_DEBUG=1 sh_nbd -c '
h.set_strict_mode(0)
try:
    h.pwrite(b"x" * 512, 0)
    assert False
except nbd.Error:
    pass
' 2>debug
grep -q 'server message: .*read-only' debug || die "$(cat debug)"
stop
