/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Secure channel concatenation of NVMe/TCP: our initiator at our target with each hash, one-way and
 * mutual, and again after a loss; targets that can't, that do not ask, and whose
 * messages are changed on the way; keys that have expired, were replaced or have lost their host;
 * a target that requires it; hosts that send what they should not, and that replace their key. */
/* Link: leap nvme_auth_get */
#include "../../core/proto/nvme/hosts.h"
#include "../../core/proto/nvme/nvme.h"
#include "../../core/proto/nvme/psk.h"
#include "target.h"

#include "nvme_auth_rig.h"
#include "out.h"

#define KEY "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"

/* What is changed on the way. */
static struct {
	bool ignored; /* Negotiate does not ask for it */
	uint8_t hash; /* of Challenge, if not 0 */
	bool null;    /* Challenge has the null group */
	unsigned negotiations;
} trick;

int __real_nvme_auth_get(struct nvme_auth_msg *, const void *, size_t, struct diag *);
int __wrap_nvme_auth_get(struct nvme_auth_msg *, const void *, size_t, struct diag *);
int __wrap_nvme_auth_get(struct nvme_auth_msg *msg, const void *p, size_t len, struct diag *diag)
{
	int err = __real_nvme_auth_get(msg, p, len, diag);

	trick.negotiations += msg->kind == NVME_AUTH_NEGOTIATE;
	if (!err && msg->kind == NVME_AUTH_NEGOTIATE && trick.ignored)
		msg->sc_c = 0;
	if (!err && msg->kind == NVME_AUTH_CHALLENGE && trick.null) {
		msg->group = NVME_CHAP_NULL;
		msg->dh_len = 0;
	}
	if (!err && msg->kind == NVME_AUTH_CHALLENGE && trick.hash) {
		msg->hash = trick.hash;
		msg->hash_len = (uint8_t)nvme_chap_hash_len(trick.hash);
	}
	return err;
}

static int attach_with(const char *scheme, const char *keys)
{
	struct bdev_env env = {
		.hostnqn = HOST, .hostid = { 9 }, .write = true, .timeout_ms = leap_limit_ms(5000)
	};
	char text[512];

	snprintf(
		text, sizeof(text), "%s://127.0.0.1:%u/" NQN "/1?%s", scheme, serving_port(), keys);
	why = (struct diag){ 0 };
	return host_attach(text, &env);
}

/* ctrl NULL: one-way */
static int attach(const char *ctrl)
{
	char keys[320];
	int len = snprintf(keys, sizeof(keys), "concat=yes&dhchap-secret-file=%s",
		write_file("secret", SECRET));

	if (ctrl)
		snprintf(keys + len, sizeof(keys) - (size_t)len, "&dhchap-ctrl-secret-file=%s",
			write_file("ctrl", ctrl));
	return attach_with("nvme+tcp", keys);
}

static void secured_by(bool json, const char *words)
{
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "test", json);
	out.to = open_memstream(&text, &len);
	disk->ops->facts(disk, &out);
	fclose(out.to);
	text_says(text, words);
	free(text);
}

static const char *const suites[] = {
	[NVME_CHAP_SHA256] = "AES-128-GCM-SHA256", [NVME_CHAP_SHA384] = "AES-256-GCM-SHA384"
};

Test(nvme_concat, each_hash_and_group_one_way_and_mutual)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t hash = i % 2 ? NVME_CHAP_SHA384 : NVME_CHAP_SHA256;

		begin_with(LINE, hash, i < 4 ? -1 : NVME_CHAP_2048 + (int)i - 3);
		cr_assert_eq(attach(i & 2 ? CONTROLLER : NULL), 0, "%s", why.text);
		secured_by(false, suites[hash]);
		secured_by(false,
			i & 2 ? "mutual_DH-HMAC-CHAP concatenation" : "DH-HMAC-CHAP concatenation");
		host_open_lane();
		moves(65536);
		host_hang_up();
		end();
	}
}

/* Each connection has a key of its own, and the first one still works. */
Test(nvme_concat, again)
{
	begin_with(LINE, 0, -1);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(attach(NULL), 0, "%s", why.text);
		host_open_lane();
		moves(4096);
		host_hang_up();
	}
	serving_stop();
	serving_start();
	cr_assert_eq(attach(CONTROLLER), 0, "%s", why.text);
	host_open_lane();
	moves(4096);
	end();
}

static void refused(const char *ctrl, enum diag_code code, const char *words)
{
	char object[64];

	snprintf(object, sizeof(object), "127.0.0.1:%u", serving_port());
	cr_assert_neq(attach(ctrl), 0);
	diag_says(&why, code, object, words);
	host_hang_up();
}

Test(nvme_concat, a_target_that_cannot)
{
	begin_with(LINE, NVME_CHAP_SHA512, -1);
	refused(NULL, DIAG_AUTH, "concatenation_mismatch");
	text_says(why.hint, "concat= SHA-512 null_group");
	end();
	begin_with(LINE, 0, NVME_CHAP_NULL);
	refused(NULL, DIAG_AUTH, "concatenation_mismatch");
	end();
	begin_with(HOST " dhchap=" SECRET "\n", 0, -1);
	refused(CONTROLLER, DIAG_AUTH, "refused");
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	end();
}

Test(nvme_concat, a_target_that_does_not_ask)
{
	begin_with(NULL, 0, -1);
	refused(NULL, DIAG_AUTH, "does_not_ask authenticate concat=");
	end();
}

/* SC_C is part of the proof; what can't generate a key is not accepted. */
Test(nvme_concat, messages_changed_on_the_way)
{
	begin_with(LINE, 0, -1);
	trick.ignored = true;
	refused(NULL, DIAG_AUTH, "incorrect_payload");
	refused(CONTROLLER, DIAG_AUTH, "wrong_secret");
	trick.ignored = false;
	trick.null = true;
	refused(NULL, DIAG_PROTOCOL, "target_chose_sha256_with_null concat=");
	trick.null = false;
	trick.hash = NVME_CHAP_SHA512;
	refused(NULL, DIAG_PROTOCOL, "target_chose_sha512 concat=");
	trick.hash = 0;
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	end();
}

static void lane_refused(const char *words)
{
	struct lane *newer;

	cr_assert_not(host_try_lane(&newer));
	diag_says(&why, DIAG_AUTH, NULL, words);
	text_says(why.hint, "generated connecting_again");
	lane_close(newer);
}

/* The admin queue stays; what opens a queue later has to connect again. */
Test(nvme_concat, a_key_that_has_expired)
{
	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 3590 * 1000 * MSEC);
	cr_assert_eq(disk->state, BDEV_UP);
	host_open_lane();
	moves(4096);
	lane->ops->free(lane);
	lane = NULL;
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 11 * 1000 * MSEC);
	cr_assert_eq(disk->state, BDEV_UP);
	lane_refused("unknown_host");
	host_hang_up();
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	host_open_lane();
	end();
}

/* Each connection of a path authenticates, whatever is left of the key before. */
Test(nvme_concat, a_path_that_reconnects)
{
	struct bdev_env env = {
		.hostnqn = HOST, .hostid = { 9 }, .write = true, .timeout_ms = leap_limit_ms(5000)
	};
	char text[512];

	begin_with(LINE, 0, -1);
	snprintf(text, sizeof(text),
		"nvme+tcp://127.0.0.1:%u/" NQN "/1?loss=30&concat=yes&dhchap-secret-file=%s",
		serving_port(), write_file("secret", SECRET));
	host_open(text, &env);
	for (unsigned i = 0; i < 2; i++) {
		moves(4096);
		if (i)
			loop_wait(loop, &(volatile int){ 0 }, loop_clock() + 3601 * 1000 * MSEC);
		for (struct target_conn *conn = target->conns; conn; conn = conn->peer_next)
			target_conn_kill(conn, "cut by a test");
		while (trick.negotiations == i + 1)
			loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
		moves(4096);
		cr_assert_eq(trick.negotiations, i + 2);
		for (struct target_conn *conn = target->conns; conn; conn = conn->peer_next)
			cr_assert(strstr(conn->stream->security, "NVMe1G01 " HOST));
	}
	end();
}

static void add_keys(const char *hostnqn, unsigned count)
{
	uint8_t bytes[32] = { 0 };
	struct nvme_psk psk;

	for (unsigned i = 0; i < count; i++) {
		bytes[0]++;
		cr_assert_eq(nvme_psk_derive_generated(bytes, 32, hostnqn, NQN, &psk), 0);
		cr_assert_eq(nvme_tls_add_generated(hosts, &psk, NULL), 0);
		cr_assert_eq(psk.identity[0], 0);
	}
}

/* Those of others do not count. */
Test(nvme_concat, a_key_that_newer_ones_have_replaced)
{
	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	add_keys(HOST, NVME_TLS_GENERATED - 1);
	add_keys(OTHER, NVME_TLS_GENERATED + 1);
	add_keys(HOST "x", NVME_TLS_GENERATED + 1);
	host_open_lane();
	moves(4096);
	lane->ops->free(lane);
	lane = NULL;
	add_keys(HOST, 1);
	lane_refused("unknown_host");
	end();
}

Test(nvme_concat, new_hosts)
{
	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	host_open_lane();
	replace_hosts(LINE OTHER " tls=" KEY "\n");
	moves(4096);
	replace_hosts(OTHER " dhchap=" SECRET "\n");
	while (disk->state == BDEV_UP)
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
	host_hang_up();
	refused(NULL, DIAG_AUTH, "unknown_host");
	replace_hosts(LINE);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	end();
}

/* A key of the file's is needed before any is generated. */
Test(nvme_concat, a_host_that_has_a_key_of_its_own)
{
	begin_with(HOST " dhchap=" SECRET " tls=" KEY "\n", 0, -1);
	refused(NULL, DIAG_AUTH, "wrong_secret");
	end();
}

#define REQUIRED HOST " dhchap=" SECRET " dhchap-ctrl=" CONTROLLER " concat=required\n"

/* Neither an admin queue in clear nor an I/O queue. */
Test(nvme_concat, a_target_that_requires_it)
{
	char keys[320];

	begin_with(REQUIRED, 0, -1);
	snprintf(keys, sizeof(keys), "dhchap-secret-file=%s", write_file("secret", SECRET));
	cr_assert_neq(attach_with("nvme+tcp", keys), 0);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "target_requires secure_channel_concatenation");
	text_says(why.hint, "concat=yes");
	host_hang_up();
	snprintf(keys, sizeof(keys), "rdma=iwarp&crc=0&dhchap-secret-file=%s",
		write_file("secret", SECRET));
	cr_assert_neq(attach_with("nvme+rdma", keys), 0);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "target_requires secure_channel_concatenation");
	text_says(why.hint, "nvme+tcp");
	host_hang_up();
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(attach(i ? CONTROLLER : NULL), 0, "%s", why.text);
		host_open_lane();
		moves(4096);
		host_hang_up();
	}
	end();
}

static void misused(const char *scheme, const char *keys, const char *words)
{
	cr_assert_eq(attach_with(scheme, keys), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, words);
	host_hang_up();
}

Test(nvme_concat, keys_of_the_uri)
{
	char keys[320];

	begin_with(LINE, 0, -1);
	misused("nvme+tcp", "concat=yes", "concat= requires dhchap-secret-file=");
	misused("nvme+tcp", "concat=maybe", "concat");
	snprintf(keys, sizeof(keys), "concat=yes&dhchap-secret-file=%s&tls-key-file=%s",
		write_file("secret", SECRET), write_file("key", KEY));
	misused("nvme+tcp", keys, "concat= combined tls-key-file=");
	misused("nvme+rdma", "rdma=iwarp&concat=yes", "concat= NVMe/TCP");
	end();
}

/* --- a host that sends one message after another */

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
Test(nvme_concat, concatenation_that_is_not_possible)
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
	struct nvme_auth_msg ask = usual, challenge, reply = { .valid = valid };

	ask.sc_c = NVME_AUTH_NEW_TLS_PSK;
	ask.group_ids[0] = NVME_CHAP_2048;
	cr_assert_eq(send_message(&ask), 0);
	challenge = receive_message(NVME_AUTH_CHALLENGE);
	reply.challenge = valid ? answer : NULL;
	return respond_to(&challenge, &reply);
}

/* The queue that generated a key is for nothing else: its host has to connect again. */
Test(nvme_concat, nothing_without_the_key_that_was_generated)
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

static char refusals[4096];

static void refusal(const struct diag *reason, void *user)
{
	size_t len = strlen(refusals);

	(void)user;
	snprintf(refusals + len, sizeof(refusals) - len, "%s\n", reason->text);
}

static void asked_to(const char *hostnqn, bool concatenate_too)
{
	uint64_t asked;

	cr_assert_eq(connect_as(false, hostnqn, 0, NVMF_CNTLID_ANY), 0);
	asked = get_le64(raw->reply.result);
	cr_assert(asked & NVMF_AUTHREQ_ATR);
	cr_assert_eq(!!(asked & NVMF_AUTHREQ_ASCR), concatenate_too, "%s", hostnqn);
}

/* A host that ignores ASCR gets as far as the Negotiate; unknown names get the same answers. */
Test(nvme_concat, hosts_that_do_not_ask_though_they_must)
{
	static const char *const names[] = { HOST, "nqn.2024-01.test:unknown" };

	prepare(REQUIRED OTHER " dhchap=" SECRET " tls=" KEY "\n");
	refusals[0] = 0;
	opt.full = refusal;
	serving_start();
	for (unsigned i = 0; i < 2; i++) {
		asked_to(names[i], true);
		cr_assert_eq(enable(), NVMF_AUTH_REQUIRED);
		cr_assert_eq(send_message(&usual), 0);
		fails_for(NVME_AUTH_CONCATENATION);
	}
	text_says(refusals, HOST "' does_not_ask secure_channel_concatenation");
	asked_to(OTHER, true); /* without TLS it is unknown */
	raw_close(raw);
	connected(true);
	cr_assert(get_le64(raw->reply.result) & NVMF_AUTHREQ_ASCR);
	cr_assert_eq(send_message(&usual), 0);
	fails_for(NVME_AUTH_CONCATENATION);
	replace_hosts(REQUIRED OTHER " dhchap=" SECRET "\n");
	asked_to(HOST, true);
	raw_close(raw);
	asked_to(OTHER, false);
	authenticated();
	cr_assert_eq(enable(), 0);
	raw_close(raw);
	asked_to(names[1], false);
	raw_close(raw);
	end();
}

/* While a host authenticates, and while it is connected. */
Test(nvme_concat, required_from_now_on)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin_with(LINE, 0, -1);
	connected(false);
	challenge = challenged();
	replace_hosts(REQUIRED);
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	fails_for(NVME_AUTH_FAILED);
	replace_hosts(LINE);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	connected(false);
	authenticated();
	cr_assert_eq(enable(), 0);
	replace_hosts(REQUIRED);
	while (!raw->over)
		turn();
	raw_close(raw);
	cr_assert_eq(disk->state, BDEV_UP);
	end();
}

/* --- a host that authenticates again on the admin queue of `disk` */

static struct again {
	struct nvme_req req;
	uint32_t status;
	volatile int ended;
} again;

static void again_done(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	(void)req;
	again.status = cqe ? get_le16(cqe->status) >> 1 : UINT32_MAX;
	again.ended = true;
}

static struct nvme_ctrl *ctrl(void)
{
	return &((struct nvme_dev *)disk)->ctrl;
}

/* bytes NULL: Receive, into `answer` */
static uint32_t run_again(const uint8_t *bytes, size_t len)
{
	struct nvme_qp *qp = &ctrl()->qp;
	struct nvme_slot *slot = inflight_take(&qp->queue->inflight, &again.req, 0);
	const struct nvmf_auth_sqe sqe = { .opcode = NVME_FABRICS,
		.fctype = bytes ? NVMF_AUTH_SEND : NVMF_AUTH_RECEIVE,
		.spsp0 = NVMF_AUTH_SPSP,
		.spsp1 = NVMF_AUTH_SPSP,
		.secp = NVMF_AUTH_SECP,
		.len = put_le32((uint32_t)len) };

	again = (struct again){ .req = { again_done, "authentication" } };
	memcpy(slot->sqe, &sqe, sizeof(sqe));
	slot->data = (struct nvme_data){ qp->scratch->base, (uint32_t)len, bytes, qp->scratch };
	if (bytes)
		memcpy(slot->data.p, bytes, len);
	qp->queue->carrier->submit(qp->queue, slot);
	loop_wait(loop, &again.ended, leap_limit(5000 * MSEC));
	if (!bytes)
		memcpy(answer, qp->scratch->base, len);
	return again.status;
}

static void send_again(const struct nvme_auth_msg *msg)
{
	uint8_t out[NVME_AUTH_MSG_MAX];
	size_t len = nvme_auth_put(out, msg);

	cr_assert_eq(run_again(out, len), 0);
}

static struct nvme_auth_msg receive_again(uint16_t kind)
{
	struct nvme_auth_msg msg;

	cr_assert_eq(run_again(NULL, sizeof(answer)), 0);
	cr_assert_eq(nvme_auth_get(&msg, answer, sizeof(answer), &why), 0, "%s", why.text);
	cr_assert_eq(msg.kind, kind, "message %04xh, not %04xh", msg.kind, kind);
	return msg;
}

static struct nvme_auth_msg challenged_again(uint8_t how, uint8_t hash, uint8_t group)
{
	struct nvme_auth_msg ask = usual;

	sc_c = ask.sc_c = how;
	ask.hash_ids[0] = ask.hash_ids[1] = hash;
	ask.group_ids[0] = group;
	snprintf(hello.hostnqn, sizeof(hello.hostnqn), HOST);
	send_again(&ask);
	return receive_again(NVME_AUTH_CHALLENGE);
}

/* Ends the connection. */
static void fails_again(uint8_t reason)
{
	cr_assert_eq(receive_again(NVME_AUTH_FAILURE1).reason, reason);
	while (disk->state == BDEV_UP)
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
	host_hang_up();
}

static void refuses_again(uint8_t how, uint8_t hash, uint8_t group)
{
	struct nvme_auth_msg ask = usual;

	ask.sc_c = how;
	ask.hash_ids[0] = ask.hash_ids[1] = hash;
	ask.group_ids[0] = group;
	send_again(&ask);
	fails_again(NVME_AUTH_CONCATENATION);
}

/* Return the generated PSK. */
static struct nvme_key replaces(uint8_t hash, bool mutual)
{
	struct nvme_auth_msg msg =
		challenged_again(NVME_AUTH_REPLACE_TLS_PSK, hash, NVME_CHAP_2048);
	const uint8_t c2[NVME_CHAP_HASH_MAX] = { 8, 9, 10 };
	struct nvme_auth_msg reply = { .valid = true, .challenge = c2, .seq = mutual ? 5 : 0 };
	struct nvme_key psk = { .len = msg.hash_len };

	use_secret(SECRET);
	make_reply(&msg, &reply);
	cr_assert_eq(nvme_chap_generate_psk(psk.key, hash, session_key, msg.challenge, c2), 0);
	send_again(&reply);
	cr_assert_eq(receive_again(NVME_AUTH_SUCCESS1).valid, mutual);
	if (mutual)
		send_again(&(struct nvme_auth_msg){ .kind = NVME_AUTH_SUCCESS2, .tid = 77 });
	return psk;
}

static void use_psk(const struct nvme_key *psk)
{
	nvme_tls_free(ctrl()->conf.tls);
	cr_assert_eq(nvme_tls_new_generated(&ctrl()->conf.tls, &ctrl()->conf, psk, &why), 0, "%s",
		why.text);
}

static void lane_moves(void)
{
	host_open_lane();
	moves(4096);
	lane->ops->free(lane);
	lane = NULL;
}

static void wait_s(unsigned s)
{
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + s * 1000 * MSEC);
}

/* The queues that use the old one stay; the time limit begins again. */
Test(nvme_concat, a_host_replaces_its_key)
{
	struct nvme_key psk;

	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	add_keys(HOST, NVME_TLS_GENERATED - 2);
	for (unsigned i = 0; i < 3; i++) {
		wait_s(2000);
		host_open_lane();
		psk = replaces(i == 1 ? NVME_CHAP_SHA256 : NVME_CHAP_SHA384, i == 2);
		moves(4096);
		lane->ops->free(lane);
		lane = NULL;
		lane_refused("unknown_host");
		use_psk(&psk);
		lane_moves();
	}
	wait_s(3590);
	lane_moves();
	wait_s(11);
	lane_refused("unknown_host");
	psk = replaces(NVME_CHAP_SHA384, false);
	use_psk(&psk);
	lane_moves();
	cr_assert_eq(disk->state, BDEV_UP);
	end();
}

/* Another connection of the host has a key of its own. */
Test(nvme_concat, a_key_that_another_connection_replaces)
{
	struct bdev *first;

	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	first = disk;
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	replaces(NVME_CHAP_SHA256, false);
	host_hang_up();
	disk = first;
	lane_moves();
	end();
}

/* The file was read again, and has forgotten the keys. */
Test(nvme_concat, a_key_replaced_after_new_hosts)
{
	struct nvme_key psk;

	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	replace_hosts("# again\n" LINE);
	psk = replaces(NVME_CHAP_SHA256, true);
	use_psk(&psk);
	lane_moves();
	end();
}

Test(nvme_concat, authenticates_again_without_a_new_key)
{
	struct nvme_auth_msg msg, reply = { 0 };

	begin_with(LINE, 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	use_secret(SECRET);
	msg = challenged_again(NVME_AUTH_NO_CONCATENATION, NVME_CHAP_SHA512, NVME_CHAP_NULL);
	make_reply(&msg, &reply);
	send_again(&reply);
	receive_again(NVME_AUTH_SUCCESS1);
	lane_moves();
	end();
}

Test(nvme_concat, keys_that_cannot_be_replaced)
{
	struct nvme_auth_msg msg, reply = { .valid = true };
	char keys[320];

	begin_with(LINE OTHER " dhchap=" SECRET " tls=" KEY "\n", 0, -1);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	refuses_again(NVME_AUTH_NEW_TLS_PSK, NVME_CHAP_SHA256, NVME_CHAP_2048);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	refuses_again(NVME_AUTH_REPLACE_TLS_PSK, NVME_CHAP_SHA512, NVME_CHAP_2048);
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	refuses_again(NVME_AUTH_REPLACE_TLS_PSK, NVME_CHAP_SHA256, NVME_CHAP_NULL);
	/* a wrong secret */
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	msg = challenged_again(NVME_AUTH_REPLACE_TLS_PSK, NVME_CHAP_SHA256, NVME_CHAP_2048);
	use_secret(WRONG);
	reply.challenge = (const uint8_t[NVME_CHAP_HASH_MAX]){ 1 };
	make_reply(&msg, &reply);
	send_again(&reply);
	fails_again(NVME_AUTH_FAILED);
	/* a key of the file */
	snprintf(keys, sizeof(keys), "hostnqn=" OTHER "&dhchap-secret-file=%s&tls-key-file=%s",
		write_file("secret", SECRET), write_file("key", KEY));
	cr_assert_eq(attach_with("nvme+tcp", keys), 0, "%s", why.text);
	refuses_again(NVME_AUTH_REPLACE_TLS_PSK, NVME_CHAP_SHA256, NVME_CHAP_2048);
	end();
}
