#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Without io_uring, a disk that hangs: hosts of another disk are served, new ones connect, and the stop is bounded.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3 unshare mkfs.ext4 fsfreeze
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
if [ "${1-}" != inside ]; then
	unshare -m true 2>/dev/null || { echo "no mount namespaces"; exit 77; }
	exec unshare -m "$HERE/${0##*/}" inside
fi
python3 "$HERE/no_io_uring.py" true || { echo "no seccomp"; exit 77; }

mkdir fs
truncate -s 64M fs.img
mkfs.ext4 -qF fs.img
mount -o loop fs.img fs 2>err || { echo "no file system in a loop device: $(cat err)"; exit 77; }
cleanup_fn umount fs
random_file fs/slow 8
random_file quick 8
sync -f fs

printf '#!/bin/sh\nexec python3 "%s" "%s" "$@"\n' "$HERE/no_io_uring.py" "$RDMASTOR" >wrapper
chmod +x wrapper
client=$RDMASTOR RDMASTOR=$PWD/wrapper
serve quick fs/slow --nvmf --queues 1 --nqn "$NQN:quick" --nqn "$NQN:slow" --tcp 127.0.0.1:0 \
	--stop-timeout 1
quick=nvme+tcp://127.0.0.1:$PORT/$NQN:quick slow=nvme+tcp://127.0.0.1:$PORT/$NQN:slow

thaw() { fsfreeze -u fs 2>/dev/null; }
fsfreeze -f fs || { echo "the file system cannot be frozen"; exit 77; }
cleanup_fn thaw
"$client" bench "$slow" --rw randwrite --iodepth 32 --runtime 3600 >/dev/null 2>&1 &
writer=$!
disown "$writer"
end_writer() { kill -KILL "$writer" 2>/dev/null; }
cleanup_fn end_writer
hang() { grep -qsE '^State:[[:blank:]]+D' "/proc/$SERVER/task/"*/status; }
wait_running "$writer" hang
sleep 0.5 # for its other threads
for _ in 1 2 3; do # a new connection each time
	"$client" copy "$quick" read --quiet --force >/dev/null || die 'another disk is not served'
	cmp quick read || die 'another disk was read wrongly'
done
hang || die 'the disk does not hang any more'

# The kernel keeps the process until its calls return; the message comes before.
kill -TERM "$SERVER"
wait_until grep -q '\<data\>.*\<1 s' err
thaw
rc=0
wait "$SERVER" || rc=$?
SERVER=
same 'the exit status' "$rc" 1
