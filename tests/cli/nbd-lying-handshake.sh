#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Servers that break the handshake: each ends its own connection with a named reason, nothing hangs.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3
mkdir lies documents
PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/nbd_lies.py" lies documents <<'END' || exit 1
lie hello-silent timeout NBD
lie hello-half timeout NBD
lie hello-magic protocol NBD
lie hello-oldstyle unsupported oldstyle
lie hello-newer protocol greeting
lie hello-early protocol 'before|option.*sent'
lie hello-rep-magic protocol '\bnot.a.reply option'
lie hello-rep-option protocol 'option sent|asked|requested|unexpected'
lie hello-rep-long protocol 'option long|limit'
lie hello-rep-type protocol structured
lie hello-tls auth "TLS 'no.plain[?]text.here'"
lie hello-shutdown refused shut
lie hello-context protocol metadata.context
lie hello-context-twice protocol metadata.context
lie hello-endless protocol 'repl(y|ies) end|many|limit'
lie hello-endless-slow timeout handshake
lie hello-info-short protocol 'info export'
lie hello-policy refused "policy 'not.on.a.Friday'"
lie hello-no-export protocol 'export large|size'
lie hello-export-name-closes not-found "closed export ''"
lie hello-no-flags protocol NBD_FLAG_HAS_FLAGS
lie hello-huge protocol 9223372036854775808
lie hello-empty no-device "export '' size"
lie hello-block-odd protocol 'minimum block 3.bytes'
lie hello-block-large protocol 'minimum block 131072.bytes'
lie hello-block-prefer protocol 'preferred minimum 512 4096'
lie hello-block-most protocol 'minimum 1024 4096'
lie hello-more 'protocol|unreachable' 'handshake|in.flight|NBD.reply'
END
for document in documents/*; do valid "$document"; done
