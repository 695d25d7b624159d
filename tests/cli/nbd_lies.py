# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nbd_lies.py FOLDER DOCUMENTS <CASES: the NBD client against the servers of nbd_liar.py, which are started in FOLDER, several at a time.
# A case is a line in the shell's quotes:
#   lie CASE CODE WORDS    reading fails, and the connection has ended for that reason
#   sinks CASE CODE WORDS  likewise for writing
#   fine CASE              reading works
# CODE is a regular expression for the code word of the error, WORDS are some for the messages. Each JSON document is left in DOCUMENTS.
import concurrent.futures, json, os, re, shlex, subprocess, sys
import nbd_liar

FOLDER, DOCUMENTS = sys.argv[1:]
CODES = {"lost": "unreachable|timeout"}  # the last attempt to connect may have timed out instead
# time limits of the client, for servers that say nothing more
SHORT = {"hello-silent": (3, 3), "hello-half": (3, 3), "hello-endless-slow": (3, 3)}
SHORT |= {"read-silent": (60, 1), "read-half": (60, 1), "write-silent": (60, 1)}


def check(kind, case, code="", words=""):
    timeout, io_timeout = SHORT.get(case, (60, 60))
    uri = f"nbd+unix:///?socket={os.path.abspath(FOLDER)}/{case}&loss=fail-fast&timeout={timeout}&io-timeout={io_timeout}"
    image, dst = f"{FOLDER}/{case}.image", f"{FOLDER}/{case}.dst"
    ends = {
        "lie": ["--json", uri, dst, "--depth", "1", "--request", "64K"],
        "sinks": ["--json", f"{FOLDER}/good.image", uri],
        "fine": ["-v", uri, dst, "--request", "64K"],
    }[kind]
    run = subprocess.run([os.environ["RDMASTOR"], "copy", *ends], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = f"{case}: exit status {run.returncode}: {run.stdout} {run.stderr}"
    got, wanted = (open(name, "rb").read() if os.path.exists(name) else b"" for name in (dst, image))
    if kind == "fine":
        assert run.returncode == 0, said
        assert got == wanted, f"{case}: bytes differ"
        return
    assert run.returncode == 1, said
    with open(f"{DOCUMENTS}/{case}", "w") as f:
        f.write(run.stdout)
    error = json.loads(run.stdout)["error"]
    assert re.fullmatch(CODES.get(code, code), error["code"]), f"not '{code}': {said}"
    assert re.search(rf"unix:.*/{case}\b", error["object"]), f"another object: {said}"
    text = re.sub(r"(nbd\+)?unix:\S*", "", re.sub(r"^hint:.*", "", run.stderr, flags=re.M))
    for word in words.split():
        assert re.search(word, text, re.I | re.M), f"no '{word}': {said}"
    # what came before the lie may have been written, nothing else
    assert got == wanted[: len(got)] or all(a in (0, b) for a, b in zip(got, wanted)), f"{case}: wrong bytes"


rows = [shlex.split(line) for line in sys.stdin if line.strip()]
nbd_liar.start(FOLDER, {row[1] for row in rows} | {"good"})
waits = [row for row in rows if row[0] == "sinks" or row[1] in SHORT]  # a write that is lost waits for its quiet time
rows.sort(key=lambda row: row not in waits)
with concurrent.futures.ThreadPoolExecutor(2 + len(waits)) as pool:
    for case in [pool.submit(check, *row) for row in rows]:
        case.result()
print(len(rows), "cases")
os._exit(0)  # threads of servers may wait for their clients
