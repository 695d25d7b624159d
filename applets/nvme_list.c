/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvme list, nvme list-subsys: print what nvme-cli 2.5 and later print. */
#include "applet.h"
#include "kernel_identity.h"
#include "kernel_nvmf.h"
#include "nvme_rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt rows[] = { NVME_OUTPUT_ROWS, { 0 } };

/* As nvme-cli prints sizes: two digits after the point, powers of 1000. */
static void si_text(uint64_t bytes, char text[16])
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1000 && unit < 6) {
		value /= 1000;
		unit++;
	}
	snprintf(text, 16, "%6.2f %2sB", value, units[unit]);
}

static void print_row(struct out *out, const struct nvme_namespace *ns)
{
	char used[16] = "     -   B", size[16], usage[40], format[32], node[40], generic[40],
	     nsid[16];
	bool kilo = ns->block >= 1024;

	if (ns->used_known)
		si_text(ns->used, used);
	si_text(ns->size, size);
	snprintf(usage, sizeof(usage), "%s / %s", used, size);
	snprintf(format, sizeof(format), "%3u %2sB + %2u B", kilo ? ns->block / 1024 : ns->block,
		kilo ? "Ki" : "", ns->metadata);
	snprintf(node, sizeof(node), "/dev/%s", ns->name);
	snprintf(generic, sizeof(generic), "%s%s", ns->generic_node ? "/dev/" : "", ns->generic);
	snprintf(nsid, sizeof(nsid), "%#x", ns->nsid);
	out_line(out, "%-21s %-21s %-20s %-40s %-10s %-26s %-16s %-8s", node, generic, ns->serial,
		ns->model, nsid, usage, format, ns->firmware);
}

static void print_namespace(struct out *out, const struct nvme_namespace *ns)
{
	out_object(out, NULL);
	out_u64(out, "NameSpace", NULL, ns->nsid);
	out_text(out, "DevicePath", NULL, "/dev/%s", ns->name);
	out_text(out, "GenericPath", NULL, "%s%s", ns->generic_node ? "/dev/" : "", ns->generic);
	out_text(out, "Firmware", NULL, "%s", ns->firmware);
	out_text(out, "ModelNumber", NULL, "%s", ns->model);
	out_text(out, "SerialNumber", NULL, "%s", ns->serial);
	if (ns->used_known)
		out_u64(out, "UsedBytes", NULL, ns->used);
	out_u64(out, "MaximumLBA", NULL, ns->block ? ns->size / ns->block : 0);
	out_u64(out, "PhysicalSize", NULL, ns->size);
	out_u64(out, "SectorSize", NULL, ns->block);
	print_row(out, ns);
	out_end(out);
}

static int run_list(struct call *call)
{
	static const char dashes[] = "----------------------------------------";
	struct nvme_namespace *list = NULL;
	unsigned count = 0;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_nvme_namespaces(root, &list, &count, call->diag);
	close(root);
	if (err)
		return err;
	out_line(call->out, "%-21s %-21s %-20s %-40s %-10s %-26s %-16s %-8s", "Node", "Generic",
		"SN", "Model", "Namespace", "Usage", "Format", "FW Rev");
	out_line(call->out, "%.21s %.21s %.20s %.40s %.10s %.26s %.16s %.8s", dashes, dashes,
		dashes, dashes, dashes, dashes, dashes, dashes);
	out_list(call->out, "Devices");
	for (unsigned i = 0; i < count; i++)
		print_namespace(call->out, &list[i]);
	out_end(call->out);
	free(list);
	return EXIT_DONE;
}

const struct applet applet_nvme_list = {
	.name = "nvme list",
	.operands = "",
	.summary = "list NVMe namespaces",
	.examples = "  nvme list -o json | jq -r '.Devices[].DevicePath'\n",
	.opts = rows,
	.opts_size = sizeof(struct opt_common),
	.run = run_list,
};

/* A controller on PCIe belongs to this machine's own host NQN. */
static int name_hosts(int root, struct nvme_member *list, unsigned count, struct diag *diag)
{
	struct identity identity;
	bool known = false;

	for (unsigned i = 0; i < count; i++) {
		if (list[i].hostnqn[0])
			continue;
		int err = known ? 0 : kernel_identity(root, NULL, NULL, &identity, diag);

		if (err)
			return err;
		known = true;
		memcpy(list[i].hostnqn, identity.hostnqn, sizeof(list[i].hostnqn));
	}
	return 0;
}

static bool same_host(const struct nvme_member *a, const struct nvme_member *b)
{
	return !strcmp(a->hostnqn, b->hostnqn) && !strcmp(a->hostid, b->hostid);
}

static void begin_subsystem(const struct call *call, const struct nvme_member *m, bool first)
{
	struct out *out = call->out;
	int indent = (int)strlen(m->subsystem) + 3;

	out_object(out, NULL);
	out_text(out, "Name", NULL, "%s", m->subsystem);
	out_text(out, "NQN", NULL, "%s", m->nqn);
	if (m->policy[0])
		out_text(out, "IOPolicy", NULL, "%s", m->policy);
	if (m->type[0])
		out_text(out, "Type", NULL, "%s", m->type);
	out_list(out, "Paths");
	if (!first)
		out_line(out, "%s", "");
	out_line(out, "%s - NQN=%s", m->subsystem, m->nqn);
	out_line(out, "%*shostnqn=%s", indent, "", m->hostnqn);
	if (call->loop.verbose) {
		out_line(out, "%*siopolicy=%s", indent, "", m->policy);
		out_line(out, "%*stype=%s", indent, "", m->type);
	}
	out_line(out, "\\");
}

static void print_path(struct out *out, const struct nvme_member *m)
{
	out_object(out, NULL);
	out_text(out, "Name", NULL, "%s", m->name);
	out_text(out, "Transport", NULL, "%s", m->transport);
	out_text(out, "Address", NULL, "%s", m->address);
	out_text(out, "State", NULL, "%s", m->state);
	if (m->ana[0])
		out_text(out, "ANAState", NULL, "%s", m->ana);
	out_line(out, " +- %s %s %s %s%s%s", m->name, m->transport, m->address, m->state,
		m->ana[0] ? " " : "", m->ana);
	out_end(out);
}

static void print_members(const struct call *call, const struct nvme_member *list, unsigned count)
{
	struct out *out = call->out;

	for (unsigned i = 0; i < count; i++) {
		const struct nvme_member *m = &list[i];
		bool host = !i || !same_host(m, m - 1),
		     subsystem = host || strcmp(m->subsystem, m[-1].subsystem);
		bool last = i + 1 == count, ends = last || !same_host(m, m + 1);

		if (host) {
			out_object(out, NULL);
			out_text(out, "HostNQN", NULL, "%s", m->hostnqn);
			if (m->hostid[0])
				out_text(out, "HostID", NULL, "%s", m->hostid);
			out_list(out, "Subsystems");
		}
		if (subsystem)
			begin_subsystem(call, m, !i);
		print_path(out, m);
		if (ends || strcmp(m->subsystem, m[1].subsystem)) {
			out_end(out);
			out_end(out);
		}
		if (ends) {
			out_end(out);
			out_end(out);
		}
	}
}

static int run_list_subsys(struct call *call)
{
	struct nvme_member *list = NULL;
	unsigned count = 0;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_nvme_members(
		root, call->operands ? call->operand[0] : NULL, &list, &count, call->diag);
	if (!err)
		err = name_hosts(root, list, count, call->diag);
	close(root);
	if (!err) {
		call->out->array = true;
		print_members(call, list, count);
	}
	free(list);
	return err ? err : EXIT_DONE;
}

const struct applet applet_nvme_list_subsys = {
	.name = "nvme list-subsys",
	.operands = "[DEVICE]",
	.summary = "list NVMe subsystems and their controllers",
	.examples = "  nvme list-subsys /dev/nvme0n1\n",
	.opts = rows,
	.opts_size = sizeof(struct opt_common),
	.max = 1,
	.run = run_list_subsys,
};
