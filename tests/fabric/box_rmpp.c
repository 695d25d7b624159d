/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of more than one datagram (RMPP; 13.6), cut and acknowledged as the kernel does. ibsim
 * loses nothing and keeps the order, so the sender does not wait for acknowledgements. */
#include "box.h"

enum rmpp_type { RMPP_DATA = 1, RMPP_ACK = 2 };
#define RMPP_EACH   220 /* of a segment, the rest of a class's header included */
#define VENDOR2     0x30
#define VENDOR2_END 0x4f

bool rmpp_class(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SA || mgmt_class == MAD_CLASS_DM || mgmt_class == 0x10 ||
	       mgmt_class == 0x12 || (mgmt_class >= VENDOR2 && mgmt_class <= VENDOR2_END);
}

size_t rmpp_header(uint8_t mgmt_class)
{
	if (mgmt_class == MAD_CLASS_SA)
		return sizeof(struct sa_hdr);
	if (mgmt_class == MAD_CLASS_DM || mgmt_class == 0x10 || mgmt_class == 0x12)
		return sizeof(struct dm_hdr);
	if (mgmt_class >= VENDOR2 && mgmt_class <= VENDOR2_END)
		return sizeof(struct mad_hdr) + sizeof(struct mad_rmpp) + 4;
	return sizeof(struct mad_hdr);
}

bool rmpp_active(const void *mad)
{
	const struct mad_rmpp *rmpp = (const void *)((const struct mad_hdr *)mad + 1);

	return rmpp->rtime_flags & MAD_RMPP_ACTIVE;
}

bool rmpp_is_data(const struct mad_hdr *mad)
{
	return ((const struct mad_rmpp *)(mad + 1))->type == RMPP_DATA;
}

void rmpp_ack(uint8_t ack[MAD_LEN], const struct mad_hdr *of, uint32_t segment, uint32_t window)
{
	struct mad_hdr *mad = (void *)ack;

	memset(ack, 0, MAD_LEN);
	memcpy(ack, of, rmpp_header(of->mgmt_class));
	mad->method ^= MAD_RESPONSE;
	*(struct mad_rmpp *)(mad + 1) = (struct mad_rmpp){
		.version = 1,
		.type = RMPP_ACK,
		.rtime_flags = MAD_RMPP_ACTIVE,
		.segment = put_be32(segment),
		.length = put_be32(window),
	};
}

unsigned rmpp_cut(uint8_t segment[MAD_LEN], const uint8_t *mad, size_t len, unsigned number)
{
	size_t header = rmpp_header(((const struct mad_hdr *)mad)->mgmt_class),
	       each = MAD_LEN - header;
	size_t data = len > header ? len - header : 0, from = (number - 1) * each;
	unsigned count = data ? (unsigned)((data + each - 1) / each) : 1;
	uint32_t pad = (uint32_t)(count * each - data);
	struct mad_rmpp *rmpp = (void *)(segment + sizeof(struct mad_hdr));

	memset(segment, 0, MAD_LEN);
	memcpy(segment, mad, header);
	memcpy(segment + header, mad + header + from,
		from < data ? (data - from < each ? data - from : each) : 0);
	rmpp->version = 1;
	rmpp->type = RMPP_DATA;
	rmpp->rtime_flags = (uint8_t)((rmpp->rtime_flags & 0xf8) | MAD_RMPP_ACTIVE |
				      (number == 1 ? 2 : 0) | (number == count ? 4 : 0));
	rmpp->status = 0;
	rmpp->segment = put_be32(number);
	rmpp->length = put_be32(number == count ? RMPP_EACH - pad
				: number == 1   ? count * RMPP_EACH - pad
						: 0);
	return count;
}
