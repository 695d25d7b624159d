/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of a kernel that the test plays, whose peers are the test as well: both roles, keys that
 * are missing or wrong, other kinds of requests, too many, the end of the owner. */
/* Link: leap socket bind sendto setsockopt syscall kernel_nvmf_keyring */
#include "tls_upcall.h"
#include "../../../core/net/tls_conn.h"
#include "../../../core/net/tls_creds.h"
#include "kernel_handshake.h"
#include "kernel_nvmf.h"
#include "leap.h"
#include "says.h"
#include "uapi/handshake.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ID     "NVMe1R01 nqn.h nqn.s x"
#define SERIAL 0x1234
#define FAMILY 0x22
#define MOST   140

/* --- the kernel */

static int kernel_end[4][2], sockets; /* pairs in place of netlink sockets */
static int refused_with;              /* errno of every command but the search for the family */
static struct request {
	uint32_t type, auth;
	int fd, peer; /* of the socket: ours once accepted; the other end */
	int status;   /* -1: not done */
	int32_t key;
} request[MOST];
static unsigned requests, accepted, done;
static bool has_key, key_differs;
static bool no_ktls;

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	int *pair = kernel_end[sockets];

	if (domain != AF_NETLINK)
		return __real_socket(domain, type, protocol);
	cr_assert_lt(sockets++, 4);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	return pair[0];
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd;
	(void)len;
	cr_assert_eq(addr->sa_family, AF_NETLINK);
	return 0;
}

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_NETLINK) {
		cr_assert(name == NETLINK_ADD_MEMBERSHIP && *(const uint32_t *)value == 7);
		return 0;
	}
	if (level != 282 && (level != 6 || name != 31))
		return __real_setsockopt(fd, level, name, value, len);
	errno = ENOENT;
	return no_ktls ? -1 : 0;
}

struct message {
	uint8_t bytes[512];
	size_t len;
};

static struct message message(uint16_t type, uint32_t seq, uint8_t command)
{
	const struct nlmsghdr head = { .nlmsg_type = type, .nlmsg_seq = seq };
	const struct genlmsghdr generic = { .cmd = command };
	struct message m = { .len = NLMSG_HDRLEN + GENL_HDRLEN };

	memcpy(m.bytes, &head, sizeof(head));
	memcpy(m.bytes + NLMSG_HDRLEN, &generic, sizeof(generic));
	return m;
}

static void put(struct message *m, uint16_t type, const void *value, size_t len)
{
	const struct nlattr attr = { .nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + len) };

	memcpy(m->bytes + m->len, &attr, sizeof(attr));
	memcpy(m->bytes + m->len + NLA_HDRLEN, value, len);
	m->len += (size_t)NLA_ALIGN(NLA_HDRLEN + len);
}

static void put_u32(struct message *m, uint16_t type, uint32_t value)
{
	put(m, type, &value, sizeof(value));
}

static void say(int to, struct message *m)
{
	const uint32_t len = (uint32_t)m->len;

	memcpy(m->bytes, &len, sizeof(len));
	cr_assert_eq(send(to, m->bytes, m->len, 0), (ssize_t)m->len);
}

static void say_error(int to, uint32_t seq, int err)
{
	struct message m = message(NLMSG_ERROR, seq, 0);
	const int number = -err;

	memcpy(m.bytes + NLMSG_HDRLEN, &number, sizeof(number));
	m.len += sizeof(struct nlmsghdr);
	say(to, &m);
}

static void say_family(int to, uint32_t seq)
{
	struct message m = message(GENL_ID_CTRL, seq, CTRL_CMD_NEWFAMILY), group = { .len = 0 },
		       groups = { .len = 0 };
	const uint16_t family = FAMILY;

	put(&group, CTRL_ATTR_MCAST_GRP_NAME, "tlshd", 6);
	put_u32(&group, CTRL_ATTR_MCAST_GRP_ID, 7);
	put(&groups, 1, group.bytes, group.len);
	put(&m, CTRL_ATTR_FAMILY_ID, &family, sizeof(family));
	put(&m, CTRL_ATTR_MCAST_GROUPS, groups.bytes, groups.len);
	say(to, &m);
}

static void say_request(int to, uint32_t seq)
{
	struct message m = message(FAMILY, seq, HANDSHAKE_NL_ACCEPT);
	struct request *r = &request[accepted];

	if (accepted == requests) {
		say_error(to, seq, EAGAIN);
		return;
	}
	accepted++;
	put_u32(&m, HANDSHAKE_NL_ACCEPT_FD, (uint32_t)r->fd);
	put_u32(&m, HANDSHAKE_NL_ACCEPT_TYPE, r->type);
	put_u32(&m, HANDSHAKE_NL_ACCEPT_TIMEOUT, 10000);
	put_u32(&m, HANDSHAKE_NL_ACCEPT_AUTH, r->auth);
	if (r->type == HANDSHAKE_NL_CLIENT && r->auth == HANDSHAKE_NL_PSK)
		put_u32(&m, HANDSHAKE_NL_ACCEPT_PEER, SERIAL);
	say(to, &m);
}

static uint32_t attr_of(const uint8_t *bytes, size_t len, uint16_t type)
{
	for (size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at < len; at += 8)
		if (*(const uint16_t *)(const void *)(bytes + at + 2) == type)
			return *(const uint32_t *)(const void *)(bytes + at + 4);
	return 0;
}

static void end_request(int to, uint32_t seq, const uint8_t *bytes, size_t len)
{
	int fd = (int)attr_of(bytes, len, HANDSHAKE_NL_DONE_FD);

	for (unsigned i = 0; i < accepted; i++)
		if (request[i].fd == fd && request[i].status < 0) {
			request[i].status = (int)attr_of(bytes, len, HANDSHAKE_NL_DONE_STATUS);
			request[i].key = (int32_t)attr_of(bytes, len, HANDSHAKE_NL_DONE_PEER);
			done++;
			say_error(to, seq, 0);
			return;
		}
	say_error(to, seq, EBADF);
}

ssize_t __wrap_sendto(
	int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t n);
ssize_t __wrap_sendto(
	int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t n)
{
	struct nlmsghdr head;
	struct genlmsghdr generic;
	int back = -1;

	(void)flags;
	(void)n;
	cr_assert_eq(to->sa_family, AF_NETLINK);
	for (int i = 0; i < sockets; i++)
		if (kernel_end[i][0] == fd)
			back = kernel_end[i][1];
	memcpy(&head, bytes, sizeof(head));
	memcpy(&generic, (const uint8_t *)bytes + NLMSG_HDRLEN, sizeof(generic));
	if (head.nlmsg_type == GENL_ID_CTRL)
		say_family(back, head.nlmsg_seq);
	else if (refused_with)
		say_error(back, head.nlmsg_seq, refused_with);
	else if (generic.cmd == HANDSHAKE_NL_ACCEPT)
		say_request(back, head.nlmsg_seq);
	else
		end_request(back, head.nlmsg_seq, bytes, len);
	return (ssize_t)len;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	static const char description[] = "psk;0;0;3f030000;" ID;
	long arg[5];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 5; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number != SYS_keyctl)
		return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
	errno = ENOKEY;
	if (arg[0] == KEYCTL_LINK)
		return 0;
	if (arg[0] == KEYCTL_SEARCH)
		return has_key && !strcmp((const char *)arg[3], ID) ? SERIAL : -1;
	if (!has_key || arg[1] != SERIAL)
		return -1;
	if (arg[0] == KEYCTL_DESCRIBE) {
		memcpy((void *)arg[2], description, sizeof(description));
		return sizeof(description);
	}
	memset((void *)arg[2], key_differs ? 8 : 7, 32);
	return 32;
}

int __wrap_kernel_nvmf_keyring(int root, const char *name, int32_t *ring, struct diag *diag);
int __wrap_kernel_nvmf_keyring(int root, const char *name, int32_t *ring, struct diag *diag)
{
	(void)root;
	(void)diag;
	cr_assert_null(name);
	*ring = 99;
	return 0;
}

/* --- its owner */

static struct loop *loop;
static struct tls_upcall *upcall;
static volatile int ends;
static struct diag last;
static char last_identity[600];
static bool last_server;

static void ended(void *arg, const struct tls_upcall_end *end)
{
	cr_assert_eq(arg, &ends);
	last = *end->why;
	snprintf(last_identity, sizeof(last_identity), "%s", end->identity);
	last_server = end->server;
	ends++;
}

static const struct tls_upcall_events events = { (void *)(uintptr_t)&ends, ended };

static void begin(void)
{
	struct diag why = { 0 };

	ends = 0;
	requests = accepted = done = 0;
	sockets = refused_with = 0;
	has_key = true;
	key_differs = no_ktls = false;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	cr_assert_eq(tls_upcall_open(&upcall, loop, 0, &events, &why), 0, "%s", why.text);
}

static void finish(void)
{
	tls_upcall_close(upcall);
	loop_free(loop);
	for (int i = 0; i < sockets; i++)
		close(kernel_end[i][1]);
	for (unsigned i = 0; i < requests; i++)
		close(request[i].peer);
}

static struct request *ask(uint32_t type, uint32_t auth)
{
	struct message m = message(FAMILY, 0, HANDSHAKE_NL_READY);
	struct request *r = &request[requests++];
	int fd[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	*r = (struct request){ type, auth, fd[0], fd[1], -1, 0 };
	say(kernel_end[0][1], &m);
	return r;
}

/* --- the peer */

static bool find(const void *user, const char *identity, size_t len, struct tls_shared_key *to)
{
	(void)user;
	*to = (struct tls_shared_key){ .len = 32 };
	memset(to->key, 7, 32);
	return len == strlen(ID) && !memcmp(identity, ID, len);
}

static void drop(void *user)
{
	(void)user;
}

static void carry(struct tls_conn *peer, int fd)
{
	struct iovec out = tls_conn_pending(peer), room;
	ssize_t got;

	if (out.iov_len && send(fd, out.iov_base, out.iov_len, MSG_NOSIGNAL) > 0)
		tls_conn_sent(peer, out.iov_len);
	loop_wait(loop, &ends, loop_clock() + 1000);
	room = tls_conn_room(peer);
	got = recv(fd, room.iov_base, room.iov_len, MSG_DONTWAIT);
	if (got > 0)
		tls_conn_received(peer, (size_t)got);
	while (!peer->handshake_done && !peer->why.err && tls_conn_has_record(peer))
		tls_handshake_run(&peer->job);
}

/* Returns whether the peer has its end of the connection. */
static bool handshake(const struct request *r, const char *identity)
{
	const struct tls_names names = { .kind = "the key", .noun = "host" };
	const struct tls_finder finder = { .find = find, .free = drop };
	struct tls_shared_key key;
	struct tls_creds *creds;
	struct tls_conn *peer;
	struct diag why = { 0 };
	bool worked;

	find(NULL, ID, strlen(ID), &key);
	if (r->type == HANDSHAKE_NL_CLIENT)
		tls_creds_new_finder(&creds, &finder, &names, &why);
	else
		tls_creds_new_key(&creds, identity, &key, &names, &why);
	peer = tls_conn_new(creds, NULL, NULL, &why);
	if (tls_conn_begins(peer))
		tls_handshake_run(&peer->job);
	for (unsigned i = 0; i < 20; i++)
		carry(peer, r->peer);
	worked = peer->handshake_done;
	tls_conn_free(peer);
	tls_creds_free(creds);
	return worked;
}

static void settle(void)
{
	static volatile int never;

	loop_wait(loop, &never, loop_clock() + 1000000);
}

Test(tls_upcall, both_roles)
{
	static const uint32_t types[] = { HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_SERVER };

	for (unsigned i = 0; i < 2; i++) {
		struct request *r;

		begin();
		r = ask(types[i], HANDSHAKE_NL_PSK);
		cr_assert(handshake(r, ID));
		cr_assert(ends == 1 && !last.err, "%s", last.text);
		cr_assert_eq(last_server, i == 1);
		cr_assert_str_eq(last_identity, ID);
		cr_assert_eq(r->status, 0);
		cr_assert_eq(r->key, SERIAL, "the kernel learns which key it is");
		cr_assert_eq(fcntl(r->fd, F_GETFD), -1, "closed");
		cr_assert_not(tls_upcall_is_busy(upcall));
		finish();
	}
}

Test(tls_upcall, keys_that_are_missing_or_wrong)
{
	struct request *r;

	begin();
	has_key = false;
	r = ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_PSK);
	loop_wait(loop, &ends, leap_limit(SEC));
	cr_assert_eq(r->status, ENOKEY);
	diag_says(&last, DIAG_NOT_FOUND, NULL, "00001234");
	finish();
	begin();
	has_key = false;
	r = ask(HANDSHAKE_NL_SERVER, HANDSHAKE_NL_PSK);
	cr_assert_not(handshake(r, ID));
	cr_assert_eq(r->status, EACCES);
	cr_assert_eq(r->key, 0);
	diag_says(&last, DIAG_AUTH, NULL, "unknown host '" ID "'");
	finish();
	begin();
	key_differs = true;
	r = ask(HANDSHAKE_NL_SERVER, HANDSHAKE_NL_PSK);
	cr_assert_not(handshake(r, ID));
	cr_assert_eq(r->status, EACCES);
	diag_says(&last, DIAG_AUTH, NULL, "wrong host '" ID "'");
	finish();
	begin();
	key_differs = true;
	r = ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_PSK);
	cr_assert_not(handshake(r, ID));
	cr_assert_eq(r->status, EACCES);
	diag_says(&last, DIAG_AUTH, NULL, "server rejected");
	finish();
}

Test(tls_upcall, identities_that_cant_be_printed)
{
	struct request *r;

	begin();
	r = ask(HANDSHAKE_NL_SERVER, HANDSHAKE_NL_PSK);
	cr_assert_not(handshake(r, "NVMe1R02 \33[2J\n\377 x"));
	cr_assert_eq(r->status, EACCES);
	cr_assert_str_eq(last_identity, "NVMe1R02 ?[2J?? x");
	finish();
}

Test(tls_upcall, requests_of_other_kinds)
{
	struct request *r;

	begin();
	r = ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_X509);
	loop_wait(loop, &ends, leap_limit(SEC));
	cr_assert_eq(r->status, EOPNOTSUPP);
	diag_says(&last, DIAG_UNSUPPORTED, NULL, "pre-shared");
	finish();
	begin();
	r = ask(3, HANDSHAKE_NL_PSK);
	ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_X509);
	settle();
	cr_assert_eq(r->status, EPROTO);
	cr_assert_eq(fcntl(r->fd, F_GETFD), -1, "closed");
	cr_assert_eq(r[1].status, EOPNOTSUPP, "the next one is taken, too");
	cr_assert_eq(ends, 2);
	finish();
	begin();
	no_ktls = true;
	r = ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_PSK);
	handshake(r, ID);
	cr_assert_eq(r->status, ENOENT);
	cr_assert_eq(r->key, 0);
	finish();
}

/* Silent strangers at the kernel's target: the oldest make room for those that come after them. */
Test(tls_upcall, the_oldest_server_ends)
{
	struct request *ours, *host;

	begin();
	ours = ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_PSK);
	while (requests < MOST - 1) {
		ask(HANDSHAKE_NL_SERVER, HANDSHAKE_NL_PSK);
		settle();
	}
	cr_assert_eq(done, MOST - 1 - 128, "%u accepted, %u done: %s", accepted, done, last.text);
	for (unsigned i = 0; i < MOST - 1; i++)
		cr_assert_eq(
			request[i].status, i >= 1 && i <= MOST - 1 - 128 ? ETIMEDOUT : -1, "%u", i);
	diag_says(&last, DIAG_TIMEOUT, NULL, "more than 128");
	host = ask(HANDSHAKE_NL_SERVER, HANDSHAKE_NL_PSK);
	settle();
	ends = 0;
	cr_assert(handshake(host, ID), "%s", last.text);
	ends = 0;
	cr_assert(handshake(ours, ID), "%s", last.text);
	cr_assert(host->status == 0 && ours->status == 0);
	finish();
}

/* Clients are always accepted, and never ended early. */
Test(tls_upcall, many_of_this_side)
{
	begin();
	for (unsigned i = 0; i < MOST; i++)
		ask(HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_PSK);
	settle();
	cr_assert(accepted == MOST && !done, "%u accepted, %u done: %s", accepted, done, last.text);
	cr_assert(tls_upcall_is_busy(upcall));
	while (done < MOST)
		loop_wait(loop, &ends, leap_limit(SEC)), ends = 0;
	for (unsigned i = 0; i < MOST; i++)
		cr_assert_eq(request[i].status, ETIMEDOUT);
	finish();
}

Test(tls_upcall, its_end_ends_handshakes)
{
	struct request *r;

	begin();
	r = ask(HANDSHAKE_NL_SERVER, HANDSHAKE_NL_PSK);
	settle();
	cr_assert_eq(accepted, 1);
	cr_assert_eq(r->status, -1);
	finish();
	cr_assert_eq(r->status, ECANCELED);
	cr_assert_eq(ends, 0);
}

Test(tls_upcall, one_that_waits_before_it_begins)
{
	struct diag why = { 0 };

	begin();
	tls_upcall_close(upcall);
	for (int i = 0; i < sockets; i++)
		close(kernel_end[i][1]);
	sockets = 0;
	request[0] =
		(struct request){ HANDSHAKE_NL_CLIENT, HANDSHAKE_NL_X509, dup(0), dup(0), -1, 0 };
	requests = 1;
	cr_assert_eq(tls_upcall_open(&upcall, loop, 0, &events, &why), 0);
	loop_wait(loop, &ends, leap_limit(SEC));
	cr_assert_eq(request[0].status, EOPNOTSUPP);
	finish();
}

Test(tls_upcall, not_root)
{
	struct diag why = { 0 };

	begin();
	tls_upcall_close(upcall);
	for (int i = 0; i < sockets; i++)
		close(kernel_end[i][1]);
	sockets = 0;
	refused_with = EPERM;
	upcall = NULL;
	cr_assert_eq(tls_upcall_open(&upcall, loop, 0, &events, &why), -EPERM);
	diag_says(&why, DIAG_PERMISSION, NULL, "root TLS");
	finish();
}
