#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# No notes to self and no blanks at the end of lines.
cd "$(dirname "$0")/../.." || exit 1
# Split in two, so that this file does not match.
notes='TO''DO|FIX''ME|X''XX|HA''CK'
bad=0
# shellcheck disable=SC2046 # names of this project hold no blanks
set -- $(tests/lint/files)
grep -InwE "$notes" "$@" && echo 'notes to self: do it, or say in plain words what is not done' && bad=1
grep -InE '[[:blank:]]+$' "$@" && echo 'blanks at the end of a line: remove them' && bad=1
exit $bad
