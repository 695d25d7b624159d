/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* Discovery logs: the codec under any bytes, and a discovery with its referrals against
 * controllers that do what the input says. What is accepted is bounded, and every text in it ends.
 */
#include "../fake/discover.h"
#include "pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOPS 3

static struct target target;

static void check_text(const char *text, size_t room)
{
	if (strnlen(text, room) == room)
		abort();
}

static void check_record(const struct nvmf_record *record)
{
	check_text(record->trsvcid, sizeof(record->trsvcid));
	check_text(record->subnqn, sizeof(record->subnqn));
	check_text(record->traddr, sizeof(record->traddr));
}

static void check_codec(const uint8_t *data, size_t size)
{
	struct rd r = rd_init(data, size);
	struct nvmf_log_info info;
	struct nvmf_record record;
	struct nvmf_log_entry entry;
	struct diag diag = { 0 };

	if (!nvmf_log_get(&info, data, size, &diag)) {
		if (info.numrec > NVMF_LOG_RECORDS)
			abort();
		rd_take(&r, sizeof(struct nvmf_log_head));
	}
	while (!nvmf_record_get(&record, r.p, rd_left(&r), &diag)) {
		rd_take(&r, sizeof(struct nvmf_log_entry));
		check_record(&record);
		nvmf_record_put(&entry, &record);
		if (nvmf_record_get(&record, &entry, sizeof(entry), &diag))
			abort();
	}
	if (!diag.err)
		abort();
}

/* As they are, and as the beginning of a log of two records: a fuzzer is slow to find lengths. */
static void check_codecs(const uint8_t *data, size_t size)
{
	uint8_t whole[3 * 1024] = { 0 };

	check_codec(data, size);
	memcpy(whole, data, size < sizeof(whole) ? size : sizeof(whole));
	check_codec(whole, sizeof(whole));
	memset(whole, 0, sizeof(whole));
	memcpy(whole + 1024, data, size < 2048 ? size : 2048);
	check_codec(whole, sizeof(whole));
}

/* A subsystem, a referral back, one onwards, one to nowhere. */
static void make_target(void)
{
	static const struct nvmf_record record[] = {
		{ NVMF_TRTYPE_TCP, NVMF_ADRFAM_IP4, NVMF_SUBTYPE_NVME, .trsvcid = "4420",
			.subnqn = "nqn.a", .traddr = "10.0.0.1" },
		{ NVMF_TRTYPE_TCP, NVMF_ADRFAM_IP4, NVMF_SUBTYPE_REFERRAL, .trsvcid = "4420",
			.traddr = "10.0.0.1" },
		{ NVMF_TRTYPE_TCP, NVMF_ADRFAM_IP6, NVMF_SUBTYPE_REFERRAL, .trsvcid = "8009",
			.traddr = "fd00::1" },
		{ NVMF_TRTYPE_FC, NVMF_ADRFAM_FC, NVMF_SUBTYPE_REFERRAL,
			.traddr = "nn-0x1:pn-0x2" },
	};

	target_init(&target);
	target.id.cntrltype = NVME_CTRL_DISCOVERY;
	target.id.mdts = 1;
	target.id.capsule = target.id.reply = 0;
	memcpy(target.record, record, sizeof(record));
	target.log = (struct nvmf_log_info){ .genctr = 3, .numrec = 4 };
}

static void run(const uint8_t *data, size_t size)
{
	static const struct bdev_env env = { .hostnqn = "nqn.me", .timeout_ms = 4000 };
	struct diag diag = { 0 };
	struct nvmf_log log;
	struct loop *loop;
	struct uri uri;
	int err;

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		uri_parse(&uri,
			data[3] & 32 ? "nvme+tcp://10.0.0.1"
				     : "nvme+tcp://10.0.0.1:4420?hdr_digest=1",
			&diag))
		abort();
	wire_begin(loop, &target, data, data + 4, size - 4);
	err = discover(loop, &uri, &env, data[3] & 64 ? 0 : HOPS, &log, &diag);
	if (err && (err != -diag.err || !diag.text[0]))
		abort();
	for (unsigned i = 0; i < log.count; i++) {
		check_record(&log.record[i]);
		if (log.record[i].hops > HOPS)
			abort();
	}
	for (unsigned i = 0; i < log.failures; i++) {
		if (!log.failure[i].why.text[0])
			abort();
	}
	nvmf_log_free(&log);
	wire_end(loop);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!target.disk)
		make_target();
	check_codecs(data, size);
	if (size >= 4)
		run(data, size);
	return 0;
}
