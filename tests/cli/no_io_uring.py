# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Run a command whose io_uring_setup() fails with EPERM, as in most containers: no_io_uring.py COMMAND ARGUMENT...
import ctypes, os, struct, sys

LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
code = [(LOAD_NUMBER, 0, 0, 0), (IF_EQUAL, 0, 1, 425), (RETURN, 0, 0, FAIL | 1), (RETURN, 0, 0, ALLOW)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(text)))
libc = ctypes.CDLL(None, use_errno=True)
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, 2, program):
    sys.exit("needs seccomp: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
