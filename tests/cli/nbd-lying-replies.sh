#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Servers that break the rules for replies: each ends its own connection with a named reason, nothing hangs, no wrong byte arrives.
. "$(dirname "$(readlink -f "$0")")/nbd-lies.sh"

fine good
fine good-pieces
fine good-odd-extents
fine simple
fine status-error
lie simple-magic 'bytes that are no NBD reply'
lie simple-cookie 'answers a request that is not in flight'
lie simple-structured 'a structured reply that was not agreed on'
lie simple-short 'connection closed by the peer'
lie simple-twice 'answers a request that is not in flight'
lie read-silent 'no answer to a read within 1 s'
lie read-closes 'connection closed by the peer|connection reset by the peer'
lie read-half 'no answer to a read within 1 s'
lie read-magic 'bytes that are no NBD reply'
lie read-cookie 'answers a request that is not in flight'
lie read-late 'answers a request that is not in flight'
lie read-simple 'answers a read without the structure it has agreed to'
lie read-before 'data outside the read it answers'
lie read-after 'data outside the read it answers'
lie read-wrapped 'data outside the read it answers'
lie read-long 'data outside the read it answers'
lie read-overlap 'the same part of a read twice'
lie read-hole-overlap 'the same part of a read twice'
lie read-hole-outside 'data outside the read it answers'
lie read-hole-empty 'a hole of no length'
lie read-hole-length 'a chunk for a hole of the wrong length'
lie read-missing 'success of a read whose data it has not sent'
lie read-none 'success of a read whose data it has not sent'
lie read-none-filled 'an empty chunk that is not empty'
lie read-empty 'a chunk of data without data'
lie read-type 'a chunk of an unknown type'
lie read-status 'a block status that was not asked for'
lie read-error-zero 'an error chunk without an error'
lie read-error-text 'an error whose text is longer than the whole'
lie read-error-long 'an error of an impossible length'
lie read-scattered 'in too many parts'
lie read-error-new 'input/output error \(EIO\)'
lie read-error-bare 'input/output error \(EIO\)'
lie read-error-then-data 'input/output error \(EIO\)'
lie read-error-odd 'an error that the protocol does not know'
lie status-context 'a block status that was not asked for'
lie status-empty 'block status of an impossible length'
lie status-length 'block status of an impossible length'
lie status-zero 'an extent of no length'
lie status-twice 'answers a question for block status twice'
lie status-none 'success of a block status it has not told'
lie status-simple 'success of a block status it has not told'
lie status-data 'data to a request that is no read'
lie status-long 'block status of an impossible length'

sinks write-silent 'no answer to a write within 1 s'
sinks write-data 'data to a request that is no read'
sinks write-shutdown 'lost: .*the server is shutting down'
