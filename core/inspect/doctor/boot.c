/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks that an initramfs would attach with this kernel command line and firmware, and failures. */
#include "attach_boot.h"
#include "find.h"
#include "kernel_boot.h"
#include "kernel_nbft.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 1000 /* for a process to report what it serves */

static void add_name(const char *name, void *arg)
{
	struct finding *finding = arg;
	const size_t len = strlen(finding->text);

	snprintf(finding->text + len, sizeof(finding->text) - len, "%s%s",
		strchr(finding->text, ':') ? " " : ": ", name);
}

static void add_job(struct doctor *doctor, const struct boot_job *job)
{
	const char *what = job->disk ? job->disk->uri : job->from;
	struct finding *finding;

	if (job->why.code == DIAG_PERMISSION) { /* an initramfs runs as root */
		finding = doctor_add_diag(doctor, DOCTOR_BOOT, "disk", DOCTOR_WARNING, &job->why);
		doctor_hint(finding, "run the same command as root");
	} else if (job->why.err) {
		finding = doctor_add_diag(doctor, DOCTOR_BOOT, "disk", DOCTOR_FAILURE, &job->why);
		if (!finding->hint[0])
			doctor_hint(finding, "see the words with: cat /proc/cmdline");
	} else if (job->existing) {
		finding = doctor_add(doctor, DOCTOR_BOOT, "disk", DOCTOR_OK, what,
			"is attached already as %s", job->existing);
	} else {
		finding = doctor_add(doctor, DOCTOR_BOOT, "disk", DOCTOR_OK, what,
			"would be attached by %s", job->applet);
		if (!job->disk)
			boot_uris(job, add_name, finding);
	}
	uri_hide(finding->object);
	doctor_text(finding, "from", job->from);
	doctor_text(finding, "via", kernel_boot_via_name(job->disk ? job->disk->via : 0));
	if (job->applet)
		doctor_text(finding, "applet", job->applet);
}

static void check_params(struct doctor *doctor, const struct boot_params *params)
{
	/* use / in place of the new root directory */
	struct boot boot = { .loop = doctor->loop,
		.dir = "/",
		.deadline = loop_clock() + doctor_remaining_ms(doctor, 2) * UINT64_C(1000000),
		.root = doctor->root,
		.dry_run = true,
		.notes = { .name = "doctor", .quiet = true, .verbose = doctor->verbose } };
	struct kernel_serving serving = { 0 };
	struct diag diag = { 0 };

	kernel_serving_trusted(doctor->root, doctor->loop, ANSWER_MS, &serving, NULL);
	if (boot_plan(&boot, params, NULL, 0, &serving, &diag)) {
		doctor_add_diag(doctor, DOCTOR_BOOT, "disk", DOCTOR_FAILURE, &diag);
	} else {
		boot_start(&boot);
		if (boot.pending)
			loop_run(boot.loop);
		for (unsigned i = 0; i < boot.jobs; i++)
			add_job(doctor, &boot.job[i]);
	}
	if (!boot.jobs)
		doctor_add(doctor, DOCTOR_BOOT, "disk", DOCTOR_OK, "",
			"the kernel command line names no remote disk")
			->detail = true;
	boot_free(&boot);
	kernel_serving_free(&serving);
}

static void add_table(
	const char *table, unsigned subsystems, const struct diag *damage, void *doctor)
{
	struct finding *finding;

	if (damage) {
		finding = doctor_add_diag(doctor, DOCTOR_BOOT, "nbft", DOCTOR_WARNING, damage);
		doctor_hint(finding, "%s",
			damage->code == DIAG_PROTOCOL
				? "correct the NVMe-oF boot settings of the firmware"
			: damage->code == DIAG_PERMISSION
				? "run the same command as root"
				: "name the target on the kernel command "
				  "line: rd.rdmastor=nvme+tcp://HOST/NQN");
	} else {
		finding = doctor_add(doctor, DOCTOR_BOOT, "nbft", DOCTOR_OK, table,
			"the firmware names %u NVMe-oF subsystems", subsystems);
		doctor_number(finding, "subsystems", subsystems);
	}
}

static void check_firmware(struct doctor *doctor)
{
	struct diag diag = { 0 };
	struct finding *finding;
	int err = kernel_nbft_check(doctor->root, add_table, doctor, &diag);

	if (!err || err == -ENOENT)
		return;
	finding = doctor_add_diag(doctor, DOCTOR_BOOT, "nbft", DOCTOR_WARNING, &diag);
	doctor_hint(finding, "%s",
		diag.code == DIAG_PERMISSION ? "run the same command as root"
					     : "see the kernel's messages: dmesg | tail");
}

void doctor_boot(struct doctor *doctor)
{
	struct boot_params params = { 0 };
	struct finding *finding;
	struct diag diag = { 0 };
	int err;

	if (doctor->uri)
		return;
	err = kernel_boot_params_read(doctor->root, &params, &diag);
	if (err) {
		finding = doctor_add_diag(doctor, DOCTOR_BOOT, "words", DOCTOR_WARNING, &diag);
		doctor_hint(finding, "mount -t proc proc /proc");
	} else {
		if (params.timeout.err) {
			finding = doctor_add_diag(
				doctor, DOCTOR_BOOT, "words", DOCTOR_WARNING, &params.timeout);
			doctor_hint(finding, "correct the kernel command line");
		}
		check_params(doctor, &params);
	}
	kernel_boot_params_free(&params);
	check_firmware(doctor);
}
