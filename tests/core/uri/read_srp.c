/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* URIs of SRP targets, for the kernel's initiator and for ours. */
#include "kernel_srp.h"
#include "says.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct diag why;
static char line[SRP_LINE];

static int read_for(enum uri_initiator initiator, const char *text, struct uri_srp *srp)
{
	static struct uri parsed;
	int err;

	*srp = (struct uri_srp){ 0 };
	why = (struct diag){ 0 };
	err = uri_parse(&parsed, text, &why);
	if (!err)
		err = uri_srp_read(srp, &parsed, initiator, &why);
	if (!err)
		err = uri_done(&parsed, &why);
	kernel_srp_line(&srp->params, line);
	return err;
}

static int uri(const char *text, struct uri_srp *srp)
{
	return read_for(URI_KERNEL, text, srp);
}

Test(read_srp, for_the_kernel)
{
	struct uri_srp srp;

	cr_assert_eq(uri("srp://fe800000000000000002c90300003001/0002c90300a0b0c0/"
			 "0002C90300A0B0C1?pkey=ffff&service_id=3&io_class=ff00",
			     &srp),
		0, "%s", why.text);
	cr_assert_str_eq(line, "id_ext=0002c90300a0b0c1,ioc_guid=0002c90300a0b0c0,dgid="
			       "fe800000000000000002c90300003001,pkey=ffff,"
			       "service_id=0000000000000003,io_class=ff00");
	cr_assert_eq(srp.lun, SCSI_LUN_ALL);
	cr_assert_eq(srp.lid, 0);
	cr_assert_eq(uri("srp://49151/2/1/7?ch_count=2", &srp), 0, "%s", why.text);
	cr_assert_eq(srp.lid, 49151);
	cr_assert_eq(srp.lun, 7);
	cr_assert_str_eq(line, "id_ext=0000000000000001,ioc_guid=0000000000000002,ch_count=2");
	cr_assert_eq(
		uri("srp+cm://[fe80::1%25lo]:5555/2/1/0?src=[fe80::2]", &srp), 0, "%s", why.text);
	cr_assert(strstr(line, ",dest=[fe80::1%lo]:5555,src=[fe80::2]"), "%s", line);
	cr_assert_eq(srp.lun, 0);
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "srp://49152/2/1", "LID 1_to_49151" },
		{ "srp://0/2/1", "LID 1_to_49151" },
		{ "srp://fe80/2/1", "dgid 'fe80' GID" },
		{ "srp:///2/1", "no_dgid" },
		{ "srp://5:4420/2/1", "GID LID number" },
		{ "srp://5/2", "no_id_ext" },
		{ "srp://5", "no_ioc_guid" },
		{ "srp://5//1", "no_ioc_guid" },
		{ "srp://5/2/1/x", "LUN 'x'" },
		{ "srp://5/2/1/1/1", "LUN '1/1'" },
		{ "srp://5/2/1?sparkle=1", "'sparkle'" },
		{ "srp://5/2/1?dest=1.2.3.4:5", "'dest'" },
		{ "srp://5/2/1?immediate=0", "immediate= not_supported kernel's" },
		{ "srp://u@5/2/1", "SRP user" },
		{ "srp+cm://10.0.0.1/2/1", "HOST:PORT" },
		{ "srp+cm://:5/2/1", "':5' host" },
		{ "nbd://x/2/1", "srp: srp+cm: URI" },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert_lt(uri(wrong[i].text, &srp), 0, "%s", wrong[i].text);
		diag_says(&why, DIAG_USAGE, NULL, wrong[i].words);
	}
}

Test(read_srp, for_our_initiator)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "srp://5/2/1", "dgid '5' GID" },
		{ "srp+cm://10.0.0.1:5/2/1?ch_count=2", "ch_count= only kernel's" },
		{ "srp+cm://10.0.0.1:5/2/1?initiator_ext=x", "initiator_ext 'x'" },
	};
	struct uri_srp srp;

	cr_assert_eq(read_for(URI_OWN, "srp+cm://10.0.0.1:5/0x2/1/7?initiator_ext=3", &srp), 0,
		"%s", why.text);
	cr_assert_str_eq(line, "id_ext=0000000000000001,ioc_guid=0000000000000002,"
			       "initiator_ext=0000000000000003");
	cr_assert_eq(srp.lun, 7);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert_lt(read_for(URI_OWN, wrong[i].text, &srp), 0, "%s", wrong[i].text);
		diag_says(&why, DIAG_USAGE, NULL, wrong[i].words);
	}
}
