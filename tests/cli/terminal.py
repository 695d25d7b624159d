#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""terminal.py TERM COLUMNS COMMAND… : run it on a terminal of its own, and print every byte that it shows. TERM "" is unset."""
import fcntl
import os
import pty
import struct
import sys
import termios

term, columns, *command = sys.argv[1:]
pid, fd = pty.fork()
if not pid:
    os.environ.pop("TERM", None)
    if term:
        os.environ["TERM"] = term
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(columns), 0, 0))
    os.execvp(command[0], command)
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:  # the terminal is gone with its last process
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
