/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* What a host says when it connects: Connect's command and data, the CM's private data. What is
 * refused is refused with a reason for the host; what is taken is within bounds. */
#include "../../core/proto/nvme/codec.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvmf_connect_reply no;
	struct nvmf_connect connect;
	struct nvmf_rdma_req_info ask;
	struct diag diag = { 0 };
	int err = nvmf_rdma_req_get(&ask, data, size, &diag);

	if (err ? !diag.text[0] : ask.depth < 2 || !ask.receives)
		abort();
	if (size < sizeof(struct nvmf_connect_sqe) + sizeof(struct nvmf_connect_data))
		return 0;
	no = nvmf_connect_refusal(
		(const void *)data, (const void *)(data + sizeof(struct nvmf_connect_sqe)));
	err = nvmf_connect_get(&connect, (const void *)data, data + sizeof(struct nvmf_connect_sqe),
		size - sizeof(struct nvmf_connect_sqe), &diag);
	/* the opcode is what led here, so only that of the two need not agree */
	if (no.status && !err)
		abort();
	if (!err && (connect.depth < 2 || connect.subnqn[NVMF_NQN_MAX] ||
			    connect.hostnqn[NVMF_NQN_MAX]))
		abort();
	return 0;
}
