#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# tests/README.md has a line for every test and fuzz target, and no other lines, tests/fuzz/floors one for every fuzz target. Every corpus
# has a fuzz target.
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
bad=0

# rows FOLDER: print the first column of the table in the section of that folder
rows() {
	awk -v section="(\`tests/$1/\`)" '
		/^## / { within = index($0, section) }
		within && sub(/^\| `/, "") { sub(/`.*/, ""); print }' tests/README.md | sort
}

# indexed FOLDER NAME…: check that these are the rows of that section
indexed() {
	local folder=$1 name
	shift
	[ $# != 0 ] || { echo "tests/$folder: holds no test"; bad=1; }
	for name in $(comm -23 <(printf '%s\n' "$@" | sort) <(rows "$folder")); do
		echo "tests/README.md: tests/$folder/$name has no line: add what it proves"
		bad=1
	done
	for name in $(comm -13 <(printf '%s\n' "$@" | sort) <(rows "$folder")); do
		echo "tests/README.md: tests/$folder/$name does not exist: remove its line"
		bad=1
	done
}

# names SUFFIX FILE…: print the names without folder and suffix
names() { printf '%s\n' "${@:2}" | sed "s#.*/##; s#\\$1\$##"; }

# shellcheck disable=SC2046 # names of this project hold no blanks
{
	indexed lint $(names .sh tests/lint/*.sh)
	indexed pair $(names .c tests/pair/*.c)
	indexed fuzz $(names .c tests/fuzz/*.c)
	indexed cli $(names .sh $(find tests/cli -name '*.sh' -perm -u+x))
	indexed packages $(names .sh tests/packages/*.sh)
	indexed fabric $(tests/fabric/run --list)
	# scenarios of make bench are listed in its own README
	indexed vm $(tests/vm/run --list | while read -r name; do grep -qsx CHECK=never "tests/vm/$name/host" || echo "$name"; done)
}
for name in $(comm -3 <(names .c tests/fuzz/*.c | sort) <(sed -nE 's/^([^# ]+) +[0-9]+$/\1/p' tests/fuzz/floors | sort)); do
	echo "tests/fuzz/floors: $name: expected one line for each fuzz target, TARGET EDGES"
	bad=1
done
for corpus in tests/fuzz/corpus/*; do
	[[ $corpus == *.tar && -e tests/fuzz/$(basename "$corpus" .tar).c ]] ||
		{ echo "$corpus: expected an archive named after a fuzz target: tests/fuzz/keep adds inputs"; bad=1; }
done
exit $bad
