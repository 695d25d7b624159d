#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""setsid -w typist.py STEP… -- COMMAND…: run it as the foreground job of a new terminal.

Steps: see TEXT (wait until the terminal shows it, behind what was seen before), type TEXT (with \\n, \\3 and the like), kill NAME (a signal),
hidden, echoed (what the terminal does with what is typed), stopped (wait until it stops, then continue it). Prints what the terminal
has shown, and the command's exit status or signal. Fails if a step does, or if the terminal does not echo at the end."""
import fcntl
import os
import select
import signal
import subprocess
import sys
import termios

at = sys.argv.index("--")
steps, command = sys.argv[1:at], sys.argv[at + 1:]
master, terminal = os.openpty()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
shown, seen = b"", 0


def job():
    os.setpgid(0, 0)
    os.tcsetpgrp(terminal, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def fail(why):
    sys.exit(f"typist.py: {why}; the terminal shows: {shown.decode()}")


def echoes():
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def see(text):
    global shown, seen
    while shown.find(text, seen) < 0:
        if select.select([master], [], [], 0.1)[0]:
            shown += os.read(master, 4096)
        elif child.poll() is not None:
            fail(f"it has ended without {text.decode()}")
    seen = shown.find(text, seen) + len(text)


child = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=job)
words = iter(steps)
for step in words:
    if step == "see":
        see(next(words).encode())
    elif step == "type":
        os.write(master, next(words).encode().decode("unicode_escape").encode())
    elif step == "kill":
        child.send_signal(getattr(signal, "SIG" + next(words)))
    elif step == "stopped":
        if not os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]):
            fail("it has ended instead of stopping")
        if not echoes():
            fail("no echo while it is stopped")
        child.send_signal(signal.SIGCONT)
    elif echoes() != {"hidden": False, "echoed": True}[step]:
        fail(f"not {step}")
status = child.wait()
while select.select([master], [], [], 0)[0]:
    shown += os.read(master, 4096)
if not echoes():
    fail("no echo at the end")
text = shown.replace(b"\r", b"").decode()
print(text, end="\n" if text[-1:] not in ("", "\n") else "")
print(f"status {status}" if status >= 0 else signal.Signals(-status).name)
