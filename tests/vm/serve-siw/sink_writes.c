/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sink-writes ADDRESS: a host that was given the key of an RDMA READ's sink by an NVMe target on an
 * iWARP device, and writes with it. Prints one line for each place it writes to: "refused" when the
 * target ended the connection over it. */
#include "../../fake/raw_host.h"
#include "applet.h"
#include "wire/iwarp.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

const struct applet *const applets[] = { NULL };

static const struct nvmf_connect ask = { .depth = 32,
	.cntlid = 0xffff,
	.subnqn = "nqn.2014-08.org.nvmexpress.discovery",
	.hostnqn = "nqn.x:sink-writes",
	.hostid = { 1 } };

static struct nvmf_connect_data data;

/* Until it is so, at most 5 s. */
static bool reached(struct raw_host *raw, bool (*so)(const struct raw_host *))
{
	struct pollfd fd = { .fd = raw->fd, .events = POLLIN };

	for (unsigned i = 0; i < 500; i++) {
		raw_poll(raw);
		if (so(raw))
			return true;
		poll(&fd, 1, 10);
	}
	return false;
}

static bool up(const struct raw_host *raw)
{
	return raw->up;
}

static bool wanting(const struct raw_host *raw)
{
	return raw->transfers;
}

static bool replied(const struct raw_host *raw)
{
	return raw->replies;
}

static bool over(const struct raw_host *raw)
{
	return raw->over;
}

static void need(bool so, const char *what)
{
	if (so)
		return;
	fprintf(stderr, "sink-writes: no %s\n", what);
	exit(1);
}

static void write_to(struct raw_host *raw, uint32_t stag, uint64_t to)
{
	struct {
		struct ddp_tagged head;
		uint8_t bytes[64];
	} write = { .head = { .c = { .ddp = DDP_TAGGED | DDP_VERSION | DDP_LAST,
				      .rdmap = RDMAP_VERSION | RDMAP_WRITE },
			    .stag = put_be32(stag),
			    .to = put_be64(to) } };

	memset(write.bytes, 0x66, sizeof(write.bytes));
	raw_fpdu(raw, (uint8_t *)&write + MPA_LEN_SIZE, sizeof(write) - MPA_LEN_SIZE);
}

/* raw_hello() speaks MPA revision 1, which names no read limits: siw then reports that it may not
 * read. */
static void hello(struct raw_host *raw)
{
	struct {
		struct mpa_frame frame;
		struct mpa_limits limits;
		struct nvmf_rdma_req req;
	} frame = { .frame = { .key = MPA_KEY_REQ,
			    .flags = MPA_ENHANCED,
			    .revision = 2,
			    .priv_len = put_be16(sizeof(frame) - sizeof(frame.frame)) },
		.limits = { put_be16(16), put_be16(16) } };

	nvmf_rdma_req_put(
		&frame.req, &(struct nvmf_rdma_req_info){ .qid = 0, .receives = 32, .depth = 32 });
	raw_bytes(raw, &frame, sizeof(frame));
}

/* A Connect whose data the target has to read: the key of where to. */
static struct raw_host *asked(const struct addr *at, struct raw_transfer *sink)
{
	struct raw_host *raw = raw_dial(at, true);
	struct nvmf_connect_sqe connect;
	struct nvme_sqe sqe;

	hello(raw);
	need(reached(raw, up), "answer to the MPA request");
	nvmf_connect_put(&connect, &data, &ask);
	connect.sgl = raw_sgl(raw, sizeof(data));
	memcpy(&sqe, &connect, sizeof(sqe));
	raw_command(raw, &sqe, NULL, 0);
	need(reached(raw, wanting), "READ request");
	*sink = raw->transfer[0];
	return raw;
}

static void check_end(const char *where, struct raw_host *raw)
{
	printf("%s: %s\n", where, reached(raw, over) ? "refused" : "written");
	raw_close(raw);
}

int main(int argc, char **argv)
{
	struct diag why = { 0 };
	struct raw_host *raw;
	struct raw_transfer sink;
	struct addr at;

	if (argc != 2 || addr_parse(&at, argv[1], 4420, &why)) {
		fprintf(stderr, "usage: sink-writes ADDRESS %s\n", why.text);
		return 2;
	}
	raw = asked(&at, &sink);
	write_to(raw, sink.stag, sink.off + sink.len);
	check_end("behind the sink of a READ in flight", raw);

	raw = asked(&at, &sink);
	raw_give(raw, 0, &data, 0, false);
	need(reached(raw, replied), "reply to Connect");
	write_to(raw, sink.stag, sink.off);
	check_end("into the sink of a READ that is done", raw);
	return 0;
}
