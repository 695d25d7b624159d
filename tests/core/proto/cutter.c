/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The PDU cutter on a stream that arrives in every possible pair of pieces, against a small
 * protocol with all that real ones have: headers of several lengths, padding, payload that is kept
 * or dropped, trailers. include/stream.h in place of core/net/tcp.c. */
#include "cutter.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define HEAD_MAX 12
#define STREAM   262144
#define PDUS     16

/* byte 0: header length 8 or 12; 1: padding; 2: flags; 3: its number; 4..7: payload */
enum { DROP = 1, TRAILER = 2 };

struct pdu {
	uint8_t hlen, pad, flags;
	uint32_t len;
};

static struct {
	uint8_t bytes[STREAM];
	size_t len, at;
	size_t piece[4]; /* ends of what arrives together; 0 = all */
	size_t least;    /* bytes of each receive, 0 = as many as there are */
	bool ended;
	unsigned receives, most_iov;
	size_t direct; /* bytes that went in place */
} wire;

static struct {
	struct cutter cutter;
	uint8_t stage[65536];
	uint8_t place[STREAM]; /* the payloads, one behind the other */
	size_t kept, landed;
	unsigned heads, payloads, trailers, stops;
	unsigned stop_every, turn;
	bool trailer; /* comes next */
	struct pdu pdu;
} got;

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	size_t end = wire.len, len;
	ssize_t n = 0;

	(void)stream;
	wire.receives++;
	if ((unsigned)count > wire.most_iov)
		wire.most_iov = (unsigned)count;
	for (unsigned i = 0; i < 4; i++)
		if (wire.piece[i] > wire.at && wire.piece[i] < end)
			end = wire.piece[i];
	if (wire.least && end > wire.at + wire.least)
		end = wire.at + wire.least;
	if (wire.at == wire.len && wire.ended)
		return -ECONNRESET;
	for (int i = 0; i < count; i++) {
		cr_assert(iov[i].iov_len, "an empty place");
		len = end - wire.at < iov[i].iov_len ? end - wire.at : iov[i].iov_len;
		memcpy(iov[i].iov_base, wire.bytes + wire.at, len);
		wire.at += len;
		n += (ssize_t)len;
		if (count == 2 && !i)
			wire.direct += len;
	}
	return n;
}

static uint8_t pattern(unsigned pdu, size_t at)
{
	return (uint8_t)(pdu * 31 + at * 7 + at / 251);
}

static void put(const struct pdu *pdus, unsigned count)
{
	memset(&wire, 0, sizeof(wire));
	for (unsigned i = 0; i < count; i++) {
		const struct pdu *pdu = &pdus[i];
		uint8_t *p = wire.bytes + wire.len;

		memset(p, 0xee, pdu->hlen + pdu->pad);
		p[0] = pdu->hlen;
		p[1] = pdu->pad;
		p[2] = pdu->flags;
		p[3] = (uint8_t)i;
		memcpy(p + 4, &pdu->len, sizeof(pdu->len));
		p += pdu->hlen + pdu->pad;
		for (size_t k = 0; k < pdu->len; k++)
			*p++ = pattern(i, k);
		if (pdu->flags & TRAILER)
			for (unsigned k = 0; k < 4; k++)
				*p++ = (uint8_t)(0xa0 + i);
		wire.len = (size_t)(p - wire.bytes);
		cr_assert_leq(wire.len, STREAM);
	}
}

static bool stop(void)
{
	return got.stop_every && ++got.turn % got.stop_every == 0 && ++got.stops;
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	struct pdu *pdu = &got.pdu;

	cr_assert(len);
	if (stop())
		return CUTTER_STOP;
	if (got.trailer) {
		if (len < 4)
			return 0;
		cr_assert_eq(p[0], 0xa0 + got.heads - 1);
		cr_assert_eq(p[3], p[0]);
		got.trailer = false;
		got.trailers++;
		return 4;
	}
	if (len < 8 || len < p[0])
		return 0;
	cr_assert(p[0] == 8 || p[0] == HEAD_MAX, "not a header");
	cr_assert_eq(p[3], got.heads);
	*pdu = (struct pdu){ p[0], p[1], p[2], 0 };
	memcpy(&pdu->len, p + 4, sizeof(pdu->len));
	got.heads++;
	cutter_skip(cutter, pdu->pad);
	got.trailer = pdu->flags & TRAILER;
	if (pdu->len)
		cutter_payload(cutter, pdu->flags & DROP ? NULL : got.place + got.kept, pdu->len);
	return pdu->hlen;
}

static bool payload(struct cutter *cutter)
{
	cr_assert_eq(cutter->rest, 0);
	got.payloads++;
	if (!(got.pdu.flags & DROP)) {
		for (size_t i = 0; i < got.pdu.len; i++)
			cr_assert_eq(got.place[got.kept + i], pattern(got.heads - 1, i));
		got.kept += got.pdu.len;
		cr_assert_eq(got.landed, got.kept, "each byte was shown once");
	}
	return !stop();
}

static void landed(struct cutter *cutter, const uint8_t *p, uint32_t len)
{
	(void)cutter;
	cr_assert_eq(p, got.place + got.landed, "in order");
	got.landed += len;
}

static const struct cutter_events events = { part, payload, landed };

static void start(uint32_t size, unsigned stop_every)
{
	memset(&got, 0, sizeof(got));
	cutter_init(&got.cutter, &events, got.stage, size);
	got.stop_every = stop_every;
	wire.at = 0;
	wire.receives = 0;
	wire.direct = 0;
}

/* As often as the loop would call; after a stop the owner also resumes by itself. */
static void receive_all(const struct pdu *pdus, unsigned count)
{
	unsigned payloads = 0, trailers = 0, calls = 0;

	while (wire.at < wire.len || got.cutter.stopped) {
		cr_assert_lt(calls++, 4 * STREAM, "it stands still");
		cr_assert_eq(cutter_receive(&got.cutter, NULL), 0);
		if (got.cutter.stopped && calls & 1)
			cutter_resume(&got.cutter);
		cr_assert_leq(got.cutter.to, got.cutter.size);
	}
	for (unsigned i = 0; i < count; i++) {
		payloads += !!pdus[i].len;
		trailers += !!(pdus[i].flags & TRAILER);
	}
	cr_assert_eq(got.heads, count);
	cr_assert_eq(got.payloads, payloads);
	cr_assert_eq(got.trailers, trailers);
	cr_assert_eq(got.cutter.from, got.cutter.to);
}

static const struct pdu mixed[] = {
	{ 8, 0, 0, 0 },
	{ 12, 3, 0, 5 },
	{ 8, 0, TRAILER, 17 },
	{ 12, 0, DROP, 9 },
	{ 8, 2, 0, 0 },
	{ 12, 1, TRAILER, 1 },
	{ 8, 0, DROP | TRAILER, 30 },
	{ 12, 0, TRAILER, 0 },
};
#define MIXED (sizeof(mixed) / sizeof(mixed[0]))
static const uint32_t sizes[] = { HEAD_MAX, HEAD_MAX + 1, 40, 65536 };

Test(cutter, every_pair_of_cuts)
{
	put(mixed, MIXED);
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t a = 1; a < wire.len; a++)
			for (size_t b = a; b < wire.len; b++) {
				wire.piece[0] = a;
				wire.piece[1] = b;
				start(sizes[s], 0);
				receive_all(mixed, MIXED);
			}
}

Test(cutter, every_piece_size)
{
	put(mixed, MIXED);
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (wire.least = 1; wire.least <= wire.len; wire.least++) {
			start(sizes[s], 0);
			receive_all(mixed, MIXED);
		}
}

/* An owner that stops loses nothing and sees nothing twice. */
Test(cutter, stops_anywhere)
{
	put(mixed, MIXED);
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (unsigned every = 2; every < 40; every++)
			for (wire.least = 1; wire.least < 40; wire.least++) {
				start(sizes[s], every);
				receive_all(mixed, MIXED);
				cr_assert(got.stops || every > 16);
			}
}

/* While the owner can't take the next part nothing is received, so the stage has a bound. */
Test(cutter, a_stopped_owner_is_not_filled)
{
	put(mixed, MIXED);
	start(HEAD_MAX, 1);
	for (unsigned i = 0; i < 10; i++)
		cutter_receive(&got.cutter, NULL);
	cr_assert_eq(wire.receives, 1);
	cr_assert_eq(wire.at, HEAD_MAX);
	cr_assert_eq(got.heads, 0);
	cr_assert_eq(got.cutter.to - got.cutter.from, HEAD_MAX, "the stage is full");
	got.stop_every = 0;
	receive_all(mixed, MIXED);
}

/* An owner that wants what follows at hand gets it into the stage, until that is full. */
Test(cutter, receives_ahead_of_a_stopped_owner)
{
	put(mixed, MIXED);
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (unsigned every = 1; every < 20; every++)
			for (wire.least = 1; wire.least < 40; wire.least++) {
				start(sizes[s], every);
				for (unsigned i = 0; wire.at < wire.len && i < 4 * STREAM; i++) {
					if (!got.cutter.stopped)
						cr_assert_eq(cutter_receive(&got.cutter, NULL), 0);
					else if (cutter_has_room(&got.cutter))
						cr_assert_eq(
							cutter_receive_ahead(&got.cutter, NULL), 0);
					else
						break;
					cr_assert_leq(got.cutter.to, got.cutter.size);
				}
				cr_assert(wire.at == wire.len ||
					  got.cutter.to - got.cutter.from == got.cutter.size);
				got.stop_every = every > 1 ? every : 0;
				receive_all(mixed, MIXED);
			}
}

Test(cutter, the_end_of_the_stream_of_a_stopped_owner)
{
	put(mixed, MIXED);
	wire.ended = true;
	start(65536, 1);
	cr_assert_eq(cutter_receive(&got.cutter, NULL), 0);
	while (wire.at < wire.len)
		cr_assert_eq(cutter_receive_ahead(&got.cutter, NULL), 0);
	cr_assert_eq(cutter_receive_ahead(&got.cutter, NULL), -ECONNRESET);
	cr_assert_eq(got.heads, 0);
}

/* Once large payloads come, each takes one receive, together with the next header, and little of it
 * is copied. */
Test(cutter, large_payloads_in_place)
{
	static const struct pdu large[] = {
		{ 12, 0, 0, 40000 },
		{ 8, 0, 0, 0 },
		{ 12, 0, TRAILER, 33000 },
		{ 8, 0, 0, 0 },
		{ 8, 0, 0, 0 },
		{ 12, 0, 0, 50000 },
		{ 12, 4, 0, 32768 },
	};
	const unsigned count = sizeof(large) / sizeof(large[0]);

	put(large, count);
	start(HEAD_MAX, 0);
	receive_all(large, count);
	cr_assert_geq(wire.direct + HEAD_MAX, got.kept, "only what came with padding was copied");
	start(65536, 0);
	wire.piece[0] = 100; /* the first one has to show that they are large */
	receive_all(large, count);
	cr_assert_eq(wire.most_iov, 2);
	cr_assert_leq(wire.receives, 1 + 4 + 1);
	cr_assert_geq(wire.direct, got.kept - 100 - 3 * 512);
	wire.piece[0] = 0;
	for (wire.least = 1; wire.least < 60000; wire.least += 397) {
		start(65536, 0);
		receive_all(large, count);
	}
}

/* Small ones are taken together. */
Test(cutter, small_payloads_through_the_stage)
{
	struct pdu small[PDUS];

	for (unsigned i = 0; i < PDUS; i++)
		small[i] = (struct pdu){ 8, 0, 0, i % 2 ? 4000 : 4096 };
	put(small, PDUS);
	start(65536, 0);
	receive_all(small, PDUS);
	cr_assert_eq(wire.receives, 1);
}

/* Who sends without a pause does not keep the loop. */
Test(cutter, rounds)
{
	struct pdu pdus[PDUS];

	for (unsigned i = 0; i < PDUS; i++)
		pdus[i] = (struct pdu){ 8, 0, 0, 40 };
	put(pdus, PDUS);
	start(HEAD_MAX, 0);
	wire.least = 0;
	for (wire.least = 0; got.heads < PDUS;) {
		unsigned before = wire.receives;

		cutter_receive(&got.cutter, NULL);
		cr_assert_leq(wire.receives - before, 64);
	}
}

/* An owner that answers at the end of a turn wants it to end. */
Test(cutter, fewer_rounds)
{
	struct pdu pdus[PDUS];

	for (unsigned i = 0; i < PDUS; i++)
		pdus[i] = (struct pdu){ 8, 0, 0, 40 };
	put(pdus, PDUS);
	start(HEAD_MAX, 0);
	got.cutter.rounds = 1;
	for (unsigned calls = 1; got.heads < PDUS; calls++) {
		cr_assert_eq(cutter_receive(&got.cutter, NULL), 0);
		cr_assert_eq(wire.receives, calls);
	}
}

Test(cutter, the_end_of_the_stream)
{
	put(mixed, MIXED);
	wire.ended = true;
	start(64, 0);
	for (unsigned i = 0; i < 1000 && wire.at < wire.len; i++)
		cr_assert_eq(cutter_receive(&got.cutter, NULL), 0);
	cr_assert_eq(got.heads, MIXED);
	cr_assert_eq(cutter_receive(&got.cutter, NULL), -ECONNRESET);
}
