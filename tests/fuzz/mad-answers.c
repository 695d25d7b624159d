/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/mad */
/* Answers of subnet administration, subnet management and device management, and Reports: the
 * decoders under any bytes, whole scans of a fabric whose answers are changed as the input says,
 * a watch of the port,
 * and requests to our own device management. A scan ends, what it keeps is bounded, every text in
 * it ends; what a watch tells makes sense, and it ends. */
#include "../../core/mad/codec.h"
#include "../../core/mad/walk.h"
#include "mad_port.h"
#include "names.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES     3
#define BYTES_MAX (8u << 20)

struct input {
	const uint8_t *at, *end;
};

static uint8_t take(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

/* Up to three changes: of the length, or of a few bytes, mostly behind the header so that the
 * answer is still one. */
static void change(void *arg, uint8_t *mad, size_t *len)
{
	struct input *input = arg;
	unsigned changes = take(input) & 3;

	for (unsigned i = 0; i < changes; i++) {
		uint8_t how = take(input);
		size_t at = how & 0x40 ? take(input)
				       : sizeof(struct mad_hdr) +
						 (size_t)take(input) * (how & 0x20 ? 4 : 1);

		if (how & 0x80) {
			*len = at < *len ? at : *len;
			continue;
		}
		for (unsigned n = 0; n <= (how & 0x0fu) && at + n < *len; n++)
			mad[at + n] = take(input);
	}
}

static void check_notice(const struct mad_notice *notice)
{
	static const uint8_t zero[16];
	bool of_port = notice->trap == MAD_TRAP_CAP_MASK;

	if (!of_port && notice->trap != MAD_TRAP_IN_SERVICE &&
		notice->trap != MAD_TRAP_OUT_OF_SERVICE)
		abort();
	if (of_port != mad_lid_valid(notice->lid) ||
		of_port != !memcmp(notice->gid, zero, sizeof(zero)))
		abort();
}

static void check_codecs(const uint8_t *data, size_t size)
{
	uint8_t mad[MAD_LEN * 2] = { 0 };
	struct mad_service service;
	struct mad_unit unit = { 0 };
	struct mad_ioc ioc = { 0 };
	struct mad_notice notice;
	struct sa_table table;
	struct sa_port port;
	struct sa_path path;
	struct sa_node node;

	memcpy(mad, data, size < sizeof(mad) ? size : sizeof(mad));
	if (mad_sa_table_get(&table, mad, size < sizeof(mad) ? size : sizeof(mad),
		    sizeof(struct port_info_record))) {
		for (size_t i = 0; i < table.count; i++)
			if (mad_sa_port_get(&port, (const void *)(table.at + i * table.each)) &&
				!mad_lid_valid(port.lid))
				abort();
	}
	if (mad_sa_node_get(&node, (const void *)mad) && !mad_lid_valid(node.lid))
		abort();
	if (mad_sa_path_get(&path, (const void *)mad) && !mad_lid_valid(path.lid))
		abort();
	if (mad_notice_get(&notice, (const void *)mad))
		check_notice(&notice);
	if (!mad_sa_status_text((uint16_t)(mad[0] << 8 | mad[1]))[0])
		abort();
	mad_dm_unit_get(&unit, (const void *)mad);
	for (unsigned slot = 1; slot <= unit.max_controllers; slot++)
		mad_dm_unit_slot(&unit, slot);
	mad_dm_ioc_get(&ioc, (const void *)mad);
	mad_dm_service_get(&service, (const void *)mad);
	if (strnlen(ioc.id, sizeof(ioc.id)) > 64 ||
		strnlen(service.name, sizeof(service.name)) > 40)
		abort();
}

static void check_found(const struct mad_scan_result *found)
{
	const struct mad_srp_options more = { .imm_data = 8192 };
	char why[128], id_ext[17], line[MAD_SRP_LINE];
	struct mad_srp srp;
	unsigned failed = 0;
	uint64_t value;

	if (found->bytes > BYTES_MAX)
		abort();
	for (unsigned i = 0; i < found->count; i++) {
		const struct mad_target *target = &found->target[i];

		failed += target->err != 0;
		if (target->err && !mad_target_error(target, why)[0])
			abort();
		for (struct mad_unit *unit = target->unit; unit; unit = unit->next)
			for (struct mad_ioc *ioc = unit->ioc; ioc; ioc = ioc->next)
				for (struct mad_service *service = ioc->service; service;
					service = service->next) {
					if (!mad_srp_id_ext(service, id_ext))
						abort();
					if (mad_srp_get(&srp, target, unit, ioc, service) !=
						hex_parse(&value, id_ext, 16))
						abort();
					mad_srp_command(&srp, &more, line);
					mad_srp_uri(target, unit, ioc, service, line);
				}
	}
	if (failed != found->failed)
		abort();
}

/* Nodes are as many as the changed answers make; the time bounds them. */
static void look_around(struct mad *mad)
{
	struct mad_end_port seen = { .hops = 3, .hop = { 1, 1, 2 } };
	struct diag diag = { 0 };
	struct mad_topology view;

	if (mad_query_route(mad, &seen, &diag) && !diag.text[0])
		abort();
	if (mad_walk(mad, 100, &view, &diag) && !diag.text[0])
		abort();
	for (unsigned i = 0; i < view.count; i++)
		if (view.port[i].hops > SMP_HOPS_MAX || view.port[i].state > 15)
			abort();
	free(view.port);
}

static void noticed(struct mad_watch *watch, const struct mad_notice *notice)
{
	(void)watch;
	check_notice(notice);
}

static void changed(struct mad_watch *watch, unsigned what)
{
	(void)watch;
	if (what & ~127u)
		abort();
}

static void subscribed(struct mad_watch *watch, int err, struct diag *diag)
{
	(void)watch;
	if (err > 0 || !err != !diag || (diag && (diag->err != -err || !diag->text[0])))
		abort();
}

static int watch_over;

static void watched(struct mad_watch *watch)
{
	(void)watch;
	watch_over = 1;
}

/* Reports are changed as answers are, the last one is the input itself. */
static void watch(struct loop *loop, struct mad *mad, const uint8_t *data, size_t size)
{
	struct mad_watch of = { .notice = noticed, .changed = changed, .subscribed = subscribed };
	uint8_t any[MAD_LEN] = { 0 };

	if (mad_watch(mad, &of, NULL))
		abort();
	loop_wait(loop, &(int){ 0 }, loop_clock() + 5000000);
	fake_notice(MAD_TRAP_IN_SERVICE, 0x200000, 0);
	fake_notice(MAD_TRAP_CAP_MASK, 10, PORT_CAP_DM);
	memcpy(any, data + 1, size - 1 < sizeof(any) ? size - 1 : sizeof(any));
	fake_report(2, any, sizeof(any));
	mad_port_event(mad, data[size - 1]);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 1000000);
	watch_over = 0;
	mad_unwatch(mad, watched);
	if (!loop_wait(loop, &watch_over, 0))
		abort();
}

/* Requests to our own agent: the input itself, which is mostly none, and as one. */
static void ask(struct loop *loop, const uint8_t *data, size_t size)
{
	static const struct mad_agent_conf served = { .text = "text", .service = "SRP.T10:1" };
	uint8_t any[MAD_LEN] = { 0 };
	struct mad_hdr *hdr = (void *)any;
	struct mad_agent *agent;
	unsigned opens;

	if (mad_agent_start(&agent, loop, &fake_fabric.port[0], &served, NULL))
		abort();
	opens = fake_fabric.opens;
	memcpy(any, data, size < sizeof(any) ? size : sizeof(any));
	fake_report(9, any, size < sizeof(any) ? size : sizeof(any));
	hdr->base_version = hdr->class_version = 1;
	hdr->mgmt_class = MAD_CLASS_DM;
	hdr->method = data[0] & 1 ? MAD_GET : MAD_SET;
	fake_report(9, any, sizeof(any));
	while (!fake_fabric.dm_answers) {
		loop_wait(loop, &(int){ 0 }, loop_clock() + 1000000);
		if (fake_fabric.opens != opens) /* the device was taken for gone */
			abort();
	}
	if (fake_fabric.dm_answers > 2)
		abort();
	mad_agent_stop(agent);
}

static void run(const uint8_t *data, size_t size)
{
	static const struct mad_port_id named[2] = { { .lid = 10 }, { .lid = 11 } };
	const struct mad_limits limits = { .answer_ms = 2, .tries = 1 };
	struct mad_scan_options options = { .timeout_ms = 300 };
	struct input input = { data + 1, data + size };
	struct diag diag = { 0 };
	struct mad_scan_result found;
	struct loop *loop;
	struct mad *mad;

	fake_fabric_init(NODES);
	fake_fabric.sa_no_match = data[0] & 1;
	fake_fabric.twice = data[0] & 2;
	if (data[0] & 4) {
		options.only = named;
		options.count = 2;
	}
	if (data[0] & 8) {
		fake_fabric.port[0].pkeys = 2;
		fake_fabric.port[0].pkey[1] = 0x8001;
		fake_fabric.node[1].pkey[0] = 0x8001;
	}
	if (data[0] & 16)
		fake_fabric.node[0].guid = 0x0005ad0000000001;
	fake_fabric.node[2].iocs = data[0] >> 5;
	fake_fabric.node[2].services = data[0] >> 4;
	fake_fabric.mangle = change;
	fake_fabric.arg = &input;
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL) ||
		mad_open(&mad, loop, &fake_fabric.port[0], &limits, NULL))
		abort();
	if ((data[0] & 5) == 5)
		look_around(mad);
	if (data[0] >= 0xf0)
		watch(loop, mad, data, size);
	if (mad_scan(mad, &options, &found, &diag)) {
		if (!diag.err || !diag.text[0])
			abort();
	}
	check_found(&found);
	mad_close(mad);
	fake_fabric.mangle = NULL;
	ask(loop, data, size);
	mad_scan_result_free(&found);
	loop_free(loop);
	fake_fabric_free();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_codecs(data, size);
	if (size)
		run(data, size);
	return 0;
}
