/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* trap MASK: tells the subnet manager that the capability mask of this port has changed (trap 144);
 * ibsim itself never does. */
#include "umad.h"
#include <arpa/inet.h>
#include <err.h>
#include <stdlib.h>

#define TRAP 0x05

int main(int argc, char **argv)
{
	struct umad umad = { .hdr = { .lid = htons((uint16_t)umad_sys("sm_lid")) } };
	struct smp_dr *smp = (void *)umad.mad;
	struct notice *notice = (void *)smp->data;
	struct notice_caps *caps = (void *)notice->details;
	be16 lid = put_be16((uint16_t)umad_sys("lid"));
	int fd;

	if (argc != 2)
		errx(2, "usage: trap MASK");
	fd = umad_open();
	umad.hdr.id = umad_register(fd, MAD_CLASS_SMP, 1, 0, 0);
	smp->mad = (struct mad_hdr){ 1, MAD_CLASS_SMP, 1, TRAP, .tid = put_be64(1),
		.attr = put_be16(MAD_NOTICE) };
	notice->generic_type = NOTICE_GENERIC | NOTICE_INFORMATIONAL;
	notice->producer = put_be24(MAD_NODE_CA);
	notice->trap = put_be16(144);
	notice->issuer_lid = caps->lid = lid;
	caps->cap_mask = put_be32((uint32_t)strtoul(argv[1], NULL, 16));
	umad_send(fd, &umad);
	return 0;
}
