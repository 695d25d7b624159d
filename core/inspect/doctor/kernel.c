/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The running kernel: its version, and whether its configuration can be read. */
#include "find.h"
#include "kernel_facts.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#define OLDEST 5 /* nvme-tcp is in 5.0 */

static void check_version(struct doctor *doctor)
{
	struct finding *finding;
	struct utsname uts = { 0 };
	unsigned major = 0;

	if (kernel_release(doctor->root, doctor->release, sizeof(doctor->release))) {
		finding = doctor_add(doctor, DOCTOR_KERNEL, "version", DOCTOR_WARNING, "",
			"the kernel release is unknown");
		doctor_hint(finding, "mount -t proc proc /proc");
		return;
	}
	uname(&uts);
	sscanf(doctor->release, "%u", &major);
	if (major < OLDEST) {
		finding = doctor_add(doctor, DOCTOR_KERNEL, "version", DOCTOR_WARNING,
			doctor->release, "older than Linux %u: NVMe/TCP is missing", OLDEST);
		doctor_hint(finding, "boot a newer kernel, or use the disk from userspace: "
				     "rdmastor export URI --nbd-dev");
	} else {
		finding = doctor_add(doctor, DOCTOR_KERNEL, "version", DOCTOR_OK, doctor->release,
			"Linux on %s", uts.machine);
	}
	doctor_text(finding, "release", doctor->release);
	doctor_text(finding, "machine", uts.machine);
}

static void check_config(struct doctor *doctor)
{
	char from[128];
	char *text = kernel_config(doctor->root, doctor->release, from, sizeof(from));
	struct finding *finding;

	if (text) {
		finding = doctor_add(doctor, DOCTOR_KERNEL, "config", DOCTOR_OK, from, "readable");
		doctor_text(finding, "path", from);
	} else {
		finding = doctor_add(doctor, DOCTOR_KERNEL, "config", DOCTOR_OK, "",
			"the kernel's configuration is unknown: neither /proc/config.gz with gzip "
			"nor "
			"a file of this release in /boot or /lib/modules");
	}
	finding->detail = true;
	free(text);
}

/* Many of the following checks and repairs require root. */
static void check_privilege(struct doctor *doctor)
{
	struct finding *finding;

	if (!geteuid()) {
		finding = doctor_add(
			doctor, DOCTOR_KERNEL, "privilege", DOCTOR_OK, "", "examined as root");
		finding->detail = true;
		return;
	}
	finding = doctor_add(doctor, DOCTOR_KERNEL, "privilege", DOCTOR_WARNING, "",
		"without root privilege no module is loaded, and some checks see less");
	doctor_hint(finding, "run the same command as root");
}

static void check_sysfs(struct doctor *doctor)
{
	struct finding *finding;

	doctor->no_sysfs = faccessat(doctor->root, "sys/class", F_OK, 0) != 0;
	finding = doctor_add(doctor, DOCTOR_KERNEL, "sysfs",
		doctor->no_sysfs ? DOCTOR_WARNING : DOCTOR_OK, "/sys", "%s",
		doctor->no_sysfs ? "not mounted: devices and loaded modules are unknown"
				 : "mounted");
	finding->detail = !doctor->no_sysfs;
	doctor_hint(finding, "mount -t sysfs sysfs /sys");
}

void doctor_kernel(struct doctor *doctor)
{
	check_version(doctor);
	check_config(doctor);
	check_sysfs(doctor);
	check_privilege(doctor);
}
