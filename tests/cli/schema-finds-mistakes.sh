#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# tests/schema, which all documents are checked with, finds what is wrong with one; and in doc/schema no key has two types.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
requires jq

"$RDMASTOR" info ram:1M --json >good || die "info"
valid good
"$top/tests/schema" good || die "a right document"
wrong() { # NAME COMMAND…: what the command makes of it
	"${@:2}" good >bad
	! cmp -s good bad || die "$1: unchanged"
	! "$top/tests/schema" bad >out || die "$1: not found in $(cat bad)"
}
wrong 'an unknown key' jq -c '.sparkle = 1'
wrong 'a key twice' sed 's/"size":/"size":1,&/'
wrong 'a wrong type' jq -c '.size |= tostring'
wrong 'a missing key' jq -c 'del(.block_size)'
wrong 'an unknown code' jq -c '.error = {code: "sparkle", errno: "EIO", text: "x"}'
wrong 'another key in an error' jq -c '.error = {code: "io", errno: "EIO", text: "x", why: "y"}'
wrong 'another version' jq -c '.version = 1'
wrong 'an unknown schema' jq -c '.schema = "rdmastor.sparkle"'
wrong 'no document' true

# A reference to common.json stands for the type there; an integer is a number.
jq -nr --slurpfile common "$top/doc/schema/common.json" '
	def type_of: if has("$ref") then (.["$ref"] | split("/")[-1]) as $name |
			($common[0]["$defs"][$name] // {type: "object"} | type_of)
		else .type // ((.enum // [.const])[0] | type) end;
	[inputs | select(.title != $common[0].title) | . as $schema |
		.. | objects | .properties? // empty | objects | to_entries[] |
		select(.value | has("type") or has("enum") or has("const") or
			(.["$ref"] // "" | startswith("common"))) |
		{key, type: (.value | type_of | sub("integer"; "number"))}] |
	unique | group_by(.key)[] | select(length > 1) | "\(.[0].key): \(map(.type) | join(", "))"' \
	"$top"/doc/schema/*.json >two || die "$(cat two)"
[ ! -s two ] || die "keys with two types: $(cat two)"
