/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Control messages of NVMe-oF: bytes as Linux 6.12 (nvme-rdma, nvmet) writes them, round trips,
 * every truncation, every damaged byte. */
#include "codec.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

typedef int get_fn(const void *, size_t);

/* Refused at every shorter length; any damaged byte is refused or taken, within its bounds (the
 * sanitizer watches). */
static void torture(get_fn *get, const void *good, size_t len)
{
	uint8_t *p;

	cr_assert_eq(get(good, len), 0);
	for (size_t cut = 0; cut < len; cut++) {
		p = malloc(cut ? cut : 1);
		memcpy(p, good, cut);
		cr_assert_eq(get(p, cut), -EPROTO, "%zu of %zu bytes", cut, len);
		free(p);
	}
	p = malloc(len);
	for (size_t at = 0; at < len; at++) {
		for (int flip = 1; flip < 256; flip = flip * 2 + 1) {
			int err;

			memcpy(p, good, len);
			p[at] ^= (uint8_t)flip;
			err = get(p, len);
			cr_assert(
				!err || err == -EPROTO || err == -ENOTSUP, "byte %zu: %d", at, err);
		}
	}
	free(p);
}

static void is_text(const char *text, size_t room)
{
	cr_assert_lt(strnlen(text, room), room);
}

static int get_log(const void *p, size_t len)
{
	struct nvmf_log_info info;

	return nvmf_log_get(&info, p, len, NULL);
}

Test(nvme_codec, discovery_log_header)
{
	struct nvmf_log_head head;
	struct nvmf_log_info info;
	const struct nvmf_log_info in = { .genctr = 0x1122334455667788, .numrec = 3 };
	static const uint8_t golden[18] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 3 };

	nvmf_log_put(&head, &in);
	cr_assert_arr_eq(&head, golden, sizeof(golden));
	cr_assert_eq(nvmf_log_get(&info, &head, sizeof(head), NULL), 0);
	cr_assert_eq(info.genctr, in.genctr);
	cr_assert_eq(info.numrec, in.numrec);
	torture(get_log, &head, sizeof(head));
	head.numrec = put_le64(NVMF_LOG_RECORDS + 1);
	cr_assert_eq(get_log(&head, sizeof(head)), -EPROTO);
	head.numrec = put_le64(1);
	head.recfmt = put_le16(1);
	cr_assert_eq(get_log(&head, sizeof(head)), -EPROTO);
}

static int get_record(const void *p, size_t len)
{
	struct nvmf_record record;
	int err = nvmf_record_get(&record, p, len, NULL);

	if (err)
		return err;
	is_text(record.trsvcid, sizeof(record.trsvcid));
	is_text(record.subnqn, sizeof(record.subnqn));
	is_text(record.traddr, sizeof(record.traddr));
	return 0;
}

Test(nvme_codec, discovery_record)
{
	struct nvmf_log_entry entry, again;
	struct nvmf_record record, in = { .trtype = NVMF_TRTYPE_RDMA,
		.adrfam = NVMF_ADRFAM_IP4,
		.subtype = NVMF_SUBTYPE_NVME,
		.treq = 4,
		.portid = 1,
		.cntlid = 0xffff,
		.asqsz = 32,
		.eflags = 3,
		.trsvcid = "4420",
		.subnqn = "nqn.2024-01.test:a",
		.traddr = "10.0.0.1",
		.tsas.rdma = { 1, 1, 1, 0xffff } };
	static const uint8_t golden[12] = { 1, 1, 2, 4, 1, 0, 0xff, 0xff, 32, 0, 3, 0 };

	nvmf_record_put(&entry, &in);
	cr_assert_arr_eq(&entry, golden, sizeof(golden));
	cr_assert_arr_eq(entry.trsvcid, "4420                            ", 32);
	cr_assert_eq(nvmf_record_get(&record, &entry, sizeof(entry), NULL), 0);
	nvmf_record_put(&again, &record);
	cr_assert_arr_eq(&again, &entry, sizeof(entry));
	torture(get_record, &entry, sizeof(entry));
	in.trtype = NVMF_TRTYPE_TCP;
	memset(&in.tsas, 0, sizeof(in.tsas));
	in.tsas.tcp.sectype = 2;
	nvmf_record_put(&entry, &in);
	cr_assert_eq(nvmf_record_get(&record, &entry, sizeof(entry), NULL), 0);
	nvmf_record_put(&again, &record);
	cr_assert_arr_eq(&again, &entry, sizeof(entry));
}

Test(nvme_codec, names_of_a_record_that_fill_their_field)
{
	struct nvmf_log_entry entry;
	struct nvmf_record record;

	memset(&entry, 'x', sizeof(entry));
	cr_assert_eq(nvmf_record_get(&record, &entry, sizeof(entry), NULL), 0);
	cr_assert_eq(strlen(record.trsvcid), 32);
	cr_assert_eq(strlen(record.subnqn), 223);
	cr_assert_eq(strlen(record.traddr), 256);
	memcpy(entry.traddr, "10.0.0.1  ", 11);
	cr_assert_eq(nvmf_record_get(&record, &entry, sizeof(entry), NULL), 0);
	cr_assert_str_eq(record.traddr, "10.0.0.1", "trailing blanks go");
}

Test(nvme_codec, names_are_bytes)
{
	static const char name[] = "nqn.2024-01.x:t\xc3\xbc-\xe6\x97\xa5\xff\x1b ";
	struct nvmf_connect_data data;
	struct nvmf_connect_sqe sqe;
	struct nvmf_connect connect, asked = { .depth = 32 };
	struct nvmf_log_entry entry;
	struct nvmf_record record, expected = { .trtype = NVMF_TRTYPE_TCP };
	struct nvme_id_ctrl id;
	struct nvme_ctrl_info info, ctrl = { .serial = "S\xc3\xbc", .model = "M\x01" };

	strcpy(asked.subnqn, name);
	strcpy(asked.hostnqn, name);
	nvmf_connect_put(&sqe, &data, &asked);
	cr_assert_eq(nvmf_connect_get(&connect, &sqe, &data, sizeof(data), NULL), 0);
	cr_assert_str_eq(connect.subnqn, name);
	cr_assert_str_eq(connect.hostnqn, name, "an allow list compares all bytes");
	strcpy(expected.subnqn, name);
	nvmf_record_put(&entry, &expected);
	cr_assert_eq(nvmf_record_get(&record, &entry, sizeof(entry), NULL), 0);
	cr_assert_str_eq(record.subnqn, name);
	strcpy(ctrl.subnqn, name);
	nvme_ctrl_put(&id, &ctrl);
	cr_assert_eq(nvme_ctrl_get(&info, &id, sizeof(id), NULL), 0);
	cr_assert_str_eq(info.subnqn, name);
	cr_assert_str_eq(info.serial, "S\xc3\xbc", "two disks must not share a serial number");
	cr_assert_str_eq(info.model, "M\x01");
}

static int get_ctrl(const void *p, size_t len)
{
	struct nvme_ctrl_info info;
	int err = nvme_ctrl_get(&info, p, len, NULL);

	if (err)
		return err;
	is_text(info.serial, sizeof(info.serial));
	is_text(info.model, sizeof(info.model));
	is_text(info.firmware, sizeof(info.firmware));
	return 0;
}

Test(nvme_codec, identify_controller)
{
	struct nvme_id_ctrl id, again;
	struct nvme_ctrl_info info, in = { .serial = "ab12",
		.model = "Linux",
		.firmware = "6.12",
		.subnqn = "nqn.x",
		.cntlid = 7,
		.maxcmd = 128,
		.oncs = 0xc,
		.icdoff = 0,
		.ver = 0x10300,
		.oaes = 0x100,
		.sgls = 0x100005,
		.kas_ms = 1000,
		.cqt_ms = 0x1234,
		.cntrltype = NVME_CTRL_IO,
		.mdts = 8,
		.aerl = 3,
		.vwc = 1,
		.cmic = 0xb,
		.anatt = 30,
		.anacap = 0x5f,
		.anagrpmax = 0x102,
		.nanagrpid = 0x103,
		.mnan = 0x104,
		.capsule = 16448,
		.reply = 16 };
	const uint8_t *p = (const uint8_t *)&id;

	nvme_ctrl_put(&id, &in);
	cr_assert_arr_eq(p + 4, "ab12                ", 20);
	cr_assert_eq(p[77], 8, "MDTS");
	cr_assert_eq(p[111], 1, "CNTRLTYPE");
	cr_assert_eq(p[320], 10, "KAS");
	cr_assert(p[386] == 0x34 && p[387] == 0x12, "CQT");
	cr_assert_eq(p[76], 0xb, "CMIC");
	cr_assert_eq(p[342], 30, "ANATT");
	cr_assert_eq(p[343], 0x5f, "ANACAP");
	cr_assert(p[344] == 2 && p[345] == 1, "ANAGRPMAX");
	cr_assert(p[348] == 3 && p[349] == 1, "NANAGRPID");
	cr_assert(p[540] == 4 && p[541] == 1, "MNAN");
	cr_assert_eq(p[514], 128, "MAXCMD");
	cr_assert_eq(p[525], 1, "VWC");
	cr_assert_eq(p[1792] | p[1793] << 8, 16448 / 16, "IOCCSZ");
	cr_assert_eq(nvme_ctrl_get(&info, &id, sizeof(id), NULL), 0);
	nvme_ctrl_put(&again, &info);
	cr_assert_arr_eq(&again, &id, sizeof(id));
	torture(get_ctrl, &id, sizeof(id));
	id.ioccsz = put_le32(3);
	cr_assert_eq(get_ctrl(&id, sizeof(id)), -EPROTO, "no room for a command");
}

static int get_ns(const void *p, size_t len)
{
	struct nvme_ns_info info;
	int err = nvme_ns_get(&info, p, len, NULL);

	if (!err && info.blocks) {
		cr_assert(info.shift >= 9 && info.shift <= 16);
		cr_assert_leq(info.blocks, (uint64_t)INT64_MAX >> info.shift);
	}
	return err;
}

Test(nvme_codec, identify_namespace)
{
	struct nvme_id_ns id, again;
	struct nvme_ns_info info, in = { .blocks = 131072,
		.shift = 12,
		.dlfeat = 9,
		.ro = true,
		.best = 8,
		.unused = true,
		.anagrpid = 0x105,
		.nguid = { 1, 2 },
		.eui64 = { 3 } };
	const uint8_t *p = (const uint8_t *)&id;
	struct diag diag;

	nvme_ns_put(&id, &in);
	cr_assert_eq(p[2], 2, "NSZE");
	cr_assert_eq(p[130], 12, "LBADS of format 0");
	cr_assert_eq(p[99], 1, "NSATTR");
	cr_assert_eq(p[16] | p[17] | p[18], 0, "NUSE");
	cr_assert(p[92] == 5 && p[93] == 1, "ANAGRPID");
	cr_assert_eq(nvme_ns_get(&info, &id, sizeof(id), NULL), 0);
	nvme_ns_put(&again, &info);
	cr_assert_arr_eq(&again, &id, sizeof(id));
	torture(get_ns, &id, sizeof(id));
	id.lbaf[0].ms = put_le16(8);
	cr_assert_eq(nvme_ns_get(&info, &id, sizeof(id), &diag), -ENOTSUP);
	diag_says(&diag, DIAG_UNSUPPORTED, NULL, "8 metadata");
	id.flbas = 0x21; /* format 17: two more bits */
	id.lbaf[17].lbads = 9;
	cr_assert_eq(nvme_ns_get(&info, &id, sizeof(id), NULL), 0);
	cr_assert_eq(info.shift, 9);
	id.nsze = put_le64(UINT64_MAX);
	cr_assert_eq(nvme_ns_get(&info, &id, sizeof(id), NULL), -EPROTO);
	id.nsze = put_le64(0);
	cr_assert_eq(nvme_ns_get(&info, &id, sizeof(id), NULL), 0);
	cr_assert_eq(info.blocks, 0, "there is no such namespace");
}

static int ana_get(uint8_t *state, const void *log, size_t len, uint32_t grpid, const char *words)
{
	struct diag diag = { 0 };
	int err = nvme_ana_get(state, log, len, grpid, &diag);

	if (err)
		diag_says(&diag, DIAG_PROTOCOL, NULL, words);
	return err;
}

Test(nvme_codec, ana_log)
{
	struct {
		struct nvme_ana_log head;
		struct nvme_ana_group first;
		le32 nsid[2];
		struct nvme_ana_group second;
	} log = { .head.groups = put_le16(2),
		.first = { .grpid = put_le32(1), .nnsid = put_le32(2), .state = 0xf },
		.second = { .grpid = put_le32(9), .state = 0xf0 | NVME_ANA_INACCESSIBLE } };
	uint8_t state;

	cr_assert_eq(ana_get(&state, &log, sizeof(log), 1, ""), 0);
	cr_assert_eq(state, NVME_ANA_CHANGE);
	cr_assert_eq(ana_get(&state, &log, sizeof(log), 9, ""), 0);
	cr_assert_eq(state, NVME_ANA_INACCESSIBLE, "the upper bits are reserved");
	cr_assert_eq(ana_get(&state, &log, sizeof(log), 2, "group_2 not"), -EPROTO);
	cr_assert_eq(ana_get(&state, &log, 15, 1, "15_bytes"), -EPROTO);
	cr_assert_eq(ana_get(&state, &log, sizeof(log) - 1, 1, ""), 0);
	cr_assert_eq(ana_get(&state, &log, sizeof(log) - 1, 9, "group_2 of_2"), -EPROTO);
	log.first.nnsid = put_le32(11);
	cr_assert_eq(ana_get(&state, &log, sizeof(log), 1, "group_1 of_2"), -EPROTO);
	log.first.nnsid = put_le32(10);
	cr_assert_eq(ana_get(&state, &log, sizeof(log), 1, ""), 0);
	log.first.state = 6;
	cr_assert_eq(ana_get(&state, &log, sizeof(log), 1, "reserved 6h"), -EPROTO);
}

Test(nvme_codec, namespace_descriptors)
{
	static uint8_t page[NVME_IDENTIFY_LEN];
	struct nvme_ns_ids ids,
		in = { .uuid = { 0xaa, 1 }, .nguid = { 0xbb, 2 }, .eui64 = { 0xcc, 3 } };
	static const uint8_t golden[5] = { 1, 8, 0, 0, 0xcc };
	uint8_t *exact;

	nvme_ns_ids_put(page, &in);
	cr_assert_arr_eq(page, golden, sizeof(golden));
	cr_assert_eq(nvme_ns_ids_get(&ids, page, sizeof(page), NULL), 0);
	cr_assert_arr_eq(&ids, &in, sizeof(in));
	for (size_t len = 0; len <= 64; len++) {
		exact = malloc(len ? len : 1);
		memcpy(exact, page, len);
		cr_assert(nvme_ns_ids_get(&ids, exact, len, NULL) == 0 ||
			  nvme_ns_ids_get(&ids, exact, len, NULL) == -EPROTO);
		free(exact);
	}
	cr_assert_eq(nvme_ns_ids_get(&ids, page, 10, NULL), -EPROTO, "in the middle of the first");
	page[1] = 7;
	cr_assert_eq(
		nvme_ns_ids_get(&ids, page, sizeof(page), NULL), -EPROTO, "an EUI-64 of 7 bytes");
	memset(page, 0xff, sizeof(page));
	cr_assert_eq(nvme_ns_ids_get(&ids, page, sizeof(page), NULL), -EPROTO,
		"unknown types, the last one too long");
}

Test(nvme_codec, limits_of_the_nvm_command_set)
{
	static const uint8_t golden[16] = { 0, 4, 0, 8, 0xe8, 3, 0, 0, 0x88, 0x13 };
	struct nvme_id_ctrl_nvm id, again;
	struct nvme_nvm_info info, in = { .wzsl = 4, .dmrl = 8, .dmrsl = 1000, .dmsl = 5000 };

	nvme_nvm_put(&id, &in);
	cr_assert_arr_eq(&id, golden, sizeof(golden));
	cr_assert_eq(nvme_nvm_get(&info, &id, sizeof(id), NULL), 0);
	nvme_nvm_put(&again, &info);
	cr_assert_arr_eq(&again, &id, sizeof(id));
	cr_assert_eq(nvme_nvm_get(&info, &id, sizeof(id) - 1, NULL), -EPROTO);
}

static struct nvmf_connect_sqe hello;

static int get_connect(const void *p, size_t len)
{
	struct nvmf_connect connect;

	return nvmf_connect_get(&connect, &hello, p, len, NULL);
}

Test(nvme_codec, connect)
{
	struct nvmf_connect_data data, again;
	struct nvmf_connect_sqe hello_again;
	struct nvmf_connect connect, in = { .qid = 1,
		.depth = 128,
		.kato_ms = 5000,
		.hostid = { 1, 2, 3 },
		.cntlid = 0xffff,
		.subnqn = "nqn.sub",
		.hostnqn = "nqn.host" };
	static const uint8_t golden[] = { 0, 0, 1, 0, 127, 0, 0, 0, 0x88, 0x13 };
	const uint8_t *p = (const uint8_t *)&hello;

	nvmf_connect_put(&hello, &data, &in);
	cr_assert_eq(p[0], 0x7f);
	cr_assert_eq(p[1], 0x40);
	cr_assert_eq(p[4], 1);
	cr_assert_arr_eq(
		p + 40, golden, sizeof(golden), "RECFMT, QID, SQSIZE (0's based), CATTR, KATO");
	cr_assert_str_eq(data.subnqn, "nqn.sub");
	cr_assert_eq(nvmf_connect_get(&connect, &hello, &data, sizeof(data), NULL), 0);
	nvmf_connect_put(&hello_again, &again, &connect);
	cr_assert_arr_eq(&hello_again, &hello, sizeof(hello));
	cr_assert_arr_eq(&again, &data, sizeof(data));
	torture(get_connect, &data, sizeof(data));
	memset(data.subnqn, 'x', sizeof(data.subnqn));
	cr_assert_eq(nvmf_connect_get(&connect, &hello, &data, sizeof(data), NULL), -EPROTO);
	nvmf_connect_put(&hello, &data, &in);
	hello.sqsize = put_le16(0);
	cr_assert_eq(nvmf_connect_get(&connect, &hello, &data, sizeof(data), NULL), -EPROTO);
}

static int get_reply(const void *p, size_t len)
{
	struct nvmf_connect_reply reply;

	return nvmf_connect_reply_get(&reply, p, len, NULL);
}

Test(nvme_codec, connect_reply)
{
	/* cntlid 5, authentication required */
	static const uint8_t accepted[16] = { 5, 0, 2, 0, [14] = 0 };
	/* 1h/82h, DNR, byte 256 of the data */
	static const uint8_t refused[16] = { 0, 1, 1, 0, [14] = 0x04, 0x83 };
	struct nvmf_connect_reply reply, in = { .status = 0x4182, .ipo = 256, .ipo_data = true };
	struct nvme_cqe cqe;

	cr_assert_eq(nvmf_connect_reply_get(&reply, accepted, 16, NULL), 0);
	cr_assert_eq(reply.cntlid, 5);
	cr_assert(reply.auth);
	cr_assert_eq(nvmf_connect_reply_get(&reply, refused, 16, NULL), 0);
	cr_assert_eq(reply.status, 0x4182);
	cr_assert_eq(reply.ipo, 256);
	cr_assert(reply.ipo_data);
	nvmf_connect_reply_put(&cqe, &in);
	cr_assert_arr_eq(&cqe, refused, 16);
	torture(get_reply, refused, 16);
}

static int get_req(const void *p, size_t len)
{
	struct nvmf_rdma_req_info ask;

	return nvmf_rdma_req_get(&ask, p, len, NULL);
}

static int get_rep(const void *p, size_t len)
{
	uint16_t receives;

	return nvmf_rdma_rep_get(&receives, p, len, NULL);
}

static int get_rej(const void *p, size_t len)
{
	uint16_t status;

	return nvmf_rdma_rej_get(&status, p, len, NULL);
}

Test(nvme_codec, rdma_private_data)
{
	/* As nvme_rdma_route_resolved() of Linux 6.12 fills it for the admin queue: 32 receives, SQ
	 * size 31 (0's based). */
	static const uint8_t golden[32] = { 0, 0, 0, 0, 32, 0, 31, 0 };
	struct nvmf_rdma_req_info ask, in = { .qid = 0, .receives = 32, .depth = 32 };
	struct nvmf_rdma_req req;
	struct nvmf_rdma_rep rep;
	struct nvmf_rdma_rej rej;
	uint16_t value;

	nvmf_rdma_req_put(&req, &in);
	cr_assert_arr_eq(&req, golden, sizeof(golden));
	cr_assert_eq(nvmf_rdma_req_get(&ask, &req, sizeof(req), NULL), 0);
	cr_assert_arr_eq(&ask, &in, sizeof(in));
	torture(get_req, &req, sizeof(req));
	nvmf_rdma_rep_put(&rep, 128);
	cr_assert_eq(nvmf_rdma_rep_get(&value, &rep, sizeof(rep), NULL), 0);
	cr_assert_eq(value, 128);
	torture(get_rep, &rep, sizeof(rep));
	nvmf_rdma_rej_put(&rej, NVMF_RDMA_NO_RESOURCES);
	cr_assert_eq(nvmf_rdma_rej_get(&value, &rej, sizeof(rej), NULL), 0);
	cr_assert_eq(value, NVMF_RDMA_NO_RESOURCES);
	torture(get_rej, &rej, sizeof(rej));
}

Test(nvme_codec, refusals_of_connect)
{
	const struct nvmf_connect in = { .depth = 32,
		.cntlid = 0xffff,
		.subnqn = "nqn.a",
		.hostnqn = "nqn.b",
		.no_sqfc = true };
	struct nvmf_connect_reply no;
	struct nvmf_connect_data data;
	struct nvmf_connect_sqe sqe;
	struct nvmf_connect out;

	nvmf_connect_put(&sqe, &data, &in);
	cr_assert_eq(sqe.cattr, 4);
	cr_assert_eq(nvmf_connect_refusal(&sqe, &data).status, 0);
	cr_assert_eq(nvmf_connect_get(&out, &sqe, &data, sizeof(data), NULL), 0);
	cr_assert(out.no_sqfc);
	memset(data.hostnqn, 'x', sizeof(data.hostnqn));
	no = nvmf_connect_refusal(&sqe, &data);
	cr_assert(no.status == NVMF_PARAM && no.ipo_data && no.ipo == 512);
	memset(data.subnqn, 'x', sizeof(data.subnqn));
	no = nvmf_connect_refusal(&sqe, &data);
	cr_assert(no.status == NVMF_PARAM && no.ipo_data && no.ipo == 256);
	sqe.sqsize = put_le16(0);
	no = nvmf_connect_refusal(&sqe, &data);
	cr_assert(no.status == NVMF_PARAM && !no.ipo_data && no.ipo == 44);
	sqe.recfmt = put_le16(1);
	cr_assert_eq(nvmf_connect_refusal(&sqe, &data).status, NVMF_FORMAT);
}

static struct diag why;

static void says(int err, const char *words)
{
	cr_assert_eq(err, -why.err);
	diag_says(&why, DIAG_PROTOCOL, NULL, words);
}

Test(nvme_codec, each_refusal_has_its_words)
{
	struct nvmf_connect connect = { .depth = 32, .subnqn = "a", .hostnqn = "b" };
	struct nvmf_connect_sqe sqe, bad;
	struct nvmf_connect_data data;
	struct nvmf_log_head head = { .recfmt = put_le16(9) };
	struct nvmf_rdma_req req = { .recfmt = put_le16(2) };
	struct nvmf_rdma_rep rep = { 0 };
	struct nvmf_rdma_rej rej = { .recfmt = put_le16(3) };
	struct nvmf_log_info info;
	struct nvmf_rdma_req_info ask;
	struct nvme_ns_ids ids;
	uint8_t page[40] = { NVME_NIDT_UUID, 15 };
	uint16_t value;

	says(nvmf_log_get(&info, &head, sizeof(head), &why), "discovery_log format 9");
	says(nvmf_rdma_req_get(&ask, &req, sizeof(req), &why), "connection_request format 2");
	req.recfmt = put_le16(0);
	says(nvmf_rdma_req_get(&ask, &req, sizeof(req), &why), "connection_request queue 0");
	says(nvmf_rdma_rep_get(&value, &rep, sizeof(rep), &why), "connection_reply receives");
	says(nvmf_rdma_rej_get(&value, &rej, sizeof(rej), &why), "reject format 3");
	says(nvme_ns_ids_get(&ids, page, sizeof(page), &why), "namespace identifier 3 15 16");
	page[0] = 99;
	page[1] = 37;
	says(nvme_ns_ids_get(&ids, page, sizeof(page), &why), "namespace descriptors");
	nvmf_connect_put(&sqe, &data, &connect);
	bad = sqe;
	bad.fctype = NVMF_DISCONNECT;
	says(nvmf_connect_get(&connect, &bad, &data, sizeof(data), &why), "7f/08 connect");
	bad = sqe;
	bad.recfmt = put_le16(1);
	says(nvmf_connect_get(&connect, &bad, &data, sizeof(data), &why), "connect format 1");
	bad = sqe;
	bad.sqsize = put_le16(0);
	says(nvmf_connect_get(&connect, &bad, &data, sizeof(data), &why), "connect queue_size 0");
	memset(data.hostnqn, 'x', sizeof(data.hostnqn));
	says(nvmf_connect_get(&connect, &sqe, &data, sizeof(data), &why), "connect name 223");
}

/* Success with retry bits is success. */
Test(nvme_codec, an_accepted_connect_with_retry_bits)
{
	const struct nvme_cqe cqe = { .result = put_le64(5), .status = put_le16(0x8000) };
	struct nvmf_connect_reply reply;

	cr_assert_eq(nvmf_connect_reply_get(&reply, &cqe, sizeof(cqe), NULL), 0);
	cr_assert_eq(reply.status, 0);
	cr_assert_eq(reply.cntlid, 5);
}
