/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Scans of fabrics in memory: targets found, failures, number of requests. */
/* Link: leap */
#include "mad_port.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct loop *loop;
static struct mad *mad;
static struct mad_scan_result found;
static struct diag diag;

static void setup(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	diag = (struct diag){ 0 };
}

static void fini(void)
{
	mad_scan_result_free(&found);
	loop_free(loop);
	fake_fabric_free();
}
TestSuite(scan, .init = setup, .fini = fini);

static int scan_with(const struct mad_scan_options *options, uint32_t answer_ms)
{
	const struct mad_limits limits = { .answer_ms = answer_ms };
	int err;

	mad_scan_result_free(&found);
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], &limits, NULL), 0);
	err = mad_scan(mad, options, &found, &diag);
	mad_close(mad);
	return err;
}

static int scan(uint32_t answer_ms)
{
	return scan_with(&(struct mad_scan_options){ 0 }, answer_ms);
}

static unsigned units(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < found.count; i++)
		for (struct mad_unit *unit = found.target[i].unit; unit; unit = unit->next)
			n++;
	return n;
}

static unsigned services(const struct mad_target *target)
{
	unsigned n = 0;

	for (struct mad_unit *unit = target->unit; unit; unit = unit->next)
		for (struct mad_ioc *ioc = unit->ioc; ioc; ioc = ioc->next)
			for (struct mad_service *service = ioc->service; service;
				service = service->next)
				n++;
	return n;
}

static void failed(const struct mad_target *target, const char *words)
{
	char text[128];

	text_says(mad_target_error(target, text), words);
}

Test(scan, what_a_target_says_is_kept)
{
	const struct mad_target *target;
	const struct mad_ioc *ioc;

	fake_fabric_init(3);
	fake_fabric.node[0].management = false;
	fake_fabric.node[1].iocs = 3;
	fake_fabric.node[1].services = 9;
	cr_assert_eq(scan(5000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 2);
	cr_assert_eq(found.failed, 0);
	target = &found.target[0];
	cr_assert_eq(target->lid, 11);
	cr_assert_eq(target->guid, 0x200001);
	cr_assert_eq(target->prefix, 0xfe80000000000000);
	cr_assert_eq(target->unit->change_id, 1);
	cr_assert_eq(target->unit->pkey, 0xffff);
	ioc = target->unit->ioc->next->next;
	cr_assert_eq(ioc->slot, 3);
	cr_assert_eq(ioc->guid, 0x2200001);
	cr_assert_eq(ioc->vendor_id, 0x2c9);
	cr_assert_str_eq(ioc->id, "Fake SRP target");
	cr_assert_str_eq(ioc->service->name, "SRP.T10:0000000000200001");
	cr_assert_eq(services(target), 27);
	cr_assert_null(ioc->next);
}

static unsigned targets_done, targets_failed;

static void asked(void *arg, const struct mad_target *target)
{
	cr_assert_eq(arg, &targets_done);
	cr_assert_eq(!target->err, target->unit != NULL);
	targets_done++;
	targets_failed += target->err != 0;
	cr_assert(!target->err || targets_done == 3, "the living come first");
}

Test(scan, each_port_is_reported_as_soon_as_it_is_done)
{
	fake_fabric_init(3);
	fake_fabric.node[0].dead = true;
	cr_assert_eq(
		scan_with(&(struct mad_scan_options){ .target_done = asked, .arg = &targets_done },
			200),
		0, "%s", diag.text);
	cr_assert_eq(targets_done, 3);
	cr_assert_eq(targets_failed, 1);
}

Test(scan, nobody_there_is_a_result)
{
	fake_fabric_init(0);
	cr_assert_eq(scan(1000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 0);
	fake_fabric.sa_status = SA_STATUS_NO_RECORDS;
	cr_assert_eq(scan(1000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 0);
}

/* The peers lose the table above 256 KiB. */
Test(scan, five_thousand_ports)
{
	fake_fabric_init(5000);
	cr_assert_eq(scan(20000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 5000);
	cr_assert_eq(found.failed, 0);
	cr_assert_eq(units(), 5000);
	for (unsigned i = 0; i < 5000; i++)
		cr_assert_eq(found.target[i].guid, 0x200000 + i);
	cr_assert_lt(found.bytes + 5000 * sizeof(struct mad_target), 8u << 20);
	cr_assert_eq(fake_fabric.dm_sent, 4 * 5000, "unit, controller, services, unit again");
}

Test(scan, dead_targets_are_reported_and_hide_no_others)
{
	fake_fabric_init(600);
	for (unsigned i = 0; i < 600; i += 7)
		fake_fabric.node[i].dead = true;
	cr_assert_eq(scan(4000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 600);
	cr_assert_eq(found.failed, 86);
	for (unsigned i = 0; i < 600; i++) {
		cr_assert_eq(found.target[i].err, i % 7 ? 0 : -ETIMEDOUT, "%u", i);
		cr_assert_eq(services(&found.target[i]), i % 7 ? 1 : 0);
	}
	failed(&found.target[0], "answer IOUnitInfo");
}

Test(scan, slow_lossy_and_busy_ones_are_found)
{
	fake_fabric_init(40);
	for (unsigned i = 0; i < 40; i++) {
		fake_fabric.node[i].delay_ms = i % 4 == 1 ? 300 : 0;
		fake_fabric.node[i].drop = i % 4 == 2 ? 2 : 0;
		fake_fabric.node[i].busy = i % 4 == 3 ? 2 : 0;
	}
	fake_fabric.twice = true;
	cr_assert_eq(scan(20000), 0, "%s", diag.text);
	cr_assert_eq(found.failed, 0);
	cr_assert_eq(units(), 40);
}

Test(scan, without_mask_matching_every_node_is_asked)
{
	fake_fabric_init(200);
	for (unsigned i = 0; i < 200; i += 2)
		fake_fabric.node[i].management = false;
	fake_fabric.sa_no_match = true;
	cr_assert_eq(scan(5000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 100);
	cr_assert_eq(found.target[0].lid, 11);
	cr_assert_eq(found.target[0].prefix, 0xfe80000000000000);
	cr_assert_eq(services(&found.target[99]), 1);
}

/* OpenSM refuses a Get of more than one record. */
Test(scan, without_mask_matching_switches_are_asked_by_port)
{
	fake_fabric_init(3);
	fake_fabric.node[0].is_switch = fake_fabric.node[1].is_switch = true;
	fake_fabric.node[0].management = false;
	fake_fabric.sa_no_match = true;
	cr_assert_eq(scan(5000), 0, "%s", diag.text);
	cr_assert_eq(found.failed, 0);
	cr_assert_eq(found.count, 2);
	cr_assert_eq(found.target[0].lid, 11);
	cr_assert_eq(services(&found.target[0]), 1);
}

Test(scan, the_administrator_may_be_elsewhere)
{
	for (unsigned i = 0; i < 2; i++) {
		fake_fabric_init(70);
		fake_fabric.sa_elsewhere = 30;
		fake_fabric.elsewhere_by_get = i;
		cr_assert_eq(scan(2000), 0, "%s", diag.text);
		cr_assert_eq(units(), 70);
		fake_fabric_free();
	}
	fake_fabric_init(0);
}

Test(scan, records_may_be_longer_than_known)
{
	fake_fabric_init(70);
	fake_fabric.sa_pad = 64;
	cr_assert_eq(scan(5000), 0, "%s", diag.text);
	cr_assert_eq(units(), 70);
}

Test(scan, partitions_that_are_shared)
{
	fake_fabric_init(3);
	fake_fabric.port[0].pkeys = 4;
	memcpy(fake_fabric.port[0].pkey, (uint16_t[]){ 0x7fff, 0, 0x8001, 0x8002 }, 8);
	memcpy(fake_fabric.node[0].pkey, (uint16_t[]){ 0x8001, 0xffff }, 4);
	memcpy(fake_fabric.node[1].pkey, (uint16_t[]){ 0x8002 }, 2);
	memcpy(fake_fabric.node[2].pkey, (uint16_t[]){ 0x8003 }, 2);
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.target[0].unit->pkey, 0x7fff);
	cr_assert_eq(found.target[0].unit->next->pkey, 0x8001);
	cr_assert_null(found.target[0].unit->next->next);
	cr_assert_eq(found.target[1].unit->pkey, 0x8002);
	cr_assert_eq(found.target[2].err, -EHOSTUNREACH);
	failed(&found.target[2], "partition");
}

Test(scan, a_unit_that_changes_is_read_again)
{
	fake_fabric_init(2);
	fake_fabric.node[0].change_every = 4; /* once, between the controller and the end */
	fake_fabric.node[1].change_every = 1;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(services(&found.target[0]), 1);
	cr_assert_eq(found.target[0].err, 0);
	cr_assert_eq(found.target[1].err, -EAGAIN);
	cr_assert_eq(services(&found.target[1]), 1, "the last reading is kept");
}

Test(scan, some_need_the_notified_port_first)
{
	fake_fabric_init(2);
	fake_fabric.node[0].guid = 0x0005ad0000000001;
	fake_fabric.node[1].guid = 0x0005ad0000000002;
	fake_fabric.node[1].refuse_attr = MAD_CLASS_PORT_INFO;
	fake_fabric.node[1].refuse_status = 0x000c;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(fake_fabric.traps_to, 1);
	cr_assert_eq(fake_fabric.dm_sent, 2 * 5, "each once");
	cr_assert_eq(found.failed, 0, "what they think of it does not matter");
	cr_assert_eq(units(), 2);
}

Test(scan, refusals_are_reported_with_their_status)
{
	fake_fabric_init(3);
	for (unsigned i = 0; i < 3; i++) {
		fake_fabric.node[i].refuse_attr = (uint16_t)(DM_IO_UNIT_INFO + i);
		fake_fabric.node[i].refuse_status = 0x0100;
	}
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.failed, 3);
	failed(&found.target[0], "0x0100 IOUnitInfo");
	failed(&found.target[1], "0x0100 IOControllerProfile");
	cr_assert_not(found.target[1].unit->ioc->known);
	failed(&found.target[2], "0x0100 ServiceEntries");
	cr_assert(found.target[2].unit->ioc->known);
}

Test(scan, a_silent_subnet_administrator_is_named)
{
	fake_fabric_init(1);
	fake_fabric.sa_dead = true;
	cr_assert_eq(scan(200), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, NULL, "subnet_administrator LID_2");
	text_says(diag.hint, "--walk --lid");
	fake_fabric.port[0].sm_lid = 0;
	cr_assert_eq(scan(200), -ENETUNREACH);
	diag_says(&diag, DIAG_UNREACHABLE, NULL, "subnet_manager");
}

Test(scan, a_refused_table_is_named)
{
	fake_fabric_init(1);
	fake_fabric.sa_status = 0x0700;
	cr_assert_eq(scan(200), -EPROTO);
	diag_says(&diag, DIAG_PROTOCOL, NULL, "LID_2 ports 0x0700");
}

static void cut_table(void *arg, uint8_t *datagram, size_t *len)
{
	(void)datagram;
	if (*len > MAD_LEN)
		*len -= *(size_t *)arg;
}

Test(scan, a_table_cut_short_loses_its_last_record_only)
{
	size_t cut = 30;

	fake_fabric_init(10);
	fake_fabric.mangle = cut_table;
	fake_fabric.arg = &cut;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 9);
	cr_assert(found.cut, "and says so");
	cut = 0;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 10);
	cr_assert_not(found.cut);
}

static void small_records(void *arg, uint8_t *datagram, size_t *len)
{
	struct sa_hdr *hdr = (void *)datagram;

	(void)arg;
	if (hdr->mad.method == (MAD_GET_TABLE | MAD_RESPONSE))
		hdr->attr_offset = put_be16(1);
	(void)len;
}

Test(scan, records_too_short_to_be_any_are_named)
{
	fake_fabric_init(10);
	fake_fabric.mangle = small_records;
	cr_assert_eq(scan(2000), -EPROTO);
	diag_says(&diag, DIAG_PROTOCOL, NULL, "records 8_bytes");
}

Test(scan, the_same_lid_twice_is_one)
{
	fake_fabric_init(4);
	fake_fabric.node[3].lid = 10;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 3);
}

Test(scan, a_lid_that_is_none_is_left_out)
{
	fake_fabric_init(4);
	fake_fabric.node[1].lid = 0;
	fake_fabric.node[2].lid = 0xc000;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 2);
}

/* 255 controllers of 255 services each, from everybody. */
Test(scan, what_liars_say_is_bounded)
{
	fake_fabric_init(12);
	for (unsigned i = 0; i < 12; i++) {
		fake_fabric.node[i].max_controllers = fake_fabric.node[i].iocs =
			fake_fabric.node[i].services = 255;
	}
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .timeout_ms = 60000 }, 2000), 0, "%s",
		diag.text);
	cr_assert_eq(found.count, 12);
	cr_assert_leq(found.bytes, 8u << 20);
	cr_assert_gt(found.failed, 0);
	for (unsigned i = 0; i < 12; i++)
		if (found.target[i].err == -ENOMEM)
			failed(&found.target[i], "memory");
}

Test(scan, services_that_are_not_srp_are_left_out)
{
	fake_fabric_init(1);
	fake_fabric.node[0].service_name = "OTHER.%u";
	cr_assert_eq(scan(2000), 0);
	cr_assert_eq(services(&found.target[0]), 0);
	cr_assert_eq(found.target[0].unit->ioc->services, 1);
}

Test(scan, the_rest_is_reported_on_timeout)
{
	fake_fabric_init(3);
	fake_fabric.node[1].dead = true;
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .timeout_ms = 2000 }, 60000), 0, "%s",
		diag.text);
	cr_assert_eq(found.failed, 1);
	cr_assert_eq(found.target[1].err, -ETIMEDOUT);
	cr_assert_eq(services(&found.target[2]), 1);
	fake_fabric.sa_delay_ms = 2000;
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .timeout_ms = 300 }, 60000), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, NULL, "target");
}

Test(scan, a_device_that_goes_ends_the_scan)
{
	fake_fabric_init(3);
	fake_fabric.gone = true;
	cr_assert_lt(scan(2000), 0);
	cr_assert(diag.text[0]);
}

static const struct mad_port_id by_lid[] = { { .lid = 10 }, { .lid = 12 } };

Test(scan, ports_by_lid_without_an_administrator)
{
	fake_fabric_init(3);
	fake_fabric.sa_dead = true;
	fake_fabric.node[2].smi_only = true;
	fake_fabric.node[2].management = false;
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .only = by_lid, .count = 2 }, 2000), 0,
		"%s", diag.text);
	cr_assert_eq(found.count, 2);
	cr_assert_eq(found.target[0].guid, 0x200000);
	cr_assert_eq(services(&found.target[0]), 1);
	cr_assert_eq(found.target[1].err, -ETIMEDOUT);
	failed(&found.target[1], "answer IOUnitInfo device_management");
}

Test(scan, ports_by_gid)
{
	struct mad_port_id by_gid[2] = { { 0 } };

	fake_fabric_init(3);
	mad_gid_make(by_gid[0].gid, 0xfe80000000000000, 0x200001);
	mad_gid_make(by_gid[1].gid, 0xfe80000000000000, 0x999999);
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .only = by_gid, .count = 2 }, 5000), 0,
		"%s", diag.text);
	cr_assert_eq(found.target[0].lid, 11);
	cr_assert_eq(services(&found.target[0]), 1);
	failed(&found.target[1], "subnet_administrator path");
	/* RoCE: no subnet administrator to resolve it, and none needed */
	fake_fabric.port[0].infiniband = false;
	fake_fabric.port[0].lid = fake_fabric.port[0].sm_lid = 0;
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .only = by_gid, .count = 1 }, 5000), 0,
		"%s", diag.text);
	cr_assert_eq(found.target[0].lid, 0);
	cr_assert_eq(services(&found.target[0]), 1);
}

/* Every byte of every answer damaged in turn: whatever comes of it, the scan ends. */
struct damage {
	unsigned at;
	uint8_t with;
};

static void damage(void *arg, uint8_t *datagram, size_t *len)
{
	const struct damage *how = arg;

	if (how->at < *len)
		datagram[how->at] ^= how->with;
}

Test(scan, any_damaged_byte_is_survived)
{
	struct damage how;

	fake_fabric_init(2);
	fake_fabric.mangle = damage;
	fake_fabric.arg = &how;
	for (unsigned i = 0; i < MAD_LEN; i++) {
		for (unsigned k = 0; k < 2; k++) {
			how = (struct damage){ .at = i, .with = k ? 0xff : 0x01 };
			diag = (struct diag){ 0 };
			if (scan_with(&(struct mad_scan_options){ .timeout_ms = 40 }, 12))
				cr_assert(diag.text[0], "byte %u", i);
		}
	}
}

/* Ports of a daemon: named by LID or GID, but asked through the subnet administrator. */
Test(scan, named_ports_by_the_subnet_administrator)
{
	struct mad_port_id named[4] = { { .lid = 10 }, { .lid = 11 }, { .lid = 99 } };

	fake_fabric_init(4);
	fake_fabric.port[0].pkeys = 2;
	memcpy(fake_fabric.port[0].pkey, (uint16_t[]){ 0xffff, 0x8001 }, 4);
	memcpy(fake_fabric.node[0].pkey, (uint16_t[]){ 0x8001, 0xffff }, 4);
	fake_fabric.node[1].management = false;
	mad_gid_make(named[3].gid, 0xfe80000000000000, 0x200003);
	cr_assert_eq(
		scan_with(&(struct mad_scan_options){ .only = named, .count = 4, .by_sa = true },
			2000),
		0, "%s", diag.text);
	cr_assert_eq(found.count, 3, "LID 11 has no device management");
	cr_assert_eq(found.target[0].guid, 0x200000);
	cr_assert_eq(found.target[0].unit->pkey, 0xffff);
	cr_assert_eq(found.target[0].unit->next->pkey, 0x8001);
	cr_assert_eq(found.target[1].lid, 99);
	failed(&found.target[1], "0x0300 node");
	cr_assert_eq(found.target[2].lid, 13);
	cr_assert_eq(found.target[2].prefix, 0xfe80000000000000);
	cr_assert_eq(services(&found.target[2]), 1);
	cr_assert_eq(found.target[2].unit->pkey, 0xffff);
	/* The administrator has not seen yet that the port has device management now */
	cr_assert_eq(scan_with(&(struct mad_scan_options){ .only = named + 1,
				       .count = 1,
				       .by_sa = true,
				       .trust_management = true },
			     2000),
		0);
	cr_assert_eq(found.count, 1);
	cr_assert_eq(services(&found.target[0]), 1);
	named[1].known = true;
	mad_gid_make(named[1].gid, 0xfe80000000000000, 0x200001);
	cr_assert_eq(
		scan_with(
			&(struct mad_scan_options){ .only = named + 1, .count = 1, .by_sa = true },
			2000),
		0);
	cr_assert_eq(found.count, 0, "its GUID does not make it an I/O unit");
	fake_fabric.port[0].sm_lid = 0;
	cr_assert_eq(
		scan_with(&(struct mad_scan_options){ .only = named, .count = 4, .by_sa = true },
			2000),
		-ENETUNREACH);
}

struct scanned {
	int done, err;
	struct mad_scan_result found;
	struct diag diag;
};

static void scanned(void *arg, struct mad_scan_result *of, int err, struct diag *why_not)
{
	struct scanned *scanned = arg;

	scanned->done++;
	scanned->err = err;
	scanned->found = *of;
	scanned->diag = *why_not;
}

/* What a daemon does: many scans in one loop, of one port and of several, some of which it gives
 * up. */
Test(scan, many_at_once_in_one_loop)
{
	struct mad_port_id one = { .lid = 12 };
	struct scanned all[5] = { 0 };
	struct mad_scan_job *job[5];
	struct mad *second;

	fake_fabric_init(100);
	fake_fabric.node[2].delay_ms = 50;
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], NULL, NULL), 0);
	cr_assert_eq(mad_open(&second, loop, &fake_fabric.port[0], NULL, NULL), 0);
	cr_assert_eq(
		mad_scan_start(mad, &(struct mad_scan_options){ 0 }, scanned, &all[0], &job[0]), 0);
	cr_assert_eq(
		mad_scan_start(second, &(struct mad_scan_options){ 0 }, scanned, &all[1], &job[1]),
		0);
	cr_assert_eq(mad_scan_start(mad,
			     &(struct mad_scan_options){ .only = &one, .count = 1, .by_sa = true },
			     scanned, &all[2], &job[2]),
		0);
	cr_assert_eq(
		mad_scan_start(mad, &(struct mad_scan_options){ 0 }, scanned, &all[3], &job[3]), 0);
	cr_assert_eq(mad_scan_start(second, &(struct mad_scan_options){ .only = &one }, scanned,
			     &all[4], &job[4]),
		0);
	one.lid = 0; /* options were copied */
	cr_assert_eq(all[4].done, 0, "never from inside");
	loop_wait(loop, &all[4].done, loop_clock() + 5000000000);
	mad_scan_cancel(job[3]);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(loop_wait(loop, &all[i].done, loop_clock() + 20000000000), "%u", i);
	cr_assert_eq(all[3].done, 0, "given up");
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(all[i].err, 0);
	cr_assert_eq(all[0].found.count, 100);
	cr_assert_eq(all[1].found.count, 100);
	cr_assert_eq(all[2].found.count, 1);
	cr_assert_eq(all[2].found.target[0].guid, 0x200002);
	cr_assert_eq(all[4].found.count, 0);
	for (unsigned i = 0; i < 5; i++)
		mad_scan_result_free(&all[i].found);
	mad_close(second);
	mad_close(mad);
}

Test(scan, a_scan_that_cannot_begin_says_so_later)
{
	struct scanned scan1 = { 0 };
	struct mad_scan_job *job;

	fake_fabric_init(1);
	fake_fabric.port[0].sm_lid = 0;
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], NULL, NULL), 0);
	cr_assert_eq(
		mad_scan_start(mad, &(struct mad_scan_options){ 0 }, scanned, &scan1, &job), 0);
	cr_assert_eq(scan1.done, 0);
	loop_wait(loop, &scan1.done, loop_clock() + 5000000000);
	cr_assert_eq(scan1.err, -ENETUNREACH);
	diag_says(&scan1.diag, DIAG_UNREACHABLE, NULL, "subnet_manager");
	mad_close(mad);
}

Test(scan, a_subnet_administrator_that_is_elsewhere)
{
	fake_fabric_init(3);
	fake_fabric.sa_elsewhere = 30;
	cr_assert_eq(scan(2000), 0, "%s", diag.text);
	cr_assert_eq(found.count, 3);
	cr_assert_eq(found.failed, 0);
	fake_fabric.sa_nowhere = true;
	cr_assert_eq(scan(2000), -EPROTO);
	diag_says(&diag, DIAG_PROTOCOL, NULL, "LID_2 0x0002 redirected");
}
