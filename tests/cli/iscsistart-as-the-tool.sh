#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# By a link of its name iscsistart is open-iscsi's tool: what is expected here is what Debian 12's iscsistart 2.1.8 says, to the byte.
. "$(dirname "$0")/lib.sh"
ln -s "$RDMASTOR" iscsistart
long=$(printf 'x%.0s' $(seq 300))

# says STATUS STDOUT STDERR WORD…
says() {
	local status=$1 out=$2 err=$3 rc=0
	shift 3
	./iscsistart "$@" >said.out 2>said.err </dev/null || rc=$?
	same "status of $*" "$status" "$rc"
	same "output of $*" "$out" "$(cat said.out)"
	same "message of $*" "$err" "$(cat said.err)"
}
# wrong MESSAGE WORD…: it names the option; missing WHAT WORD…
try="Try \`iscsistart --help' for more information."
wrong() { says 7 '' "./iscsistart: $1
$try" "${@:2}"; }
missing() { says 7 '' "iscsistart: $1 not set. Exiting iscsistart" "${@:2}"; }

blank=" "
help="Usage: iscsistart [OPTION]
Open-iSCSI initiator.
  -c, --config=[path]      set config file (default /etc/iscsi/iscsid.conf).
  -i, --initiatorname=name set InitiatorName to name (Required)
  -t, --targetname=name    set TargetName to name (Required)
  -g, --tgpt=N             set target portal group tag to N (Required)
  -a, --address=A.B.C.D    set IP address to A.B.C.D (Required)
  -p, --port=N             set port to N (Default 3260)
  -u, --username=N         set username to N (optional)
  -w, --password=N         set password to N (optional
  -U, --username_in=N      set incoming username to N (optional)
  -W, --password_in=N      set incoming password to N (optional)
  -d, --debug=debuglevel   print debugging information$blank
  -b, --fwparam_connect    create a session to the target using iBFT or OF
  -N, --fwparam_network    bring up the network as specified by iBFT or OF
  -f, --fwparam_print      print the iBFT or OF info to STDOUT$blank
  -P, --param=NAME=VALUE   set parameter with the name NAME to VALUE
  -h, --help               display this help and exit
  -v, --version            display version and exit"
says 0 "$help" '' -h
says 0 "$help" '' --help
says 0 "$help" '' -ia -g1 --targ u operand -h -x
says 0 "$help" '' -hx
says 0 'iscsistart version 2.1.8 (rdmastor)' '' -v
says 0 'iscsistart version 2.1.8 (rdmastor)' '' --ver -x
wrong "invalid option -- 'x'" -x
wrong "invalid option -- 'x'" -i a -gx -x -h
wrong "option requires an argument -- 'c'" -c
wrong "option requires an argument -- 'i'" -g1 -i
wrong "unrecognized option '--bogus=x'" --bogus=x
wrong "unrecognized option '--json'" --json
wrong "option '--port' requires an argument" --port
wrong "option '--help' doesn't allow an argument" --help=3
wrong "option '--p=1' is ambiguous; possibilities: '--port' '--password' '--password_in' '--param'" --p=1
wrong "option '--pass' is ambiguous; possibilities: '--password' '--password_in'" --pass x
wrong "option '--fwparam-' is ambiguous; possibilities: '--fwparam_connect' '--fwparam_network' '--fwparam_print'" --fwparam-
wrong "option '--password_in' requires an argument" --password-in
says 7 '' 'iscsistart: Invalid --param foo. Missing value.' -P foo
says 7 '' 'iscsistart: Invalid --param foo. Missing value.' -P foo= -h
missing InitiatorName
missing InitiatorName operand -- -h
missing 'Portal Group' -i a
missing 'Portal Group' -i a -g -1 -t x -a b
missing TargetName -i a -g 1
missing 'IP Address' -i a -g 1 -t x
says 7 "iscsistart: invalid targetname $long. Max targetname length is 255." '' -t "$long"
says 7 "iscsistart: invalid username $long. Max username length is 256." '' -u "$long" -h
says 7 "iscsistart: invalid username_in $long. Max username_in length is 256." '' -U "$long"

# What differs from the tool: numbers are checked, no secret is printed, and the reason follows
# reason STATUS PREFIX WORDS WORD…: the tool's words to the byte, and then ours
reason() { error "$1" - "^iscsistart: $2" "$3" ./iscsistart "${@:4}"; }
reason 7 port: "'x'" -i a -g 1 -t b -a 127.0.0.1 -p x
reason 7 tgpt: '0.to.65535' -i a -g 65536 -t b -a 127.0.0.1
says 7 'iscsistart: invalid password . Max password length is 256.' '' -w "$long"
says 7 'iscsistart: invalid password_in . Max password_in length is 256.' '' -W "$long"
one="-i iqn.2024-01.a:b -t iqn.2024-01.a:c -g 1 -a 127.0.0.1"
# shellcheck disable=SC2086 # several words
{
	says 1 '' 'iscsistart: Unknown parameter foo.bar.' $one -P foo.bar=1
	reason 1 'Invalid --param node\.session\.cmds_max\. ' '16.to.2048' \
		$one -P node.session.cmds_max=1
	reason 1 'Invalid --param iface\.transport_name\. ' "'bnx2i' tcp iser" \
		$one -P iface.transport_name=bnx2i
	reason 1 'Invalid --param node\.session\.initial_login_retry_max\. ' "'x'" \
		$one -P node.session.initial_login_retry_max=x
	reason 1 'Invalid --param node\.session\.auth\.password\. ' '256.bytes' \
		$one -P node.session.auth.password="$long"
	! grep -q xxx error.err || die "a secret is printed: $(cat error.err)"
	says 7 '' "iscsistart: TargetName or IP Address is too long. Exiting iscsistart" $one -t "${long:0:250}"
	says 1 '' 'iscsistart: CHAP configuration has incoming authentication credentials but has no outgoing credentials configured.' $one -U a -W b
	reason 1 '' 'target secret' $one -u a -w b -U c
	reason 1 'Invalid --param iface\.hwaddress\. ' "'52:54:00:00:00:99'" \
		$one -P iface.hwaddress=52:54:00:00:00:99
	says 7 '' "iscsistart: InitiatorName is too long. Exiting iscsistart" $one -i "$long"
}
