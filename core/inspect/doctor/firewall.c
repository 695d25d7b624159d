/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rules of this machine's firewall that drop what the URI needs, or what clients of its servers
 * send. */
#include "find.h"
#include "kernel_facts.h"
#include "kernel_net.h"
#include "served.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROCE_PORT 4791 /* UDP, of RoCE v2; rules see only that of software devices */
#define ANSWER_MS 1000

struct packet {
	bool output, input; /* hooks that packets pass */
	uint8_t l4proto;
	const struct addr *to;
	uint16_t port;
};

static void name_packet(const struct packet *packet, char text[80])
{
	char host[ADDR_TEXT] = "";

	if (packet->to->ss.ss_family)
		addr_host(packet->to, host);
	snprintf(text, 80, "%s port %u%s%.50s", packet->l4proto == IPPROTO_TCP ? "TCP" : "UDP",
		packet->port, host[0] ? (packet->output ? " to " : " of ") : "", host);
}

/* Combine the results of all chains at these hooks. */
static void check_packet(
	struct doctor *doctor, const struct firewall *firewall, const struct packet *packet)
{
	const struct firewall_chain *worst = NULL;
	enum firewall_fate fate = FIREWALL_PASSES;
	struct finding *finding;
	char name[80];

	name_packet(packet, name);
	for (unsigned i = 0; i < doctor->findings; i++)
		if (!strcmp(doctor->finding[i].object, name)) /* another listener */
			return;
	for (unsigned i = 0; i < firewall->chains; i++) {
		const struct firewall_chain *chain = &firewall->chain[i];
		enum firewall_fate now;

		if (!(packet->output && chain->output) && !(packet->input && chain->input))
			continue;
		now = kernel_firewall_fate(
			firewall, chain, packet->l4proto, packet->to, packet->port);
		if (now > fate)
			fate = now, worst = chain;
	}
	if (!worst) {
		doctor_add(doctor, DOCTOR_FIREWALL, "port", DOCTOR_OK, name,
			"no local nf_tables rule blocks it");
		return;
	}
	finding = doctor_add(doctor, DOCTOR_FIREWALL, "port",
		fate == FIREWALL_DROPS ? DOCTOR_FAILURE : DOCTOR_WARNING, name,
		"%s by nf_tables chain %s %s %s",
		fate == FIREWALL_DROPS ? "dropped" : "perhaps dropped", worst->family, worst->table,
		worst->name);
	doctor_text(finding, "chain", worst->name);
	doctor_text(finding, "table", worst->table);
	doctor_number(finding, "port", packet->port);
	doctor_hint(finding,
		"see: nft list chain %s %s %s; accept it: nft insert rule %s %s %s %s "
		"dport %u accept",
		worst->family, worst->table, worst->name, worst->family, worst->table, worst->name,
		packet->l4proto == IPPROTO_TCP ? "tcp" : "udp", packet->port);
}

static void check_target(struct doctor *doctor, const struct firewall *firewall)
{
	struct packet packet = { true, doctor->local, IPPROTO_TCP, &doctor->address,
		doctor_port(doctor) };

	if (!doctor->address.ss.ss_family || !packet.port)
		return;
	check_packet(doctor, firewall, &packet);
	packet.l4proto = IPPROTO_UDP;
	packet.port = ROCE_PORT;
	if (doctor_rdma_relevant(doctor))
		check_packet(doctor, firewall, &packet);
}

static void check_listener(struct doctor *doctor, const struct firewall *firewall,
	const struct serving_listener *listener)
{
	struct addr at;
	struct packet packet = { false, true, IPPROTO_TCP, &at, 0 };

	if (!listener->trsvcid[0] ||
		addr_numeric(&at, listener->traddr, (uint16_t)atoi(listener->trsvcid), NULL) ||
		addr_is_local(&at))
		return;
	packet.port = addr_port(&at);
	if (addr_is_any(&at))
		at = (struct addr){ 0 };
	if (strcmp(listener->transport, "rdma") || listener->iwarp) {
		check_packet(doctor, firewall, &packet);
		return;
	}
	packet.l4proto = IPPROTO_UDP;
	packet.port = ROCE_PORT;
	check_packet(doctor, firewall, &packet);
}

static void check_servers(struct doctor *doctor, const struct firewall *firewall)
{
	struct kernel_serving serving = { 0 };

	kernel_serving_trusted(doctor->root, doctor->loop, ANSWER_MS, &serving, NULL);
	for (unsigned i = 0; i < serving.processes; i++)
		for (unsigned j = 0; j < serving.process[i].fronts; j++) {
			const struct serving_front *front = &serving.process[i].front[j];

			for (unsigned k = 0; k < front->listeners; k++)
				check_listener(doctor, firewall, &front->listener[k]);
		}
	kernel_serving_free(&serving);
}

/* Tables of iptables without nf_tables. They may be empty. */
static void check_legacy(struct doctor *doctor, bool v6)
{
	const char *program = v6 ? "ip6tables" : "iptables";
	struct finding *finding;
	char tables[256], object[80], *rest;

	if (kernel_firewall_legacy(doctor->root, v6, tables, sizeof(tables)) == -EACCES) {
		finding = doctor_add(doctor, DOCTOR_FIREWALL, "legacy", DOCTOR_WARNING, program,
			"only root can find out whether tables of legacy %s are in use", program);
		doctor_hint(finding, "run the same command as root");
		return;
	}
	for (char *table = strtok_r(tables, "\n", &rest); table;
		table = strtok_r(NULL, "\n", &rest)) {
		const bool usual = !strcmp(table, "filter");

		snprintf(object, sizeof(object), "%s table %.60s", program, table);
		finding = doctor_add(doctor, DOCTOR_FIREWALL, "legacy", DOCTOR_WARNING, object,
			"rules of legacy %s may exist, which are not examined", program);
		doctor_text(finding, "table", table);
		doctor_hint(finding, "list its rules: %s-legacy %s%s%s-S", program,
			usual ? "" : "-t ", usual ? "" : table, usual ? "" : " ");
	}
}

/* Don't query nf_tables unless it is loaded, as a query would load it. */
static bool not_loaded(const struct doctor *doctor)
{
	switch (kernel_module_get_state(doctor->root, doctor->release, "nf_tables")) {
	case KERNEL_MODULE_INSTALLED:
	case KERNEL_MODULE_RULED:
	case KERNEL_MODULE_DAMAGED:
		return true;
	default: /* loaded, or nothing can be loaded */
		return false;
	}
}

void doctor_firewall(struct doctor *doctor)
{
	struct firewall firewall;
	struct finding *finding;
	struct diag diag = { 0 };
	int err;

	if (doctor->parsed && !doctor_port(doctor))
		return;
	if (doctor->address.ss.ss_family != AF_INET6)
		check_legacy(doctor, false);
	if (doctor->address.ss.ss_family != AF_INET)
		check_legacy(doctor, true);
	err = not_loaded(doctor) ? -EOPNOTSUPP : kernel_firewall(&firewall, &diag);
	if (err == -EOPNOTSUPP) {
		doctor_add(doctor, DOCTOR_FIREWALL, "rules", DOCTOR_OK, "",
			"nf_tables is not loaded, so it has no rules")
			->detail = true;
	} else if (err) {
		finding = doctor_add_diag(doctor, DOCTOR_FIREWALL, "rules", DOCTOR_WARNING, &diag);
		doctor_hint(finding, "run the same command as root");
	} else {
		finding = doctor_add(doctor, DOCTOR_FIREWALL, "rules", DOCTOR_OK, "",
			"%u chains of nf_tables", firewall.chains);
		doctor_number(finding, "chains", firewall.chains);
		finding->detail = true;
		if (doctor->uri)
			check_target(doctor, &firewall);
		else
			check_servers(doctor, &firewall);
		kernel_firewall_free(&firewall);
	}
}
