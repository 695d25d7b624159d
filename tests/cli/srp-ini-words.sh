#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp+cm:// and srp:// as a disk: usage errors, an address without a listener, and a silent one, each in one sentence and as JSON.
. "$(dirname "$0")/lib.sh"

id=0002c903004ed0b2
at=srp+cm://127.0.0.1:5555
error 2 usage '.*' 'HOST:PORT' "$RDMASTOR" info "srp+cm://127.0.0.1/$id/$id"
error 2 usage '.*' "IOC_GUID 'x'" "$RDMASTOR" info "$at/x/1"
error 2 usage '.*' "ID_EXT 'y'" "$RDMASTOR" info "$at/1/y"
error 2 usage '.*' "LUN 'z'" "$RDMASTOR" info "$at/1/2/z"
error 2 usage '.*' 'ID_EXT' "$RDMASTOR" export "$at/1" --nbd unix:x
error 2 usage '.*' 'queues' "$RDMASTOR" info "$at/1/2?queues=65"
error 2 usage '.*' 'cmd_sg_entries' "$RDMASTOR" info "$at/1/2?cmd_sg_entries=5"
error 2 usage '.*' 'users' "$RDMASTOR" info "srp+cm://joe@127.0.0.1:5555/1/2"

error 1 refused "127.0.0.1:1" 'refused' "$RDMASTOR" info "srp+cm://127.0.0.1:1/$id/$id/0?rdma=iwarp"
error 1 refused "127.0.0.1:1" 'refused' "$RDMASTOR" copy "srp+cm://127.0.0.1:1/$id/$id/0?rdma=iwarp" image
[ ! -e image ] || die "an image is left of a copy that never began"

# on InfiniBand
gid=fe800000000000000002c90300003001
error 2 usage '.*' "GID '5'" "$RDMASTOR" info "srp://5/$id/$id?service_id=7"
error 2 usage '.*' 'service_id srp-discover' "$RDMASTOR" info "srp://$gid/$id/$id"
error 2 usage '.*' 'pkey' "$RDMASTOR" info "srp://$gid/$id/$id?service_id=7&pkey=12345"
error 2 usage '.*' 'io_class ff00' "$RDMASTOR" info "srp://$gid/$id/$id?service_id=7&io_class=101"
error 2 usage '.*' 'P_Key' "$RDMASTOR" info "srp://$gid/$id/$id?service_id=7&pkey=8000"
error 1 unsupported '.*' 'software.iWARP' "$RDMASTOR" info "srp://$gid/$id/$id?service_id=7&rdma=iwarp"
[ -e /dev/infiniband/rdma_cm ] || error 1 no-module '.*' '' "$RDMASTOR" info "srp://$gid/$id/$id?service_id=7"
