#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Plain technical English in what users read (messages, help, manual pages, README) and in code. These phrases mark sentences that
# need a second reading.
cd "$(dirname "$0")/../.." || exit 1
phrases=(
	'\bwhom\b|\bwhoever\b'
	'(^|[.;:,"*(]\s*|\b(for|to|of|by|with|from|is|as|than|only|on) )who (is|has|does|did|comes|gets|gives|wants|asks|connects|began|begins|started|makes|made|keeps|knows|offers|logs|waits|serves|closes)\b'
	'\b(he|his|him|himself)\b'
	'(?<!default )(?<!Sy )(?<!["`])\b(nobody|somebody)\b(?![)"`])' # not the user
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
code=$(find core applets include main.c -name '*.[ch]' | sort)
tests=$(find tests -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # names of this project hold no blanks
grep -nPi "$regex" $code $tests README.md HACKING.md doc/*.md doc/schema/*.json man/* completions/* &&
	{ echo 'rewrite these sentences: short, subject first, standard terms'; bad=1; }

# Identifiers: private words and metaphors that the field has a term for. A name must not contain one between underscores
# (late_write is a suite).
banned='want|wish(es)?|said|told|ways|crew|hands|attic|errands?|strangers?|guests?|polite|census|keeper|spoiled|came|judged?|whose|whom|heard|lacks'
banned+='|glance|late|took_[a-z_]+'
# shellcheck disable=SC2086,SC2016 # Perl's variables
perl -0777 -ne 's{/\*.*?\*/|"(?:\\.|[^"\\\n])*"}{$& =~ tr/\n//cdr}gse; my $line = 0;
	for (split /\n/) { $line++; print "$ARGV:$line: $&\n" if /\b(?:\w+_)?(?:'"$banned"')(?:_\w+)?\b/i }' $code $tests |
	grep -v ': late_write$\|: MBEDTLS_' &&
	{ echo "use the term of the specification or the kernel for these names"; bad=1; }
exit $bad
