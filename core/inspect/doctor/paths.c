/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The paths of disks that the kernel has attached: whether all of them work, lead to one disk, are
 * used, and fail independently of each other. */
#include "find.h"
#include "kernel_multipath.h"
#include "kernel_nvmf.h"
#include "kernel_sys.h"
#include "listed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS 64 /* paths of one disk; those beyond are not examined */

struct disk {
	struct doctor *doctor;
	const struct kernel_list *list;
	const struct list_disk *disk;
	const struct list_path *path[PATHS];
	struct doctor_path route[PATHS];
	unsigned paths;
};

static const struct list_link *link_of(const struct disk *disk, unsigned path)
{
	return &disk->list->link[disk->path[path]->link];
}

static bool is_nvme(const struct disk *disk)
{
	return !strcmp(link_of(disk, 0)->protocol, "nvme");
}

static bool works(const struct disk *disk, unsigned i)
{
	const struct list_path *path = disk->path[i];
	const char *state = link_of(disk, i)->state;

	if (strcmp(state, "live") && strcmp(state, "running") && strcmp(state, "LOGGED_IN"))
		return false;
	if (path->access[0] && !strstr(path->access, "optimized") &&
		strcmp(path->access, "lba-dependent"))
		return false;
	return strcmp(path->map_state, "failed") != 0;
}

static unsigned count_working(const struct disk *disk)
{
	unsigned count = 0;

	for (unsigned i = 0; i < disk->paths; i++)
		count += works(disk, i);
	return count;
}

static void check_states(struct disk *disk)
{
	const unsigned working = count_working(disk);
	const char *broken = NULL;
	struct finding *finding;

	for (unsigned i = 0; i < disk->paths && !broken; i++)
		if (!works(disk, i))
			broken = disk->route[i].name;
	if (disk->paths == 1 && working)
		finding = doctor_add(disk->doctor, DOCTOR_PATHS, "path-state", DOCTOR_WARNING,
			disk->disk->name, "only one path");
	else
		finding = doctor_add(disk->doctor, DOCTOR_PATHS, "path-state",
			!working ? DOCTOR_FAILURE
			: broken ? DOCTOR_WARNING
				 : DOCTOR_OK,
			disk->disk->name, "%u of %u paths work%s%s", working, disk->paths,
			broken ? ", not " : "", broken ? broken : "");
	doctor_number(finding, "path_count", disk->paths);
	doctor_number(finding, "paths_up", working);
	doctor_hint(finding, "see the state of each path: rdmastor status %s", disk->disk->name);
}

/* All paths of a map must lead to one disk. A LUN that the target has replaced keeps its device. */
static void check_identity(struct disk *disk)
{
	char wwid[140], first[140] = "";
	struct finding *finding;

	for (unsigned i = 0; disk->disk->is_map && i < disk->paths; i++) {
		if (kernel_sys_read(disk->doctor->root, wwid, sizeof(wwid),
			    "sys/class/block/%s/device/wwid", disk->path[i]->node) <= 0)
			continue;
		if (!first[0])
			snprintf(first, sizeof(first), "%s", wwid);
		if (!strcmp(first, wwid))
			continue;
		finding = doctor_add(disk->doctor, DOCTOR_PATHS, "path-identity", DOCTOR_FAILURE,
			disk->disk->name, "%s is another disk: %s, not %s", disk->path[i]->node,
			wwid, first);
		doctor_text(finding, "node", disk->path[i]->node);
		doctor_hint(finding,
			"don't write; end the session of that path, or: multipathd del path %s",
			disk->path[i]->node);
	}
}

static unsigned optimized(const struct disk *disk)
{
	unsigned count = 0;

	for (unsigned i = 0; i < disk->paths; i++)
		count += works(disk, i) && !strcmp(disk->path[i]->access, "optimized");
	return count;
}

/* Whether the controllers of all optimized paths are equally near to every CPU. */
static bool is_one_node(const struct disk *disk)
{
	char node[16], first[16] = "";
	bool one = true;

	for (unsigned i = 0; i < disk->paths; i++) {
		if (!works(disk, i) || strcmp(disk->path[i]->access, "optimized"))
			continue;
		if (kernel_sys_read(disk->doctor->root, node, sizeof(node),
			    "sys/class/nvme/%s/numa_node", link_of(disk, i)->name) <= 0)
			return false;
		if (!first[0])
			snprintf(first, sizeof(first), "%s", node);
		one &= !strcmp(node, first);
	}
	return one;
}

/* A policy of NVMe multipath that uses one path although there are others. */
static void check_policy(struct disk *disk)
{
	const char *policy = disk->disk->policy, *other = NULL, *why = "";
	const unsigned best = optimized(disk);
	struct finding *finding;

	if (!is_nvme(disk) || !policy[0])
		return;
	if (!strcmp(policy, "numa") && best > 1 && is_one_node(disk)) {
		why = "all paths are on one NUMA node, so one carries all I/O";
		other = "round-robin";
	} else if (strcmp(policy, "numa") && best == 1 && count_working(disk) > 1) {
		why = "only one path is optimized, so that carries all I/O";
	}
	finding = doctor_add(disk->doctor, DOCTOR_PATHS, "path-policy",
		*why ? DOCTOR_WARNING : DOCTOR_OK, disk->disk->name, "policy %s%s%s", policy,
		*why ? ": " : "", why);
	finding->detail = !*why;
	doctor_text(finding, "policy", policy);
	if (other)
		doctor_hint(finding, "to use all: echo %s >/sys/class/block/%s/device/iopolicy",
			other, disk->disk->node);
	else
		doctor_hint(
			finding, "on the target, make the group of another path optimized, too");
}

static void check_daemon(struct disk *disk)
{
	struct finding *finding;

	if (!disk->disk->is_map || kernel_multipath_daemon(disk->doctor->root))
		return;
	finding = doctor_add(disk->doctor, DOCTOR_PATHS, "multipathd", DOCTOR_WARNING,
		disk->disk->name, "multipathd is not running: a path that fails stays failed%s",
		disk->disk->queues ? ", and I/O waits without limit once all have" : "");
	doctor_hint(finding, "start it: systemctl start multipathd; or: multipathd");
}

/* ---- The disks. */

static void find_route(struct disk *disk, unsigned i)
{
	const struct list_link *link = link_of(disk, i);
	struct doctor_path *route = &disk->route[i];
	struct addr addr;
	bool known = !addr_numeric(&addr, link->address, 1, NULL);

	snprintf(route->name, sizeof(route->name), "%s", link->name);
	snprintf(route->address, sizeof(route->address), "%s", link->address);
	snprintf(route->netdev, sizeof(route->netdev), "%s", link->netdev);
	if (strcmp(link->protocol, "srp") || strlen(link->service) < 16)
		doctor_path_route(disk->doctor, route, known ? &addr : NULL);
}

static void examine(struct disk *disk)
{
	for (unsigned i = 0; i < disk->paths; i++)
		find_route(disk, i);
	check_states(disk);
	check_identity(disk);
	check_policy(disk);
	check_daemon(disk);
	doctor_independence(disk->doctor, disk->disk->name, disk->route, disk->paths);
}

/* Disks with the same identifier that are separate devices: writes over both destroy it. */
static void check_joined(struct doctor *doctor, const struct kernel_list *list)
{
	for (unsigned i = 1; i < list->disks; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct list_disk *one = &list->disk[j], *two = &list->disk[i];
			bool nvme = !strncmp(two->node, "nvme", 4);
			struct finding *finding;

			if (!two->wwid[0] || strcmp(one->wwid, two->wwid))
				continue;
			finding = doctor_add(doctor, DOCTOR_PATHS, "path-joined", DOCTOR_WARNING,
				two->name, "the same disk as %s, but a separate device", one->name);
			if (nvme && !kernel_nvmf_multipath(doctor->root))
				doctor_hint(finding,
					"boot with nvme_core.multipath=Y, or attach it "
					"in userspace: rdmastor export "
					"'URI?path=URI2' --ublk");
			else if (nvme)
				doctor_hint(finding, "have the target report the namespace as "
						     "shared, or use only one of the devices");
			else
				doctor_hint(finding, "start multipathd, or attach it in userspace: "
						     "rdmastor export 'URI?path=URI2' --ublk");
		}
}

/* A controller without a namespace, although another one of its subsystem has some: Linux refuses a
 * namespace whose identifiers differ, and only logs it. */
static void check_refused(struct doctor *doctor, const struct kernel_list *list)
{
	for (unsigned i = 0; i < list->paths; i++) {
		const struct list_link *link = &list->link[list->path[i].link];
		struct finding *finding;

		if (list->path[i].disk >= 0 || strcmp(link->protocol, "nvme") ||
			strcmp(link->state, "live"))
			continue;
		for (unsigned j = 0; j < list->paths; j++) {
			const struct list_link *other = &list->link[list->path[j].link];

			if (list->path[j].disk < 0 || strcmp(other->target, link->target))
				continue;
			finding = doctor_add(doctor, DOCTOR_PATHS, "path-identity", DOCTOR_FAILURE,
				link->name,
				"no path to the disks of %s, which has the same NQN: "
				"the kernel refuses a namespace of another identity",
				other->name);
			doctor_hint(finding,
				"see which, in the kernel's log; two targets need two "
				"NQNs, or the same UUID and NGUID for one disk: "
				"rdmastor nvmf-disconnect %s",
				link->name);
			break;
		}
	}
}

void doctor_paths(struct doctor *doctor)
{
	struct disk disk = { .doctor = doctor };
	struct kernel_list list;

	if (doctor->uri || kernel_list(doctor->root, &list, NULL))
		return;
	disk.list = &list;
	for (unsigned d = 0; d < list.disks; d++) {
		disk.disk = &list.disk[d];
		disk.paths = 0;
		for (unsigned i = 0; i < list.paths && disk.paths < PATHS; i++)
			if (list.path[i].disk == (int)d)
				disk.path[disk.paths++] = &list.path[i];
		memset(disk.route, 0, sizeof(disk.route));
		if (disk.paths > 1 || disk.disk->is_map)
			examine(&disk);
	}
	check_joined(doctor, &list);
	check_refused(doctor, &list);
	kernel_list_clear(&list);
}
