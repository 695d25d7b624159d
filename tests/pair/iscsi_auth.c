/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CHAP at our iSCSI target, with secrets of a file: our initiator against it over TCP and iSER,
 * one-way and mutual, with each digest; new initiators while connected. And initiators that do what
 * they should not: names and secrets of others, names that the target does not know, responses of
 * an earlier challenge, the target's own challenge. */
/* Link: leap */
#include "../../core/proto/iscsi/login.h"
#include "iscsi_host.h"
#include "iscsi_initiators.h"
#include "leap.h"
#include "loop.h"
#include "says.h"
#include "serving.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE  (4u << 20)
#define IQN   SERVING_IQN
#define ME    "iqn.2024-01.test:me"
#define OTHER "iqn.2024-01.test:other"
#define MINE  " user=joe secret=longenoughsecret"
#define LINES                                                                                      \
	ME MINE " target-user=disk target-secret=anothergoodsecret\n" OTHER                        \
		" user=jim secret=secret#of#another\n"

static struct iscsi_initiators *initiators;
static char folder[32];

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

static struct iscsi_initiators *read_initiators(const char *text)
{
	struct iscsi_initiators *list;

	cr_assert_eq(iscsi_initiators_read(&list, write_file("initiators", text), &why), 0, "%s",
		why.text);
	return list;
}

static void prepare(const char *text)
{
	strcpy(folder, "/tmp/rdmastor-chap-XXXXXX");
	cr_assert(mkdtemp(folder));
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	initiators = read_initiators(text);
	opt.initiators = initiators;
}

static void begin(const char *text)
{
	prepare(text);
	serving_start_iscsi();
}

static void end(void)
{
	static const char *const names[] = { "initiators", "secret", "target" };
	char path[128];

	serving_end();
	iscsi_initiators_free(initiators);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static void replace_initiators(const char *text)
{
	struct iscsi_initiators *old = initiators;

	initiators = read_initiators(text);
	iscsi_serve_initiators(target, initiators);
	iscsi_initiators_free(old);
}

/* NULL: without that secret. keys: more of the URI, each with '&' before it */
static int attach_as(bool iser, const char *name, const char *user, const char *secret,
	const char *target_secret, const char *keys)
{
	struct bdev_env env = { .write = true, .timeout_ms = leap_limit_ms(5000) };
	char text[640];
	int len;

	len = snprintf(text, sizeof(text), "%s://127.0.0.1:%u/" IQN "/0?initiator=%s%s",
		iser ? "iser" : "iscsi", serving_port(), name, iser ? "&rdma=iwarp" : "");
	if (secret)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "&user=%s&secret-file=%s",
			user, write_file("secret", secret));
	if (target_secret)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "&target-secret-file=%s",
			write_file("target", target_secret));
	snprintf(text + len, sizeof(text) - (size_t)len, "%s", keys);
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
	lane_unmap(lane, pool);
	pool_free(pool);
}

static void refused(const char *name, const char *user, const char *secret, const char *words)
{
	for (int iser = 0; iser < 2; iser++) {
		cr_assert_eq(attach_as(iser, name, user, secret, NULL, ""), -EACCES, "%s", words);
		diag_says(&why, DIAG_AUTH, NULL, words);
		host_hang_up();
	}
}

/* --- our initiator */

static void works(bool iser, const char *target_secret, const char *keys)
{
	begin(LINES);
	cr_assert_eq(attach_as(iser, ME, "joe", "longenoughsecret", target_secret, keys), 0,
		"%s: %s", keys, why.text);
	host_open_lane();
	moves_data();
	end();
}

Test(iscsi_auth, tcp)
{
	works(false, NULL, "");
	works(false, "anothergoodsecret", "");
	works(false, "anothergoodsecret", "&target_user=disk");
	works(false, "anothergoodsecret", "&auth=sha1");
}

Test(iscsi_auth, iser)
{
	works(true, NULL, "");
	works(true, "anothergoodsecret", "&auth=sha256");
}

Test(iscsi_auth, secrets_of_others)
{
	begin(LINES "* user=any secret=secretofanybody\n");
	refused(ME, "joe", "secret#of#another", "0201 secret");
	refused(ME, "jim", "secret#of#another", "0201 secret");
	refused(ME, "jim", "longenoughsecret", "0201 secret");
	refused(ME, "any", "secretofanybody", "0201 secret");
	refused(ME, NULL, NULL, "0201 CHAP secret-file");
	refused("iqn.x:third", "joe", "longenoughsecret", "0201 secret");
	cr_assert_eq(attach_as(false, "iqn.x:third", "any", "secretofanybody", NULL, ""), 0, "%s",
		why.text);
	host_hang_up();
	cr_assert_eq(
		attach_as(false, OTHER, "jim", "secret#of#another", NULL, ""), 0, "%s", why.text);
	host_hang_up();
	/* a target without a secret of its own, and with another one */
	cr_assert_eq(attach_as(false, OTHER, "jim", "secret#of#another", "anothergoodsecret", ""),
		-EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "0201");
	host_hang_up();
	cr_assert_eq(
		attach_as(false, ME, "joe", "longenoughsecret", "secret#of#another", ""), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "mutual");
	end();
}

Test(iscsi_auth, md5)
{
	begin(LINES "iqn.x:old" MINE " chap=md5\n");
	cr_assert_eq(attach_as(false, ME, "joe", "longenoughsecret", NULL, "&auth=md5"), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "0201 secret MD5 chap=md5");
	host_hang_up();
	cr_assert_eq(attach_as(false, "iqn.x:old", "joe", "longenoughsecret", NULL, "&auth=md5"), 0,
		"%s", why.text);
	host_hang_up();
	cr_assert_eq(attach_as(false, "iqn.x:old", "joe", "longenoughsecret", NULL, ""), 0, "%s",
		why.text);
	end();
}

Test(iscsi_auth, initiators_on_both_lists)
{
	prepare(LINES);
	opt.host[opt.hosts++] = ME;
	opt.host[opt.hosts++] = "iqn.x:third";
	serving_start_iscsi();
	refused(ME, NULL, NULL, "0201 CHAP");
	refused("iqn.x:fourth", NULL, NULL, "0201 CHAP");
	cr_assert_eq(attach_as(false, "iqn.x:third", NULL, NULL, NULL, ""), 0, "%s", why.text);
	host_open_lane();
	moves_data();
	end();
}

/* --- an initiator that sends what a test says */

static struct iscsi_host *raw;
static struct iscsi_login login;
static const struct iscsi_auth joe = { .user = "joe", .secret = "longenoughsecret" };

static void turn(void)
{
	volatile int never = 0;

	iscsi_host_poll(raw);
	loop_wait(loop, &never, loop_clock() + 1000000);
	iscsi_host_poll(raw);
}

static void dial(const char *name, const char *at, const struct iscsi_auth *auth, uint8_t isid)
{
	static uint8_t ids[6];
	struct iscsi_login_params params = {
		.initiator = name, .target = at, .auth = auth, .recv_max = 8192, .isid = ids
	};
	const uint8_t random[32] = { isid, 1, 2, 3 };
	struct addr bound;

	target_transports(target, 0, &bound);
	raw = iscsi_host_dial(&bound);
	memcpy(ids, (uint8_t[]){ 0x80, 0, 0, 0, 0, isid }, 6);
	iscsi_login_start(&login, &params, random);
}

static void hang_up(void)
{
	iscsi_login_end(&login);
	iscsi_host_leave(raw);
	raw = NULL;
}

static void is_over(void)
{
	for (unsigned i = 0; i < 1000 && !raw->over; i++)
		turn();
	cr_assert(raw->over);
}

/* Send the request that `login` has, and wait for the response. */
static const struct iscsi_login_rsp *exchange(void)
{
	unsigned seen = raw->seen[ISCSI_LOGIN_RSP];

	raw->text_len = 0;
	iscsi_host_put(raw, &login.req, login.data, iscsi_login_len(&login));
	while (raw->seen[ISCSI_LOGIN_RSP] == seen) {
		cr_assert(!raw->over, "no response");
		turn();
	}
	return (const void *)&raw->last[ISCSI_LOGIN_RSP];
}

/* Process the response: enum iscsi_login_next, or -errno. */
static int proceed(const struct iscsi_login_rsp *rsp)
{
	why = (struct diag){ 0 };
	return iscsi_login_receive(&login, (const void *)rsp, raw->text, raw->text_len, &why);
}

static int log_in(void)
{
	int next = ISCSI_LOGIN_SEND;

	while (next == ISCSI_LOGIN_SEND)
		next = proceed(exchange());
	return next;
}

/* Log in until the request with the response to the challenge is next. */
static void challenged(void)
{
	while (login.step != ISCSI_LOGIN_PROOF)
		cr_assert_eq(proceed(exchange()), ISCSI_LOGIN_SEND, "%s", why.text);
}

static void not_proved(const struct iscsi_login_rsp *rsp)
{
	cr_assert_eq(ISCSI_LOGIN_STATUS(rsp->status_class, rsp->status_detail), ISCSI_NOT_PROVED);
	cr_assert_eq(raw->text_len, 0, "a refusal tells nothing else");
}

#define DROPPED 1

/* Blank what is random in a text: challenges, and identifiers of one to three digits. */
static void blank(char *text, size_t len)
{
	for (size_t at = 0; at < len; at += strnlen(text + at, len - at) + 1)
		if (!strncmp(text + at, "CHAP_C=", 7))
			memset(text + at + 7, 'x', strnlen(text + at, len - at) - 7);
		else if (!strncmp(text + at, "CHAP_I=", 7))
			memset(text + at, DROPPED, strnlen(text + at, len - at));
}

/* Every response of a login: header and text. */
static size_t record_answers(
	const char *name, const char *at, const struct iscsi_auth *auth, char *to, size_t room)
{
	size_t len = 0;
	int next = ISCSI_LOGIN_SEND;

	dial(name, at, auth, 1);
	while (next == ISCSI_LOGIN_SEND) {
		const struct iscsi_login_rsp *rsp = exchange();
		struct iscsi_login_rsp head = *rsp;
		char text[ISCSI_HOST_RECV];
		size_t text_len = raw->text_len;

		memcpy(text, raw->text, text_len);
		blank(text, text_len);
		memset(&head.data_len, 0, sizeof(head.data_len));
		cr_assert_lt(len + sizeof(head) + text_len, room);
		memcpy(to + len, &head, sizeof(head));
		len += sizeof(head);
		for (size_t i = 0; i < text_len; i++)
			if (text[i] != DROPPED)
				to[len++] = text[i];
		next = proceed(rsp);
	}
	cr_assert_lt(next, 0, "%s has logged in", name);
	hang_up();
	return len;
}

/* A login that fails gets the same answers for every name, byte by byte. */
static void same_answers(const struct iscsi_auth *auth, const char *at, const char *other_at)
{
	static const char *const names[] = { ME, OTHER, "iqn.x:unknown", "*", "iqn.x:old" };
	static char first[16384], other[16384];
	size_t len = record_answers(ME, at, auth, first, sizeof(first));

	for (unsigned i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i / 2];
		size_t n = record_answers(name, i & 1 ? other_at : at, auth, other, sizeof(other));

		cr_assert(n == len && !memcmp(first, other, n), "%s at %s", name,
			i & 1 ? other_at : at);
	}
}

static void reveals_nothing(const char *text)
{
	struct iscsi_auth wrong = { .user = "joe", .secret = "wrongwrongwrong1" }, md5 = wrong,
			  all = wrong, none = { 0 }, both = wrong;

	md5.algs = ISCSI_CHAP_BIT(ISCSI_CHAP_MD5);
	all.algs = ISCSI_CHAP_ALL;
	both.target_secret = "whatevermaycome1";
	begin(text);
	same_answers(&wrong, IQN, IQN "x");
	same_answers(&md5, IQN, IQN "x");
	same_answers(&all, IQN, IQN "x");
	same_answers(&both, IQN, IQN "x");
	same_answers(&none, IQN, IQN "x");
	same_answers(&wrong, NULL, NULL); /* discovery */
	same_answers(&none, NULL, NULL);
	end();
}

Test(iscsi_auth, names_are_not_revealed)
{
	reveals_nothing(LINES);
	reveals_nothing(LINES "iqn.x:old" MINE " chap=md5\n");
}

/* Only an initiator that has authenticated learns that a target does not exist. */
Test(iscsi_auth, names_of_targets)
{
	begin(LINES);
	dial(ME, IQN "x", &joe, 1);
	cr_assert_lt(log_in(), 0);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "0203");
	hang_up();
	end();
}

Test(iscsi_auth, a_response_is_replayed)
{
	static uint8_t sent[ISCSI_PDU_DATA];
	struct iscsi_login_req req;
	uint32_t len;

	begin(LINES);
	dial(ME, IQN, &joe, 1);
	challenged();
	len = iscsi_login_len(&login);
	memcpy(sent, login.data, len);
	req = login.req;
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	/* on the same connection the login is over */
	iscsi_host_put(raw, &req, sent, len);
	is_over();
	hang_up();
	dial(ME, IQN, &joe, 1);
	challenged();
	memcpy(login.data, sent, len);
	login.out.p = login.data + len;
	not_proved(exchange());
	hang_up();
	end();
}

/* Twice within a login: the second response finds no challenge. */
Test(iscsi_auth, a_second_response)
{
	struct iscsi_auth wrong = joe;

	wrong.secret = "wrongwrongwrong1";
	begin(LINES);
	dial(ME, IQN, &wrong, 1);
	challenged();
	not_proved(exchange());
	iscsi_host_put(raw, &login.req, login.data, iscsi_login_len(&login));
	is_over();
	cr_assert_eq(raw->seen[ISCSI_LOGIN_RSP], 3, "it has got another answer");
	hang_up();
	end();
}

/* The target's challenge comes back as the initiator's own, on the same connection or another: the
 * target computes no response to it for one that has not authenticated. */
Test(iscsi_auth, a_challenge_is_reflected)
{
	struct iscsi_auth mutual = joe, unknowing;
	struct iscsi_host *first;
	struct iscsi_login held;
	uint8_t challenge[16];

	mutual.target_secret = "anothergoodsecret";
	unknowing = mutual;
	unknowing.secret = "wrongwrongwrong1";
	begin(LINES);
	dial(ME, IQN, &mutual, 1);
	cr_assert_eq(proceed(exchange()), ISCSI_LOGIN_SEND);
	/* it learns the challenge before it sends its own */
	cr_assert_eq(login.step, ISCSI_LOGIN_CHALLENGE);
	{
		const struct iscsi_login_rsp *rsp = exchange();
		const char *at = memmem(raw->text, raw->text_len, "CHAP_C=", 7);

		cr_assert(at);
		cr_assert_eq(iscsi_binary_get(at + 7, challenge, sizeof(challenge)), 16);
		memcpy(login.chap.own, challenge, sizeof(challenge));
		cr_assert_eq(proceed(rsp), ISCSI_LOGIN_SEND);
	}
	not_proved(exchange());
	hang_up();

	dial(ME, IQN, &unknowing, 1);
	cr_assert_eq(proceed(exchange()), ISCSI_LOGIN_SEND);
	exchange();
	{
		const char *at = memmem(raw->text, raw->text_len, "CHAP_C=", 7);

		cr_assert(at);
		cr_assert_eq(iscsi_binary_get(at + 7, challenge, sizeof(challenge)), 16);
	}
	first = raw;
	held = login;
	dial(ME, IQN, &unknowing, 2);
	memcpy(login.chap.own, challenge, sizeof(challenge));
	challenged();
	not_proved(exchange());
	hang_up();
	login = held;
	raw = first;
	hang_up();
	end();
}

/* --- discovery */

static bool lists_targets(void)
{
	static const char all[] = "SendTargets=All";
	struct iscsi_text_req req = { .opcode = ISCSI_TEXT_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_FINAL,
		.itt = put_be32(2),
		.ttt = put_be32(ISCSI_NO_TAG),
		.cmdsn = put_be32(login.cmdsn) };

	iscsi_host_put(raw, &req, all, sizeof(all));
	while (!raw->seen[ISCSI_TEXT_RSP] && !raw->over)
		turn();
	return raw->seen[ISCSI_TEXT_RSP] &&
	       memmem(raw->text, raw->text_len, "TargetName=" IQN, sizeof("TargetName=" IQN));
}

Test(iscsi_auth, discovery)
{
	struct iscsi_auth none = { 0 };

	begin(LINES);
	dial(ME, NULL, &joe, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	cr_assert(lists_targets());
	hang_up();
	/* removed since its login */
	dial(ME, NULL, &joe, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	replace_initiators(OTHER " user=jim secret=secret#of#another\n");
	cr_assert_not(lists_targets());
	cr_assert_not(raw->over);
	hang_up();
	replace_initiators(LINES);
	dial(ME, NULL, &none, 1);
	not_proved(exchange());
	cr_assert_not(lists_targets());
	hang_up();
	dial("iqn.x:unknown", NULL, &joe, 1);
	cr_assert_lt(log_in(), 0);
	cr_assert_not(lists_targets());
	hang_up();
	end();
}

/* --- names of others, and new initiators */

/* A peer that claims the name and the ISID of a session, but lacks its secret, does not end it. */
Test(iscsi_auth, a_claimed_name_ends_nothing)
{
	struct iscsi_host *first;
	struct iscsi_login held;
	struct iscsi_auth wrong = joe;

	wrong.secret = "wrongwrongwrong1";
	begin(LINES);
	dial(ME, IQN, &joe, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	first = raw;
	held = login;
	for (unsigned i = 0; i < 4; i++) {
		dial(ME, IQN, &wrong, 1);
		challenged();
		if (i % 2)
			not_proved(exchange());
		hang_up();
	}
	for (unsigned i = 0; i < 20; i++) {
		raw = first;
		turn();
	}
	cr_assert_not(first->over);
	/* with the secret it is reinstated */
	dial(ME, IQN, &joe, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	hang_up();
	raw = first;
	is_over();
	login = held;
	hang_up();
	end();
}

/* Between its challenge and its response. */
Test(iscsi_auth, removed_while_it_authenticates)
{
	begin(LINES);
	dial(ME, IQN, &joe, 1);
	challenged();
	replace_initiators(OTHER " user=jim secret=secret#of#another\n");
	cr_assert_lt(log_in(), 0);
	diag_says(&why, DIAG_AUTH, NULL, "0201");
	hang_up();
	end();
}

Test(iscsi_auth, a_new_secret_while_it_authenticates)
{
	begin(LINES);
	dial(ME, IQN, &joe, 1);
	challenged();
	replace_initiators(ME " user=joe secret=anotherlongsecret\n");
	cr_assert_lt(log_in(), 0, "with the secret that was replaced");
	diag_says(&why, DIAG_AUTH, NULL, "0201");
	hang_up();
	/* its line stays as it is */
	dial(ME, IQN, &(struct iscsi_auth){ .user = "joe", .secret = "anotherlongsecret" }, 1);
	challenged();
	replace_initiators("# new\n" ME " user=joe secret=anotherlongsecret\n");
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	hang_up();
	end();
}

Test(iscsi_auth, new_secrets)
{
	prepare(LINES);
	opt.host[opt.hosts++] = "iqn.x:third";
	serving_start_iscsi();
	cr_assert_eq(attach_as(false, ME, "joe", "longenoughsecret", NULL, ""), 0, "%s", why.text);
	host_open_lane();
	replace_initiators(ME " user=joe secret=anotherlongsecret\n");
	moves_data();
	host_hang_up();
	refused(ME, "joe", "longenoughsecret", "0201 secret");
	/* its session ends with its line */
	dial(ME, IQN, &(struct iscsi_auth){ .user = "joe", .secret = "anotherlongsecret" }, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	replace_initiators(ME " user=joe secret=yetanothersecret\n");
	for (unsigned i = 0; i < 20; i++)
		turn();
	cr_assert_not(raw->over, "it has a line");
	replace_initiators("* user=joe secret=anotherlongsecret\n");
	is_over();
	hang_up();
	/* and so does that of one without a line of its own */
	dial(ME, IQN, &(struct iscsi_auth){ .user = "joe", .secret = "anotherlongsecret" }, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	replace_initiators("* user=joe secret=yetanothersecret\n");
	for (unsigned i = 0; i < 20; i++)
		turn();
	cr_assert_not(raw->over, "the line still applies");
	replace_initiators(OTHER " user=jim secret=secret#of#another\n");
	is_over();
	hang_up();
	/* and one that gets a line must authenticate from then on */
	dial("iqn.x:third", IQN, &(struct iscsi_auth){ 0 }, 1);
	cr_assert_eq(log_in(), ISCSI_LOGIN_DONE, "%s", why.text);
	replace_initiators("iqn.x:third" MINE "\n");
	is_over();
	hang_up();
	refused("iqn.x:third", NULL, NULL, "0201 CHAP");
	end();
}

/* Logins on three workers, while the initiators are replaced. */
Test(iscsi_auth, replaced_on_threads)
{
	struct loop *loops[3];
	struct workers *workers;

	leap_now = 0;
	prepare(LINES);
	cr_assert_eq(
		workers_start(&workers, 3, &(struct loop_options){ .name = "workers" }, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		loops[i] = workers_loop(workers, i);
	opt.loops = loops;
	opt.nloops = 3;
	serving_start_iscsi();
	for (unsigned i = 0; i < 60; i++) {
		dial(ME, NULL, &joe, 1);
		cr_assert_eq(proceed(exchange()), ISCSI_LOGIN_SEND, "%s", why.text);
		iscsi_host_put(raw, &login.req, login.data, iscsi_login_len(&login));
		iscsi_host_poll(raw);
		hang_up();
		dial(ME, NULL, &joe, 1);
		iscsi_host_put(raw, &login.req, login.data, iscsi_login_len(&login));
		iscsi_host_poll(raw);
		replace_initiators(LINES);
		hang_up();
	}
	serving_stop();
	workers_stop(workers);
	end();
}
