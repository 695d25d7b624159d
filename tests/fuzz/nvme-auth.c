/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* DH-HMAC-CHAP under any bytes: secrets and messages; our initiator at a controller that does what
 * the input says; hosts that do so at our target, over TCP and software iWARP. A controller without
 * the secret never passes, nor does a host, and an honest host works afterwards. */
/* Link: leap */
#include "../../core/proto/nvme/hosts.h"
#include "../../core/proto/nvme/nvme.h"
#include "disk.h"
#include "leap.h"
#include "raw_host.h"
#include "script.h"
#include "serve.h"
#include <stdio.h>
#include <sys/random.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NQN   "nqn.t"
#define HOST  "nqn.host"
#define SIZE  (1u << 20)
#define STEPS 100
#define TURNS 20000

static struct script script;
static struct loop *loop;
static struct nvme_key secrets[2] = { { .len = 32, .hash = 1, .key = "host" },
	{ .len = 48, .hash = 0, .key = "controller" } };

/* --- codec */

static void check_secret(const uint8_t *data, size_t size)
{
	char text[256];
	struct nvme_key secret;
	struct diag why = { 0 };

	snprintf(text, sizeof(text), "%.*s", (int)size, (const char *)data);
	if (nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", text, &why)
			? why.err != EINVAL
			: secret.len < 32 || secret.hash > 3)
		abort();
}

/* What is accepted lies within the bytes. */
static void check_message(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size), out[NVME_AUTH_MSG_MAX];
	struct nvme_auth_msg msg;
	struct diag why = { 0 };
	unsigned sum = 0;

	memcpy(exact, data, size);
	if (nvme_auth_get(&msg, exact, size, &why)) {
		if (why.err != EPROTO || !why.text[0])
			abort();
		free(exact);
		return;
	}
	for (unsigned i = 0; msg.challenge && i < msg.hash_len; i++)
		sum += msg.challenge[i];
	for (unsigned i = 0; msg.response && i < msg.hash_len; i++)
		sum += msg.response[i];
	for (unsigned i = 0; msg.dh && i < msg.dh_len; i++)
		sum += msg.dh[i];
	for (unsigned i = 0; i < msg.hashes; i++)
		sum += msg.hash_ids[i];
	__asm__ volatile("" : : "r"(sum));
	if (msg.dh_len <= NVME_CHAP_DH_MAX && !nvme_auth_put(out, &msg))
		abort();
	free(exact);
}

/* --- a message of either side, right or of the input's choice */

static const uint8_t kinds[][2] = { { 0, 0 }, { 1, 1 }, { 1, 2 }, { 1, 3 }, { 1, 4 }, { 0, 0xf0 },
	{ 0, 0xf1 }, { 1, 5 } };

static size_t make(uint8_t *to, size_t room)
{
	size_t len = script_u16(&script) % 300;

	len = script_bytes(&script, to, (uint32_t)(len < room ? len : room));
	if (len > 1)
		memcpy(to, kinds[to[0] & 7], 2);
	return len;
}

/* Return the length of the message to use instead of a right one, which is in `to`. */
static size_t choose(uint8_t *to, size_t len, size_t room)
{
	enum script_step step = script_next(&script);

	if (step == SCRIPT_CORRUPT || step == SCRIPT_FILLED)
		script_spoil(&script, to, (uint32_t)len);
	else if (step == SCRIPT_RAW || step == SCRIPT_MADE)
		return make(to, room);
	else if (step == SCRIPT_SILENT)
		return script_byte(&script) % (len + 1);
	return len;
}

/* --- our initiator, on a carrier in memory */

struct controller {
	struct nvme_queue queue; /* first member */
	struct loop_work work;
	struct nvme_slot *slot;
	bool started, closing, knows;
	struct nvme_auth_msg last; /* of the host, in `in` */
	uint8_t in[NVME_AUTH_BUFFER], out[NVME_AUTH_BUFFER];
	uint8_t hash, challenge[64];
};
static struct controller *controller;
static struct nvme_conf conf;
static struct nvme_qp qp;
static int ended; /* 1: up, -1: down */

static void respond(const struct controller *c, uint8_t to[64])
{
	const struct nvme_chap_round round = { .controller = true,
		.hash = c->hash,
		.tid = c->last.tid,
		.seq = c->last.seq,
		.challenge = c->last.challenge,
		.hostnqn = HOST,
		.subnqn = NQN };
	struct nvme_key secret = secrets[1];

	secret.key[0] ^= !c->knows;
	if (nvme_chap_respond(to, &secret, &round))
		abort();
}

static size_t answer(struct controller *c)
{
	static uint8_t response[64];
	struct nvme_auth_msg msg = { .tid = c->last.tid, .hash_len = 48, .response = response };

	if (c->last.kind == NVME_AUTH_NEGOTIATE) {
		c->hash = msg.hash = NVME_CHAP_SHA384;
		msg.kind = NVME_AUTH_CHALLENGE;
		msg.seq = 5;
		msg.challenge = c->challenge;
	} else if (c->last.kind == NVME_AUTH_REPLY && c->last.hash_len == 48) {
		msg.kind = NVME_AUTH_SUCCESS1;
		msg.valid = c->last.valid;
		respond(c, response);
	} else {
		msg.kind = NVME_AUTH_FAILURE1;
		msg.reason = NVME_AUTH_FAILED;
	}
	return nvme_auth_put(c->out, &msg);
}

static void complete(struct controller *c, uint16_t status)
{
	struct nvme_slot *slot = c->slot;

	c->slot = NULL;
	slot->cqe = (struct nvme_cqe){ .sqhd = put_le16(NVME_SQHD_NONE),
		.status = put_le16((uint16_t)(status << 1)) };
	if (((struct nvmf_connect_sqe *)slot->sqe)->fctype == NVMF_CONNECT)
		slot->cqe.result = put_le64(NVMF_AUTHREQ_ATR | 1);
	c->queue.reply(&c->queue, slot);
}

static void execute(struct controller *c)
{
	struct nvme_slot *slot = c->slot;
	const struct nvmf_auth_sqe *sqe = (const void *)slot->sqe;
	size_t len;

	if (sqe->fctype == NVMF_AUTH_SEND) {
		memcpy(c->in, slot->data.p, slot->data.len);
		if (nvme_auth_get(&c->last, c->in, slot->data.len, NULL))
			abort();
	} else if (sqe->fctype == NVMF_AUTH_RECEIVE) {
		len = choose(c->out, answer(c), sizeof(c->out));
		memcpy(slot->data.p, c->out, len);
	}
	/* now and then with a status */
	complete(c, script.good || script_byte(&script) != 0xff ? 0 : script_u16(&script) & 0x47ff);
}

static void run(struct loop_work *work)
{
	struct controller *c = container_of(work, struct controller, work);

	if (c->closing) {
		diag_set(&c->queue.why, DIAG_CLOSED, ECONNABORTED, "closed");
		c->queue.ev->down(&c->queue);
	} else if (!c->started) {
		c->started = true;
		c->queue.ev->up(&c->queue);
	} else if (c->slot) {
		execute(c);
	}
}

static int carrier_open(struct nvme_queue **out, struct loop *on, const struct nvme_conf *of,
	uint16_t qid, uint16_t depth, uint32_t timeout_ms, const struct nvme_queue_events *ev,
	void *user, struct diag *diag)
{
	struct controller *c = calloc(1, sizeof(*c));

	(void)timeout_ms;
	c->queue = (struct nvme_queue){ .carrier = of->carrier,
		.ev = ev,
		.conf = of,
		.loop = on,
		.user = user,
		.qid = qid,
		.depth = depth };
	c->work.run = run;
	controller = c;
	if (inflight_init(&c->queue.inflight, on, depth, sizeof(struct nvme_slot) + 64, NULL, diag))
		abort();
	for (unsigned tag = 0; tag < depth; tag++) {
		struct nvme_slot *slot = inflight_slot(&c->queue.inflight, tag);

		slot->sqe = (void *)(slot + 1);
	}
	*out = &c->queue;
	loop_work_add(on, &c->work);
	return 0;
}

static void carrier_submit(struct nvme_queue *queue, struct nvme_slot *slot)
{
	struct controller *c = (struct controller *)queue;

	if (c->slot || c->closing)
		abort();
	c->slot = slot;
	loop_work_add(queue->loop, &c->work);
}

static void carrier_close(struct nvme_queue *queue)
{
	struct controller *c = (struct controller *)queue;

	c->closing = true;
	loop_work_add(queue->loop, &c->work);
}

static void carrier_free(struct nvme_queue *queue)
{
	struct controller *c = (struct controller *)queue;

	loop_work_del(queue->loop, &c->work);
	inflight_fini(&queue->inflight);
	free(c);
}

static const struct nvme_carrier carrier = { .name = "memory",
	.open = carrier_open,
	.submit = carrier_submit,
	.close = carrier_close,
	.free = carrier_free };

static void up(struct nvme_qp *of)
{
	(void)of;
	ended = 1;
}

static void down(struct nvme_qp *of)
{
	if (!of->why.text[0])
		abort();
	ended = -1;
}

static const struct nvme_qp_events qp_events = { .up = up, .down = down };

/* Passes at a controller only if that is right, and knows its secret if it has to. */
static void initiator(bool mutual, bool knows, bool must_pass)
{
	struct diag why = { 0 };

	ended = 0;
	conf = (struct nvme_conf){ .carrier = &carrier, .subnqn = NQN, .hostnqn = HOST };
	conf.secret[0] = &secrets[0];
	if (mutual)
		conf.secret[1] = &secrets[1];
	if (nvme_qp_open(&qp, loop, &conf, 0, 4, NVMF_CNTLID_ANY, 8192, 0, &qp_events, &why))
		abort();
	controller->knows = knows;
	for (unsigned i = 0; !ended; i++) {
		if (i == TURNS)
			abort();
		script_turn(loop);
	}
	if (ended > 0 && (!qp.authenticated || (mutual && !knows)))
		abort();
	if (must_pass && ended < 0)
		abort();
	nvme_qp_fini(&qp);
}

/* --- hosts at our target */

static struct fake_disk *disk;
static struct target *target;
static struct addr bound;
static struct raw_host *raw;
static unsigned asked;
static uint16_t tid;
static struct nvme_auth_msg last;
static uint8_t last_bytes[4096];
static struct nvme_host listed;
static struct nvme_hosts hosts = { &listed, 1 };

static void start_target(uint8_t how)
{
	struct target_options opt = { .disks = 1, .listens = 1, .nloops = 1, .depth = 8 };
	struct addr *at = &opt.listen[0].at;

	snprintf(listed.nqn, sizeof(listed.nqn), HOST);
	memcpy(listed.secret, secrets, sizeof(secrets));
	opt.chap = (struct target_chap){
		.hosts = &hosts, .one_group = !(how & 1), .group = how & 1 ? 0 : NVME_CHAP_NULL
	};
	disk = fake_disk_new(loop, SIZE, 512);
	opt.disk[0] =
		(struct target_disk_options){ .bdev = &disk->bdev, .name = NQN, .serial = "S1" };
	opt.loops = &loop;
	at->ss.ss_family = AF_UNIX; /* without a name it gets one that no file system knows */
	at->len = sizeof(at->ss.ss_family);
	opt.listen[0].transports = TRANSPORT_TCP | TRANSPORT_IWARP;
	opt.listen[0].no_crc = true;
	if (nvme_serve(&target, loop, &opt, 1000, NULL))
		abort();
	target_transports(target, 0, &bound);
}

static bool await(const bool *done)
{
	for (unsigned i = 0; !*done && !raw->over; i++) {
		if (i == TURNS)
			return false;
		script_turn(loop);
		raw_poll(raw);
	}
	return *done;
}

static int64_t reply(void)
{
	unsigned count = raw->replies;

	asked++;
	for (unsigned i = 0; raw->replies == count && !raw->over && i < TURNS; i++) {
		script_turn(loop);
		raw_poll(raw);
	}
	return raw->replies == count ? -1 : get_le16(raw->reply.status) >> 1;
}

static bool join(bool iwarp, const char *hostnqn)
{
	struct nvmf_connect ask = {
		.depth = 8, .cntlid = NVMF_CNTLID_ANY, .hostid = { 7 }, .subnqn = NQN
	};

	snprintf(ask.hostnqn, sizeof(ask.hostnqn), "%s", hostnqn);
	raw_close(raw);
	raw = raw_dial(&bound, iwarp);
	asked = 0;
	last = (struct nvme_auth_msg){ 0 };
	raw_hello(raw, 0, 8);
	if (!await(&raw->up))
		return false;
	raw_connect(raw, &ask);
	return !reply() && get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR;
}

static int64_t auth(uint8_t fctype, const void *data, uint32_t len)
{
	struct nvmf_auth_sqe auth = { .opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = fctype,
		.sgl = data ? (struct nvme_sgl){ .type = NVME_SGL_OFFSET,
				      .block.len = put_le32(len) }
			    : raw_sgl(raw, len),
		.spsp0 = NVMF_AUTH_SPSP,
		.spsp1 = NVMF_AUTH_SPSP,
		.secp = NVMF_AUTH_SECP,
		.len = put_le32(len) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &auth, sizeof(sqe));
	raw_command(raw, &sqe, data, data ? len : 0);
	return reply();
}

/* The message that follows what the target has sent. */
static size_t next_message(uint8_t *out, bool knows)
{
	static uint8_t response[64];
	struct nvme_auth_msg msg = { .tid = tid };
	struct nvme_key secret = secrets[0];
	const struct nvme_chap_round round = { .hash = last.hash,
		.tid = tid,
		.seq = last.seq,
		.challenge = last.challenge,
		.hostnqn = HOST,
		.subnqn = NQN };

	secret.key[0] ^= !knows;
	if (last.kind == NVME_AUTH_CHALLENGE) {
		if (nvme_chap_respond(response, &secret, &round))
			abort();
		msg.kind = NVME_AUTH_REPLY;
		msg.hash_len = last.hash_len;
		msg.response = response;
		msg.valid = true;
		msg.seq = 9;
		msg.challenge = response;
	} else if (last.kind == NVME_AUTH_SUCCESS1) {
		msg.kind = NVME_AUTH_SUCCESS2;
	} else {
		msg.kind = NVME_AUTH_NEGOTIATE;
		msg.tid = ++tid;
		msg.hashes = 1;
		msg.hash_ids[0] = NVME_CHAP_SHA512;
		msg.groups = 1;
		msg.group_ids[0] = NVME_CHAP_NULL;
	}
	return nvme_auth_put(out, &msg);
}

static void receive(uint32_t len)
{
	if (auth(NVMF_AUTH_RECEIVE, NULL, len))
		return;
	memcpy(last_bytes, raw->data, sizeof(last_bytes));
	if (nvme_auth_get(&last, last_bytes, len, NULL))
		abort();
}

static int64_t identify(void)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.sgl = raw_sgl(raw, 4096),
		.cdw10 = put_le32(NVME_CNS_CTRL) };

	raw_command(raw, &sqe, NULL, 0);
	return reply();
}

static void send_step(void)
{
	uint8_t out[NVME_AUTH_MSG_MAX];
	size_t len = choose(out, next_message(out, false), sizeof(out));

	if (len)
		auth(NVMF_AUTH_SEND, out, (uint32_t)len);
}

/* No step succeeds that needs the secret. */
static void target_step(bool iwarp)
{
	switch (script_byte(&script) & 7) {
	case 0:
	case 1:
	case 2:
		send_step();
		break;
	case 3:
	case 4:
		receive(4096);
		break;
	case 5:
		receive(script_u16(&script) % 4097);
		break;
	case 6:
		if (identify() == NVME_OK)
			abort();
		break;
	case 7:
		join(iwarp, script_byte(&script) & 1 ? HOST : "nqn.other");
		break;
	}
	if (!raw->over && raw->replies > asked)
		abort();
}

static void honest(bool iwarp)
{
	uint8_t out[NVME_AUTH_MSG_MAX];
	struct nvme_sqe sqe =
		raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);

	if (!join(iwarp, HOST))
		abort();
	for (unsigned i = 0; i < 2; i++) {
		if (auth(NVMF_AUTH_SEND, out, (uint32_t)next_message(out, true)))
			abort();
		receive(4096);
	}
	if (last.kind != NVME_AUTH_SUCCESS1 || !last.valid)
		abort();
	raw_command(raw, &sqe, NULL, 0);
	if (reply() || identify())
		abort();
}

static void attack_target(uint8_t how)
{
	bool iwarp = how & 2;

	raw = NULL;
	tid = 0;
	start_target(how);
	join(iwarp, HOST);
	for (unsigned i = 0; i < STEPS && script.p < script.end; i++)
		target_step(iwarp);
	honest(iwarp);
	raw_close(raw);
	if (target_stop(target, 1000, NULL))
		abort();
	fake_disk_free(disk);
}

/* --- inputs */

static void one(const uint8_t *data, size_t size, bool right)
{
	uint8_t how;

	script = (struct script){ .p = data, .end = data + size };
	how = script_byte(&script);
	script.good = right ? 100 : how >> 4 & 3;
	leap_now = 1000000000;
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	if (how & 8)
		attack_target(how);
	else
		initiator(how & 1, right || !(how & 2), right);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool checked;

	if (!checked) {
		one((const uint8_t[]){ 0 }, 1, true);
		one((const uint8_t[]){ 1 }, 1, true);
		one((const uint8_t[]){ 8 }, 1, true);
		one((const uint8_t[]){ 10 }, 1, true);
	}
	checked = true;
	if (size > 4096)
		return 0;
	check_secret(data, size);
	check_message(data, size);
	one(data, size, false);
	return 0;
}
