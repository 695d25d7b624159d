#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""readline.py COMPLETION KEY… : an interactive bash on a terminal of its own, with that completion loaded. Types the keys ("TAB" and
"ALL" are complete and insert-completions) and prints the line as readline then has it."""
import os
import pty
import select
import sys
import tempfile

PROMPT = b"ready>"


def read_until(fd, wanted):
    seen = b""
    while wanted not in seen:
        seen += os.read(fd, 65536)


completion, *keys = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    rc, line = os.path.join(folder, "rc"), os.path.join(folder, "line")
    with open(rc, "w", encoding="utf-8") as file:
        file.write(f"""
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind 'set completion-query-items 0'
bind '"\\C-xa": insert-completions'
bind -x '"\\C-xd": printf "%s\\n" "$READLINE_LINE" >{line}.new; mv {line}.new {line}'
. '{completion}'
PS1='{PROMPT.decode()[:-1]}''>'
""")
    pid, fd = pty.fork()
    if not pid:
        os.environ["TERM"] = "dumb"
        os.execvp("bash", ["bash", "--noprofile", "--rcfile", rc, "-i"])
    read_until(fd, PROMPT)
    for key in keys + ["DUMP"]:
        os.write(fd, {"TAB": b"\t", "ALL": b"\x18a", "DUMP": b"\x18d"}.get(key, key.encode()))
    while not os.path.exists(line):
        if select.select([fd], [], [], 0.1)[0]:
            os.read(fd, 65536)
    with open(line, encoding="utf-8") as file:
        print(file.read(), end="")
    os.close(fd)
    os.waitpid(pid, 0)
