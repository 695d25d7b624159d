/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Limits of this process. Huge pages are not checked, as nothing uses them. */
#include "find.h"
#include "kernel_facts.h"
#include <inttypes.h>

#define LOCK_LEAST  (8u << 20) /* bytes: the usual limit, enough for some connections */
#define FILES_LEAST 1024

static void check_locked(struct doctor *doctor, const struct kernel_limits *limits)
{
	struct finding *finding;

	if (limits->lock_unlimited || limits->locked == UINT64_MAX) {
		finding = doctor_add(doctor, DOCTOR_LIMITS, "locked-memory", DOCTOR_OK,
			"locked memory", "unlimited");
		return;
	}
	finding = doctor_add(doctor, DOCTOR_LIMITS, "locked-memory",
		limits->locked < LOCK_LEAST ? DOCTOR_WARNING : DOCTOR_OK, "locked memory",
		"%" PRIu64 " KiB%s", limits->locked / 1024,
		limits->locked < LOCK_LEAST ? ": too little for the buffers of RDMA connections"
					    : "");
	doctor_number(finding, "limit", limits->locked);
	doctor_hint(finding, "as root: ulimit -l unlimited; or LimitMEMLOCK=infinity in the "
			     "systemd unit");
}

static void check_files(struct doctor *doctor, const struct kernel_limits *limits)
{
	const bool low = limits->files < FILES_LEAST;
	struct finding *finding;

	if (limits->files == UINT64_MAX)
		finding = doctor_add(
			doctor, DOCTOR_LIMITS, "open-files", DOCTOR_OK, "open files", "unlimited");
	else
		finding = doctor_add(doctor, DOCTOR_LIMITS, "open-files",
			low ? DOCTOR_WARNING : DOCTOR_OK, "open files", "%" PRIu64 "%s",
			limits->files, low ? ": few clients fit into serve and export" : "");
	if (limits->files != UINT64_MAX)
		doctor_number(finding, "limit", limits->files);
	doctor_hint(finding, "as root: ulimit -n 65536; or LimitNOFILE=65536 in the systemd unit");
}

void doctor_limits(struct doctor *doctor)
{
	struct kernel_limits limits;
	struct finding *finding;

	if (kernel_limits(doctor->root, &limits)) {
		finding = doctor_add(doctor, DOCTOR_LIMITS, "limits", DOCTOR_WARNING, "",
			"cannot read the resource limits: /proc is not mounted");
		doctor_hint(finding, "mount -t proc proc /proc");
		return;
	}
	if (doctor_rdma_relevant(doctor))
		check_locked(doctor, &limits);
	check_files(doctor, &limits);
}
