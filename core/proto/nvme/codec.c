/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode and decode control messages of NVMe-oF: discovery log, Identify data, Connect, RDMA
 * private data. The carriers use hot structures (commands, completions) in place; PDU headers are
 * in codec_tcp.c. */
#include "codec.h"
#include <errno.h>
#include <stdlib.h>

static int too_short(struct diag *diag, const char *what, size_t len, size_t expected)
{
	return diag_set(
		diag, DIAG_PROTOCOL, EPROTO, "%s: %zu bytes, expected %zu", what, len, expected);
}

/* Copy a peer's NQN, which ends at NUL or with its field. All bytes count: names are compared and
 * sent back, and only out_plain() cleans them. */
static void name_get(char *to, size_t room, const char *from, size_t len)
{
	size_t n = strnlen(from, len < room ? len : room - 1);

	memcpy(to, from, n);
	to[n] = 0;
}

/* Copy a peer's text field, which is padded with blanks. */
static void text_get(char *to, size_t room, const char *from, size_t len)
{
	name_get(to, room, from, len);
	for (size_t n = strlen(to); n && to[n - 1] == ' '; n--)
		to[n - 1] = 0;
}

static void text_put(char *to, size_t len, const char *from, char pad)
{
	size_t n = strlen(from);

	if (n > len)
		n = len;
	memcpy(to, from, n);
	memset(to + n, pad, len - n);
}

void nvmf_log_put(struct nvmf_log_head *head, const struct nvmf_log_info *info)
{
	memset(head, 0, sizeof(*head));
	head->genctr = put_le64(info->genctr);
	head->numrec = put_le64(info->numrec);
}

int nvmf_log_get(struct nvmf_log_info *info, const void *p, size_t len, struct diag *diag)
{
	const struct nvmf_log_head *head = p;

	if (len < sizeof(*head))
		return too_short(diag, "discovery log header", len, sizeof(*head));
	if (get_le16(head->recfmt))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"discovery log: unknown record format %u", get_le16(head->recfmt));
	info->genctr = get_le64(head->genctr);
	info->numrec = get_le64(head->numrec);
	if (info->numrec > NVMF_LOG_RECORDS)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"discovery log: impossible number of records (%llu)",
			(unsigned long long)info->numrec);
	return 0;
}

void nvmf_record_put(struct nvmf_log_entry *entry, const struct nvmf_record *record)
{
	memset(entry, 0, sizeof(*entry));
	entry->trtype = record->trtype;
	entry->adrfam = record->adrfam;
	entry->subtype = record->subtype;
	entry->treq = record->treq;
	entry->portid = put_le16(record->portid);
	entry->cntlid = put_le16(record->cntlid);
	entry->asqsz = put_le16(record->asqsz);
	entry->eflags = put_le16(record->eflags);
	text_put(entry->trsvcid, sizeof(entry->trsvcid), record->trsvcid, ' ');
	text_put(entry->subnqn, sizeof(entry->subnqn), record->subnqn, 0);
	text_put(entry->traddr, sizeof(entry->traddr), record->traddr, ' ');
	if (record->trtype == NVMF_TRTYPE_RDMA) {
		entry->tsas.rdma.qptype = record->tsas.rdma.qptype;
		entry->tsas.rdma.prtype = record->tsas.rdma.prtype;
		entry->tsas.rdma.cms = record->tsas.rdma.cms;
		entry->tsas.rdma.pkey = put_le16(record->tsas.rdma.pkey);
	} else if (record->trtype == NVMF_TRTYPE_TCP) {
		entry->tsas.tcp.sectype = record->tsas.tcp.sectype;
	}
}

int nvmf_record_get(struct nvmf_record *record, const void *p, size_t len, struct diag *diag)
{
	const struct nvmf_log_entry *entry = p;

	if (len < sizeof(*entry))
		return too_short(diag, "discovery log entry", len, sizeof(*entry));
	*record = (struct nvmf_record){
		.trtype = entry->trtype,
		.adrfam = entry->adrfam,
		.subtype = entry->subtype,
		.treq = entry->treq,
		.portid = get_le16(entry->portid),
		.cntlid = get_le16(entry->cntlid),
		.asqsz = get_le16(entry->asqsz),
		.eflags = get_le16(entry->eflags),
	};
	text_get(record->trsvcid, sizeof(record->trsvcid), entry->trsvcid, sizeof(entry->trsvcid));
	name_get(record->subnqn, sizeof(record->subnqn), entry->subnqn, sizeof(entry->subnqn));
	text_get(record->traddr, sizeof(record->traddr), entry->traddr, sizeof(entry->traddr));
	if (record->trtype == NVMF_TRTYPE_RDMA) {
		record->tsas.rdma.qptype = entry->tsas.rdma.qptype;
		record->tsas.rdma.prtype = entry->tsas.rdma.prtype;
		record->tsas.rdma.cms = entry->tsas.rdma.cms;
		record->tsas.rdma.pkey = get_le16(entry->tsas.rdma.pkey);
	} else if (record->trtype == NVMF_TRTYPE_TCP) {
		record->tsas.tcp.sectype = entry->tsas.tcp.sectype;
	}
	return 0;
}

void nvme_ctrl_put(struct nvme_id_ctrl *id, const struct nvme_ctrl_info *info)
{
	memset(id, 0, sizeof(*id));
	text_put(id->sn, sizeof(id->sn), info->serial, ' ');
	text_put(id->mn, sizeof(id->mn), info->model, ' ');
	text_put(id->fr, sizeof(id->fr), info->firmware, ' ');
	text_put(id->subnqn, sizeof(id->subnqn), info->subnqn, 0);
	id->cntlid = put_le16(info->cntlid);
	id->maxcmd = put_le16(info->maxcmd);
	id->oncs = put_le16(info->oncs);
	id->icdoff = put_le16(info->icdoff);
	id->ver = put_le32(info->ver);
	id->oaes = put_le32(info->oaes);
	id->sgls = put_le32(info->sgls);
	id->kas = put_le16((uint16_t)(info->kas_ms / 100));
	id->cqt = put_le16(info->cqt_ms);
	id->cntrltype = info->cntrltype;
	id->mdts = info->mdts;
	id->aerl = info->aerl;
	id->vwc = info->vwc;
	id->cmic = info->cmic;
	id->nn = put_le32(info->nn);
	id->ctratt = put_le32(info->ctratt);
	id->ciu = info->ciu;
	id->cirn = put_le64(info->cirn);
	id->ccrl = info->ccrl;
	id->anatt = info->anatt;
	id->anacap = info->anacap;
	id->anagrpmax = put_le32(info->anagrpmax);
	id->nanagrpid = put_le32(info->nanagrpid);
	id->mnan = put_le32(info->mnan);
	id->ioccsz = put_le32(info->capsule / 16);
	id->iorcsz = put_le32(info->reply / 16);
	id->sqes = 0x66;
	id->cqes = 0x44;
}

int nvme_ctrl_get(struct nvme_ctrl_info *info, const void *p, size_t len, struct diag *diag)
{
	const struct nvme_id_ctrl *id = p;
	uint32_t capsule, reply;

	if (len < sizeof(*id))
		return too_short(diag, "identify controller data", len, sizeof(*id));
	*info = (struct nvme_ctrl_info){
		.cntlid = get_le16(id->cntlid),
		.maxcmd = get_le16(id->maxcmd),
		.oncs = get_le16(id->oncs),
		.icdoff = get_le16(id->icdoff),
		.ver = get_le32(id->ver),
		.oaes = get_le32(id->oaes),
		.sgls = get_le32(id->sgls),
		.kas_ms = get_le16(id->kas) * 100u,
		.cqt_ms = get_le16(id->cqt),
		.cntrltype = id->cntrltype,
		.mdts = id->mdts,
		.aerl = id->aerl,
		.vwc = id->vwc,
		.nn = get_le32(id->nn),
		.ctratt = get_le32(id->ctratt),
		.cmic = id->cmic,
		.ciu = id->ciu,
		.cirn = get_le64(id->cirn),
		.ccrl = id->ccrl,
		.anatt = id->anatt,
		.anacap = id->anacap,
		.anagrpmax = get_le32(id->anagrpmax),
		.nanagrpid = get_le32(id->nanagrpid),
		.mnan = get_le32(id->mnan),
	};
	text_get(info->serial, sizeof(info->serial), id->sn, sizeof(id->sn));
	text_get(info->model, sizeof(info->model), id->mn, sizeof(id->mn));
	text_get(info->firmware, sizeof(info->firmware), id->fr, sizeof(id->fr));
	name_get(info->subnqn, sizeof(info->subnqn), id->subnqn, sizeof(id->subnqn));
	capsule = get_le32(id->ioccsz);
	reply = get_le32(id->iorcsz);
	/* Base 2.1, figure 312: the minimum is 4 (a command), and 1 (a completion); a discovery
	 * controller reports 0 for both. */
	if ((capsule && capsule < 4) || capsule > 1u << 24 || reply > 1u << 24)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"invalid capsule sizes: %u and %u units of 16 bytes", capsule, reply);
	info->capsule = capsule * 16;
	info->reply = reply * 16;
	return 0;
}

void nvme_ns_put(struct nvme_id_ns *id, const struct nvme_ns_info *info)
{
	memset(id, 0, sizeof(*id));
	id->nsze = id->ncap = put_le64(info->blocks);
	id->nuse = put_le64(info->unused ? 0 : info->blocks);
	id->anagrpid = put_le32(info->anagrpid);
	id->dlfeat = info->dlfeat;
	id->nsattr = info->ro ? NVME_NSATTR_WP : 0;
	id->nmic = info->shared ? NVME_NMIC_SHARED : 0;
	id->rescap = info->rescap;
	id->lbaf[0].lbads = info->shift;
	if (info->best) {
		id->nsfeat = NVME_NSFEAT_OPTPERF;
		id->npwg = put_le16((uint16_t)(info->best - 1));
	}
	memcpy(id->nguid, info->nguid, sizeof(id->nguid));
	memcpy(id->eui64, info->eui64, sizeof(id->eui64));
}

int nvme_ns_get(struct nvme_ns_info *info, const void *p, size_t len, struct diag *diag)
{
	const struct nvme_id_ns *id = p;
	const struct nvme_lbaf *format;

	if (len < sizeof(*id))
		return too_short(diag, "identify namespace data", len, sizeof(*id));
	*info = (struct nvme_ns_info){ .blocks = get_le64(id->nsze),
		.dlfeat = id->dlfeat,
		.ro = id->nsattr & NVME_NSATTR_WP,
		.unused = !get_le64(id->nuse),
		.anagrpid = get_le32(id->anagrpid),
		.rescap = id->rescap,
		.shared = id->nmic & NVME_NMIC_SHARED };
	if (!info->blocks)
		return 0;
	format = &id->lbaf[NVME_FLBAS_INDEX(id->flbas)];
	if (get_le16(format->ms))
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"the namespace has %u bytes of metadata per block, which is not supported",
			get_le16(format->ms));
	if (format->lbads < 9 || format->lbads > 16)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"unsupported namespace block size 2^%u: must be 512 to 65536 bytes",
			format->lbads);
	if (info->blocks > (uint64_t)INT64_MAX >> format->lbads)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"invalid namespace size: %llu blocks of %u bytes",
			(unsigned long long)info->blocks, 1u << format->lbads);
	info->shift = format->lbads;
	if (id->nsfeat & NVME_NSFEAT_OPTPERF)
		info->best = get_le16(id->npwg) + 1u;
	memcpy(info->nguid, id->nguid, sizeof(info->nguid));
	memcpy(info->eui64, id->eui64, sizeof(info->eui64));
	return 0;
}

static const struct {
	uint8_t type, len;
	uint16_t at;
} ns_id[] = {
	{ NVME_NIDT_EUI64, 8, offsetof(struct nvme_ns_ids, eui64) },
	{ NVME_NIDT_NGUID, 16, offsetof(struct nvme_ns_ids, nguid) },
	{ NVME_NIDT_UUID, 16, offsetof(struct nvme_ns_ids, uuid) },
	{ NVME_NIDT_CSI, 1, offsetof(struct nvme_ns_ids, csi) },
};
#define NS_IDS (sizeof(ns_id) / sizeof(ns_id[0]))

static bool ana_state_known(uint8_t state)
{
	return (state >= NVME_ANA_OPTIMIZED && state <= NVME_ANA_PERSISTENT_LOSS) ||
	       state == NVME_ANA_CHANGE;
}

int nvme_ana_get(uint8_t *state, const void *p, size_t len, uint32_t grpid, struct diag *diag)
{
	const struct nvme_ana_log *log = p;
	const struct nvme_ana_group *group;
	size_t at = sizeof(*log);
	unsigned groups;

	if (len < sizeof(*log))
		return too_short(diag, "ANA log", len, sizeof(*log));
	groups = get_le16(log->groups);
	for (unsigned i = 0; i < groups; i++) {
		group = (const void *)((const uint8_t *)p + at);
		if (len - at < sizeof(*group) ||
			get_le32(group->nnsid) > (len - at - sizeof(*group)) / sizeof(le32))
			return diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"ANA log: group %u of %u ends behind its %zu bytes", i + 1, groups,
				len);
		at += sizeof(*group) + get_le32(group->nnsid) * sizeof(le32);
		if (get_le32(group->grpid) != grpid)
			continue;
		*state = group->state & 0xf;
		if (ana_state_known(*state))
			return 0;
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"ANA log: group %u has the reserved state %xh", grpid, *state);
	}
	return diag_set(diag, DIAG_PROTOCOL, EPROTO,
		"ANA log: group %u of the namespace is not among its %u groups", grpid, groups);
}

void nvme_ns_ids_put(uint8_t page[NVME_IDENTIFY_LEN], const struct nvme_ns_ids *ids)
{
	static const uint8_t none[16];
	struct wr w = wr_init(page, NVME_IDENTIFY_LEN);

	memset(page, 0, NVME_IDENTIFY_LEN);
	for (unsigned i = 0; i < NS_IDS; i++) {
		const uint8_t *value = (const uint8_t *)ids + ns_id[i].at;
		const struct nvme_ns_desc head = { .nidt = ns_id[i].type, .nidl = ns_id[i].len };

		if (ns_id[i].type != NVME_NIDT_CSI && !memcmp(value, none, ns_id[i].len))
			continue;
		wr_bytes(&w, &head, sizeof(head));
		wr_bytes(&w, value, ns_id[i].len);
	}
}

int nvme_ns_ids_get(struct nvme_ns_ids *ids, const void *p, size_t len, struct diag *diag)
{
	struct rd r = rd_init(p, len);
	const struct nvme_ns_desc *head;

	*ids = (struct nvme_ns_ids){ 0 };
	while (rd_left(&r) >= sizeof(*head)) {
		const uint8_t *value;

		head = rd_take(&r, sizeof(*head));
		if (!head->nidl)
			return 0;
		value = rd_take(&r, head->nidl);
		if (!value)
			break;
		for (unsigned i = 0; i < NS_IDS; i++) {
			if (head->nidt != ns_id[i].type)
				continue;
			if (head->nidl != ns_id[i].len)
				return diag_set(diag, DIAG_PROTOCOL, EPROTO,
					"namespace identifier of type %u: %u bytes, expected %u",
					head->nidt, head->nidl, ns_id[i].len);
			memcpy((uint8_t *)ids + ns_id[i].at, value, ns_id[i].len);
		}
	}
	if (r.bad)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"namespace identification descriptors exceed the page");
	return 0;
}

void nvme_nvm_put(struct nvme_id_ctrl_nvm *id, const struct nvme_nvm_info *info)
{
	memset(id, 0, sizeof(*id));
	id->wzsl = info->wzsl;
	id->dmrl = info->dmrl;
	id->dmrsl = put_le32(info->dmrsl);
	id->dmsl = put_le64(info->dmsl);
}

int nvme_nvm_get(struct nvme_nvm_info *info, const void *p, size_t len, struct diag *diag)
{
	const struct nvme_id_ctrl_nvm *id = p;

	if (len < sizeof(*id))
		return too_short(
			diag, "identify controller data of the NVM command set", len, sizeof(*id));
	*info = (struct nvme_nvm_info){ .wzsl = id->wzsl,
		.dmrl = id->dmrl,
		.dmrsl = get_le32(id->dmrsl),
		.dmsl = get_le64(id->dmsl) };
	return 0;
}

void nvmf_connect_put(struct nvmf_connect_sqe *sqe, struct nvmf_connect_data *data,
	const struct nvmf_connect *connect)
{
	*sqe = (struct nvmf_connect_sqe){
		.opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = NVMF_CONNECT,
		.qid = put_le16(connect->qid),
		.sqsize = put_le16(connect->depth - 1),
		.kato = put_le32(connect->kato_ms),
		.cattr = connect->no_sqfc ? NVMF_CATTR_NO_SQFC : 0,
	};
	memset(data, 0, sizeof(*data));
	memcpy(data->hostid, connect->hostid, sizeof(data->hostid));
	data->cntlid = put_le16(connect->cntlid);
	text_put(data->subnqn, sizeof(data->subnqn), connect->subnqn, 0);
	text_put(data->hostnqn, sizeof(data->hostnqn), connect->hostnqn, 0);
}

int nvmf_connect_get(struct nvmf_connect *connect, const struct nvmf_connect_sqe *sqe,
	const void *p, size_t len, struct diag *diag)
{
	const struct nvmf_connect_data *data = p;

	if (len < sizeof(*data))
		return too_short(diag, "connect data", len, sizeof(*data));
	if (sqe->opcode != NVME_FABRICS || sqe->fctype != NVMF_CONNECT)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "command %02x/%02x instead of connect",
			sqe->opcode, sqe->fctype);
	if (get_le16(sqe->recfmt))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"connect with unknown record format %u", get_le16(sqe->recfmt));
	if (!get_le16(sqe->sqsize) || get_le16(sqe->sqsize) == UINT16_MAX)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "connect with invalid queue size %u",
			get_le16(sqe->sqsize));
	if (strnlen(data->subnqn, NVMF_NQN_LEN) > NVMF_NQN_MAX ||
		strnlen(data->hostnqn, NVMF_NQN_LEN) > NVMF_NQN_MAX)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"connect with a name of more than %u bytes", NVMF_NQN_MAX);
	*connect = (struct nvmf_connect){
		.qid = get_le16(sqe->qid),
		.depth = (uint16_t)(get_le16(sqe->sqsize) + 1),
		.kato_ms = get_le32(sqe->kato),
		.cntlid = get_le16(data->cntlid),
		.no_sqfc = sqe->cattr & NVMF_CATTR_NO_SQFC,
	};
	memcpy(connect->hostid, data->hostid, sizeof(connect->hostid));
	name_get(connect->subnqn, sizeof(connect->subnqn), data->subnqn, sizeof(data->subnqn));
	name_get(connect->hostnqn, sizeof(connect->hostnqn), data->hostnqn, sizeof(data->hostnqn));
	return 0;
}

#define CONNECT_INVALID NVME_STATUS(1, 0x82)

struct nvmf_connect_reply nvmf_connect_refusal(
	const struct nvmf_connect_sqe *sqe, const struct nvmf_connect_data *data)
{
	struct nvmf_connect_reply no = { .status = NVMF_PARAM };

	if (get_le16(sqe->recfmt))
		return (struct nvmf_connect_reply){ .status = NVMF_FORMAT };
	if (!get_le16(sqe->sqsize) || get_le16(sqe->sqsize) == UINT16_MAX) {
		no.ipo = offsetof(struct nvmf_connect_sqe, sqsize);
		return no;
	}
	no.ipo_data = true;
	no.ipo = offsetof(struct nvmf_connect_data, subnqn);
	if (strnlen(data->subnqn, NVMF_NQN_LEN) > NVMF_NQN_MAX)
		return no;
	no.ipo = offsetof(struct nvmf_connect_data, hostnqn);
	if (strnlen(data->hostnqn, NVMF_NQN_LEN) > NVMF_NQN_MAX)
		return no;
	return (struct nvmf_connect_reply){ 0 };
}

void nvmf_connect_reply_put(struct nvme_cqe *cqe, const struct nvmf_connect_reply *reply)
{
	uint32_t dw0 = 0;

	if (!reply->status)
		dw0 = reply->cntlid | (reply->auth ? NVMF_AUTHREQ_ATR : 0) |
		      (reply->secure ? NVMF_AUTHREQ_ASCR : 0);
	else if (NVME_STATUS_CODE(reply->status) == CONNECT_INVALID)
		dw0 = reply->ipo | (uint32_t)(reply->ipo_data ? NVMF_IATTR_DATA : 0) << 16;
	*cqe = (struct nvme_cqe){ .result = put_le64(dw0),
		.status = put_le16((uint16_t)(reply->status << 1)) };
}

int nvmf_connect_reply_get(
	struct nvmf_connect_reply *reply, const void *p, size_t len, struct diag *diag)
{
	const struct nvme_cqe *cqe = p;
	uint32_t dw0;

	if (len < sizeof(*cqe))
		return too_short(diag, "reply to connect", len, sizeof(*cqe));
	dw0 = (uint32_t)get_le64(cqe->result);
	*reply = (struct nvmf_connect_reply){ .status = get_le16(cqe->status) >> 1 };
	if (!NVME_STATUS_CODE(reply->status)) {
		reply->status = 0;
		reply->cntlid = (uint16_t)dw0;
		reply->auth = dw0 & NVMF_AUTHREQ_ATR;
		reply->secure = dw0 & NVMF_AUTHREQ_ASCR;
	} else if (NVME_STATUS_CODE(reply->status) == CONNECT_INVALID) {
		reply->ipo = (uint16_t)dw0;
		reply->ipo_data = dw0 >> 16 & NVMF_IATTR_DATA;
	}
	return 0;
}

void nvmf_rdma_req_put(struct nvmf_rdma_req *req, const struct nvmf_rdma_req_info *info)
{
	*req = (struct nvmf_rdma_req){
		.qid = put_le16(info->qid),
		.hrqsize = put_le16(info->receives),
		.hsqsize = put_le16(info->depth - 1),
		.cntlid = put_le16(info->cntlid),
	};
}

int nvmf_rdma_req_get(struct nvmf_rdma_req_info *info, const void *p, size_t len, struct diag *diag)
{
	const struct nvmf_rdma_req *req = p;

	if (len < sizeof(*req))
		return too_short(diag, "private data of the connection request", len, sizeof(*req));
	if (get_le16(req->recfmt))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"connection request with unknown format %u", get_le16(req->recfmt));
	if (!get_le16(req->hsqsize) || get_le16(req->hsqsize) == UINT16_MAX ||
		!get_le16(req->hrqsize))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"connection request with invalid queue sizes %u and %u",
			get_le16(req->hsqsize), get_le16(req->hrqsize));
	*info = (struct nvmf_rdma_req_info){
		.qid = get_le16(req->qid),
		.receives = get_le16(req->hrqsize),
		.depth = (uint16_t)(get_le16(req->hsqsize) + 1),
		.cntlid = get_le16(req->cntlid),
	};
	return 0;
}

void nvmf_rdma_rep_put(struct nvmf_rdma_rep *rep, uint16_t receives)
{
	*rep = (struct nvmf_rdma_rep){ .crqsize = put_le16(receives) };
}

int nvmf_rdma_rep_get(uint16_t *receives, const void *p, size_t len, struct diag *diag)
{
	const struct nvmf_rdma_rep *rep = p;

	if (len < sizeof(*rep))
		return too_short(diag, "private data of the connection reply", len, sizeof(*rep));
	if (get_le16(rep->recfmt))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"connection reply with unknown format %u", get_le16(rep->recfmt));
	if (!get_le16(rep->crqsize))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "connection reply without receives");
	*receives = get_le16(rep->crqsize);
	return 0;
}

void nvmf_rdma_rej_put(struct nvmf_rdma_rej *rej, uint16_t status)
{
	*rej = (struct nvmf_rdma_rej){ .status = put_le16(status) };
}

int nvmf_rdma_rej_get(uint16_t *status, const void *p, size_t len, struct diag *diag)
{
	const struct nvmf_rdma_rej *rej = p;

	if (len < sizeof(*rej))
		return too_short(diag, "private data of the rejection", len, sizeof(*rej));
	if (get_le16(rej->recfmt))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "rejection with unknown format %u",
			get_le16(rej->recfmt));
	*status = get_le16(rej->status);
	return 0;
}
