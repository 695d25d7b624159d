#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Without RDMA in the kernel, info on an nvme+rdma: URI reports which part is missing, and software RDMA where only verbs was tried.
. "$(dirname "$0")/lib.sh"
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo "this machine has RDMA devices"; exit 77; }
error 1 - 127.0.0.1:4420 'kernel.module|RDMA.device connection.refused' \
	"$RDMASTOR" info --timeout 60 'nvme+rdma://127.0.0.1/nqn.2024-01.org.example:x'
error 1 - 'rdma=verbs: ' 'kernel.module|RDMA.device hint:.*rdma=iwarp' \
	"$RDMASTOR" info 'nvme+rdma://127.0.0.1/nqn.2024-01.org.example:x?rdma=verbs'
error 2 usage 'nvme\+rdma://.*[?]colour=red' "'colour'" \
	"$RDMASTOR" info 'nvme+rdma://127.0.0.1/nqn.2024-01.org.example:x?colour=red'
