#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-connect: each wrong call has its own message and status. Nothing is connected: correct calls use --dry-run.
. "$(dirname "$0")/lib.sh"
requires jq
c="$RDMASTOR srp-connect --dry-run"
cm=srp+cm://127.0.0.1:5555/2/1
ids=id_ext=1,ioc_guid=2

x='srp\+cm://127.0.0.1:5555/2/1' # the object

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'target URI add_target --id-ext srp-discover' $c
	error 2 usage '' "'-n' srp_daemon --initiator-ext" $c -n $cm
	error 2 usage nbd://127.0.0.1/x 'srp: srp\+cm: URI' $c nbd://127.0.0.1/x
	error 2 usage 'srp\+cm://127.0.0.1/2/1' 'HOST:PORT' $c srp+cm://127.0.0.1/2/1
	error 2 usage srp://49152/2/1 'LID 1.to.49151' $c srp://49152/2/1
	error 2 usage srp://fe80/2/1 "'fe80' GID" $c srp://fe80/2/1
	error 2 usage 'srp\+cm://127.0.0.1:5555/2' 'id_ext IOC_GUID/ID_EXT' \
		$c srp+cm://127.0.0.1:5555/2
	error 2 usage 'srp\+cm://127.0.0.1:5555/x/1' "ioc_guid 'x' 16 hex" \
		$c srp+cm://127.0.0.1:5555/x/1
	error 2 usage $x/x "LUN 'x'" $c $cm/x
	error 2 usage "$x\?sparkle=1" "key 'sparkle'" $c "$cm?sparkle=1"
	error 2 usage "$x\?quiesce=9" "quiesce= not.supported kernel's" $c "$cm?quiesce=9"
	error 2 usage "$x\?detect=9" "detect= not.supported kernel's" $c "$cm?detect=9"
	error 2 usage "$x\?port=0" 'port= 1.to.254' $c "$cm?port=0"
	error 2 usage $ids,sparkle=1 "'sparkle' add_target max_it_iu_size" $c $ids,sparkle=1
	error 2 usage $ids,id_ext=1 'id_ext twice' $c $ids,id_ext=1
	error 2 usage $ids,pkey 'pkey value' $c $ids,pkey
	error 2 usage 'id_ext=1 ioc_guid=2' 'comma add_target' $c "id_ext=1 ioc_guid=2"
	error 2 usage $x 'id_ext 0000000000000001 0000000000000003' $c $cm --id-ext 3
	error 2 usage '' 'ioc_guid missing' $c --id-ext 1
	error 2 usage $ids 'dgid InfiniBand dest=HOST:PORT RDMA/CM' $c $ids
	error 2 usage $ids,src=127.0.0.1 'src dest RDMA/CM' $c $ids,src=127.0.0.1
	error 2 usage $x 'dest RDMA/CM dgid InfiniBand' $c $cm --dgid fe80::1
	error 2 usage $ids "dest '127.0.0.1' HOST:PORT" $c $ids --dest 127.0.0.1
	error 2 usage $x "src \[::1\] dest family" $c $cm --src ::1
	error 2 usage $ids 'pkey 1.to.ffff' $c $ids --pkey 0
	error 2 usage $x "io_class '1' ff00 0100" $c $cm --io-class 1
	error 2 usage $x 'max_sect 8.to.65535' $c $cm --max-sect 7
	error 2 usage $x 'queue_size 2.to.32767' $c $cm --queue-size 1
	error 2 usage $x 'max_cmd_per_lun 1.to.32767' $c $cm --max-cmd-per-lun 0
	error 2 usage $x 'target_can_queue 1.to.2147483647' $c $cm --target-can-queue 0
	error 2 usage $x 'cmd_sg_entries 1.to.255' $c $cm --cmd-sg-entries 256
	error 2 usage '' "--allow-ext-sg '2' 0.*1" $c $cm --allow-ext-sg 2
	error 2 usage $x 'sg_tablesize 1.to.2048' $c $cm --sg-tablesize 2049
	error 2 usage $x "comp_vector 'x'" $c $cm --comp-vector x
	error 2 usage $x 'tl_retry_count 2.to.7' $c $cm --tl-retry-count 1
	error 2 usage $x 'ch_count 1.to.1024' $c $cm --ch-count 0
	error 2 usage $x 'max_it_iu_size.*259 12.*cmd_sg_entries 260' $c $cm --max-it-iu-size 259
	error 2 usage $x 'max_cmd_per_lun.*63 queue_size.*62 default' $c $cm --max-cmd-per-lun 63
	error 2 usage $x 'sg_tablesize.*8 cmd_sg_entries.*12 default' $c $cm --sg-tablesize 8
	error 2 usage $x "--on-loss 'soon' fail-fast wait=SECONDS forever" $c $cm --on-loss soon
	error 2 usage "$x\?loss=601" 'loss= 0.001.to.600' $c "$cm?loss=601"
	error 2 usage $x 'reconnect_delay 1 off' $c $cm --reconnect-delay 0
	error 2 usage $x 'fast_io_fail_tmo 0.to.600 off' $c $cm --fast-io-fail-tmo 601
	error 2 usage $x 'dev_loss_tmo 0.to.600 fast_io_fail_tmo.*off' \
		$c $cm --fast-io-fail-tmo off --dev-loss-tmo 601
	error 2 usage $x 'fast_io_fail_tmo.*30.*less dev_loss_tmo.*30' \
		$c $cm --fast-io-fail-tmo 30 --dev-loss-tmo 30
	error 2 usage $x 'reconnect_delay fast_io_fail_tmo dev_loss_tmo off' \
		$c $cm --fast-io-fail-tmo off --dev-loss-tmo off --reconnect-delay off
	error 2 usage $x "dev_loss_tmo 'x' off" $c $cm --dev-loss-tmo x
	error 2 usage $x "--lun 'x'" $c $cm --lun x
	error 2 usage '' '(-p|--port): 1.to.254' $c $cm -p 255
	error 2 usage $x "--device 'a/b' mlx5_0" $c $cm -i a/b
	error 1 not-found host99 'SRP host6 /dev/sda' $c host99
	error 1 not-found /dev/null 'SRP host6 /dev/sda' $c /dev/null
	error 2 usage $x 'max_sect 8.to.65535' $c --json $cm --max-sect 7
}
