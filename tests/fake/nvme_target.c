/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The controller in memory: admin and I/O commands one after another. */
#include "nvme_target.h"
#include <assert.h>
#include <stdlib.h>

void target_init(struct target *t)
{
	*t = (struct target){ .blocks = 8192, .shift = 9, .nsid = { 1 } };
	t->id = (struct nvme_ctrl_info){ .serial = "serial",
		.model = "model",
		.firmware = "fw",
		.cntlid = 5,
		.maxcmd = 64,
		.oncs = 0xc,
		.ver = 0x20100,
		.oaes = NVME_OAES_NS_ATTR,
		.sgls = 0x100005,
		.kas_ms = 100,
		.cntrltype = NVME_CTRL_IO,
		.mdts = 5,
		.vwc = 1,
		.capsule = 64 + 8192,
		.reply = 16 };
	t->ns = (struct nvme_ns_info){ .dlfeat = 9, .nguid = { 0xab } };
	t->ids = (struct nvme_ns_ids){ .uuid = { 0x12, 0x34 } };
	t->cap = 127 | 2ull << 24 | 1ull << 37; /* 128 entries, 1 s, NVM */
	t->connect.cntlid = 5;
	t->disk = calloc(t->blocks, 1u << t->shift);
	pthread_mutex_init(&t->lock, NULL);
	assert(t->disk);
}

void target_fini(struct target *t)
{
	pthread_mutex_destroy(&t->lock);
	free(t->disk);
}

static uint64_t property(const struct target *t, uint32_t offset)
{
	switch (offset) {
	case NVME_CAP:
		return t->cap;
	case NVME_VS:
		return 0x20100;
	case NVME_CSTS:
		if (t->fatal || (t->shut_fatal && t->cc & NVME_CC_SHN_NORMAL))
			return NVME_CSTS_CFS;
		return (t->cc & NVME_CC_EN && !t->never_ready ? NVME_CSTS_RDY : 0) |
		       (t->cc & NVME_CC_SHN_NORMAL ? NVME_SHST_COMPLETE << 2 : 0);
	default:
		return 0;
	}
}

static uint16_t fabrics(struct target *t, uint16_t qid, const struct nvme_sqe *sqe,
	const uint8_t *data, uint32_t len, struct nvme_cqe *cqe)
{
	const struct nvmf_property_sqe *prop = (const void *)sqe;
	struct nvmf_connect hello;

	switch (prop->fctype) {
	case NVMF_CONNECT:
		if (nvmf_connect_get(&hello, (const void *)sqe, data, len, NULL) ||
			hello.qid != qid)
			return NVME_STATUS(1, 0x80);
		t->hello = hello;
		t->io_connects += qid != 0;
		nvmf_connect_reply_put(cqe, &t->connect);
		return (uint16_t)t->connect.status;
	case NVMF_PROPERTY_SET:
		t->cc = (uint32_t)get_le64(prop->value);
		return 0;
	case NVMF_PROPERTY_GET:
		cqe->result = put_le64(property(t, get_le32(prop->offset)));
		return 0;
	default:
		return NVME_STATUS(0, 1);
	}
}

static bool known(const struct target *t, uint32_t nsid)
{
	for (unsigned i = 0; i < 4; i++)
		if (t->nsid[i] == nsid && nsid)
			return true;
	return false;
}

static uint16_t identify_page(
	struct target *t, const struct nvme_sqe *sqe, uint8_t *data, uint32_t len)
{
	struct nvme_ns_info ns = t->ns;
	struct nvme_ns_ids ids = t->ids;
	uint32_t nsid = get_le32(sqe->nsid);

	assert(len == NVME_IDENTIFY_LEN);
	memset(data, 0, len);
	switch (get_le32(sqe->cdw10) & 0xff) {
	case NVME_CNS_CTRL:
		nvme_ctrl_put((void *)data, &t->id);
		return 0;
	case NVME_CNS_NS_LIST:
		for (unsigned i = 0; i < 4; i++)
			((le32 *)(void *)data)[i] = put_le32(t->nsid[i]);
		return 0;
	case NVME_CNS_NS:
		ns.blocks = known(t, nsid) ? t->blocks : 0;
		ns.shift = t->shift;
		nvme_ns_put((void *)data, &ns);
		return 0;
	case NVME_CNS_NS_DESC:
		ids.uuid[15] = (uint8_t)nsid;
		nvme_ns_ids_put(data, &ids);
		return 0;
	case NVME_CNS_IO_CTRL:
		nvme_nvm_put((void *)data, &t->nvm);
		return t->nvm.dmrl || t->nvm.wzsl ? 0 : NVME_STATUS(0, 2);
	default:
		return NVME_STATUS(0, 2);
	}
}

static uint16_t identify(struct target *t, const struct nvme_sqe *sqe, uint8_t *data, uint32_t len)
{
	uint16_t status = identify_page(t, sqe, data, len);

	if (t->spoil)
		t->spoil((uint8_t)get_le32(sqe->cdw10), data);
	return status;
}

static uint16_t get_log(struct target *t, const struct nvme_sqe *sqe, uint8_t *data, uint32_t len)
{
	uint64_t at = get_le32(sqe->cdw12) | (uint64_t)get_le32(sqe->cdw13) << 32;
	uint8_t page = (uint8_t)get_le32(sqe->cdw10);
	uint64_t record = at / 1024, end = record + len / 1024;

	memset(data, 0, len);
	if (page == NVME_LOG_ANA && t->ana) {
		t->ana_reads++;
		t->ana(t, data, len);
		return 0;
	}
	if (page != NVME_LOG_DISCOVERY)
		return page == NVME_LOG_CHANGED_NS ? 0 : NVME_STATUS(1, 9);
	if (!at && t->moving) {
		t->moving--;
		t->log.genctr++;
	}
	if (at % 1024 || len % 1024 || end > t->log.numrec + 1)
		return NVME_STATUS(0, 2);
	for (; record < end; record++, data += 1024)
		if (!record)
			nvmf_log_put((void *)data, &t->log);
		else
			nvmf_record_put((void *)data,
				&t->record[record < TARGET_RECORDS ? record - 1
								   : TARGET_RECORDS - 1]);
	return 0;
}

static uint16_t admin(struct target *t, const struct nvme_sqe *sqe, uint8_t *data, uint32_t len,
	struct nvme_cqe *cqe)
{
	switch (sqe->opcode) {
	case NVME_ADMIN_IDENTIFY:
		return identify(t, sqe, data, len);
	case NVME_ADMIN_GET_LOG:
		return get_log(t, sqe, data, len);
	case NVME_ADMIN_SET_FEATURES:
		if (get_le32(sqe->cdw10) == NVME_FEATURE_QUEUES)
			cqe->result = put_le64(3 | 3 << 16); /* four */
		if (get_le32(sqe->cdw10) == NVME_FEATURE_ASYNC_EVENT)
			t->events = get_le32(sqe->cdw11);
		return 0;
	case NVME_ADMIN_KEEP_ALIVE:
		t->keep_alives++;
		return 0;
	case NVME_ADMIN_CROSS_RESET:
		cqe->result = put_le64(t->reset_result);
		return t->reset_status;
	default:
		return NVME_STATUS(0, 1);
	}
}

static uint16_t io(struct target *t, const struct nvme_sqe *sqe, uint8_t *data, uint32_t len)
{
	uint64_t lba = get_le32(sqe->cdw10) | (uint64_t)get_le32(sqe->cdw11) << 32;
	uint32_t blocks = (get_le32(sqe->cdw12) & 0xffff) + 1;
	bool inside = lba <= t->blocks && blocks <= t->blocks - lba;

	t->last_cdw12 = get_le32(sqe->cdw12);
	switch (sqe->opcode) {
	case NVME_IO_READ:
	case NVME_IO_WRITE:
		if (t->io_status)
			return t->io_status;
		if (!inside || len != blocks << t->shift)
			return NVME_STATUS(0, 0x80);
		if (sqe->opcode == NVME_IO_READ)
			memcpy(data, t->disk + (lba << t->shift), len);
		else
			memcpy(t->disk + (lba << t->shift), data, len);
		*(sqe->opcode == NVME_IO_READ ? &t->reads : &t->writes) += 1;
		return 0;
	case NVME_IO_FLUSH:
		t->flushes++;
		return 0;
	case NVME_IO_WRITE_ZEROES:
		t->zeroes++;
		if (inside)
			memset(t->disk + (lba << t->shift), 0, (size_t)blocks << t->shift);
		return inside ? 0 : NVME_STATUS(0, 0x80);
	case NVME_IO_DSM:
		t->trims++;
		t->trim_ranges = (get_le32(sqe->cdw10) & 0xff) + 1;
		if (len <= sizeof(t->range))
			memcpy(t->range, data, len);
		return len == t->trim_ranges * 16 ? 0 : NVME_STATUS(0, 0xf);
	default:
		return NVME_STATUS(0, 1);
	}
}

static bool refuses(struct target *t, uint16_t qid, const struct nvme_sqe *sqe)
{
	const struct nvmf_connect_sqe *fabrics = (const void *)sqe;
	bool connects = sqe->opcode == NVME_FABRICS && fabrics->fctype == NVMF_CONNECT;
	unsigned *left = connects && qid ? &t->refuse_connects
			 : qid           ? &t->refuse_ios
			 : connects      ? NULL
					 : &t->refuse_admins;

	if (!left || !*left)
		return false;
	--*left;
	return true;
}

bool target_do(struct target *t, uint16_t qid, const struct nvme_sqe *sqe, uint8_t *data,
	uint32_t len, struct nvme_cqe *cqe)
{
	uint16_t status;

	*cqe = (struct nvme_cqe){ .sqhd = put_le16(NVME_SQHD_NONE) };
	if (!qid && sqe->opcode == NVME_ADMIN_ASYNC_EVENT)
		return false;
	pthread_mutex_lock(&t->lock);
	if (refuses(t, qid, sqe))
		status = t->refuse_status;
	else if (sqe->opcode == NVME_FABRICS)
		status = fabrics(t, qid, sqe, data, len, cqe);
	else
		status = qid ? io(t, sqe, data, len) : admin(t, sqe, data, len, cqe);
	bool answered = qid ? !t->silent_after || t->reads + t->writes <= t->silent_after
			    : !t->silent_at || ++t->admins < t->silent_at;

	pthread_mutex_unlock(&t->lock);
	cqe->cid = sqe->cid;
	cqe->status = put_le16((uint16_t)(status << 1));
	return answered;
}
