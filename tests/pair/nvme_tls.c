/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe/TCP with TLS: our initiator against our target with keys of each form, both versions of the
 * identity, and keys that an old tool derived; keys and names that are wrong; a host that uses no
 * TLS though it has to, and the other way round; authentication besides; new hosts while connected;
 * key updates; connections cut at each byte of the handshake; a flood of handshakes. */
/* Link: leap nvme_psk_derive */
#include "../../core/net/tcp_stream.h"
#include "target.h"

#include "discover.h"
#include "leap.h"
#include "nvme_hosts.h"
#include "nvme_key.h"
#include "nvmf.h"
#include "out.h"
#include "raw_host.h"
#include "says.h"
#include "serving.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE  (4u << 20)
#define NQN   SERVING_NQN
#define HOST  "nqn.2024-01.test:host"
#define OTHER "nqn.2024-01.test:other"
#define KEY   "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"
#define WRONG "NVMeTLSkey-1:01:YW5vdGhlciBrZXkgZm9yIE5WTWUvVENQIGFuZCBUTFOzX++I:"
#define KEY_0 "NVMeTLSkey-1:00:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"
#define KEY_2                                                                                      \
	"NVMeTLSkey-1:02:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwP/"                             \
	"w0S89ELi3W2LxIcLXVsDn8kXZQ==:"
#define SECRET "DHHC-1:00:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:"
#define LINE   HOST " tls=" KEY "\n"

static struct nvme_hosts *hosts;
static char folder[64], refusals[4096];

/* What the initiator, on this thread, or the target, on another one, derives instead. */
static struct {
	bool version0, version1; /* only this one */
	bool old;                /* the target's key is of an old tool */
	const char *host, *nqn;  /* the initiator names others in its identity */
	const char *identity;    /* and this is all that it sends */
	unsigned handshakes;     /* atomic: identities that the target has looked up */
} trick;

int __real_nvme_psk_derive(const struct nvme_key *, const char *, const char *,
	const struct nvme_psk_form *, struct nvme_psk *);
int __wrap_nvme_psk_derive(const struct nvme_key *, const char *, const char *,
	const struct nvme_psk_form *, struct nvme_psk *);
int __wrap_nvme_psk_derive(const struct nvme_key *key, const char *hostnqn, const char *nqn,
	const struct nvme_psk_form *form, struct nvme_psk *psk)
{
	struct nvme_psk_form changed = *form;
	int err;

	if (gettid() != getpid()) {
		changed.old = trick.old;
		__atomic_add_fetch(&trick.handshakes, 1, __ATOMIC_RELAXED);
		return __real_nvme_psk_derive(key, hostnqn, nqn, &changed, psk);
	}
	if ((trick.version0 && !form->version0) || (trick.version1 && form->version0))
		return -EINVAL;
	err = __real_nvme_psk_derive(
		key, trick.host ? trick.host : hostnqn, trick.nqn ? trick.nqn : nqn, form, psk);
	if (trick.identity)
		snprintf(psk->identity, sizeof(psk->identity), "%s", trick.identity);
	return err;
}

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

static void refusal(const struct diag *reason, void *user)
{
	size_t len = strlen(refusals);

	(void)user;
	snprintf(refusals + len, sizeof(refusals) - len, "%s\n", reason->text);
}

/* NULL: without a file */
static void begin(const char *text)
{
	strcpy(folder, "/tmp/rdmastor-tls-XXXXXX");
	cr_assert(mkdtemp(folder));
	memset(&trick, 0, sizeof(trick));
	refusals[0] = 0;
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	opt.listen[0].no_crc = true; /* raw_host.h */
	opt.full = refusal;
	hosts = text ? read_hosts(text) : NULL;
	opt.chap.hosts = hosts;
	serving_start();
}

static void end(void)
{
	static const char *const names[] = { "hosts", "secret", "key" };
	char path[128];

	serving_end();
	nvme_hosts_free(hosts);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* NULL: without TLS, without a secret */
static int attach_as(const char *hostnqn, const char *key, const char *secret)
{
	struct bdev_env env = { .hostid = { 9 }, .write = true, .timeout_ms = leap_limit_ms(5000) };
	char text[512];
	int len;

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", hostnqn);
	len = snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/" NQN "/1?", serving_port());
	if (key)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "tls-key-file=%s&",
			write_file("key", key));
	if (secret)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "dhchap-secret-file=%s&",
			write_file("secret", secret));
	text[len - 1] = 0;
	why = (struct diag){ 0 };
	return host_attach(text, &env);
}

static void secured_by(const char *words)
{
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "test", false);
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

static void works(const char *key, const char *suite)
{
	cr_assert_eq(attach_as(HOST, key, NULL), 0, "%s", why.text);
	secured_by(suite);
	host_open_lane();
	moves(65536);
	host_hang_up();
}

static const struct {
	const char *key, *suite;
} keys[] = { { KEY_0, "AES-128-GCM-SHA256" }, { KEY, "AES-128-GCM-SHA256" },
	{ KEY_2, "AES-256-GCM-SHA384" } };

Test(nvme_tls, keys_of_each_form_and_both_versions)
{
	for (unsigned i = 0; i < 6; i++) {
		char line[256];

		snprintf(line, sizeof(line), HOST " tls=%s\n", keys[i / 2].key);
		begin(line);
		trick.version0 = i % 2;
		trick.version1 = !trick.version0;
		works(keys[i / 2].key, keys[i / 2].suite);
		end();
	}
}

/* The target has what an old tool derived: the initiator offers that, too, and continues with it.
 */
Test(nvme_tls, keys_of_an_old_tool)
{
	for (unsigned i = 0; i < 2; i++) {
		begin(LINE);
		trick.old = true;
		trick.version0 = i;
		cr_assert_eq(attach_as(HOST, KEY, NULL), 0, "%s", why.text);
		cr_assert_eq(trick.handshakes, i ? 2u : 3u);
		host_open_lane();
		cr_assert_eq(trick.handshakes, i ? 3u : 4u);
		moves(4096);
		end();
	}
}

static void refused(const char *hostnqn, const char *key, const char *words)
{
	char object[64];

	snprintf(object, sizeof(object), "127.0.0.1:%u", serving_port());
	cr_assert_eq(attach_as(hostnqn, key, NULL), -EACCES, "%s", why.text);
	diag_says(&why, DIAG_AUTH, object, words);
	host_hang_up();
}

static void logged(const char *words)
{
	cr_assert_eq(text_missing(refusals, words), NULL, "'%s' is not in:\n%s",
		text_missing(refusals, words), refusals);
}

Test(nvme_tls, wrong_keys_and_names)
{
	begin(LINE);
	refused(HOST, WRONG, "server_rejected_TLS key_of_'" HOST "' wrong_key unknown_host");
	text_says(why.hint, "check-tls-key");
	logged("nvme+tcp_host wrong_key_of_host_'NVMe1R01 " HOST);
	works(KEY, "TLS_1.3");
	end();
	begin(LINE);
	refused(OTHER, KEY, "wrong_key unknown_host");
	logged("unknown_host_'NVMe1R01 " OTHER);
	works(KEY, "TLS_1.3");
	end();
	begin(LINE); /* a key of another length, whose identity has another hash */
	refused(HOST, KEY_2, "wrong_key unknown_host");
	logged("unknown_host_'NVMe1R02 " HOST);
	end();
}

/* Nothing in an identity ends the target, and all are answered in the same way. */
Test(nvme_tls, identities_that_are_none)
{
	static const char *const identities[] = { "x", "NVMe1R01", "NVMe1R01 ", "NVMe1R01 " HOST,
		"NVMe1R01 " HOST " " NQN, "NVMe1G01 " HOST " " NQN " x",
		"NVMe2R01 " HOST " " NQN " x", "NVMe1R03 " HOST " " NQN " x",
		"NVMe1R01  " HOST " " NQN, "NVMe0R01 " HOST " " NQN " x",
		"NVMe1R01 " HOST " " NQN " x y", "\x01\xff %s%n" };
	char longest[NVME_PSK_IDENTITY];

	begin(LINE);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	for (unsigned i = 0; i <= sizeof(identities) / sizeof(identities[0]); i++) {
		trick.identity = i ? identities[i - 1] : longest;
		refused(HOST, KEY, "wrong_key unknown_host");
	}
	trick.identity = NULL;
	works(KEY, "TLS_1.3");
	end();
}

/* A host that has proven one name connects as another, or to another subsystem. */
Test(nvme_tls, names_that_the_key_is_not_for)
{
	begin(LINE OTHER " tls=" KEY_0 "\n");
	trick.host = HOST;
	cr_assert_neq(attach_as(OTHER, KEY, NULL), 0);
	diag_says(&why, why.code, NULL, "host_NQN");
	host_hang_up();
	trick.host = NULL;
	trick.nqn = "nqn.2024-01.test:else";
	cr_assert_neq(attach_as(HOST, KEY, NULL), 0);
	diag_says(&why, why.code, NULL, "subsystem");
	host_hang_up();
	trick.nqn = NULL;
	works(KEY, "TLS_1.3");
	end();
}

/* On both lists the key still is needed; over RDMA there is no TLS. */
Test(nvme_tls, without_tls)
{
	static const char *const secured[] = { NULL, OTHER " dhchap=" SECRET "\n" };
	char lines[512], text[256];
	struct bdev_env env = { .hostid = { 9 }, .timeout_ms = leap_limit_ms(5000) };

	for (unsigned i = 0; i < 2; i++) {
		snprintf(lines, sizeof(lines), LINE "%s", secured[i] ? secured[i] : "");
		begin(lines);
		cr_assert_neq(attach_as(HOST, NULL, NULL), 0);
		diag_says(&why, why.code, NULL, i ? "requires_authentication" : "host");
		logged("'" HOST "' does_not_use_TLS");
		host_hang_up();
		cr_assert_neq(attach_as("nqn.third", NULL, NULL), 0);
		diag_says(&why, why.code, NULL, i ? "requires_authentication" : "host");
		host_hang_up();
		if (i)
			cr_assert_eq(attach_as(OTHER, NULL, SECRET), 0, "%s", why.text);
		host_hang_up();
		snprintf(env.hostnqn, sizeof(env.hostnqn), HOST);
		snprintf(text, sizeof(text), "nvme+rdma://127.0.0.1:%u/" NQN "?rdma=iwarp",
			serving_port());
		cr_assert_neq(host_attach(text, &env), 0);
		host_hang_up();
		works(KEY, "TLS_1.3");
		end();
	}
}

Test(nvme_tls, hosts_on_both_lists)
{
	strcpy(folder, "/tmp/rdmastor-tls-XXXXXX");
	cr_assert(mkdtemp(folder));
	serving_begin(SIZE, TRANSPORT_TCP, 0);
	hosts = read_hosts(LINE);
	opt.chap.hosts = hosts;
	opt.host[opt.hosts++] = OTHER;
	opt.host[opt.hosts++] = HOST;
	serving_start();
	cr_assert_eq(attach_as(OTHER, NULL, NULL), 0, "%s", why.text);
	host_hang_up();
	cr_assert_neq(attach_as(HOST, NULL, NULL), 0);
	host_hang_up();
	works(KEY, "TLS_1.3");
	refused(OTHER, KEY, "unknown_host");
	end();
}

/* What begins like TLS means nothing to a target without keys. */
Test(nvme_tls, a_target_without_tls)
{
	begin(NULL);
	cr_assert_neq(attach_as(HOST, KEY, NULL), 0);
	diag_says(&why, DIAG_CLOSED, NULL, "closed TLS_handshake does_not_use_TLS");
	host_hang_up();
	cr_assert_eq(attach_as(HOST, NULL, NULL), 0, "%s", why.text);
	end();
}

Test(nvme_tls, with_authentication)
{
	begin(HOST " dhchap=" SECRET " tls=" KEY "\n");
	cr_assert_eq(attach_as(HOST, KEY, SECRET), 0, "%s", why.text);
	secured_by("security:____TLS_1.3 DH-HMAC-CHAP");
	host_open_lane();
	moves(65536);
	host_hang_up();
	refused(HOST, KEY, "requires_authentication");
	cr_assert_neq(attach_as(HOST, NULL, SECRET), 0);
	diag_says(&why, DIAG_AUTH, NULL, "wrong_secret");
	end();
}

static void replace_hosts(const char *text)
{
	struct nvme_hosts *old = hosts;

	hosts = read_hosts(text);
	nvme_serve_hosts(target, hosts);
	nvme_hosts_free(old);
}

static void lost(void)
{
	while (disk->state == BDEV_UP)
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
	host_hang_up();
}

Test(nvme_tls, new_keys)
{
	begin(LINE);
	cr_assert_eq(attach_as(HOST, KEY, NULL), 0, "%s", why.text);
	host_open_lane();
	replace_hosts(HOST " tls=" WRONG "\n");
	moves(4096);
	host_hang_up();
	refused(HOST, KEY, "wrong_key");
	cr_assert_eq(attach_as(HOST, WRONG, NULL), 0, "%s", why.text);
	replace_hosts(OTHER " tls=" WRONG "\n");
	lost();
	refused(HOST, WRONG, "unknown_host");
	replace_hosts(HOST " dhchap=" SECRET "\n");
	cr_assert_eq(attach_as(HOST, NULL, SECRET), 0, "%s", why.text);
	replace_hosts(HOST " dhchap=" SECRET " tls=" KEY "\n");
	lost();
	cr_assert_eq(attach_as(HOST, KEY, SECRET), 0, "%s", why.text);
	replace_hosts(LINE);
	lost();
	works(KEY, "TLS_1.3");
	end();
}

/* While large requests are split over many records. */
Test(nvme_tls, key_updates)
{
	struct stream *stream;

	begin(LINE);
	cr_assert_eq(attach_as(HOST, KEY, NULL), 0, "%s", why.text);
	host_open_lane();
	stream = NULL;
	for (const struct target_conn *conn = target->conns; conn; conn = conn->peer_next) {
		stream = conn->stream;
		tcp_of(stream)->tls->tx_limit = 3;
	}
	cr_assert(stream);
	for (unsigned i = 0; i < 20; i++)
		moves(131072);
	cr_assert_lt(tcp_of(stream)->tls->tx.records, 16);
	end();
}

/* --- discovery */

static struct nvmf_record discovered(const char *hostnqn, const char *key)
{
	struct bdev_env env = { .hostid = { 9 }, .timeout_ms = leap_limit_ms(5000) };
	struct nvmf_record record;
	struct nvmf_log log = { 0 };
	struct uri uri;
	char text[256];

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", hostnqn);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u%s%s", serving_port(),
		key ? "?tls-key-file=" : "", key ? write_file("key", key) : "");
	cr_assert_eq(uri_parse(&uri, text, &why), 0, "%s", why.text);
	cr_assert_eq(discover(loop, &uri, &env, 0, &log, &why), 0, "%s", why.text);
	for (unsigned i = 0; i < log.count; i++)
		if (log.record[i].trtype == NVMF_TRTYPE_TCP)
			record = log.record[i];
		else
			cr_assert_eq(log.record[i].treq & 3, NVMF_TREQ_NOT_REQUIRED);
	cr_assert_eq(log.count, 2);
	nvmf_log_free(&log);
	return record;
}

static void discovers(const char *hostnqn, const char *key, uint8_t treq, uint8_t sectype)
{
	struct nvmf_record record = discovered(hostnqn, key);

	cr_assert_eq(record.treq, treq | NVMF_TREQ_NO_SQFC);
	cr_assert_eq(record.tsas.tcp.sectype, sectype);
}

Test(nvme_tls, what_discovery_reports)
{
	begin(HOST " dhchap=" SECRET "\n");
	discovers(HOST, NULL, NVMF_TREQ_NOT_REQUIRED, NVMF_SECTYPE_NONE);
	replace_hosts(HOST " dhchap=" SECRET "\n" OTHER " tls=" KEY "\n");
	discovers(HOST, NULL, NVMF_TREQ_NOT_REQUIRED, NVMF_SECTYPE_TLS13);
	discovers(OTHER, NULL, NVMF_TREQ_NOT_REQUIRED, NVMF_SECTYPE_TLS13);
	discovers(OTHER, KEY, NVMF_TREQ_REQUIRED, NVMF_SECTYPE_TLS13);
	replace_hosts(OTHER " tls=" KEY "\n");
	discovers(HOST, NULL, NVMF_TREQ_REQUIRED, NVMF_SECTYPE_TLS13);
	end();
}

static volatile int searched;
static unsigned paths;

static void path_found(struct bdev_search *search, const char *host, uint16_t port)
{
	(void)search;
	(void)host;
	(void)port;
	paths++;
}

static void search_done(struct bdev_search *search, const struct diag *reason)
{
	(void)search;
	cr_assert_eq(reason->err, 0, "%s", reason->text);
	searched = 1;
}

/* Also of a target that has no key for its discovery service. */
Test(nvme_tls, other_paths)
{
	for (unsigned i = 0; i < 2; i++) {
		struct bdev_search search = { .found = path_found, .done = search_done };

		begin(LINE);
		cr_assert_eq(attach_as(HOST, KEY, NULL), 0, "%s", why.text);
		trick.identity = i ? "x" : NULL;
		search.until = leap_limit(5000 * MSEC);
		searched = 0;
		paths = 0;
		cr_assert_eq(disk->ops->search(disk, &search, &why), 0, "%s", why.text);
		cr_assert(loop_wait(loop, &searched, leap_limit(6000 * MSEC)));
		cr_assert_eq(paths, 1);
		end();
	}
}

/* --- a host that sends what a test says */

static volatile int stepped;

static void step_ended(void *user)
{
	(void)user;
	stepped = 1;
}

static struct tls_conn *client_new(const char *key)
{
	const struct tls_names names = { "a key", "host" };
	struct tls_shared_key shared = { 0 };
	struct tls_creds *creds;
	struct tls_conn *tls;
	struct nvme_key configured;
	struct nvme_psk psk;

	cr_assert_eq(nvme_key_parse(&configured, NVME_KEY_TLS, "key", key, &why), 0);
	cr_assert_eq(
		nvme_psk_derive(&configured, HOST, NQN, &(struct nvme_psk_form){ 0 }, &psk), 0);
	shared.len = (uint8_t)psk.len;
	memcpy(shared.key, psk.key, psk.len);
	cr_assert_eq(tls_creds_new_key(&creds, psk.identity, &shared, &names, &why), 0);
	tls = tls_conn_new(creds, NULL, NULL, &why);
	cr_assert(tls);
	tls_creds_free(creds);
	tls->stepped = step_ended;
	return tls;
}

static void step(struct tls_conn *tls)
{
	stepped = 0;
	cr_assert_eq(tls_conn_step(tls, loop, &why), 0);
	cr_assert(loop_wait(loop, &stepped, leap_limit(10000 * MSEC)));
}

static struct raw_host *connect_raw(void)
{
	struct addr bound;
	struct raw_host *raw;

	target_transports(target, 0, &bound);
	raw = raw_dial(&bound, false);
	cr_assert(raw);
	return raw;
}

/* Begin a handshake, but close after that many bytes. Returns how many were sent. */
static size_t handshake(size_t most)
{
	struct tls_conn *tls = client_new(KEY);
	struct raw_host *raw = connect_raw();
	size_t sent = 0;

	step(tls);
	while (sent < most) {
		struct iovec out = tls_conn_pending(tls), in;
		ssize_t n =
			out.iov_len > most - sent ? (ssize_t)(most - sent) : (ssize_t)out.iov_len;

		n = n ? send(raw->fd, out.iov_base, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
		if (n > 0) {
			sent += (size_t)n;
			tls_conn_sent(tls, (size_t)n);
		} else if (tls->secured) {
			break;
		}
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
		in = tls_conn_room(tls);
		n = recv(raw->fd, in.iov_base, in.iov_len, MSG_DONTWAIT);
		if (n > 0)
			tls_conn_received(tls, (size_t)n);
		if (!tls->secured && tls_conn_has_record(tls))
			step(tls);
		cr_assert_eq(tls->why.err, 0, "%s", tls->why.text);
	}
	raw_close(raw);
	tls_conn_free(tls);
	return sent;
}

Test(nvme_tls, closed_at_each_step)
{
	size_t all;

	begin(LINE);
	all = handshake(SIZE_MAX);
	cr_assert_gt(all, 300);
	for (size_t most = 1; most < all; most += most < 8 || most > all - 80 ? 1 : 29)
		handshake(most);
	works(KEY, "TLS_1.3");
	end();
}

/* Handshakes that begin, more than may be pending, do not disturb a host that has connected, nor
 * keep another one out. */
Test(nvme_tls, a_flood)
{
	struct raw_host *flood[60];
	struct tls_conn *tls;
	struct iovec hello;

	begin(LINE);
	cr_assert_eq(attach_as(HOST, KEY, NULL), 0, "%s", why.text);
	host_open_lane();
	tls = client_new(WRONG);
	step(tls);
	hello = tls_conn_pending(tls);
	for (unsigned i = 0; i < 60; i++) {
		flood[i] = connect_raw();
		raw_bytes(flood[i], hello.iov_base, i % 2 ? hello.iov_len : hello.iov_len / 2);
		raw_poll(flood[i]);
	}
	moves(65536);
	cr_assert_eq(disk->state, BDEV_UP);
	host_hang_up();
	works(KEY, "TLS_1.3");
	for (unsigned i = 0; i < 60; i++)
		raw_close(flood[i]);
	tls_conn_free(tls);
	end();
}

/* What begins neither like TLS nor like ICReq. */
Test(nvme_tls, first_bytes)
{
	begin(LINE);
	for (unsigned first = 0; first < 256; first++) {
		uint8_t bytes[8] = { (uint8_t)first, 3, 1, 0xff, 0xff, 0xff, 0xff, 0xff };
		struct raw_host *raw = connect_raw();

		raw_bytes(raw, bytes, sizeof(bytes));
		while (!raw->over) {
			raw_poll(raw);
			loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
		}
		raw_close(raw);
	}
	works(KEY, "TLS_1.3");
	end();
}

/* --- the file */

static void file_refused(const char *text, const char *words)
{
	struct nvme_hosts *list;

	strcpy(folder, "/tmp");
	why = (struct diag){ 0 };
	cr_assert_neq(nvme_hosts_read(&list, write_file("rdmastor-tls-hosts", text), &why), 0);
	diag_says(&why, DIAG_USAGE, NULL, words);
	cr_assert_not(strstr(why.text, "VRLb"));
	unlink("/tmp/rdmastor-tls-hosts");
}

Test(nvme_tls, files_that_are_wrong)
{
	file_refused(HOST " tls=\n", "TLS_key expected");
	file_refused(HOST " tls=" SECRET "\n", "TLS_key NVMeTLSkey-1:");
	file_refused(HOST " dhchap=" KEY "\n", "DHHC-1:");
	file_refused(HOST " tls=" KEY " tls=" KEY "\n", "twice");
	file_refused(HOST "\n", "HOSTNQN dhchap=SECRET tls=KEY");
	file_refused(
		HOST " tls=" KEY " dhchap-ctrl=" SECRET "\n", "dhchap-ctrl= needs dhchap=SECRET");
	file_refused(HOST " tsl=" KEY "\n", "unknown_word");
}
