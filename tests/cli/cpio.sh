#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --cpio: what cpio unpacks from it, reproducible output, alignment when appended, and what is refused.
. "$(dirname "$0")/lib.sh"
requires cpio
unpack() { rm -rf root && mkdir root && (cd root && cpio -idm --quiet --no-absolute-filenames); }
list() { (cd root && find . -mindepth 1 ! -type d | sed 's#^\./##' | sort | tr '\n' ' '); }

"$RDMASTOR" --cpio >a || die "exit status $?"
unpack <a || die "cpio does not read it"
same "the program alone" "$(list)" "usr/bin/rdmastor "
cmp root/usr/bin/rdmastor "$RDMASTOR" || die "the program is not the same"
[ -x root/usr/bin/rdmastor ] || die "it is not executable"
same "a whole number of blocks" $(($(wc -c <a) % 512)) 0
sleep 1.1
"$RDMASTOR" --cpio | cmp - a || die "twice is not the same"
SOURCE_DATE_EPOCH=86400 "$RDMASTOR" --cpio | (unpack)
same "its time" "$(stat -c %Y root/usr/bin/rdmastor)" 86400

echo secret >key && chmod 600 key
ln -s key link
mkdir folder && echo hello >folder/hello && chmod 6755 folder/hello
ln -s folder linked
"$RDMASTOR" --cpio --dir bin --links replacements --add "$PWD/key" --add link=/etc//./keys/other --add folder/hello=x/y/z --add key >/dev/null 2>err &&
	die "the same file twice"
grep -q 'twice' err || die "twice: $(cat err)"
"$RDMASTOR" --cpio --dir bin --links replacements --add "$PWD/key" --add link=/etc//./keys/other --add folder/hello=x/y/z \
	--add "$PWD/linked/hello" --add link >b || die "exit status $?"
unpack <b
same "all of it" "$(list)" "$(printf '%s\n' bin/{ibsrpdm,iscsiadm,iscsistart,mount.nfsrdma,nvme,rdmastor,srp_daemon} etc/keys/other "${PWD#/}"/{folder/hello,key,link} x/y/z | sort | tr '\n' ' ')"
same "a link" "$(readlink root/bin/nvme)" rdmastor
root/bin/ibsrpdm -V 2>&1 | grep -q . || die "the link does not run"
same "no set-user-ID: the owner becomes root" "$(stat -c %a root/x/y/z)" 755
same "the key" "$(stat -c %a root/etc/keys/other) $(cat root/etc/keys/other)" "600 secret"
cpio -tv --quiet <b 2>/dev/null | awk '{print $3, $4}' | sort -u >owners
same "the owner" "$(cat owners)" "root root"
"$RDMASTOR" --cpio --links applets | unpack
root/usr/bin/info --help | grep -q '^Usage: rdmastor info ' || die "the link of an applet does not run"

# appended: the kernel looks for an archive at a multiple of 4 and skips zeros before it
for odd in 1 2 3 4; do
	head -c "$odd" /dev/urandom >initrd
	"$RDMASTOR" --cpio >>initrd || die "appended: exit status $?"
	same "appended to $odd bytes" "$(grep -abo -m 1 070701 initrd | head -n 1)" 4:070701
done

error 2 - 'key=../key' "invalid.path '\\.\\.'" "$RDMASTOR" --cpio --add key=../key
error 2 - 'key=/' 'invalid.path' "$RDMASTOR" --cpio --add key=/
error 2 - '--add =x' 'invalid.path' "$RDMASTOR" --cpio --add =x
error 2 - 'TRAILER' 'invalid.path' "$RDMASTOR" --cpio --add 'key=/TRAILER!!!'
error 2 - '/*folder: ' 'regular' "$RDMASTOR" --cpio --add folder=x
error 1 - 'nowhere: ' 'no.such.file' "$RDMASTOR" --cpio --add nowhere=x
error 2 - '/x: ' directory "$RDMASTOR" --cpio --add key=x --add key=x/y
error 2 - '--dir' 'invalid.path' "$RDMASTOR" --cpio --dir ..
error 2 - sideways 'applets replacements' "$RDMASTOR" --cpio --links sideways
error 2 - SOURCE_DATE_EPOCH soon env SOURCE_DATE_EPOCH=soon "$RDMASTOR" --cpio
error 2 usage '' '--json standard.output' "$RDMASTOR" --cpio
"$RDMASTOR" --cpio --add /proc/self/status=x >/dev/null 2>err && die "a file of size 0 that has content does not fail"
grep -q '/x: .*size' err || die "a wrong size: $(cat err)"
"$RDMASTOR" --cpio >/dev/full 2>err && die "a full disk does not fail"
grep -q 'standard output: .*no space' err || die "a full disk: $(cat err)"
if command -v script >/dev/null; then
	script -qec "'$RDMASTOR' --cpio" /dev/null >out || :
	grep -q terminal out || die "a terminal: $(head -c 300 out)"
fi
exit 0
