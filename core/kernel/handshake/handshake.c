/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets of the family "handshake": one has notifications, the other one commands,
 * whose answers are there when send() returns. The kernel adds the descriptor of a request to the
 * process that sends ACCEPT, so no child can send it. */
#include "handshake_nl.h"
#include "kernel_sys.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER 8192

struct kernel_handshakes {
	struct loop *loop;
	struct loop_fd notify;
	int commands;
	uint32_t seq;
	struct handshake_nl nl;
	void (*ready)(void *user);
	void *user;
};

static int open_socket(void)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC), err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)&any, sizeof(any)))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static int send_command(int fd, const uint8_t *command, size_t len)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return sendto(fd, command, len, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0
		       ? -errno
		       : 0;
}

/* Only the kernel's messages count: any process may send one. */
static ssize_t receive(int fd, uint8_t answer[ANSWER])
{
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t len;

	do
		len = recvfrom(
			fd, answer, ANSWER, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
	while (len >= 0 && from.nl_pid);
	return len < 0 ? -errno : len;
}

static int find_family(int fd, uint32_t seq, struct handshake_nl *nl)
{
	uint8_t command[HANDSHAKE_NL_COMMAND], answer[ANSWER];
	int err = send_command(fd, command, handshake_nl_find(command, seq));
	ssize_t len = 0;

	if (err)
		return err;
	do
		len = receive(fd, answer);
	while (len >= 0 &&
		(err = handshake_nl_found(answer, (size_t)len, seq, nl)) == -EINPROGRESS);
	if (len < 0)
		return (int)len;
	return err == -ENOENT ? -EOPNOTSUPP : err;
}

int kernel_handshakes_answered(int root)
{
	struct handshake_nl nl;
	char *text;
	int fd = open_socket(), err, found;

	if (fd < 0)
		return fd;
	err = find_family(fd, 1, &nl);
	close(fd);
	if (err)
		return err;
	if (!nl.group || nl.group > HANDSHAKE_NL_GROUPS)
		return -ERANGE;
	text = kernel_sys_read_all(root, "proc/net/netlink");
	if (!text)
		return -errno;
	found = handshake_nl_has_member(text, nl.group);
	free(text);
	return found;
}

static void notified(struct loop_fd *fd, uint32_t events)
{
	struct kernel_handshakes *handshakes = container_of(fd, struct kernel_handshakes, notify);
	uint8_t message[ANSWER];

	(void)events;
	while (recv(fd->fd, message, sizeof(message), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		errno = 0;
	handshakes->ready(handshakes->user);
}

static int join(struct kernel_handshakes *handshakes)
{
	int err = find_family(handshakes->commands, ++handshakes->seq, &handshakes->nl);

	if (!err && setsockopt(handshakes->notify.fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
			    &handshakes->nl.group, sizeof(handshakes->nl.group)))
		err = -errno;
	return err;
}

static int end_handshake(struct kernel_handshakes *handshakes,
	const struct kernel_handshake *request, int result, int32_t key)
{
	uint8_t command[HANDSHAKE_NL_COMMAND], answer[ANSWER];
	uint32_t seq = ++handshakes->seq;
	int err = send_command(handshakes->commands, command,
		handshake_nl_done(command, handshakes->nl.family, seq, request->fd, result, key));
	ssize_t len = 0;

	if (err)
		return err;
	do
		len = receive(handshakes->commands, answer);
	while (len >= 0 && (err = handshake_nl_acked(answer, (size_t)len, seq)) == -EINPROGRESS);
	return len < 0 ? (int)len : err;
}

/* Only a command tells whether this process may send one: end a handshake that does not exist. */
static int check_permission(struct kernel_handshakes *handshakes)
{
	const struct kernel_handshake none = { .fd = -1 };

	return end_handshake(handshakes, &none, 0, 0) == -EPERM ? -EPERM : 0;
}

static int refused(int err, struct diag *diag)
{
	if (err == -EOPNOTSUPP)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"this kernel does not ask for TLS handshakes (CONFIG_NET_HANDSHAKE)");
	if (err == -EPERM)
		return diag_set(diag, DIAG_PERMISSION, EPERM,
			"only root can answer the kernel's TLS handshakes");
	return diag_sys(diag, -err, "wait for the kernel's TLS handshakes");
}

int kernel_handshakes_open(struct kernel_handshakes **out, struct loop *loop,
	void (*ready)(void *user), void *user, struct diag *diag)
{
	struct kernel_handshakes *handshakes = calloc(1, sizeof(*handshakes));
	int err;

	if (!handshakes)
		return diag_sys(diag, ENOMEM, "TLS handshakes");
	*handshakes = (struct kernel_handshakes){ .loop = loop,
		.ready = ready,
		.user = user,
		.notify = { .fd = open_socket(), .events = EPOLLIN, .ready = notified },
		.commands = open_socket() };
	err = handshakes->notify.fd < 0  ? handshakes->notify.fd
	      : handshakes->commands < 0 ? handshakes->commands
					 : join(handshakes);
	if (!err)
		err = check_permission(handshakes);
	if (err)
		err = refused(err, diag);
	else
		err = loop_fd_add(loop, &handshakes->notify, diag);
	if (err) {
		kernel_handshakes_close(handshakes);
		return err;
	}
	*out = handshakes;
	return 0;
}

void kernel_handshakes_close(struct kernel_handshakes *handshakes)
{
	if (!handshakes)
		return;
	loop_fd_del(handshakes->loop, &handshakes->notify);
	if (handshakes->notify.fd >= 0)
		close(handshakes->notify.fd);
	if (handshakes->commands >= 0)
		close(handshakes->commands);
	free(handshakes);
}

int kernel_handshakes_accept(
	struct kernel_handshakes *handshakes, struct kernel_handshake *request, struct diag *diag)
{
	uint8_t command[HANDSHAKE_NL_COMMAND], answer[ANSWER];
	uint32_t seq = ++handshakes->seq;
	int err = send_command(handshakes->commands, command,
		handshake_nl_accept(command, handshakes->nl.family, seq));
	ssize_t len = 0;

	if (!err)
		do
			len = receive(handshakes->commands, answer);
		while (len >= 0 && (err = handshake_nl_accepted(
					    answer, (size_t)len, seq, request)) == -EINPROGRESS);
	if (!err && len < 0)
		err = (int)len;
	if (err == -EPROTO && request->fd >= 0) {
		kernel_handshakes_done(handshakes, request, EPROTO, 0, NULL);
		return diag_set(diag, DIAG_UNSUPPORTED, EBADMSG,
			"the kernel asks for an unknown kind of TLS handshake");
	}
	if (!err || err == -EAGAIN)
		return err;
	return diag_sys(diag, -err, "take the kernel's request for a TLS handshake");
}

int kernel_handshakes_done(struct kernel_handshakes *handshakes,
	const struct kernel_handshake *request, int result, int32_t key, struct diag *diag)
{
	int err = end_handshake(handshakes, request, result, key);

	close(request->fd);
	return err ? diag_sys(diag, -err, "report the TLS handshake to the kernel") : 0;
}
