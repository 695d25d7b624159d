#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A silent name server: --timeout bounds the lookup in every applet, and a disk is read over one path while the name of another gets no
# answer (pair/names: no request waits for it).
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires cmp jq python3 unshare
# its address is free in a network namespace, resolv.conf can be replaced in a mount namespace
[ -n "${OWN_NET-}" ] || {
	unshare -nm true 2>/dev/null || { echo 'needs root with namespaces'; exit 77; }
	OWN_NET=1 exec unshare -nm "$HERE/names-timeout.sh"
}
ip link set lo up || { echo 'needs ip'; exit 77; }
echo 'nameserver 127.0.0.53' >resolv.conf
echo '127.0.0.1 localhost' >hosts
[ -e /etc/resolv.conf ] || { echo 'needs /etc/resolv.conf'; exit 77; }
mount --bind resolv.conf /etc/resolv.conf && mount --bind hosts /etc/hosts || { echo 'needs mounts of its own'; exit 77; }
mkfifo listening
python3 -c 'import signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.53", 53))
open("listening", "w").close(); signal.pause()' &
cleanup_fn kill $!
read -r _ <listening

# A signal during the lookups ends the command: it does not connect to the others.
asked() { [[ $(awk '$2 ~ /^3500007F:0035$/ { print $5 }' /proc/net/udp) != *:00000000 ]]; }
"$RDMASTOR" nvmf-connect-all --dry-run --json -q nqn.x nvme+tcp://127.0.0.1/nqn.y nvme+tcp://mute.example/nqn.y >out 2>err &
wait_running $! asked
kill $!
status=0
wait $! || status=$?
same 'exit status after SIGTERM' $status 1
jq -e '[.results[].error.text] == ["interrupted", "interrupted"]' out >/dev/null || die "$(cat out err)"

x=mute.example guid=0002c90300000001 pids=() words=() looked=
# mute APPLET WORD…: in the background, as each takes its second
mute() {
	local n=${#pids[@]}
	looked+=" $1 "
	"$RDMASTOR" "$@" --timeout 1 >"out.$n" 2>"err.$n" </dev/null &
	pids+=($!)
	words+=("$*")
}
mute serve ram:1M --nvmf --tcp $x:4420
mute serve ram:1M --nvmf --rdma $x
mute serve nbd://$x/ --nvmf --tcp 127.0.0.1:0
mute export ram:1M --nbd $x:10809
mute export nvme+tcp://$x/nqn.x --nbd "unix:$TMP/a"
mute bench --tcp $x
mute bench --rdma $x
mute bench nvme+tcp://$x/nqn.x
mute info nvme+tcp://$x/nqn.x
mute info "nvme+rdma://$x/nqn.x?rdma=iwarp"
mute info nbd://$x
mute copy nbd://$x x.img
mute copy ram:1M nbd://$x
mute discover $x
mute nvmf-discover -t tcp -a $x
mute nvmf-connect -t tcp -a $x -n nqn.x
mute nvmf-connect-all -t tcp -a $x
mute nvme discover -t tcp -a $x
mute nvmf-disconnect -a $x
mute iser-discover $x
mute iser-login iscsi://$x/iqn.x
mute iser-logout iscsi://$x/iqn.x
mute iscsistart -i iqn.i -t iqn.x -g 1 -a $x
mute nfsrdma-discover $x
mute nfsrdma-mount $x:/x "$TMP"
mute srp-connect srp+cm://$x:5555/$guid/$guid
mute boot nvme+tcp://$x/nqn.x
mute doctor nvme+tcp://$x/nqn.x
mute status nvme+tcp://$x/nqn.x
for applet in $("$RDMASTOR" --list); do
	case $applet in
	detach | serve-ctl | srp-daemon | srp-discover | tls-daemon) ;; # take no host
	nvme) ;; # runs the nvmf applets
	iscsi-* | iscsiadm) ;; # other names of the iser applets
	srp-disconnect) ;; # looks a host up only to choose among connections
	*) [[ $looked = *" $applet "* ]] || die "$applet: its lookup of names is not tested" ;;
	esac
done
# The limit that ended the lookup is named: at most this second, and not one of the applet or the resolver.
for n in "${!pids[@]}"; do
	wait "${pids[n]}"
	status=$?
	[ "$status" = 1 ] || die "${words[n]}: exit status $status: $(cat "err.$n")"
	grep -Eq "'$x': .*answer.*\b((1|0[.][0-9]+) s|[0-9]{1,3} ms)\$" "err.$n" || die "${words[n]}: $(cat "err.$n")"
done

# --- a disk over two paths; the second is tried again and again
truncate -s 16M disk
random_file disk2 16
serve disk --nvmf --tcp 127.0.0.1:0 --nqn $NQN
first=$SERVER
mkfifo ready2
"$RDMASTOR" export "nvme+tcp://127.0.0.1:$PORT/$NQN/1?path=nvme%2Btcp%3A%2F%2F$x%3A4420%2F$NQN%2F1%3Ftimeout%3D1" --nbd "unix:$SOCK" --queues 1 -v --ready-fd 3 3>ready2 >out2 2>err2 &
SERVER=$!
cleanup_fn kill -KILL "$first"
read -r _ <ready2 || die "export: $(cat err2)"
ours copy -q disk2 "$URI" || die "not written"
wait_running "$SERVER" grep -q "path .*$x.*'$x'" err2
ours copy -q "$URI" back || die "not read"
cmp disk2 back || die "bytes differ"
grep -q 'lost' err2 && die "a path was lost: $(cat err2)"
stop
