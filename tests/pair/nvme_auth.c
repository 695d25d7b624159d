/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* DH-HMAC-CHAP: our initiator against our target over TCP and software iWARP with each hash and
 * group, one-way and mutual; wrong secrets; new hosts while connected. And hosts that send what
 * they should not: messages out of order, of an earlier transaction, cut or unknown; commands
 * before they have authenticated; names that the target does not know; a flood. */
/* Link: leap */
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
#include <netinet/in.h>
#include <stdio.h>
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

static struct nvme_hosts *hosts;
static char folder[] = "/tmp/rdmastor-auth-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
	static char path[3][128];
	static unsigned turn;
	char *at = path[turn++ % 3];
	int fd;

	snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
	fd = open(at, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return at;
}

static struct nvme_hosts *read_hosts(const char *text)
{
	struct nvme_hosts *list;

	cr_assert_eq(nvme_hosts_read(&list, write_file("hosts", text), &why), 0, "%s", why.text);
	return list;
}

static void begin_with(const char *text, uint8_t hash, int group)
{
	cr_assert(mkdtemp(folder));
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	opt.listen[0].no_crc = true; /* raw_host.h */
	hosts = read_hosts(text);
	opt.chap = (struct target_chap){
		.hosts = hosts, .hash = hash, .one_group = group >= 0, .group = (uint8_t)group
	};
	serving_start();
}

static void begin(void)
{
	begin_with(HOST " dhchap=" SECRET " dhchap-ctrl=" CONTROLLER "\n", 0, NVME_CHAP_NULL);
}

static void end(void)
{
	static const char *const names[] = { "hosts", "secret", "ctrl" };
	char path[128];

	serving_end();
	nvme_hosts_free(hosts);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* NULL: without that secret */
static int attach_as(bool iwarp, const char *hostnqn, const char *secret, const char *ctrl)
{
	struct bdev_env env = { .hostid = { 9 }, .write = true, .timeout_ms = leap_limit_ms(5000) };
	char text[512];
	int len;

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", hostnqn);
	len = snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" NQN "/1?%s",
		iwarp ? "rdma" : "tcp", serving_port(), iwarp ? "rdma=iwarp&" : "");
	if (secret)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "dhchap-secret-file=%s&",
			write_file("secret", secret));
	if (ctrl)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
			"dhchap-ctrl-secret-file=%s&", write_file("ctrl", ctrl));
	text[len - 1] = 0;
	why = (struct diag){ 0 };
	return host_attach(text, &env);
}

static void moves_data(void)
{
	struct pool *pool;
	struct buf buf;

	cr_assert_eq(pool_new(&pool, 65536, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	buf = pool_buf(pool, 0);
	for (unsigned i = 0; i < 65536; i++)
		buf.p[i] = (uint8_t)(i * 31 + i / 509);
	cr_assert_eq(host_io(IO_WRITE, 0, 4096, 65536, &buf), 0);
	cr_assert_arr_eq(backing->bytes + 4096, buf.p, 65536);
	memset(buf.p, 0, 65536);
	cr_assert_eq(host_io(IO_READ, 0, 4096, 65536, &buf), 0);
	cr_assert_arr_eq(backing->bytes + 4096, buf.p, 65536);
	lane_unmap(lane, pool);
	pool_free(pool);
}

/* --- our initiator */

static void works_with(bool iwarp, const char *ctrl, uint8_t hash, uint8_t group)
{
	strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
	begin_with(HOST " dhchap=" SECRET " dhchap-ctrl=" CONTROLLER "\n", hash, group);
	cr_assert_eq(attach_as(iwarp, HOST, SECRET, ctrl), 0, "%s, %s: %s",
		nvme_chap_hash_name(hash), nvme_chap_group_name(group), why.text);
	host_open_lane();
	moves_data();
	end();
}

static void works(bool iwarp, const char *ctrl)
{
	for (uint8_t group = NVME_CHAP_NULL; group <= NVME_CHAP_8192; group++)
		works_with(iwarp, ctrl, (uint8_t)(NVME_CHAP_SHA256 + group % 3), group);
}

Test(nvme_auth, tcp_one_way)
{
	works(false, NULL);
}
Test(nvme_auth, tcp_mutual)
{
	for (uint8_t hash = NVME_CHAP_SHA256; hash <= NVME_CHAP_SHA512; hash++)
		for (uint8_t group = NVME_CHAP_NULL; group <= NVME_CHAP_8192; group++)
			works_with(false, CONTROLLER, hash, group);
}
Test(nvme_auth, iwarp_one_way)
{
	works(true, NULL);
}
Test(nvme_auth, iwarp_mutual)
{
	works(true, CONTROLLER);
}

Test(nvme_auth, each_hash_with_each_form_of_a_secret)
{
	static const char *const secrets[] = { SECRET, CONTROLLER, WRONG,
		"DHHC-1:01:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:" };

	for (unsigned i = 0; i < 12; i++) {
		char line[512];

		strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
		snprintf(line, sizeof(line), "# hosts\n\n  %s\tdhchap=%s  # this one\n", HOST,
			secrets[i % 4]);
		begin_with(line, (uint8_t)(NVME_CHAP_SHA256 + i / 4), NVME_CHAP_NULL);
		cr_assert_eq(attach_as(false, HOST, secrets[i % 4], NULL), 0, "%s", why.text);
		end();
	}
}

static void refused(const char *hostnqn, const char *secret, const char *ctrl, const char *words)
{
	char object[64];

	snprintf(object, sizeof(object), "127.0.0.1:%u", serving_port());
	for (int iwarp = 0; iwarp < 2; iwarp++) {
		cr_assert_eq(attach_as(iwarp, hostnqn, secret, ctrl), -EACCES, "%s", why.text);
		diag_says(&why, DIAG_AUTH, object, words);
		host_hang_up();
	}
}

Test(nvme_auth, wrong_secrets)
{
	begin();
	refused(HOST, WRONG, NULL, "wrong_secret unknown_host");
	refused(HOST, WRONG, CONTROLLER, "wrong_secret unknown_host");
	refused(HOST, SECRET, WRONG, "target failed controller_secret");
	refused(HOST, NULL, NULL, "requires_authentication no_secret");
	refused(OTHER, SECRET, NULL, "wrong_secret unknown_host");
	cr_assert_eq(attach_as(false, HOST, SECRET, CONTROLLER), 0, "%s", why.text);
	end();
}

/* The target must not take a request for a proof that it can't give for none. */
Test(nvme_auth, a_target_without_a_secret_of_its_own)
{
	begin_with(HOST " dhchap=" SECRET "\n", 0, NVME_CHAP_NULL);
	refused(HOST, SECRET, CONTROLLER, "refused");
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	end();
}

Test(nvme_auth, a_target_that_does_not_authenticate)
{
	strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
	cr_assert(mkdtemp(folder));
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	serving_start();
	refused(HOST, SECRET, CONTROLLER, "does_not_authenticate_itself controller_secret");
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	end();
}

/* A host on the other list needs no secret, but one on both does. */
Test(nvme_auth, hosts_on_both_lists)
{
	cr_assert(mkdtemp(folder));
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	hosts = read_hosts(HOST " dhchap=" SECRET "\n");
	opt.chap.hosts = hosts;
	opt.host[opt.hosts++] = OTHER;
	opt.host[opt.hosts++] = HOST;
	serving_start();
	cr_assert_eq(attach_as(false, OTHER, NULL, NULL), 0, "%s", why.text);
	host_hang_up();
	refused(HOST, NULL, NULL, "requires_authentication");
	refused("nqn.third", NULL, NULL, "requires_authentication");
	end();
}

/* --- a host that sends what a test says */

static struct raw_host *raw;
static struct nvmf_connect hello;
static struct nvme_key secret;
static uint8_t answer[4096];
static uint8_t reply_sent[NVME_AUTH_MSG_MAX];
static size_t reply_len;

static void turn(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 1000000);
	raw_poll(raw);
}

/* The status of the next reply; -1: the connection is over. */
static int64_t status(unsigned replies)
{
	while (raw->replies == replies && !raw->over)
		turn();
	return raw->replies == replies ? -1 : get_le16(raw->reply.status) >> 1;
}

static int64_t connect_as(bool iwarp, const char *hostnqn, uint16_t qid, uint16_t cntlid)
{
	struct addr bound;

	cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", SECRET, NULL), 0);
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

static void connected(bool iwarp)
{
	cr_assert_eq(connect_as(iwarp, HOST, 0, NVMF_CNTLID_ANY), 0);
	cr_assert(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
}

static int64_t run(const struct nvme_sqe *sqe, const void *data, uint32_t len)
{
	unsigned replies = raw->replies;

	raw_command(raw, sqe, data, len);
	return status(replies);
}

static struct nvme_sqe auth_sqe(uint8_t fctype, uint32_t len)
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

static int64_t send_bytes(const void *bytes, size_t len)
{
	struct nvme_sqe sqe = auth_sqe(NVMF_AUTH_SEND, (uint32_t)len);

	return run(&sqe, bytes, (uint32_t)len);
}

static int64_t send_message(const struct nvme_auth_msg *msg)
{
	uint8_t out[NVME_AUTH_MSG_MAX];
	size_t len = nvme_auth_put(out, msg);

	if (msg->kind == NVME_AUTH_REPLY) {
		memcpy(reply_sent, out, len);
		reply_len = len;
	}
	return send_bytes(out, len);
}

static int64_t receive_bytes(uint32_t len)
{
	struct nvme_sqe sqe = auth_sqe(NVMF_AUTH_RECEIVE, len);

	return run(&sqe, NULL, 0);
}

static struct nvme_auth_msg receive_message(uint16_t kind)
{
	struct nvme_auth_msg msg;

	cr_assert_eq(receive_bytes(sizeof(answer)), 0);
	memcpy(answer, raw->data, sizeof(answer));
	cr_assert_eq(nvme_auth_get(&msg, answer, sizeof(answer), &why), 0, "%s", why.text);
	cr_assert_eq(msg.kind, kind, "message %04xh, not %04xh", msg.kind, kind);
	return msg;
}

/* The target refuses with this reason, then ends the connection. */
static void fails_for(uint8_t reason)
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

static struct nvme_auth_msg challenged(void)
{
	struct nvme_auth_msg msg;

	cr_assert_eq(send_message(&usual), 0);
	msg = receive_message(NVME_AUTH_CHALLENGE);
	cr_assert_eq(msg.tid, 77);
	cr_assert_eq(msg.hash, NVME_CHAP_SHA384);
	return msg;
}

static int64_t respond_to(const struct nvme_auth_msg *challenge, struct nvme_auth_msg *reply)
{
	static uint8_t response[NVME_CHAP_HASH_MAX];
	const struct nvme_chap_round round = { .hash = challenge->hash,
		.tid = 77,
		.seq = challenge->seq,
		.challenge = challenge->challenge,
		.hostnqn = hello.hostnqn,
		.subnqn = NQN };

	cr_assert_eq(nvme_chap_respond(response, &secret, &round), 0);
	reply->kind = NVME_AUTH_REPLY;
	reply->tid = 77;
	reply->hash_len = challenge->hash_len;
	reply->response = response;
	return send_message(reply);
}

static void authenticated(void)
{
	struct nvme_auth_msg challenge = challenged(), reply = { 0 };

	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert(!receive_message(NVME_AUTH_SUCCESS1).valid);
}

static int64_t identify(void)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY,
		.flags = NVME_PSDT_SGL,
		.sgl = raw_sgl(raw, 4096),
		.cdw10 = put_le32(NVME_CNS_CTRL) };

	return run(&sqe, NULL, 0);
}

static int64_t enable(void)
{
	struct nvme_sqe sqe =
		raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);

	return run(&sqe, NULL, 0);
}

/* On both transports: the data of a Receive is in memory of the connection. */
Test(nvme_auth, authenticates_and_again)
{
	for (int iwarp = 0; iwarp < 2; iwarp++) {
		strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
		begin();
		connected(iwarp);
		authenticated();
		cr_assert_eq(enable(), 0);
		cr_assert_eq(identify(), 0);
		authenticated();
		cr_assert_eq(identify(), 0);
		raw_close(raw);
		end();
	}
}

Test(nvme_auth, nothing_before_authentication)
{
	struct nvme_sqe cap, read;

	begin();
	connected(false);
	cap = raw_property(false, NVME_CAP, 0);
	cr_assert_eq(run(&cap, NULL, 0), NVMF_AUTH_REQUIRED);
	cr_assert_eq(identify(), NVMF_AUTH_REQUIRED);
	cr_assert_eq(enable(), NVMF_AUTH_REQUIRED);
	read = raw_rw(raw, NVME_IO_READ, 3, 0, 1);
	cr_assert_eq(run(&read, NULL, 0), NVMF_AUTH_REQUIRED);
	raw_connect(raw, &hello);
	cr_assert_eq(status(raw->replies), NVMF_AUTH_REQUIRED);
	cr_assert_eq(receive_bytes(4096), NVME_SEQUENCE);
	authenticated();
	cr_assert_eq(enable(), 0);
	raw_close(raw);
	end();
}

/* A host that does not have to authenticate can't. */
Test(nvme_auth, not_required)
{
	strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
	cr_assert(mkdtemp(folder));
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	serving_start();
	cr_assert_eq(connect_as(false, HOST, 0, NVMF_CNTLID_ANY), 0);
	cr_assert_not(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
	cr_assert_eq(send_message(&usual), NVME_INVALID_OPCODE);
	cr_assert_eq(enable(), 0);
	raw_close(raw);
	end();
}

/* Its connection is one in its handshake, with the time limit of these. */
Test(nvme_auth, a_host_that_does_not_go_on)
{
	begin();
	connected(false);
	challenged();
	while (!raw->over)
		turn();
	raw_close(raw);
	end();
}

Test(nvme_auth, malformed_commands)
{
	struct nvme_sqe sqe;
	uint8_t bytes[16] = { 0 };

	begin();
	connected(false);
	sqe = auth_sqe(NVMF_AUTH_SEND, sizeof(bytes));
	((struct nvmf_auth_sqe *)(void *)&sqe)->secp = 0;
	cr_assert_eq(run(&sqe, bytes, sizeof(bytes)), NVME_INVALID_FIELD);
	sqe = auth_sqe(NVMF_AUTH_SEND, sizeof(bytes));
	((struct nvmf_auth_sqe *)(void *)&sqe)->spsp1 = 0;
	cr_assert_eq(run(&sqe, bytes, sizeof(bytes)), NVME_INVALID_FIELD);
	sqe = auth_sqe(NVMF_AUTH_RECEIVE, 0);
	cr_assert_eq(run(&sqe, NULL, 0), NVME_INVALID_FIELD);
	sqe = auth_sqe(NVMF_AUTH_RECEIVE, 4097);
	cr_assert_eq(run(&sqe, NULL, 0), NVME_INVALID_FIELD);
	cr_assert_eq(send_message(&usual), 0);
	cr_assert_eq(receive_bytes(32), NVME_INVALID_FIELD);
	receive_message(NVME_AUTH_CHALLENGE);
	raw_close(raw);
	end();
}

/* Unknown ones are skipped; of the known ones the host's first hash, and the smallest group. */
Test(nvme_auth, unknown_hashes_and_groups)
{
	struct nvme_auth_msg ask = usual, msg;

	begin_with(HOST " dhchap=" SECRET "\n", 0, -1);
	connected(false);
	ask.hashes = 4;
	memcpy(ask.hash_ids, (uint8_t[]){ 0, 0x41, NVME_CHAP_SHA512, NVME_CHAP_SHA256 }, 4);
	ask.groups = 6;
	memcpy(ask.group_ids,
		(uint8_t[]){ 0x20, 0x10, NVME_CHAP_NULL, NVME_CHAP_8192, NVME_CHAP_2048,
			NVME_CHAP_4096 },
		6);
	cr_assert_eq(send_message(&ask), 0);
	msg = receive_message(NVME_AUTH_CHALLENGE);
	cr_assert(msg.hash == NVME_CHAP_SHA512 && msg.group == NVME_CHAP_2048);
	cr_assert_eq(msg.dh_len, 256);
	ask.groups = 3;
	cr_assert_eq(send_message(&ask), 0);
	cr_assert_eq(receive_message(NVME_AUTH_CHALLENGE).group, NVME_CHAP_NULL);
	raw_close(raw);
	end();
}

static void refuses(const struct nvme_auth_msg *ask, uint8_t reason)
{
	connected(false);
	cr_assert_eq(send_message(ask), 0);
	fails_for(reason);
}

Test(nvme_auth, nothing_in_common)
{
	struct nvme_auth_msg ask = usual;

	begin_with(HOST " dhchap=" SECRET "\n", NVME_CHAP_SHA512, NVME_CHAP_4096);
	refuses(&ask, NVME_AUTH_NO_HASH);
	ask.hash_ids[1] = NVME_CHAP_SHA512;
	refuses(&ask, NVME_AUTH_NO_GROUP);
	ask.sc_c = 1;
	refuses(&ask, NVME_AUTH_CONCATENATION);
	ask.sc_c = 0;
	ask.hashes = 0;
	refuses(&ask, NVME_AUTH_NO_PROTOCOL);
	end();
}

static void refuses_to_concatenate(
	bool iwarp, const struct nvme_auth_msg *ask, uint8_t hash, uint8_t group)
{
	struct nvme_auth_msg msg = *ask;

	msg.hash_ids[0] = msg.hash_ids[1] = hash;
	msg.group_ids[0] = group;
	connected(iwarp);
	cr_assert_eq(send_message(&msg), 0);
	fails_for(NVME_AUTH_CONCATENATION);
}

/* A new PSK by SHA-256 or 384 and a group, of a plain admin queue that has not authenticated. */
Test(nvme_auth, concatenation_that_is_not_possible)
{
	struct nvme_auth_msg ask = usual;
	struct raw_host *admin;
	uint16_t cntlid;

	begin_with(HOST " dhchap=" SECRET "\n", 0, -1);
	ask.sc_c = NVME_AUTH_NEW_TLS_PSK;
	refuses_to_concatenate(false, &ask, NVME_CHAP_SHA256, NVME_CHAP_NULL);
	refuses_to_concatenate(false, &ask, NVME_CHAP_SHA512, NVME_CHAP_2048);
	refuses_to_concatenate(true, &ask, NVME_CHAP_SHA256, NVME_CHAP_2048);
	for (ask.sc_c = 1; ask.sc_c < 6; ask.sc_c++)
		if (ask.sc_c != NVME_AUTH_NEW_TLS_PSK)
			refuses_to_concatenate(false, &ask, NVME_CHAP_SHA256, NVME_CHAP_2048);
	connected(false);
	cntlid = (uint16_t)get_le64(raw->reply.result);
	authenticated();
	cr_assert_eq(enable(), 0);
	admin = raw;
	cr_assert_eq(connect_as(false, HOST, 1, cntlid), 0);
	ask = usual;
	ask.sc_c = NVME_AUTH_NEW_TLS_PSK;
	ask.group_ids[0] = NVME_CHAP_2048;
	cr_assert_eq(send_message(&ask), 0);
	fails_for(NVME_AUTH_CONCATENATION);
	raw = admin;
	cr_assert_eq(send_message(&ask), 0);
	fails_for(NVME_AUTH_CONCATENATION);
	end();
}

/* Returns the status of the Reply. */
static int64_t concatenate(bool valid)
{
	static uint8_t value[NVME_CHAP_DH_MAX], response[NVME_CHAP_HASH_MAX];
	const uint8_t exponent[NVME_CHAP_PRIVATE] = { 1, 2, 3 };
	uint8_t key[NVME_CHAP_HASH_MAX];
	struct nvme_auth_msg ask = usual, msg;
	struct nvme_chap_round round;

	ask.sc_c = NVME_AUTH_NEW_TLS_PSK;
	ask.group_ids[0] = NVME_CHAP_2048;
	cr_assert_eq(send_message(&ask), 0);
	msg = receive_message(NVME_AUTH_CHALLENGE);
	cr_assert_eq(nvme_chap_public(value, msg.group, exponent), 0);
	cr_assert_eq(nvme_chap_session_key(key, msg.hash, msg.group, exponent, msg.dh), 0);
	round = (struct nvme_chap_round){ .hash = msg.hash,
		.sc_c = ask.sc_c,
		.tid = ask.tid,
		.seq = msg.seq,
		.challenge = msg.challenge,
		.session_key = key,
		.hostnqn = HOST,
		.subnqn = NQN };
	cr_assert_eq(nvme_chap_respond(response, &secret, &round), 0);
	return send_message(&(struct nvme_auth_msg){ .kind = NVME_AUTH_REPLY,
		.tid = ask.tid,
		.hash_len = msg.hash_len,
		.valid = valid,
		.response = response,
		.challenge = valid ? answer : NULL,
		.dh_len = msg.dh_len,
		.dh = value });
}

/* The queue that generated a key is for nothing else: its host has to connect again. */
Test(nvme_auth, nothing_without_the_key_that_was_generated)
{
	struct target_status counted;

	begin_with(HOST " dhchap=" SECRET "\n", 0, -1);
	connected(false);
	cr_assert_eq(concatenate(false), 0);
	fails_for(NVME_AUTH_PAYLOAD);
	connected(false);
	cr_assert_eq(concatenate(true), 0);
	cr_assert_eq(identify(), NVMF_AUTH_REQUIRED);
	cr_assert_not(receive_message(NVME_AUTH_SUCCESS1).valid);
	cr_assert_eq(identify(), NVMF_AUTH_REQUIRED);
	cr_assert_eq(enable(), NVMF_AUTH_REQUIRED);
	target_get_status(target, &counted);
	cr_assert_eq(counted.clients, 0);
	cr_assert_eq(concatenate(true), 0);
	cr_assert_not(receive_message(NVME_AUTH_SUCCESS1).valid);
	authenticated(); /* without it after all */
	cr_assert_eq(enable(), 0);
	target_get_status(target, &counted);
	cr_assert_eq(counted.clients, 1);
	raw_close(raw);
	connected(false);
	cr_assert_eq(concatenate(true), 0);
	while (!raw->over)
		turn(); /* it has the time limit of a handshake */
	raw_close(raw);
	end();
}

/* Each message where it does not belong. */
Test(nvme_auth, messages_out_of_order)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin();
	refuses(&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS2 }, NVME_AUTH_MESSAGE);
	refuses(&(struct nvme_auth_msg){ .kind = NVME_AUTH_REPLY, .hash_len = 32 },
		NVME_AUTH_MESSAGE);
	refuses(&(struct nvme_auth_msg){ .kind = NVME_AUTH_CHALLENGE, .hash_len = 32 },
		NVME_AUTH_MESSAGE);
	connected(false); /* a Reply to a Challenge that was not received */
	cr_assert_eq(send_message(&usual), 0);
	challenge = (struct nvme_auth_msg){
		.hash = NVME_CHAP_SHA384, .hash_len = 48, .challenge = answer
	};
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	fails_for(NVME_AUTH_MESSAGE);
	connected(false); /* a second Reply */
	challenge = challenged();
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert_eq(send_bytes(reply_sent, reply_len), 0);
	fails_for(NVME_AUTH_MESSAGE);
	connected(false); /* Success2 without mutual authentication */
	authenticated();
	cr_assert_eq(
		send_message(&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS2, .tid = 77 }), 0);
	fails_for(NVME_AUTH_MESSAGE);
	end();
}

Test(nvme_auth, messages_that_are_wrong)
{
	struct nvme_auth_msg challenge, reply;
	uint8_t bytes[16] = { 1, 9 };

	begin();
	connected(false);
	cr_assert_eq(send_bytes(bytes, sizeof(bytes)), 0);
	fails_for(NVME_AUTH_MESSAGE);
	connected(false);
	cr_assert_eq(send_bytes(bytes, 1), 0);
	fails_for(NVME_AUTH_MESSAGE);
	for (unsigned i = 0; i < 4; i++) {
		connected(false);
		challenge = challenged();
		reply = (struct nvme_auth_msg){ 0 };
		reply.valid = i == 3; /* with S2 0 */
		if (i < 3) {
			reply.dh_len = i == 2 ? 256 : 0;
			reply.dh = i == 2 ? answer : NULL;
		}
		if (i == 1)
			challenge.hash_len = 64;
		if (i) {
			cr_assert_eq(respond_to(&challenge, &reply), 0);
		} else { /* of another transaction */
			reply = (struct nvme_auth_msg){
				.kind = NVME_AUTH_REPLY, .tid = 78, .hash_len = 48
			};
			cr_assert_eq(send_message(&reply), 0);
		}
		fails_for(NVME_AUTH_PAYLOAD);
	}
	connected(false); /* cut */
	challenge = challenged();
	reply = (struct nvme_auth_msg){ 0 };
	reply.kind = NVME_AUTH_REPLY;
	reply.hash_len = 48;
	reply.tid = 77;
	bytes[0] = 1;
	bytes[1] = 2;
	bytes[6] = 48;
	cr_assert_eq(send_bytes(bytes, sizeof(bytes)), 0);
	fails_for(NVME_AUTH_PAYLOAD);
	end();
}

/* A Reply of an earlier connection does not answer another Challenge. */
Test(nvme_auth, a_reply_is_replayed)
{
	begin();
	connected(false);
	authenticated();
	raw_close(raw);
	connected(false);
	challenged();
	cr_assert_eq(send_bytes(reply_sent, reply_len), 0);
	fails_for(NVME_AUTH_FAILED);
	end();
}

/* Our own value reflected, and values whose powers are known. */
Test(nvme_auth, weak_diffie_hellman_values)
{
	struct nvme_auth_msg ask = usual, challenge, reply;
	uint8_t value[256] = { 0 };

	begin_with(HOST " dhchap=" SECRET "\n", 0, -1);
	ask.group_ids[0] = NVME_CHAP_2048;
	for (unsigned last = 0; last < 2; last++) {
		connected(false);
		cr_assert_eq(send_message(&ask), 0);
		challenge = receive_message(NVME_AUTH_CHALLENGE);
		value[255] = (uint8_t)last;
		reply = (struct nvme_auth_msg){ .dh_len = 256, .dh = value };
		cr_assert_eq(respond_to(&challenge, &reply), 0);
		fails_for(NVME_AUTH_PAYLOAD);
	}
	connected(false);
	cr_assert_eq(send_message(&ask), 0);
	challenge = receive_message(NVME_AUTH_CHALLENGE);
	memcpy(value, challenge.dh, sizeof(value));
	reply = (struct nvme_auth_msg){ .dh_len = 256, .dh = value };
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	fails_for(NVME_AUTH_FAILED);
	end();
}

/* The same answers for a name that is not in the file as for a wrong secret. */
Test(nvme_auth, names_are_not_revealed)
{
	static const char *const names[] = { HOST, OTHER };

	begin();
	for (unsigned i = 0; i < 2; i++) {
		struct nvme_auth_msg challenge, reply = { 0 };

		cr_assert_eq(connect_as(false, names[i], 0, NVMF_CNTLID_ANY), 0);
		cr_assert(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
		cr_assert_eq(
			nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", i ? SECRET : WRONG, NULL),
			0);
		challenge = challenged();
		cr_assert_eq(respond_to(&challenge, &reply), 0);
		fails_for(NVME_AUTH_FAILED);
	}
	end();
}

/* An I/O queue of another host's controller, with its names and with others. */
Test(nvme_auth, controllers_of_others)
{
	struct raw_host *admin;
	uint16_t cntlid;

	begin();
	connected(false);
	cntlid = (uint16_t)get_le64(raw->reply.result);
	authenticated();
	cr_assert_eq(enable(), 0);
	admin = raw;
	cr_assert_eq(connect_as(false, OTHER, 1, cntlid), NVMF_PARAM);
	cr_assert_eq(
		get_le64(raw->reply.result), 1u << 16 | offsetof(struct nvmf_connect_data, cntlid));
	raw_close(raw);
	cr_assert_eq(connect_as(false, HOST, 1, cntlid), 0);
	cr_assert(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
	/* which takes no queue of the controller yet */
	raw_close(raw);
	cr_assert_eq(connect_as(false, HOST, 1, cntlid), 0);
	authenticated();
	raw_close(raw);
	raw_close(admin);
	end();
}

/* 4096 bytes, from that block on. */
static void write_blocks(const uint8_t *data, uint64_t block)
{
	struct nvme_sqe write = raw_rw(raw, NVME_IO_WRITE, 6, block, 8);

	write.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(4096) };
	raw_command(raw, &write, data, 4096);
}

/* A peer that claims a host's name but lacks its secret does not disturb it. */
Test(nvme_auth, a_claimed_name_ends_nothing)
{
	struct target_status counted;

	begin();
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	host_open_lane();
	for (unsigned i = 0; i < 4; i++) {
		connected(false);
		challenged();
		moves_data();
		target_get_status(target, &counted);
		cr_assert(counted.clients == 1 && counted.queues == 1);
		raw_close(raw);
	}
	cr_assert_eq(disk->state, BDEV_UP);
	end();
}

/* A write of the host that is in the disk becomes one of a former connection, which newer writes
 * wait for, once the peer has authenticated, and not before. */
Test(nvme_auth, a_claimed_name_fences_nothing)
{
	static uint8_t data[4096];
	struct raw_host *admin, *io;
	unsigned submitted;
	uint16_t cntlid;

	begin();
	connected(false);
	cntlid = (uint16_t)get_le64(raw->reply.result);
	authenticated();
	cr_assert_eq(enable(), 0);
	admin = raw;
	cr_assert_eq(connect_as(false, HOST, 1, cntlid), 0);
	authenticated();
	io = raw;
	submitted = backing->submitted;
	backing->hold = backing->keep = true;
	write_blocks(data, 0);
	while (backing->submitted == submitted)
		turn();
	for (unsigned authenticates = 0; authenticates < 2; authenticates++) {
		connected(false);
		if (authenticates)
			authenticated();
		else
			challenged();
		for (unsigned i = 0; i < 20; i++)
			turn();
		cr_assert_eq(backing->bdev.orphans, authenticates);
		raw_close(raw);
	}
	backing->hold = backing->keep = false;
	raw_close(io);
	raw_close(admin);
	end();
}

/* A host that fails to prove itself again can do nothing more. */
Test(nvme_auth, authenticates_again_with_a_wrong_secret)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin();
	connected(false);
	authenticated();
	cr_assert_eq(enable(), 0);
	cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", WRONG, NULL), 0);
	challenge = challenged();
	cr_assert_eq(identify(), 0);
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert_eq(identify(), NVMF_AUTH_REQUIRED);
	cr_assert_eq(send_message(&usual), NVME_SEQUENCE);
	fails_for(NVME_AUTH_FAILED);
	end();
}

/* While reads and writes are in flight on the same queue. */
Test(nvme_auth, authenticates_again_during_io)
{
	static uint8_t data[4096];

	for (int iwarp = 0; iwarp < 2; iwarp++) {
		struct raw_host *admin;
		struct nvme_auth_msg challenge, reply = { 0 };
		unsigned replies;
		uint16_t cntlid;

		strcpy(folder, "/tmp/rdmastor-auth-XXXXXX");
		begin();
		connected(iwarp);
		cntlid = (uint16_t)get_le64(raw->reply.result);
		authenticated();
		cr_assert_eq(enable(), 0);
		admin = raw;
		cr_assert_eq(connect_as(iwarp, HOST, 1, cntlid), 0);
		authenticated();
		for (unsigned round = 0; round < 4; round++) {
			struct nvme_sqe read = raw_rw(raw, NVME_IO_READ, 5, 0, 8);

			memset(data, (int)round + 1, sizeof(data));
			replies = raw->replies;
			raw_command(raw, &read, NULL, 0);
			write_blocks(data, 8 * round);
			cr_assert_eq(send_message(&usual), 0);
			while (raw->replies < replies + 3 && !raw->over)
				turn();
			challenge = receive_message(NVME_AUTH_CHALLENGE);
			raw_command(raw, &read, NULL, 0);
			cr_assert_eq(respond_to(&challenge, &reply), 0);
			while (raw->replies < replies + 6 && !raw->over)
				turn();
			receive_message(NVME_AUTH_SUCCESS1);
			cr_assert_arr_eq(backing->bytes + 4096 * round, data, sizeof(data));
		}
		cr_assert_not(raw->over);
		raw_close(raw);
		raw_close(admin);
		end();
	}
}

static void replace_hosts(const char *text)
{
	struct nvme_hosts *old = hosts;

	hosts = read_hosts(text);
	nvme_serve_hosts(target, hosts);
	nvme_hosts_free(old);
}

/* Between its Challenge and its Reply. */
Test(nvme_auth, removed_while_it_authenticates)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin();
	connected(false);
	challenge = challenged();
	replace_hosts(OTHER " dhchap=" WRONG "\n");
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	fails_for(NVME_AUTH_FAILED);
	end();
}

Test(nvme_auth, new_secrets)
{
	begin();
	connected(false);
	authenticated();
	cr_assert_eq(enable(), 0);
	replace_hosts(HOST " dhchap=" WRONG "\n");
	cr_assert_eq(identify(), 0);
	refused(HOST, SECRET, NULL, "wrong_secret");
	cr_assert_eq(nvme_key_parse(&secret, NVME_KEY_DHCHAP, "key", WRONG, NULL), 0);
	authenticated();
	cr_assert_eq(identify(), 0);
	replace_hosts(OTHER " dhchap=" WRONG "\n");
	while (!raw->over)
		turn();
	raw_close(raw);
	cr_assert_eq(attach_as(false, OTHER, WRONG, NULL), 0, "%s", why.text);
	end();
}

/* More unknown hosts than may be pending, each with the slowest group, do not stop other I/O. */
Test(nvme_auth, a_flood)
{
	struct raw_host *flood[40];
	struct nvme_auth_msg ask = usual;
	uint8_t out[NVME_AUTH_MSG_MAX];
	uint32_t len;
	struct nvme_sqe sqe;

	begin_with(HOST " dhchap=" SECRET "\n", 0, NVME_CHAP_8192);
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	host_open_lane();
	ask.group_ids[0] = NVME_CHAP_8192;
	len = (uint32_t)nvme_auth_put(out, &ask);
	for (unsigned i = 0; i < 40; i++) {
		connect_as(false, OTHER, 0, NVMF_CNTLID_ANY);
		sqe = auth_sqe(NVMF_AUTH_SEND, len);
		raw_command(raw, &sqe, out, len);
		raw_poll(raw);
		flood[i] = raw;
	}
	moves_data();
	cr_assert_eq(disk->state, BDEV_UP);
	for (unsigned i = 0; i < 40; i++)
		raw_close(flood[i]);
	end();
}

static void file_refused(const char *text, const char *words)
{
	struct nvme_hosts *list;

	why = (struct diag){ 0 };
	cr_assert_neq(nvme_hosts_read(&list, write_file("hosts", text), &why), 0);
	cr_assert(strstr(why.object, "/hosts"));
	cr_assert_null(text_missing(why.text, words), "%s", why.text);
	cr_assert_null(strstr(why.text, "ICcu"));
}

Test(nvme_auth, files_of_hosts)
{
	struct nvme_hosts *list;
	char path[128];

	cr_assert(mkdtemp(folder));
	file_refused(HOST "\n", "HOSTNQN dhchap=SECRET");
	file_refused(HOST " dhchap=DHHC-1:00:AAAA:\n", "length secret");
	file_refused(HOST " " SECRET "\n", "unknown_word");
	file_refused(HOST " tls=" SECRET "\n", "TLS_key");
	file_refused(HOST " dhchap=" SECRET " dhchap=" SECRET "\n", "twice");
	file_refused(HOST " dhchap=" SECRET "\n" HOST " dhchap=" SECRET "\n", "twice");
	cr_assert(strstr(why.object, "line 2"));
	list = read_hosts(HOST "#1 dhchap=" SECRET " #one\n #" HOST " dhchap=x\n" HOST
			       "#2\tdhchap=" SECRET "\r\n");
	cr_assert_eq(nvme_hosts_count(list), 2);
	nvme_hosts_free(list);
	list = read_hosts("# none yet\n\n");
	cr_assert_eq(nvme_hosts_count(list), 0);
	nvme_hosts_free(list);
	snprintf(path, sizeof(path), "%s/hosts", folder);
	for (unsigned i = 0; i < 6; i++) {
		chmod(path, 0600 | 1u << i);
		why = (struct diag){ 0 };
		cr_assert_eq(nvme_hosts_read(&list, path, &why), -EACCES);
		diag_says(&why, DIAG_PERMISSION, path, "mode");
	}
	unlink(path);
	cr_assert_eq(nvme_hosts_read(&list, path, &why), -ENOENT);
	cr_assert_eq(nvme_hosts_read(&list, folder, &why), -EINVAL);
	rmdir(folder);
}
