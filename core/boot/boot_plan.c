/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The jobs of a boot: one for each disk that the kernel command line and the operands name, and for
 * each group of parameters of other programs. */
#include "boot_kind.h"
#include "wire/nvmf.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct boot_job *add_job(struct boot *boot, const char *from)
{
	struct boot_job *job = &boot->job[boot->jobs++];

	*job = (struct boot_job){ .boot = boot, .from = from };
	return job;
}

static bool is_discovery(const struct uri *uri)
{
	return !uri->path[0] || !strcmp(uri->path, NVMF_DISCOVERY_NQN);
}

static int find_scheme(const struct boot_disk *disk, struct uri *uri, const struct scheme **scheme,
	struct diag *diag)
{
	struct diag known = { 0 };
	int err = uri_parse(uri, disk->uri, diag);

	if (err) {
		if (diag && !*uri->scheme &&
			!uri_is_address(disk->uri)) { /* uri_parse() suggests to create a file */
			kernel_boot_unknown_scheme(disk->uri, &known);
			diag_hint(diag, "%s", known.hint);
			uri_hint_host(disk->uri, diag);
		}
		return err;
	}
	*scheme = scheme_find(uri->scheme);
	return *scheme ? 0 : kernel_boot_unknown_scheme(uri->scheme, diag);
}

/* How the kernel attaches the URI. False: it can't. */
static bool choose_kernel_kind(const struct uri *uri, const struct scheme *scheme,
	const struct boot_kind **kind, const char **applet)
{
	const struct {
		unsigned use;
		const struct boot_kind *kind;
		const char *applet;
	} row[] = { { SCHEME_NVMF, &boot_nvme,
			    is_discovery(uri) ? "nvmf-connect-all" : "nvmf-connect" },
		{ SCHEME_ISCSI, &boot_iscsi, "iser-login" },
		{ SCHEME_SRP, &boot_srp, "srp-connect" },
		{ SCHEME_NFS, &boot_nfs, "nfsrdma-mount" } };

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (scheme->uses & row[i].use) {
			*kind = row[i].kind;
			*applet = row[i].applet;
			return true;
		}
	return false;
}

static int choose_kind(const struct boot_disk *disk, const struct boot_kind **kind,
	const char **applet, struct diag *diag)
{
	const struct scheme *scheme;
	struct uri uri = { 0 };
	int err = find_scheme(disk, &uri, &scheme, diag);

	if (err)
		goto out;
	if (disk->via != BOOT_KERNEL) {
		*kind = &boot_export;
		*applet = "export";
		if (!(scheme->uses & SCHEME_DISK))
			err = diag_set(diag, DIAG_USAGE, EINVAL,
				"'%s:' URIs can't be served: expected via=kernel", uri.scheme);
	} else if (!choose_kernel_kind(&uri, scheme, kind, applet)) {
		err = diag_set(
			diag, DIAG_USAGE, EINVAL, "the kernel can't attach '%s:' URIs", uri.scheme);
		diag_hint(diag, "append ,via=ublk or ,via=nbd to the URI");
		uri_hint_host(disk->uri, diag);
	}
out:
	explicit_bzero(&uri, sizeof(uri));
	return err;
}

/* Parameters of other programs and firmware are checked when they are read. */
void boot_check_disk(struct boot_disk *disk)
{
	const struct boot_kind *kind;
	const char *applet;

	if (!disk->why.err && !choose_kind(disk, &kind, &applet, &disk->why))
		uri_check_keys(disk->uri, kind->keys, &disk->why);
	if (disk->why.err)
		diag_ctx(&disk->why, "%s", disk->uri);
}

/* Find the block device of a running export of this disk, or NULL. */
static const char *existing(const struct boot_disk *disk, const struct kernel_serving *serving)
{
	const char *start = disk->via == BOOT_UBLK ? "/dev/ublkb" : "/dev/nbd";
	char uri[URI_MAX];

	strcpy(uri, disk->uri);
	uri_hide(uri);
	for (unsigned i = 0; serving && i < serving->processes; i++)
		for (unsigned j = 0; j < serving->process[i].fronts; j++) {
			const struct serving_front *front = &serving->process[i].front[j];

			for (unsigned k = 0; k < front->disks; k++)
				if (!strcmp(front->disk[k].uri, uri) &&
					!strncmp(front->disk[k].device, start, strlen(start)))
					return front->disk[k].device;
		}
	return NULL;
}

static void choose(struct boot_job *job, const struct kernel_serving *serving)
{
	const struct boot_disk *disk = job->disk;

	choose_kind(disk, &job->kind, &job->applet, &job->why);
	if (job->kind == &boot_export)
		job->existing = existing(disk, serving);
	else if (job->kind == &boot_nfs && !job->boot->dir)
		diag_set(&job->why, DIAG_USAGE, EINVAL,
			"no directory to mount it on: expected --mount DIR");
	if (job->why.err)
		job->applet = NULL;
}

static void add_disk(
	struct boot *boot, const struct boot_disk *disk, const struct kernel_serving *serving)
{
	struct boot_job *job = add_job(boot, disk->from);

	job->disk = disk;
	job->why = disk->why;
	if (!job->why.err)
		choose(job, serving);
	if (job->why.err)
		diag_ctx(&job->why, "%s", disk->uri);
	/* export has no dry run of its own */
	job->done = job->why.err || job->existing || (boot->dry_run && disk->via != BOOT_KERNEL);
}

/* The kernel command line may repeat a parameter of dracut's files, without its password. */
static bool is_same(const struct boot_disk *a, const struct boot_disk *b)
{
	char one[URI_MAX], other[URI_MAX];

	uri_hide(strcpy(one, a->uri));
	uri_hide(strcpy(other, b->uri));
	return a->via == b->via && !a->why.err && !b->why.err && !strcmp(one, other);
}

static const struct boot_disk *disk_at(
	const struct boot_params *params, const struct boot_disk *operand, unsigned i)
{
	return i < params->disks ? &params->disk[i] : &operand[i - params->disks];
}

static void add_disks(struct boot *boot, const struct boot_params *params,
	const struct boot_disk *operand, unsigned operands, const struct kernel_serving *serving)
{
	unsigned count = params->disks + operands;

	for (unsigned i = 0; i < count; i++) {
		const struct boot_disk *disk = disk_at(params, operand, i);
		unsigned next_same = i + 1;

		while (next_same < count && !is_same(disk, disk_at(params, operand, next_same)))
			next_same++;
		if (next_same == count)
			add_disk(boot, disk, serving);
	}
}

static void add_cmdline_job(
	struct boot *boot, const char *from, const struct boot_kind *kind, const char *applet)
{
	struct boot_job *job = add_job(boot, from);

	job->kind = kind;
	job->applet = applet;
}

int boot_plan(struct boot *boot, const struct boot_params *params, const struct boot_disk *operand,
	unsigned operands, const struct kernel_serving *serving, struct diag *diag)
{
	boot->job = calloc(params->disks + operands + 3, sizeof(*boot->job));
	if (!boot->job)
		return diag_sys(diag, ENOMEM, "disks to attach");
	add_disks(boot, params, operand, operands, serving);
	if (params->nvme && !boot->skip_nvmf)
		add_cmdline_job(boot, "rd.nvmf", &boot_nvme, "nvmf-connect-all");
	if (params->iscsi && !boot->skip_iscsi)
		add_cmdline_job(boot, "iscsi", &boot_iscsi, "iser-login");
	if (params->nfs && !boot->skip_nfs && boot->dir)
		add_cmdline_job(boot, "nfs", &boot_nfs, "nfsrdma-mount");
	return 0;
}
