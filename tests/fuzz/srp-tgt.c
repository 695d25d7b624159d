/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/srp core/proto/scsi core/target */
/* An initiator that sends the SRP target any messages (a byte of options, two of length, then that
 * many). Each is answered, or ends the channel; the receives are posted again. */
#include "disk.h"
#include "ep_pair.h"
#include "serve.h"
#include "wire/srp.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY (1u << 20)
#define GUID   9 /* first byte of the target's identifiers */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct target *target;
static struct ep_peer peer;
static struct ep *chan;
static bool gone;
static unsigned sent, given; /* messages; requests of the limit that came back */

static void went(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	gone |= ep == chan;
}

static void message(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	const struct srp_rsp *rsp = (const void *)bytes;

	(void)p;
	(void)ep;
	if (len < sizeof(*rsp) || rsp->opcode != SRP_RSP || !get_be32(rsp->delta))
		abort();
	if (len != sizeof(*rsp) + get_be32(rsp->sense_len) + get_be32(rsp->data_len))
		abort();
	given += get_be32(rsp->delta);
	if (given > sent)
		abort();
}

static void begin(void)
{
	struct target_options opt = { .disks = 1, .listens = 1, .nloops = 1, .buffers = 2 };

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	peer = (struct ep_peer){ .gone = went,
		.message = message,
		.memory = calloc(1, MEMORY),
		.memory_at = 0x1000,
		.memory_len = MEMORY,
		.memory_key = 7 };
	for (unsigned i = 0; i < 4096; i++) { /* tables of descriptors */
		struct srp_direct desc = { put_be64(0x1000 + 1024 * (i % 512)), put_be32(7),
			put_be32(512 * (i % 5)) };

		memcpy(peer.memory + i * sizeof(desc), &desc, sizeof(desc));
	}
	ep_pair_peer(loop, &peer);
	opt.disk[0] = (struct target_disk_options){
		.bdev = &fake_disk_new(loop, 1 << 20, 512)->bdev, .uuid = { GUID }, .serial = "S1"
	};
	opt.loops = &loop;
	opt.listen[0].transports = TRANSPORT_VERBS;
	opt.listen[0].at.ss.ss_family = AF_INET;
	if (srp_serve(&target, loop, &opt, 1000, NULL))
		abort();
}

static volatile int turned;

static void stop(struct loop_work *work)
{
	(void)work;
	turned = 1;
}

/* Without waiting for anything. */
static void turns(unsigned count)
{
	static struct loop_work work = { .run = stop };

	while (count--) {
		turned = 0;
		loop_work_add(loop, &work);
		loop_wait(loop, &turned, 0);
	}
}

static void log_in(uint8_t how)
{
	struct srp_login_cm login = { .opcode = SRP_LOGIN_REQ,
		.flags = how & 1 ? SRP_IMMEDIATE : 0,
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT),
		.it_iu_len = put_be32(how & 2 ? 64 : 8260),
		.imm_offset = put_be16(how & 4 ? 4096 : 68),
		.initiator = { 1 } };

	login.target[0] = login.target[8] = GUID;
	peer.called = NULL;
	if (!ep_pair_call(&peer, &login, sizeof(login), 2))
		abort();
	turns(20);
	chan = peer.called;
	if (!chan)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool small = size && data[0] & 2; /* its messages */

	if (!loop)
		begin();
	gone = false;
	sent = given = 0;
	if (!size)
		return 0;
	log_in(data[0]);
	data++;
	size--;
	while (!gone && size >= 2) {
		uint32_t len = (uint32_t)(data[0] << 8 | data[1]) % (small ? 65 : 600);

		data += 2;
		size -= 2;
		len = len < size ? len : (uint32_t)size;
		sent++;
		if (!ep_pair_deliver(chan, data, len))
			abort(); /* each answer has given its receive back */
		data += len;
		size -= len;
		turns(30);
	}
	if (!gone)
		ep_pair_cut(chan);
	turns(30);
	return 0;
}
