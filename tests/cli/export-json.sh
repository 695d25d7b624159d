#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --json prints one document when ready: addresses, URIs, exports.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 nbdinfo

offer ram:1M ram:2M?block=4096 --name a --name 'b c' --nbd "unix:$SOCK" --nbd 127.0.0.1:0 --json
valid out
python3 - <<'END'
import json
d = json.load(open("out"))
assert d["schema"] == "rdmastor.export" and d["version"] == 2, d
assert [e["name"] for e in d["exports"]] == ["a", "b c"]
assert [e["size"] for e in d["exports"]] == [1 << 20, 2 << 20]
assert d["exports"][1]["block_size"] == 4096
assert [e["uri"] for e in d["exports"]] == ["ram:1M", "ram:2M?block=4096"]
unix, tcp = d["listeners"]
assert unix["transport"] == "unix" and unix["path"].endswith("/nbd.sock"), unix
assert tcp["transport"] == "tcp" and tcp["traddr"] == "127.0.0.1", tcp
assert tcp["nbd_uri"].startswith("nbd://127.0.0.1:%s/" % tcp["trsvcid"]), tcp
assert d["exports"][0]["nbd_uris"] == [unix["nbd_uri"], tcp["nbd_uri"]], d
open("uris", "w").write("".join("%s %d\n" % (uri, e["size"]) for e in d["exports"] for uri in e["nbd_uris"]))
END
same "URIs" "$(wc -l <uris)" 4
while read -r uri size; do same "size at $uri" "$(nbdinfo --size "$uri")" "$size"; done <uris
stop
