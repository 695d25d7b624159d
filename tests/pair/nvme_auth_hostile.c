/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* DH-HMAC-CHAP at our target, by hosts that send what they should not: messages out of order, of an
 * earlier transaction, cut or unknown; commands before they have authenticated; names that the
 * target does not know. And hosts that authenticate again. */
/* Link: leap offload_start */
#include "nvme_auth_rig.h"
#include "offload.h"

/* On both transports: the data of a Receive is in memory of the connection. */
Test(nvme_auth_hostile, authenticates_and_again)
{
	for (int iwarp = 0; iwarp < 2; iwarp++) {
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

Test(nvme_auth_hostile, nothing_before_authentication)
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
Test(nvme_auth_hostile, not_required)
{
	begin_with(NULL, 0, NVME_CHAP_NULL);
	cr_assert_eq(connect_as(false, HOST, 0, NVMF_CNTLID_ANY), 0);
	cr_assert_not(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
	cr_assert_eq(send_message(&usual), NVME_INVALID_OPCODE);
	cr_assert_eq(enable(), 0);
	raw_close(raw);
	end();
}

/* Its connection is one in its handshake, with the time limit of these. */
Test(nvme_auth_hostile, a_host_that_does_not_go_on)
{
	begin();
	connected(false);
	challenged();
	while (!raw->over)
		turn();
	raw_close(raw);
	end();
}

Test(nvme_auth_hostile, malformed_commands)
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
Test(nvme_auth_hostile, unknown_hashes_and_groups)
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

Test(nvme_auth_hostile, nothing_in_common)
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

/* Each message where it does not belong. */
Test(nvme_auth_hostile, messages_out_of_order)
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

Test(nvme_auth_hostile, messages_that_are_wrong)
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
Test(nvme_auth_hostile, a_reply_is_replayed)
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
Test(nvme_auth_hostile, weak_diffie_hellman_values)
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
Test(nvme_auth_hostile, names_are_not_revealed)
{
	static const char *const names[] = { HOST, OTHER };

	begin();
	for (unsigned i = 0; i < 2; i++) {
		struct nvme_auth_msg challenge, reply = { 0 };

		cr_assert_eq(connect_as(false, names[i], 0, NVMF_CNTLID_ANY), 0);
		cr_assert(get_le64(raw->reply.result) & NVMF_AUTHREQ_ATR);
		use_secret(i ? SECRET : WRONG);
		challenge = challenged();
		cr_assert_eq(respond_to(&challenge, &reply), 0);
		fails_for(NVME_AUTH_FAILED);
	}
	end();
}

/* An I/O queue of another host's controller, with its names and with others. */
Test(nvme_auth_hostile, controllers_of_others)
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

/* A write of the host that is in the disk becomes one of a former connection, which newer writes
 * wait for, once the peer has authenticated, and not before. */
Test(nvme_auth_hostile, a_claimed_name_fences_nothing)
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
Test(nvme_auth_hostile, authenticates_again_with_a_wrong_secret)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin();
	connected(false);
	authenticated();
	cr_assert_eq(enable(), 0);
	use_secret(WRONG);
	challenge = challenged();
	cr_assert_eq(identify(), 0);
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert_eq(identify(), NVMF_AUTH_REQUIRED);
	cr_assert_eq(send_message(&usual), NVME_SEQUENCE);
	fails_for(NVME_AUTH_FAILED);
	end();
}

/* While reads and writes are in flight on the same queue. */
Test(nvme_auth_hostile, authenticates_again_during_io)
{
	static uint8_t data[4096];

	for (int iwarp = 0; iwarp < 2; iwarp++) {
		struct raw_host *admin;
		struct nvme_auth_msg challenge, reply = { 0 };
		unsigned replies;
		uint16_t cntlid;

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

/* Between its Challenge and its Reply. */
Test(nvme_auth_hostile, removed_while_it_authenticates)
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

/* Neither the old secret nor the new one is right for a Challenge of before. */
static void secret_replaced(uint8_t group, const char *responds, const char *hosts_before,
	const char *hosts_after, bool fails)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	replace_hosts(hosts_before);
	connected(false);
	challenge = challenged_with(group);
	replace_hosts(hosts_after);
	use_secret(responds);
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	if (fails) {
		fails_for(NVME_AUTH_FAILED);
	} else {
		receive_message(NVME_AUTH_SUCCESS1);
		raw_close(raw);
	}
}

#define OLD_LINE HOST " dhchap=" SECRET "\n"
#define NEW_LINE HOST " dhchap=" WRONG "\n"

Test(nvme_auth_hostile, a_new_secret_while_it_authenticates)
{
	begin_with(OLD_LINE, 0, -1);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t group = i ? NVME_CHAP_2048 : NVME_CHAP_NULL;

		secret_replaced(group, SECRET, OLD_LINE, NEW_LINE, true);
		secret_replaced(group, WRONG, OLD_LINE, NEW_LINE, true);
		secret_replaced(group, SECRET, OLD_LINE, LINE, true);
		secret_replaced(group, SECRET, OLD_LINE, "# read again\n" OLD_LINE, false);
		secret_replaced(group, WRONG, OLD_LINE "# none\n", NEW_LINE, true);
		secret_replaced(group, WRONG, NEW_LINE, NEW_LINE, false);
	}
	end();
}

static const char *replace_with; /* before the next calculation ends */

static void replace_now(struct loop_msg *msg)
{
	(void)msg;
	replace_hosts(replace_with);
	replace_with = NULL;
}

int __real_offload_start(struct offload *, struct loop *, struct diag *);
int __wrap_offload_start(struct offload *, struct loop *, struct diag *);
int __wrap_offload_start(struct offload *offload, struct loop *on, struct diag *diag)
{
	static struct loop_msg msg = { .run = replace_now };

	if (replace_with)
		loop_post(on, &msg); /* comes before the one of the calculation */
	return __real_offload_start(offload, on, diag);
}

/* While another thread calculates what the Reply depends on. */
Test(nvme_auth_hostile, a_new_secret_during_the_calculation)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin_with(OLD_LINE, 0, -1);
	connected(false);
	challenge = challenged_with(NVME_CHAP_2048);
	replace_with = NEW_LINE;
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert_null(replace_with);
	fails_for(NVME_AUTH_FAILED);
	connected(false);
	use_secret(WRONG);
	authenticated();
	raw_close(raw);
	end();
}

/* Of a queue that has authenticated before. */
Test(nvme_auth_hostile, a_new_secret_while_it_authenticates_again)
{
	struct nvme_auth_msg challenge, reply = { 0 };

	begin_with(OLD_LINE, 0, -1);
	connected(false);
	authenticated();
	cr_assert_eq(enable(), 0);
	challenge = challenged();
	replace_hosts(NEW_LINE);
	cr_assert_eq(identify(), 0);
	cr_assert_eq(respond_to(&challenge, &reply), 0);
	cr_assert_eq(identify(), NVMF_AUTH_REQUIRED);
	fails_for(NVME_AUTH_FAILED);
	end();
}

/* On three workers, at any moment of the handshake. */
Test(nvme_auth_hostile, new_secrets_on_threads)
{
	struct loop *loops[3];
	struct workers *workers;
	unsigned moment = 0;

	leap_now = 0;
	prepare(OLD_LINE);
	cr_assert_eq(
		workers_start(&workers, 3, &(struct loop_options){ .name = "workers" }, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		loops[i] = workers_loop(workers, i);
	opt.loops = loops;
	opt.nloops = 3;
	serving_start();
	for (unsigned i = 0; i < 60; i++) {
		struct nvme_auth_msg challenge, reply = { 0 };
		bool old = i % 2 == 0;

		connected(false);
		use_secret(old ? SECRET : WRONG);
		challenge = challenged_with(i % 3 ? NVME_CHAP_2048 : NVME_CHAP_NULL);
		make_reply(&challenge, &reply);
		post_message(&reply);
		for (unsigned turns = 0; turns < moment; turns++)
			turn();
		moment = (moment + 1) % 5;
		replace_hosts(old ? NEW_LINE : OLD_LINE);
		raw_close(raw);
	}
	connected(false);
	authenticated();
	raw_close(raw);
	serving_stop();
	workers_stop(workers);
	end();
}
