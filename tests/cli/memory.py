#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""memory.py [--unlocked] PID TEXT… : print each text that the memory of the process holds, or that of a child; --unlocked: where it may be
swapped out. Needs root."""
import sys

unlocked = sys.argv[1] == "--unlocked"


def family(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [pid] + [p for child in f.read().split() for p in family(child)]


def mappings(pid):
    with open(f"/proc/{pid}/smaps") as maps:
        for line in maps:
            words = line.split()
            if words[0] == "VmFlags:":
                yield begin, end, rights, "lo" in words
            elif "-" in words[0]:
                begin, end = (int(x, 16) for x in words[0].split("-"))
                rights = words[1]


def memory(pid):
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for begin, end, rights, locked in mappings(pid):
            if rights[1] != "w" or end - begin > 1 << 28 or (unlocked and locked):
                continue
            try:
                mem.seek(begin)
                yield mem.read(end - begin)
            except OSError:  # a device, or a mapping that has ended
                pass


pid, *texts = sys.argv[1 + unlocked :]
found = {t for p in family(pid) for m in memory(p) for t in texts if t.encode() in m}
print(*(t for t in texts if t in found), sep="\n")
