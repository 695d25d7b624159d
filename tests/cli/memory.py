#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""memory.py PID TEXT… : print each text that the memory of the process holds, or that of a child. Needs root."""
import sys


def family(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [pid] + [p for child in f.read().split() for p in family(child)]


def memory(pid):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            where, rights = line.split()[:2]
            begin, end = (int(x, 16) for x in where.split("-"))
            if rights[1] != "w" or end - begin > 1 << 28:
                continue
            try:
                mem.seek(begin)
                yield mem.read(end - begin)
            except OSError:  # a device, or a mapping that has ended
                pass


texts = sys.argv[2:]
found = {t for p in family(sys.argv[1]) for m in memory(p) for t in texts if t.encode() in m}
print(*(t for t in texts if t in found), sep="\n")
