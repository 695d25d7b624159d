#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-connect: each wrong call has its own message and status. Nothing is connected: what is right is only tried dry.
. "$(dirname "$0")/lib.sh"
requires jq
c="$RDMASTOR srp-connect --dry-run"
cm=srp+cm://127.0.0.1:5555/2/1
ids=id_ext=1,ioc_guid=2

# shellcheck disable=SC2086 # several words
{
	fails 2 'whom to connect to is missing: a URI, a string for add_target, or --id-ext' $c
	fails 2 "is no srp: or srp\+cm: URI" $c nbd://127.0.0.1/x
	fails 2 'srp\+cm: needs HOST:PORT: SRP has no port of its own' $c srp+cm://127.0.0.1/2/1
	fails 2 "LID must be" $c srp://49152/2/1
	fails 2 "dgid 'fe80' is no GID" $c srp://fe80/2/1
	fails 2 'the URI has no id_ext' $c srp+cm://127.0.0.1:5555/2
	fails 2 "ioc_guid 'x': 1 to 16 hexadecimal digits are expected" $c srp+cm://127.0.0.1:5555/x/1
	fails 2 "LUN 'x'" $c $cm/x
	fails 2 "unknown key 'sparkle'" $c "$cm?sparkle=1"
	fails 2 "port=: must be 1 to 254" $c "$cm?port=0"
	fails 2 "'sparkle' is nothing that add_target takes" $c $ids,sparkle=1
	fails 2 'id_ext is given twice' $c $ids,id_ext=1
	fails 2 'pkey has no value' $c $ids,pkey
	fails 2 "there is a blank in 'id_ext=1 ioc_guid=2'" $c "id_ext=1 ioc_guid=2"
	fails 2 'id_ext is given twice: 0000000000000001 and 0000000000000003' $c $cm --id-ext 3
	fails 2 'ioc_guid is missing' $c --id-ext 1
	fails 2 'where the target is is missing: dgid \(InfiniBand\), or dest=HOST:PORT \(RDMA/CM\)' $c $ids
	fails 2 'src is of RDMA/CM: dest is missing' $c $ids,src=127.0.0.1
	fails 2 'dest is of RDMA/CM and dgid of InfiniBand' $c $cm --dgid fe80::1
	fails 2 "dest '127.0.0.1' is not HOST:PORT" $c $ids --dest 127.0.0.1
	fails 2 "src '::1' is of another family than dest|src '\[::1\]' is of another family" $c $cm --src ::1
	fails 2 'pkey: must be 1 to ffff' $c $ids --pkey 0
	fails 2 "io_class '1': ff00" $c $cm --io-class 1
	fails 2 'max_sect: must be 8 to 65535' $c $cm --max-sect 7
	fails 2 'queue_size: must be 2 to 32767' $c $cm --queue-size 1
	fails 2 'max_cmd_per_lun: must be 1 to 32767' $c $cm --max-cmd-per-lun 0
	fails 2 'target_can_queue: must be' $c $cm --target-can-queue 0
	fails 2 'cmd_sg_entries: must be 1 to 255' $c $cm --cmd-sg-entries 256
	fails 2 'allow-ext-sg.*is not one of' $c $cm --allow-ext-sg 2
	fails 2 'sg_tablesize: must be 1 to 2048' $c $cm --sg-tablesize 2049
	fails 2 "comp_vector: 'x' is not a whole number" $c $cm --comp-vector x
	fails 2 'tl_retry_count: must be 2 to 7' $c $cm --tl-retry-count 1
	fails 2 'ch_count: must be 1 to 1024' $c $cm --ch-count 0
	fails 2 'max_it_iu_size \(259\) is too small: 12 descriptors \(cmd_sg_entries\) need 260' $c $cm --max-it-iu-size 259
	fails 2 'max_cmd_per_lun \(63\) is more than queue_size \(62, the default\)' $c $cm --max-cmd-per-lun 63
	fails 2 'sg_tablesize \(8\) is less than cmd_sg_entries \(12, the default\)' $c $cm --sg-tablesize 8
	fails 2 "--on-loss: .*soon.*expected fail-fast, wait=SECONDS" $c $cm --on-loss soon
	fails 2 'loss=: must be 0.001 to 600 seconds' $c "$cm?loss=601"
	fails 2 'reconnect_delay: must be at least 1, or off' $c $cm --reconnect-delay 0
	fails 2 'fast_io_fail_tmo: must be 0 to 600, or off' $c $cm --fast-io-fail-tmo 601
	fails 2 'dev_loss_tmo: must be 0 to 600, or off, while fast_io_fail_tmo is off' $c $cm --fast-io-fail-tmo off --dev-loss-tmo 601
	fails 2 'fast_io_fail_tmo \(30\) must be less than dev_loss_tmo \(30\)' $c $cm --fast-io-fail-tmo 30 --dev-loss-tmo 30
	fails 2 'are all off: one of them is needed' $c $cm --fast-io-fail-tmo off --dev-loss-tmo off --reconnect-delay off
	fails 2 "dev_loss_tmo: 'x'.*or off" $c $cm --dev-loss-tmo x
	fails 2 '--lun: ' $c $cm --lun x
	fails 2 "(-p|--port): must be 1 to 254" $c $cm -p 255
	fails 2 "--device 'a/b': a name like mlx5_0" $c $cm -i a/b
	fails 1 'host99: is no SRP connection' $c host99
	fails 1 '/dev/null: there is no SRP connection of this name' $c /dev/null
	fails 2 'max_sect: must be 8' $c --json $cm --max-sect 7
}
