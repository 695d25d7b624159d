#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Servers that break the handshake: each ends its own connection with a named reason, nothing hangs.
. "$(dirname "$(readlink -f "$0")")/nbd-lies.sh"

lie hello-silent 'the server is silent: is this an NBD port\?'
lie hello-half 'the server is silent'
lie hello-magic 'does not begin as an NBD server does'
lie hello-oldstyle 'oldstyle handshake, which knows no export names'
lie hello-newer 'greeting is of no known kind'
lie hello-early 'the server answers (before it was asked|an option that was not sent)'
lie hello-rep-magic 'bytes that are no reply to an option'
lie hello-rep-option 'answers an option that was not sent'
lie hello-rep-long "reply to an option is too long"
lie hello-rep-type 'answers the question for structured replies with something else'
lie hello-tls "the server insists on TLS, which is not supported: it says 'no plain\?text here'"
lie hello-shutdown 'the server is shutting down'
lie hello-context 'a metadata context that was not asked for'
lie hello-context-twice 'a metadata context that was not asked for'
lie hello-endless 'does not come to an end of its replies'
lie hello-endless-slow 'does not finish the handshake'
lie hello-info-short 'information about the export is malformed'
lie hello-policy "policy refuses export '': it says 'not on a Friday'"
lie hello-no-export 'opens the export without saying how large it is'
lie hello-export-name-closes "closed the connection when asked for export ''"
lie hello-no-flags 'flags that it calls invalid'
lie hello-huge 'claims an export of 9223372036854775808 bytes'
lie hello-empty "export '' has no size"
lie hello-block-odd 'minimum block of 3 bytes'
lie hello-block-large 'minimum block of 131072 bytes'
lie hello-block-prefer 'preferred block of 512 bytes and a minimum one of 4096'
lie hello-block-most 'requests of at most 1024 bytes, its minimum block has 4096'
lie hello-more 'sends more than the handshake|answers a request that is not in flight|bytes that are no NBD reply'
