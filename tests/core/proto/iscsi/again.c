/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI initiator loses its connections to our target, which doesn't notice: it comes back as
 * the same initiator ports, so that its reservations hold and the sessions that it left end. */
/* Link: leap */
#include "../../../../core/block/paths.h"
#include "scsi/disk.h"
#include "serving.h"
#include "wire.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MSEC  1000000ull
#define LINKS 16
#define KEY   7

/* Bytes from the initiator's connections to the target's, and back. */
static struct link {
	struct loop_fd end[2]; /* the initiator's, the target's */
	bool cut;
} links[LINKS];
static struct loop_fd port;
static unsigned count;

static void forward(struct loop_fd *from, uint32_t events)
{
	struct link *link = &links[0];
	uint8_t bytes[65536];
	struct loop_fd *to;
	ssize_t got;

	(void)events;
	while (from != &link->end[0] && from != &link->end[1])
		link++;
	to = &link->end[from == &link->end[0]];
	got = recv(from->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got > 0 && !link->cut) {
		cr_assert_eq(send(to->fd, bytes, (size_t)got, MSG_NOSIGNAL), got);
		return;
	}
	if (got > 0)
		return;
	for (int i = 0; i < 2; i++)
		loop_fd_del(loop, &link->end[i]);
	if (!link->cut)
		shutdown(to->fd, SHUT_RDWR);
}

static void accepted(struct loop_fd *fd, uint32_t events)
{
	struct link *link = &links[count++];
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)serving_port()),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)events;
	cr_assert_leq(count, LINKS);
	for (int i = 0; i < 2; i++) {
		link->end[i] = (struct loop_fd){ .events = EPOLLIN, .ready = forward };
		link->end[i].fd = i ? socket(AF_INET, SOCK_STREAM, 0) : accept(fd->fd, NULL, NULL);
		cr_assert_geq(link->end[i].fd, 0);
	}
	cr_assert_eq(connect(link->end[1].fd, (struct sockaddr *)&to, sizeof(to)), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(loop_fd_add(loop, &link->end[i], &why), 0);
}

static unsigned listen_here(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	port = (struct loop_fd){
		.fd = socket(AF_INET, SOCK_STREAM, 0), .events = EPOLLIN, .ready = accepted
	};
	cr_assert_eq(bind(port.fd, (struct sockaddr *)&at, len), 0);
	cr_assert_eq(listen(port.fd, LINKS), 0);
	cr_assert_eq(getsockname(port.fd, (struct sockaddr *)&at, &len), 0);
	cr_assert_eq(loop_fd_add(loop, &port, &why), 0);
	return ntohs(at.sin_port);
}

/* The initiator's connections are reset, and the target hears nothing more of them. */
static void cut(void)
{
	const struct linger reset = { .l_onoff = 1 };

	for (unsigned i = 0; i < count; i++) {
		if (links[i].cut)
			continue;
		links[i].cut = true;
		loop_fd_del(loop, &links[i].end[0]);
		setsockopt(links[i].end[0].fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(links[i].end[0].fd);
		links[i].end[0].fd = -1;
	}
}

static void hang_up(void)
{
	loop_fd_del(loop, &port);
	close(port.fd);
	for (unsigned i = 0; i < count; i++)
		for (int k = 0; k < 2; k++) {
			loop_fd_del(loop, &links[i].end[k]);
			if (links[i].end[k].fd >= 0)
				close(links[i].end[k].fd);
		}
}

#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		volatile int never = 0;                                                            \
		for (unsigned ms = 0; !(condition); ms++) {                                        \
			cr_assert_lt(ms, 5000, "not in time: " #condition);                        \
			loop_wait(loop, &never, loop_clock() + MSEC);                              \
		}                                                                                  \
	} while (0)

static unsigned sessions(void)
{
	struct target_status status;

	target_get_status(target, &status);
	return status.clients;
}

static struct scsi_disk *leaf(void)
{
	const struct path *path = &container_of(disk, struct paths, bdev)->path[0];

	return path->state == PATH_UP ? (struct scsi_disk *)path->leaf : NULL;
}

/* PERSISTENT RESERVE OUT over the disk's first session; its status. */
static uint8_t reserve(uint8_t action, uint64_t key, uint64_t new_key)
{
	const uint8_t cdb[SCSI_INI_CDB] = { 0x5f, action, 3, [8] = 24 };
	struct scsi_disk *scsi = leaf();
	struct scsi_slot *slot =
		inflight_take(&scsi->sess->inflight, scsi, loop_clock() + 5000 * MSEC);
	struct scsi_data data = { scsi->page->base, 24, true, scsi->page };

	cr_assert(slot);
	memset(data.p, 0, data.len);
	wire_put_be(data.p, 8, key);
	wire_put_be(data.p + 8, 8, new_key);
	slot->status = 0xff;
	scsi->carrier->send(scsi->sess, slot, scsi->scsi.lun, cdb, &data);
	UNTIL(!slot->flight.owner);
	return slot->status;
}

static void open_disk(const char *keys)
{
	struct bdev_env env = { .write = true, .timeout_ms = 5000, .initiator = "iqn.x:me" };
	char text[200];

	snprintf(text, sizeof(text), "iscsi://127.0.0.1:%u/" SERVING_IQN "/0?loss=forever%s",
		listen_here(), keys);
	cr_assert_eq(bdev_open(&disk, loop, text, &env, &why), 0, "%s", why.text);
	cr_assert_eq(lane_open(&lane, disk, loop, &why), 0, "%s", why.text);
}

Test(iscsi_again, as_the_same_initiator_ports)
{
	struct io flush = { .kind = IO_FLUSH };

	serving_begin(1 << 20, TRANSPORT_TCP, 0);
	serving_start_iscsi();
	open_disk("");
	cr_assert_eq(sessions(), 2);
	cr_assert_eq(reserve(0, 0, KEY), 0); /* REGISTER, RESERVE exclusive access */
	cr_assert_eq(reserve(1, KEY, 0), 0);
	for (unsigned times = 0; times < 2; times++) {
		unsigned before = count;

		cut();
		UNTIL(count == before + 2 && leaf());
		cr_assert_eq(reserve((uint8_t)(2 + times), KEY, 0), 0); /* RELEASE, CLEAR */
		cr_assert_eq(bdev_io_wait(lane, &flush, 5000), 0);
		cr_assert_eq(sessions(), 2);
	}
	host_hang_up();
	hang_up();
	serving_end();
}
