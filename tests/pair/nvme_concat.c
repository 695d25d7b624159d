/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Secure channel concatenation of NVMe/TCP: our initiator at our target with each hash, one-way and
 * mutual, and again after a loss; targets that can't, that do not ask, and whose
 * messages are changed on the way; keys that have expired, were replaced or have lost their host.
 */
/* Link: leap nvme_auth_get */
#include "../../core/proto/nvme/hosts.h"
#include "../../core/proto/nvme/psk.h"
#include "target.h"

#include "leap.h"
#include "out.h"
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
#define KEY    "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"
#define SECRET "DHHC-1:00:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:"
#define CONTROLLER                                                                                 \
	"DHHC-1:02:MDc+RUxTWmFob3Z9hIuSmaCnrrW8w8rR2N/m7fT7AgkQFx4lLDM6QUhPVl1ka3J51wkKvA==:"
#define LINE HOST " dhchap=" SECRET " dhchap-ctrl=" CONTROLLER "\n"

static struct nvme_hosts *hosts;
static char folder[64];

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

static const char *write_file(const char *name, const char *text)
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

static struct nvme_hosts *read_hosts(const char *text)
{
	struct nvme_hosts *list;

	cr_assert_eq(nvme_hosts_read(&list, write_file("hosts", text), &why), 0, "%s", why.text);
	return list;
}

/* text NULL: without a file; group -1: any but the null group first */
static void begin(const char *text, uint8_t hash, int group)
{
	strcpy(folder, "/tmp/rdmastor-concat-XXXXXX");
	cr_assert(mkdtemp(folder));
	memset(&trick, 0, sizeof(trick));
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	hosts = text ? read_hosts(text) : NULL;
	opt.chap = (struct target_chap){
		.hosts = hosts, .hash = hash, .one_group = group >= 0, .group = (uint8_t)group
	};
	serving_start();
}

static void end(void)
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

static void moves(uint32_t len)
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

static const char *const suites[] = {
	[NVME_CHAP_SHA256] = "AES-128-GCM-SHA256", [NVME_CHAP_SHA384] = "AES-256-GCM-SHA384"
};

Test(nvme_concat, each_hash_and_group_one_way_and_mutual)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t hash = i % 2 ? NVME_CHAP_SHA384 : NVME_CHAP_SHA256;

		begin(LINE, hash, i < 4 ? -1 : NVME_CHAP_2048 + (int)i - 3);
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
	begin(LINE, 0, -1);
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
	begin(LINE, NVME_CHAP_SHA512, -1);
	refused(NULL, DIAG_AUTH, "concatenation_mismatch");
	text_says(why.hint, "concat= SHA-512 null_group");
	end();
	begin(LINE, 0, NVME_CHAP_NULL);
	refused(NULL, DIAG_AUTH, "concatenation_mismatch");
	end();
	begin(HOST " dhchap=" SECRET "\n", 0, -1);
	refused(CONTROLLER, DIAG_AUTH, "refused");
	cr_assert_eq(attach(NULL), 0, "%s", why.text);
	end();
}

Test(nvme_concat, a_target_that_does_not_ask)
{
	begin(NULL, 0, -1);
	refused(NULL, DIAG_AUTH, "does_not_ask authenticate concat=");
	end();
}

/* SC_C is part of the proof; what can't generate a key is not accepted. */
Test(nvme_concat, messages_changed_on_the_way)
{
	begin(LINE, 0, -1);
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
	begin(LINE, 0, -1);
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

	begin(LINE, 0, -1);
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
		cr_assert_eq(nvme_tls_add_generated(hosts, &psk), 0);
		cr_assert_eq(psk.identity[0], 0);
	}
}

/* Those of others do not count. */
Test(nvme_concat, a_key_that_newer_ones_have_replaced)
{
	begin(LINE, 0, -1);
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

static void replace_hosts(const char *text)
{
	struct nvme_hosts *old = hosts;

	hosts = read_hosts(text);
	nvme_serve_hosts(target, hosts);
	nvme_hosts_free(old);
}

Test(nvme_concat, new_hosts)
{
	begin(LINE, 0, -1);
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
	begin(HOST " dhchap=" SECRET " tls=" KEY "\n", 0, -1);
	refused(NULL, DIAG_AUTH, "wrong_secret");
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

	begin(LINE, 0, -1);
	misused("nvme+tcp", "concat=yes", "concat= requires dhchap-secret-file=");
	misused("nvme+tcp", "concat=maybe", "concat");
	snprintf(keys, sizeof(keys), "concat=yes&dhchap-secret-file=%s&tls-key-file=%s",
		write_file("secret", SECRET), write_file("key", KEY));
	misused("nvme+tcp", keys, "concat= combined tls-key-file=");
	misused("nvme+rdma", "rdma=iwarp&concat=yes", "concat= NVMe/TCP");
	end();
}
