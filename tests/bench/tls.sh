# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The parts of TLS alone: AES-GCM, compared with openssl, and what a handshake costs an NBD server, compared with nbdkit, which uses
# GnuTLS. Both are CPU time, so that other load counts little.
# shellcheck shell=bash disable=SC2154 # from run

secs=0.5       # of CPU time for a figure of AES-GCM
handshakes=100 # for a figure

aes_gcm() {
	local bits
	for bits in 128 256; do
		emit "AES-$bits-GCM, records of 16 KiB, a second of CPU time" rdmastor mib_s "$(aes-gcm $bits $secs)"
		emit "AES-$bits-GCM, records of 16 KiB, a second of CPU time" openssl mib_s "$(openssl speed -mr -seconds 1 -bytes 16384 \
			-aead -evp aes-$bits-gcm 2>/dev/null | awk -F: '/^\+F:/ { printf "%d", $4 / 1048576 }')"
	done
}

# cpu_us PID: CPU time of all threads so far, those that have ended included
cpu_us() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000000 / hz }' "/proc/$1/stat"; }

# serve_tls NAME COMMAND…: it serves at $tmp/NAME
serve_tls() {
	local name=$1
	"${@:2}" >"$tmp/$name.log" 2>&1 &
	pids+=($!)
	for _ in {1..200}; do
		[ ! -S "$tmp/$name" ] || return 0
		sleep 0.05
	done
	cat "$tmp/$name.log" >&2
	return 1
}

# handshake CELL NAME PID KEYS-OF-THE-URI
handshake() {
	local i start
	start=$(cpu_us "$3")
	for ((i = 0; i < handshakes; i++)); do nbdinfo --size "nbds+unix://alice@/?socket=$tmp/$2&$4" >/dev/null || return; done
	emit "$1" "$2" us $((($(cpu_us "$3") - start) / handshakes))
}

# against_both KIND KEYS-OF-THE-URI OPTION-OF-OURS OPTION-OF-NBDKIT…
against_both() {
	local cell="NBD connection over TLS, $1: CPU time of the server"
	# shellcheck disable=SC2086 # words are wanted
	serve_tls rdmastor "$RDMASTOR" export null:1G --user root --nbd "unix:$tmp/rdmastor" $3
	serve_tls nbdkit nbdkit -f -U "$tmp/nbdkit" --tls=require "${@:4}" null 1G
	for ((round = 1; round <= rounds; round++)); do
		echo "tls, $1: round $round of $rounds" >&2
		handshake "$cell" rdmastor "${pids[0]}" "$2"
		handshake "$cell" nbdkit "${pids[1]}" "$2"
	done
	end_pids
	wait "${pids[@]}" || true
	pids=()
	rm -f "$tmp/rdmastor" "$tmp/nbdkit"
}

# certificate DIR TYPE…: of openssl req, signed by itself; DIR-ca also has it as the authority, for nbdkit and the client: ours would want
# certificates of clients
certificate() {
	mkdir "$1"
	(umask 077; openssl req -x509 -newkey "${@:2}" -nodes -keyout "$1/server-key.pem" -out "$1/server-cert.pem" -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost -days 2 2>/dev/null)
	cp -r "$1" "$1-ca"
	cp "$1/server-cert.pem" "$1-ca/ca-cert.pem"
}

for ((round = 1; round <= rounds; round++)); do aes_gcm; done
(umask 077; echo "alice:$(openssl rand -hex 32)" >"$tmp/keys.psk")
certificate "$tmp/p256" ec -pkeyopt ec_paramgen_curve:P-256
certificate "$tmp/rsa" rsa:2048
against_both "pre-shared key" "tls-psk-file=$tmp/keys.psk" "--tls-psk-file $tmp/keys.psk" --tls-psk="$tmp/keys.psk"
for kind in p256 rsa; do
	against_both "certificate of ${kind/p256/P-256}" "tls-certificates=$tmp/$kind-ca&tls-hostname=localhost" "--tls-certificates $tmp/$kind" \
		--tls-certificates="$tmp/$kind-ca"
done
