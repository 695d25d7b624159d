/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP's names and lines; the lines are those of srptools 44.0 for the same target. */
#include "mad.h"
#include "says.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static bool id_ext(const char *name, const char *expected)
{
	struct mad_service service = { 0 };
	char got[17] = "";

	snprintf(service.name, sizeof(service.name), "%s", name);
	return mad_srp_id_ext(&service, got) && !strcmp(got, expected);
}

Test(srp, service_names)
{
	char got[17];

	cr_assert(id_ext("SRP.T10:0002C90300A0B0C0", "0002C90300A0B0C0"));
	cr_assert(id_ext("SRP.T10:0002C90300A0B0C0FFFF", "0002C90300A0B0C0"));
	cr_assert(id_ext("SRP.T10:  x,y", "x,y"));
	cr_assert_not(mad_srp_id_ext(&(struct mad_service){ .name = "SRP.T10:" }, got));
	cr_assert_not(mad_srp_id_ext(&(struct mad_service){ .name = "srp.t10:1" }, got));
	cr_assert_not(mad_srp_id_ext(&(struct mad_service){ .name = "" }, got));
}

Test(srp, what_is_left_out_is_one_line)
{
	struct mad_service third = { .name = "SRP.T10:\x1b[31mRED" },
			   second = { .next = &third, .name = "SRP.T10:1,pkey=1" },
			   first = { .next = &second, .name = "SRP.T10:1" };
	struct mad_ioc ioc = { .service = &first };
	struct mad_unit unit = { .ioc = &ioc };
	struct mad_target target = { 0 };
	char text[160];

	cr_assert_not(mad_srp_describe_ignored(&target, text));
	target.unit = &unit;
	cr_assert(mad_srp_describe_ignored(&target, text));
	text_says(text, "'SRP.T10:1,pkey=1' and_1_more number");
	second.next = NULL;
	cr_assert(mad_srp_describe_ignored(&target, text));
	text_says(text, "'SRP.T10:1,pkey=1': number");
	cr_assert_null(strstr(text, "more"));
	first.next = NULL;
	cr_assert_not(mad_srp_describe_ignored(&target, text));
}

Test(srp, lines)
{
	struct mad_target target = { .prefix = 0xfe80000000000000, .guid = 0x100007 };
	struct mad_service service = { .id = 0x0002c90300a0b0d0,
		.name = "SRP.T10:0002C90300A0B0C0" };
	struct mad_ioc ioc = { .guid = 0x0002c90300a0b0c0, .io_class = 0x0100, .send_size = 2052 };
	struct mad_unit unit = { .pkey = 0xffff };
	const struct mad_srp_options imm_2052 = { .imm_data = 2052 },
				     imm_8192 = { .imm_data = 8192 };
	const struct mad_srp_options all = { .initiator_ext = true,
		.tl_retry_count = 7,
		.options = ",max_sect=65535,queue_size=7",
		.imm_data = 8192 };
	struct mad_srp srp;
	char line[MAD_SRP_LINE];

#define PLAIN                                                                                      \
	"id_ext=0002C90300A0B0C0,ioc_guid=0002c90300a0b0c0,dgid=fe800000000000000000000000100007," \
	"pkey=ffff,service_id=0002c90300a0b0d0"
	cr_assert(mad_srp_get(&srp, &target, &unit, &ioc, &service));
	mad_srp_command(&srp, &(struct mad_srp_options){ 0 }, line);
	cr_assert_str_eq(line, PLAIN);
	mad_srp_command(&srp, &imm_2052, line);
	cr_assert_str_eq(line, PLAIN);
	ioc.io_class = 0xff00;
	mad_srp_get(&srp, &target, &unit, &ioc, &service);
	mad_srp_command(&srp, &imm_8192, line);
	cr_assert_str_eq(line, PLAIN ",io_class=ff00,max_it_iu_size=2052");
	mad_srp_command(&srp, &all, line);
	cr_assert_str_eq(line, PLAIN ",io_class=ff00,initiator_ext=0000000000100007,tl_retry_count="
				     "7,max_sect=65535,queue_size=7,max_it_iu_size=2052");
	mad_srp_uri(&target, &unit, &ioc, &service, line);
	cr_assert_str_eq(line,
		"srp://fe800000000000000000000000100007/0002c90300a0b0c0/"
		"0002C90300A0B0C0?pkey=ffff&service_id=0002c90300a0b0d0&io_class=ff00");
}
