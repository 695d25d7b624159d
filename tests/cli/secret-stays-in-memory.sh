#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A secret is not in the process's environment, arguments or core dump; a file or a length that is unsafe is noted.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 setpriv

# A portal that accepts and then is silent.
python3 -c '
import signal, socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >port &
cleanup_fn kill $!
wait_running $! test -s port
portal=127.0.0.1:$(cat port)

user=$(id -u)
as=()
[ "$user" != 0 ] || { user=65534; as=(setpriv "--reuid=$user" --regid=65534 --clear-groups); }
install -m 755 "$RDMASTOR" "$TMP/rdmastor"
chmod 755 "$TMP"
umask 022
echo long-enough-for-all >readable
echo short >short
chmod 600 short
chown "$user" short

# waits WORD…: discovery at the portal, as an ordinary user
waits() {
	: >err
	"${as[@]}" env -i KEPT=variable "${variables[@]}" "$TMP/rdmastor" iser-discover "$portal" --timeout 0 "$@" 2>err &
	SERVER=$!
	wait_running "$SERVER" grep -q 'iqn\.' err
}
dumpable() { [ "$(stat -c %u "/proc/$SERVER/environ")" = "$user" ]; } # proc(5)
over() {
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null || true
	SERVER=
}

cleanup_fn end_server
variables=()
waits -v
dumpable || die 'a process without a secret has no core dump'
over

variables=(LIBISCSI_CHAP_USERNAME=joe LIBISCSI_CHAP_PASSWORD=fromtheenvironment RDMASTOR_TLS_KEY=otherfromthere)
waits -v
dumpable && die 'a core dump would hold the secret of the environment'
tr '\0' '\n' <"/proc/$SERVER/environ" >environ
grep -q KEPT=variable environ || die "the environment is gone: $(cat environ)"
! grep -q from environ || die "/proc/PID/environ has $(grep from environ)"
over

variables=()
waits -v -u joe --secret-file readable
dumpable && die 'a core dump would hold the secret of a file'
grep -q 'readable: .*\<644\>' err || die "no word of the mode: $(cat err)"
! grep -q 'CHAP.*\<12\>' err || die "a long secret is noted: $(cat err)"
over

waits -v -u joe --secret-file short
! grep -q 'short: ' err || die "a private file is noted: $(cat err)"
grep -q 'CHAP.*\<5\>.*\<12\>' err || die "no word of the length: $(cat err)"
over
