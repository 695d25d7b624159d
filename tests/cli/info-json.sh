#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The JSON document of info has the keys of doc/schema/info.json for each kind of disk, and numbers are numbers.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

# has FILTER URI: the document of that disk; lib.sh checks it against the schema
has() {
	ours info "$2" --json >info.json || die "info $2"
	jq -e "$1" info.json >/dev/null || die "info $2: not $1: $(cat info.json)"
}
# no URI KEY…: keys that this kind does not have
no() {
	local uri=$1 key
	shift
	for key; do has "has(\"$key\") | not" "$uri"; done
}

truncate -s 1M disk
memory='.size == 1048576 and .block_size == 512 and .queue_depth > 0 and .queues > 0 and .flush and .fua'
has "$memory and .model == \"ram\" and .max_write_bytes > 0" ram:1M
has "$memory and .model == \"null\"" null:1M
no ram:1M transport paths path
has '.transport == "local" and .path == "disk" and .kind == "file" and (.direct | type) == "boolean" and .fua == false' disk
has '.direct == false and .read_only and (has("max_write_bytes") | not)' 'file:disk?direct=0&ro=1'
no disk paths traddr security

offer disk --nbd "unix:$SOCK" --name 'a b'
unix="nbd+unix:///a%20b?socket=$SOCK"
has ".uri == \"$unix\" and .transport == \"unix\" and .path == \"$SOCK\" and .name == \"a b\" and .structured_replies" "$unix"
has '.security == "file-permissions" and (.paths | length) == 1 and .paths[0].state == "up" and .paths[0].attempts == 1' "$unix"
has '.request_minimum_bytes == 512 and .request_maximum_bytes > .request_preferred_bytes' "$unix"
no "$unix" traddr trsvcid
stop

offer disk --nbd 127.0.0.1:0
uri=$(grep -o 'nbd://[^ ,]*' out)
port=${uri##*:}
has ".transport == \"tcp\" and .traddr == \"127.0.0.1\" and .trsvcid == \"${port%/}\" and .name == \"\" and .security == \"none\"" "$uri"
no "$uri" path rdma
stop

serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
nvme=".traddr == \"127.0.0.1\" and .trsvcid == \"$PORT\" and .subnqn == \"$NQN\" and .nsid == 1 and (.cntlid | type) == \"number\" and
	.hostnqn == \"$HOST\" and .keep_alive_seconds == 5 and .model == \"rdmastor\" and .uuid and .nguid"
has "$nvme and .transport == \"tcp\" and .header_digest == false and .data_digest" "$TCP?hostnqn=$HOST&data_digest=1"
has "$nvme and .transport == \"rdma\" and .rdma == \"iwarp\"" "$RDMA&hostnqn=$HOST"
no "$RDMA" header_digest path
has '.paths | length == 2 and .[1].uri == "nvme+tcp://127.0.0.1:1/x" and .[1].state == "down" and (.[1].error.errno | startswith("E"))' \
	"$TCP?path=nvme%2Btcp://127.0.0.1:1/x"
serial=$(jq -r .serial info.json)
ours info "$TCP" >out
grep -Eqx "serial: +$serial" out || die "text without the serial number: $(cat out)"
stop
error 2 usage '' "'--size' nbdinfo jq..size" ours info --size disk
error 1 refused "127.0.0.1:$PORT" 'connection.refused' ours info "$TCP"
