/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets of NETLINK_ISCSI. The kernel executes a command during the send call, so the answer is
 * there when that returns. */
#include "iscsi_nl.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM (1 << 20) /* receive buffer, bytes: for bursts of events from many sessions */

int kernel_iscsi_socket(bool events)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK,
		.nl_groups = events ? ISCSI_IF_GROUP : 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ISCSI), room = ROOM, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (!bind(fd, (struct sockaddr *)&own, sizeof(own)))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

ssize_t kernel_iscsi_socket_read(int fd, uint8_t *bytes, size_t room)
{
	struct sockaddr_nl from = { 0 };
	socklen_t len = sizeof(from);
	ssize_t got =
		recvfrom(fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &len);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return from.nl_pid || (size_t)got > room ? 0 : got;
}

ssize_t kernel_iscsi_socket_call(int fd, uint8_t *bytes, size_t len)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	uint8_t old[ISCSI_NL_MAX];
	ssize_t got;

	while (kernel_iscsi_socket_read(fd, old, sizeof(old)) > 0) /* a stale answer */
		;
	if (sendto(fd, bytes, len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	got = kernel_iscsi_socket_read(fd, bytes, ISCSI_NL_MAX);
	return got ? got : -EPROTO;
}
