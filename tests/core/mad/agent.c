/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Device management of our own port: each attribute, what is refused and with which status, what is
 * dropped, how often one node and all may ask, and a device that goes. */
/* Link: leap */
#include "../../../core/mad/codec.h"
#include "leap.h"
#include "mad_port.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static const struct mad_agent_conf served = { .guid = 0x0123456789abcdef,
	.service_id = 0x13fcdef,
	.text = "rdmastor SRP target",
	.service = "SRP.T10:0123456789abcdef",
	.send_size = 8448,
	.rdma_size = 1u << 20,
	.depth = 64,
	.reads = 16 };
static struct loop *loop;
static struct mad_agent *agent;
static uint8_t request[MAD_LEN];

static void setup(void)
{
	fake_fabric_init(0);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(mad_agent_start(&agent, loop, &fake_fabric.port[0], &served, NULL), 0);
}

static void fini(void)
{
	mad_agent_stop(agent);
	loop_free(loop);
	fake_fabric_free();
}
TestSuite(agent, .init = setup, .fini = fini);

static struct mad_hdr *ask(uint16_t attr, uint32_t mod)
{
	struct mad_hdr *hdr = (void *)request;

	memset(request, 0xa5, sizeof(request)); /* nothing of it may come back */
	*hdr = (struct mad_hdr){ .base_version = 1,
		.mgmt_class = MAD_CLASS_DM,
		.class_version = 1,
		.method = MAD_GET,
		.tid = put_be64(0x1122334455667788),
		.attr = put_be16(attr),
		.mod = put_be32(mod) };
	return hdr;
}

static void turn(void)
{
	loop_wait(loop, &(int){ 0 }, leap_now + 1000000);
}

/* The attribute of the answer; NULL: there is none. */
static const void *answer_to(uint16_t lid, uint16_t status)
{
	const struct mad_hdr *hdr = (const void *)fake_fabric.answer,
			     *asked = (const void *)request;
	static const uint8_t zero[DM_DATA_LEN];
	unsigned before = fake_fabric.dm_answers;

	fake_report(lid, request, sizeof(request));
	turn();
	if (fake_fabric.dm_answers == before)
		return NULL;
	cr_assert_eq(get_be64(hdr->tid), 0x1122334455667788);
	cr_assert_eq(get_be16(hdr->attr), get_be16(asked->attr));
	cr_assert_eq(get_be32(hdr->mod), get_be32(asked->mod));
	cr_assert_eq(get_be16(hdr->status), status, "status 0x%04x", get_be16(hdr->status));
	if (status)
		cr_assert_arr_eq(fake_fabric.answer + sizeof(struct dm_hdr), zero, DM_DATA_LEN);
	return fake_fabric.answer + sizeof(struct dm_hdr);
}

static void refused(uint16_t attr, uint32_t mod, uint16_t status)
{
	ask(attr, mod);
	cr_assert_not_null(answer_to(9, status), "attribute 0x%04x modifier 0x%08x", attr, mod);
}

Test(agent, says_what_a_discovery_needs)
{
	const struct class_port_info *info;
	const struct service_entry *entry;
	struct mad_service service;
	struct mad_unit unit = { 0 };
	struct mad_ioc ioc = { 0 };

	ask(MAD_CLASS_PORT_INFO, 0);
	info = answer_to(9, 0);
	cr_assert(info && info->base_version == 1 && info->class_version == 1);
	ask(DM_IO_UNIT_INFO, 0);
	mad_dm_unit_get(&unit, answer_to(9, 0));
	cr_assert_eq(unit.change_id, 1);
	cr_assert_eq(unit.max_controllers, 1);
	cr_assert_eq(mad_dm_unit_slot(&unit, 1), DM_SLOT_PRESENT);
	for (unsigned slot = 2; slot < 257; slot++)
		cr_assert_eq(mad_dm_unit_slot(&unit, slot), DM_SLOT_NONE, "slot %u", slot);
	ask(DM_IOC_PROFILE, 1);
	mad_dm_ioc_get(&ioc, answer_to(9, 0));
	cr_assert_eq(ioc.guid, served.guid);
	cr_assert_eq(ioc.io_class, 0x0100);
	cr_assert_eq(ioc.send_size, 8448);
	cr_assert_eq(ioc.services, 1);
	cr_assert_str_eq(ioc.id, served.text);
	ask(DM_SERVICE_ENTRIES, 1u << 16);
	entry = answer_to(9, 0);
	mad_dm_service_get(&service, entry);
	cr_assert_eq(service.id, served.service_id);
	cr_assert_str_eq(service.name, served.service);
	cr_assert_eq(get_be64(entry[1].id), 0, "only one");
}

Test(agent, refuses_what_it_has_not)
{
	refused(DM_IOC_PROFILE, 0, 0x001c);
	refused(DM_IOC_PROFILE, 2, 0x001c);
	refused(DM_IOC_PROFILE, 0x10001, 0x001c);
	refused(DM_IOC_PROFILE, UINT32_MAX, 0x001c);
	refused(DM_SERVICE_ENTRIES, 0, 0x001c);
	refused(DM_SERVICE_ENTRIES, 1u << 16 | 3u << 8, 0x001c); /* 0 to 3 */
	refused(DM_SERVICE_ENTRIES, 1u << 16 | 1u << 8 | 1, 0x001c);
	refused(DM_SERVICE_ENTRIES, 2u << 16, 0x001c);
	refused(DM_SERVICE_ENTRIES, 1u << 16 | 1, 0x001c);
	/* diagnostics, notices */
	for (uint16_t attr = 0x0020; attr < 0x0026; attr++)
		refused(attr, 0, 0x000c);
	refused(MAD_NOTICE, 0, 0x000c);
	refused(0xffff, 0, 0x000c);
	ask(MAD_CLASS_PORT_INFO, 0)->method = MAD_SET;
	cr_assert_not_null(answer_to(9, 0x000c), "traps are not sent");
}

Test(agent, drops_what_is_no_request)
{
	ask(DM_IO_UNIT_INFO, 0)->method = MAD_GET | MAD_RESPONSE;
	cr_assert_null(answer_to(9, 0), "two agents would never end");
	ask(DM_IO_UNIT_INFO, 0)->method = MAD_SET | MAD_RESPONSE;
	cr_assert_null(answer_to(9, 0));
	ask(DM_IO_UNIT_INFO, 0)->method = 0x05; /* Trap */
	cr_assert_null(answer_to(9, 0));
	ask(DM_IO_UNIT_INFO, 0)->mgmt_class = MAD_CLASS_SA;
	cr_assert_null(answer_to(9, 0));
	ask(DM_IO_UNIT_INFO, 0)->class_version = 2;
	cr_assert_null(answer_to(9, 0));
	ask(DM_IO_UNIT_INFO, 0)->base_version = 0x80;
	cr_assert_null(answer_to(9, 0));
	ask(DM_IO_UNIT_INFO, 0);
	fake_report(9, request, sizeof(struct mad_hdr));
	fake_report(9, request, MAD_LEN - 1);
	turn();
	cr_assert_eq(fake_fabric.dm_answers, 0);
	cr_assert_eq(fake_fabric.opens, 1);
	cr_assert_not_null(answer_to(9, 0), "and answers the next request");
}

Test(agent, drops_a_longer_datagram)
{
	uint8_t longer[2 * MAD_LEN];

	ask(DM_IO_UNIT_INFO, 0);
	memcpy(longer, request, MAD_LEN);
	memcpy(longer + MAD_LEN, request, MAD_LEN);
	fake_report(9, longer, sizeof(longer));
	turn();
	cr_assert(!fake_fabric.dm_answers && fake_fabric.opens == 1);
	cr_assert_not_null(answer_to(9, 0));
}

/* Requests of so many nodes in turn; how many are answered. */
static unsigned flood(unsigned count, unsigned nodes)
{
	unsigned before = fake_fabric.dm_answers;

	ask(DM_IO_UNIT_INFO, 0);
	for (unsigned i = 0; i < count; i++) {
		fake_report((uint16_t)(1 + i % nodes), request, sizeof(request));
		if (i % 50 == 49)
			loop_wait(loop, &(int){ 0 }, leap_now + 1000);
	}
	turn();
	return fake_fabric.dm_answers - before;
}

static void begin_second(void)
{
	leap_now = (leap_now / 1000000000 + 2) * 1000000000;
	turn();
}

Test(agent, answers_only_so_many_in_a_second)
{
	begin_second();
	cr_assert_eq(flood(3000, 1), 100, "of one node");
	ask(DM_IO_UNIT_INFO, 0);
	cr_assert_not_null(answer_to(2, 0), "others may ask nevertheless");
	begin_second();
	cr_assert_eq(flood(25000, 250), 1000 + 250 * 16, "of all, and the share of each");
	begin_second();
	ask(DM_IO_UNIT_INFO, 0);
	cr_assert_not_null(answer_to(1, 0), "and all again a second later");
}

/* However many ports flood, another one can still discover; also one that is far from them. */
Test(agent, a_flood_of_many_stops_no_discovery_of_others)
{
	static const uint16_t others[] = { 41, 1 + 256, 0xbfff };

	begin_second();
	cr_assert_geq(flood(6000, 40), 1000);
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		for (unsigned n = 0; n < 16; n++) {
			ask(DM_IO_UNIT_INFO, 0);
			cr_assert_not_null(answer_to(others[i], 0), "LID %u", others[i]);
		}
	cr_assert_null(answer_to(41, 0), "no more than its share");
}

/* With an LMC a port has several LIDs, which count together. */
Test(agent, counts_all_lids_of_a_port_together)
{
	mad_agent_stop(agent);
	fake_fabric.port[0].lmc = 3;
	cr_assert_eq(mad_agent_start(&agent, loop, &fake_fabric.port[0], &served, NULL), 0);
	begin_second();
	cr_assert_eq(flood(3000, 7), 100, "LIDs 1 to 7");
	ask(DM_IO_UNIT_INFO, 0);
	cr_assert_not_null(answer_to(8, 0), "the next port");
}

static void wait_ms(unsigned ms)
{
	loop_wait(loop, &(int){ 0 }, leap_now + ms * 1000000ull);
}

Test(agent, a_device_that_goes_and_comes_back)
{
	fake_fabric.gone = true;
	fake_report(9, request, sizeof(request));
	turn();
	fake_fabric.open_err = ENODEV;
	wait_ms(5000);
	cr_assert_eq(fake_fabric.opens, 1);
	fake_fabric.gone = false;
	fake_fabric.open_err = 0;
	wait_ms(1100);
	cr_assert_eq(fake_fabric.opens, 2);
	ask(DM_IO_UNIT_INFO, 0);
	cr_assert_not_null(answer_to(9, 0));
	fake_fabric.gone = true; /* and is away when the agent ends */
	fake_report(9, request, sizeof(request));
	turn();
}

Test(agent, another_program_answers)
{
	struct mad_agent *other;
	struct diag diag = { 0 };

	fake_fabric.served_by_other = true;
	cr_assert_eq(mad_agent_start(&other, loop, &fake_fabric.port[0], &served, &diag), -EBUSY);
	diag_says(&diag, DIAG_BUSY, "fake0 port 1", "");
	fake_fabric.served_by_other = false;
	fake_fabric.open_err = EACCES;
	cr_assert_eq(mad_agent_start(&other, loop, &fake_fabric.port[0], &served, &diag), -EACCES);
}
