#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# status --watch repeats, with rates between the samples; a terminal is redrawn; ^C ends it with status 0.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:status python3
set -e

error 2 usage "" "--watch --json" ours status --watch
error 2 usage '' '--watch 1 86400' ours status --watch=0
error 2 usage '' '--watch 1 86400' ours status --watch=86401

cat >on_terminal.py <<'END'
"""Runs status --watch on a terminal with that TERM, ends it by ^C after two samples; prints what it wrote."""
import os, pty, re, sys
term, until, words = sys.argv[1], sys.argv[2], sys.argv[3:]
pid, fd = pty.fork()
if not pid:
    if term: os.environ["TERM"] = term
    else: os.environ.pop("TERM", None)
    os.execv(os.environ["RDMASTOR"], [os.environ["RDMASTOR"], "status", *words])
got, sent = "", False
while True:
    try: piece = os.read(fd, 65536).decode(errors="replace")
    except OSError: break
    if not piece: break
    got += piece
    if not sent and len(re.findall(until, got)) >= 3:
        os.write(fd, b"\x03"); sent = True
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(got)
sys.exit(status if sent else 99)
END
# status shows all of this machine: no other test has a disk of that size
serve ram:59M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
python3 on_terminal.py xterm 'ram:59M' --watch=1 ram:59M >screen || die "exit status $?: $(cat -v screen)"
[ "$(grep -c $'\033\[H\033\[2J' screen)" -ge 3 ] || die "not redrawn: $(cat -v screen)"
for term in dumb ''; do
	python3 on_terminal.py "$term" 'ram:59M' --watch=1 ram:59M >screen || die "TERM=$term: exit status $?: $(cat -v screen)"
	! grep -q $'\033' screen || die "TERM=$term: $(cat -v screen)"
done

# the rate is that of the last second, not the average
"$RDMASTOR" status --watch 1 ram:59M >samples 2>errors & watch=$!
ended() { kill -KILL "$watch" 2>/dev/null; }
cleanup_fn ended
"$RDMASTOR" bench "$TCP" --rw read --bs 64K --iodepth 4 --runtime 3600 >/dev/null 2>&1 & load=$!
cleanup_fn kill -KILL $load
wait_running $load grep -Eq '^ram:59M +59MiB +nvme/tcp .* [0-9.]+[KMG]iB/s +0/s +0 ' samples
kill -KILL $load
last() { tail -1 samples | grep -Eq "$1"; }
wait_running "$watch" last ' 0/s +0/s '

# a server that ends is reported, and the watch continues
stop
wait_running "$watch" last '^ram:59M: '
kill -0 "$watch" || die "it ended: $(cat errors)"
kill -TERM "$watch" # a background process of a script ignores SIGINT
wait "$watch" || die "exit status $?"
error 1 - "ram:59M" "served" ours status --watch ram:59M
