/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the tests of DH-HMAC-CHAP share: a target with a file of hosts, files of secrets, and a host
 * that sends one message after another. */
#pragma once
#include "../../core/proto/nvme/chap.h"
#include "leap.h"
#include "nvme_hosts.h"
#include "raw_host.h"
#include "says.h"
#include "serving.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE   (4u << 20)
#define NQN    SERVING_NQN
#define HOST   "nqn.2024-01.test:host"
#define OTHER  "nqn.2024-01.test:other"
#define SECRET "DHHC-1:00:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:"
#define CONTROLLER                                                                                 \
	"DHHC-1:02:MDc+RUxTWmFob3Z9hIuSmaCnrrW8w8rR2N/m7fT7AgkQFx4lLDM6QUhPVl1ka3J51wkKvA==:"
#define WRONG                                                                                      \
	"DHHC-1:03:QEdOVVxjanF4f4aNlJuiqbC3vsXM09rh6O/2/QQLEhkgJy41PENKUVhfZm10e4KJkJeepayzusHIz9" \
	"bd5Ovy+eQYloY=:"
#define LINE HOST " dhchap=" SECRET " dhchap-ctrl=" CONTROLLER "\n"

static struct nvme_hosts *hosts;
static char folder[64];

static inline const char *write_file(const char *name, const char *text)
{
	static char path[4][128];
	static unsigned turn;
	char *at = path[turn++ % 4];
	int fd;

	snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
	fd = open(at, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return at;
}

static inline struct nvme_hosts *read_hosts(const char *text)
{
	struct nvme_hosts *list;

	cr_assert_eq(nvme_hosts_read(&list, write_file("hosts", text), &why), 0, "%s", why.text);
	return list;
}

static inline void make_folder(void)
{
	strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
	cr_assert(mkdtemp(folder));
}

/* text NULL: without a file */
static inline void prepare(const char *text)
{
	make_folder();
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	opt.listen[0].no_crc = true; /* raw_host.h */
	hosts = text ? read_hosts(text) : NULL;
	opt.chap = (struct target_chap){ .hosts = hosts };
}

/* hash 0: any; group -1: any but the null group first */
static inline void begin_with(const char *text, uint8_t hash, int group)
{
	prepare(text);
	opt.chap.hash = hash;
	opt.chap.one_group = group >= 0;
	opt.chap.group = (uint8_t)group;
	serving_start();
}

static inline void begin(void)
{
	begin_with(LINE, 0, NVME_CHAP_NULL);
}

static inline void end(void)
{
	static const char *const names[] = { "hosts", "secret", "ctrl", "key" };
	char path[128];

	serving_end();
	nvme_hosts_free(hosts);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static inline void replace_hosts(const char *text)
{
	struct nvme_hosts *old = hosts;

	hosts = read_hosts(text);
	nvme_serve_hosts(target, hosts);
	nvme_hosts_free(old);
}

static inline void moves(uint32_t len)
{
	struct pool *pool;
	struct buf buf;

	cr_assert_eq(pool_new(&pool, len, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	for (unsigned i = 0; i < len; i++)
		buf.p[i] = (uint8_t)(i * 31 + i / 509);
	cr_assert_eq(host_io(IO_WRITE, 0, 4096, len, &buf), 0);
	cr_assert_arr_eq(backing->bytes + 4096, buf.p, len);
	memset(buf.p, 0, len);
	cr_assert_eq(host_io(IO_READ, 0, 4096, len, &buf), 0);
	cr_assert_arr_eq(backing->bytes + 4096, buf.p, len);
	lane_unmap(lane, pool);
	pool_free(pool);
}

/* --- a host that sends what a test says */

static struct raw_host *raw;
static struct nvmf_connect hello;
static struct nvme_key host_key;
static uint8_t answer[4096];
static uint8_t reply_sent[NVME_AUTH_MSG_MAX];
static size_t reply_len;
static uint8_t sc_c; /* of the last Negotiate */
static uint8_t session_key[NVME_CHAP_HASH_MAX];

static inline void turn(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 1000000);
	raw_poll(raw);
}

/* The status of the next reply; -1: the connection is over. */
static inline int64_t status(unsigned replies)
{
	while (raw->replies == replies && !raw->over)
		turn();
	return raw->replies == replies ? -1 : get_le16(raw->reply.status) >> 1;
}

static inline void use_secret(const char *text)
{
	cr_assert_eq(nvme_key_parse(&host_key, NVME_KEY_DHCHAP, "key", text, NULL), 0);
}

static inline int64_t connect_as(bool iwarp, const char *hostnqn, uint16_t qid, uint16_t cntlid)
{
	struct addr bound;

	use_secret(SECRET);
	target_transports(target, 0, &bound);
	raw = raw_dial(&bound, iwarp);
	cr_assert(raw);
	raw_hello(raw, qid, 8);
	while (!raw->up)
		turn();
	hello = (struct nvmf_connect){
		.qid = qid, .depth = 8, .cntlid = cntlid, .hostid = { 9 }, .subnqn = NQN
	};
	snprintf(hello.hostnqn, sizeof(hello.hostnqn), "%s", hostnqn);
	raw_connect(raw, &hello);
	return status(raw->replies);
}

static inline void connected(bool iwarp)
{
	cr_assert_eq(connect_as(iwarp, HOST, 0, NVMF_CNTLID_ANY), 0);
	cr_assert(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
}

static inline int64_t run(const struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	unsigned replies = raw->replies;

	raw_command(raw, sqe, data, len);
	return status(replies);
}

static inline struct nvme_sqe auth_sqe(uint8_t fctype, uint32_t len)
{
	const struct nvmf_auth_sqe auth = { .opcode = NVME_FABRICS,
		.flags = NVME_PSDT_SGL,
		.fctype = fctype,
		.sgl = fctype == NVMF_AUTH_SEND ? (struct nvme_sgl){ .type = NVME_SGL_OFFSET,
							  .block.len = put_le32(len) }
						: raw_sgl(raw, len),
		.spsp0 = NVMF_AUTH_SPSP,
		.spsp1 = NVMF_AUTH_SPSP,
		.secp = NVMF_AUTH_SECP,
		.len = put_le32(len) };
	struct nvme_sqe sqe;

	memcpy(&sqe, &auth, sizeof(sqe));
	return sqe;
}

static inline int64_t send_bytes(const void *bytes, size_t len)
{
	struct nvme_sqe sqe = auth_sqe(NVMF_AUTH_SEND, (uint32_t)len);

	return run(&sqe, bytes, (uint32_t)len);
}

/* Without waiting for its status. */
static inline void post_message(const struct nvme_auth_msg *msg)
{
	uint8_t out[NVME_AUTH_MSG_MAX];
	size_t len = nvme_auth_put(out, msg);
	struct nvme_sqe sqe = auth_sqe(NVMF_AUTH_SEND, (uint32_t)len);

	if (msg->kind == NVME_AUTH_NEGOTIATE)
		sc_c = msg->sc_c;
	if (msg->kind == NVME_AUTH_REPLY) {
		memcpy(reply_sent, out, len);
		reply_len = len;
	}
	raw_command(raw, &sqe, out, (uint32_t)len);
}

static inline int64_t send_message(const struct nvme_auth_msg *msg)
{
	unsigned replies = raw->replies;

	post_message(msg);
	return status(replies);
}

static inline int64_t receive_bytes(uint32_t len)
{
	struct nvme_sqe sqe = auth_sqe(NVMF_AUTH_RECEIVE, len);

	return run(&sqe, NULL, 0);
}

static inline struct nvme_auth_msg receive_message(uint16_t kind)
{
	struct nvme_auth_msg msg;

	cr_assert_eq(receive_bytes(sizeof(answer)), 0);
	memcpy(answer, raw->data, sizeof(answer));
	cr_assert_eq(nvme_auth_get(&msg, answer, sizeof(answer), &why), 0, "%s", why.text);
	cr_assert_eq(msg.kind, kind, "message %04xh, not %04xh", msg.kind, kind);
	return msg;
}

/* The target refuses with this reason, then ends the connection. */
static inline void fails_for(uint8_t reason)
{
	struct nvme_auth_msg msg = receive_message(NVME_AUTH_FAILURE1);

	cr_assert_eq(msg.reason, reason, "reason %u, not %u", msg.reason, reason);
	while (!raw->over)
		turn();
	raw_close(raw);
}

static const struct nvme_auth_msg usual = { .kind = NVME_AUTH_NEGOTIATE,
	.tid = 77,
	.hashes = 2,
	.hash_ids = { NVME_CHAP_SHA384, NVME_CHAP_SHA256 },
	.groups = 1,
	.group_ids = { NVME_CHAP_NULL } };

static inline struct nvme_auth_msg challenged_with(uint8_t group)
{
	struct nvme_auth_msg ask = usual, msg;

	ask.group_ids[0] = group;
	cr_assert_eq(send_message(&ask), 0);
	msg = receive_message(NVME_AUTH_CHALLENGE);
	cr_assert_eq(msg.tid, 77);
	cr_assert_eq(msg.hash, NVME_CHAP_SHA384);
	return msg;
}

static inline struct nvme_auth_msg challenged(void)
{
	return challenged_with(NVME_CHAP_NULL);
}

/* Complete the Reply; with our value of the group, if it has none. */
static inline void make_reply(const struct nvme_auth_msg *challenge, struct nvme_auth_msg *reply)
{
	static const uint8_t exponent[NVME_CHAP_PRIVATE] = { 1, 2, 3 };
	static uint8_t response[NVME_CHAP_HASH_MAX], value[NVME_CHAP_DH_MAX];
	struct nvme_chap_round round = { .hash = challenge->hash,
		.sc_c = sc_c,
		.tid = 77,
		.seq = challenge->seq,
		.challenge = challenge->challenge,
		.hostnqn = hello.hostnqn,
		.subnqn = NQN };

	if (challenge->group && !reply->dh) {
		cr_assert_eq(nvme_chap_public(value, challenge->group, exponent), 0);
		cr_assert_eq(nvme_chap_session_key(session_key, challenge->hash, challenge->group,
				     exponent, challenge->dh),
			0);
		round.session_key = session_key;
		reply->dh = value;
		reply->dh_len = challenge->dh_len;
	}
	cr_assert_eq(nvme_chap_respond(response, &host_key, &round), 0);
	reply->kind = NVME_AUTH_REPLY;
	reply->tid = 77;
	reply->hash_len = challenge->hash_len;
	reply->response = response;
}

static inline int64_t respond_to(const struct nvme_auth_msg *challenge, struct nvme_auth_msg *reply)
{
	make_reply(challenge, reply);
	return send_message(reply);
}

static inline void authenticated(void)
{
	struct nvme_auth_msg challenge = challenged(), reply = { 0 };

	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert(!receive_message(NVME_AUTH_SUCCESS1).valid);
}

static inline int64_t identify(void)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.sgl = raw_sgl(raw, 4096),
		.cdw10 = put_le32(NVME_CNS_CTRL) };

	return run(&sqe, NULL, 0);
}

static inline int64_t enable(void)
{
	struct nvme_sqe sqe =
		raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);

	return run(&sqe, NULL, 0);
}
