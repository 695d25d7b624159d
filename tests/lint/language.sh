#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Plain technical English in what users read: messages, help, manual pages, README. These phrases mark sentences that need a
# second reading. In comments the number of hits may only fall.
cd "$(dirname "$0")/../.." || exit 1
comments_allowed=154
phrases=(
	'\bwhom\b|\bwhoever\b'
	'(^|[.;:,"*(]\s*|\b(for|to|of|by|with|from|is|as|than|only|on) )who (is|has|does|did|comes|gets|gives|wants|asks|connects|began|begins|started|makes|made|keeps|knows|offers|logs|waits|serves|closes)\b'
	'\b(he|his|him|himself)\b'
	'\b(nobody|somebody)\b(?!\))'
	'\b(is|are|was|were|be|being|not|only) told\b(?! apart)'
	'\b(not|was|is|been|were) said\b'
	'(?<!there) is none\b|\b(are|was|were|be) none\b|\bthat there (is|are) none\b'
	'(?<!there) (is|are) no (?!longer|more|less|one\b|such)[a-z]'
	'(?<!each )(?<!all )(?<!both )(?<!most )(?<!some )\bof which\b'
	'\bthat is so\b|\bin vain\b|\bmeanwhile\b|\bpatience\b(?!\.[ch]|\()'
	'\b(is|are|was) not there\b|\b(that|what) (is|are) there\b|\bis there already\b'
	'\bwhat (is|was|were) (wanted|asked|said|known|left|made|meant|given)\b|\bwhat comes\b(?! next)'
	'\b(after|for|than|within|use|only|take|takes) so (many|much|long)\b'
	'\b(are|is) of (TCP|RDMA|iSER)\b'
	'\b(has|have) not (the|enough|a|any)\b|\bwhich \w+( \w+){0,3} has not\b'
	'\bsees? to it\b|\bmeans? ill\b|\bhangs? up on\b|\bturned away\b'
	'\bin words\b|\bown word\b|\bbe it\b|\bfor want of\b|\banew\b'
	'\b(made|begun|connected to|asked) again\b|\bfor ever\b|\bwithout end\b|\bgoes on\b'
	'\bnothing (of \w+ )?is left\b|\bbeside\b(?!\()|\d\S* unless given\b'
)
regex=$(IFS='|'; echo "${phrases[*]}")
bad=0
# in_strings FILE…: print "file:line:text" of string literals with such a phrase
in_strings() { grep -nPo '"(\\.|[^"\\])*"' "$@" | grep -Pi "^[^:]*:[0-9]+:.*?($regex)"; }
code=$(find core applets include main.c -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # names of this project hold no blanks
in_strings $code && bad=1
grep -nPi "$regex" README.md HACKING.md doc/*.md doc/schema/*.json man/* completions/* && bad=1
[ $bad = 0 ] || echo 'rewrite these sentences: short, subject first, standard terms'
# shellcheck disable=SC2086
comments=$(grep -hPi "$regex" $code | wc -l)
[ "$comments" -le "$comments_allowed" ] || { echo "$comments lines of code and comments have such phrases, more than $comments_allowed: rewrite those that are new"; bad=1; }
exit $bad
