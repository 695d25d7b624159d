/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* trap MASK: tells the subnet manager that the capability mask of this port has changed (trap 144); ibsim itself never does. */
#include "umad.h"
#include <arpa/inet.h>
#include <err.h>
#include <stdlib.h>

#define TRAP        0x05
#define ATTR_NOTICE 0x0002

int main(int argc, char **argv)
{
	struct umad umad = { .hdr = { .lid = htons((uint16_t)umad_sys("sm_lid")) } };
	struct smp_dr *smp = (void *)umad.mad;
	uint16_t lid = (uint16_t)umad_sys("lid");
	int fd;

	if (argc != 2)
		errx(2, "usage: trap MASK");
	fd = umad_open();
	umad.hdr.id = umad_register(fd, MAD_CLASS_SMP, 1, 0, 0);
	smp->mad = (struct mad_hdr){ 1, MAD_CLASS_SMP, 1, TRAP, .tid = put_be64(1), .attr = put_be16(ATTR_NOTICE) };
	smp->data[0] = 0x80 | 4; /* generic, informational; 13.4.8.2 */
	smp->data[3] = 1; /* from a channel adapter */
	wire_put_be(smp->data + 4, 2, 144);
	wire_put_be(smp->data + 6, 2, lid);
	wire_put_be(smp->data + 12, 2, lid); /* 14.2.5.1 */
	wire_put_be(smp->data + 16, 4, strtoul(argv[1], NULL, 16));
	umad_send(fd, &umad);
	return 0;
}
