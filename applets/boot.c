/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* boot: attach what firmware and kernel command line name, as an initramfs does before it mounts
 * the root file system. */
#include "applet.h"
#include "attach.h"
#include "attach_boot.h"
#include "disk_open.h"
#include "export.h"
#include "iscsi_monitor.h"
#include "kernel_boot.h"
#include "kernel_identity.h"
#include "kernel_nbd.h"
#include "kernel_nbft.h"
#include "kernel_serving.h"
#include "kernel_status.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS   60000
#define NAME_MS   5000 /* for the resolver */
#define ANSWER_MS 1000 /* for a process to report what it serves */

struct boot_options {
	struct opt_common common;
	const char *mount;
	struct opt_list skip;
	bool needs, network;
};

#define AT(field) offsetof(struct boot_options, field)
static const struct opt rows[] = {
	{ "mount", 0, OPT_TEXT, AT(mount), "DIR", "mount an NFS root on this directory" },
	{ "skip", 0, OPT_LIST, AT(skip), "nvmf|iscsi|nfs",
		"leave the parameters for these to another program; repeatable" },
	{ "needs", 0, OPT_FLAG, AT(needs), NULL,
		"print the modules, kernel parameters and files that an initramfs needs for these "
		"devices or URIs; default those of the root file system" },
	{ "network", 0, OPT_FLAG, AT(network), NULL,
		"print dracut's parameters for the network interfaces of NBFT and iBFT" },
	{ "timeout", 0, OPT_MSEC, AT(common.timeout_ms), "SECONDS",
		"time limit; 0: none; default rd.rdmastor.timeout=, else 60", 0, OPT_MSEC_MAX },
	{ 0 },
};
#undef AT

/* timeout_ms 0: unset. */
static const struct boot_options defaults;

struct booting {
	struct call *call;
	struct boot boot;
	struct boot_params params;
	struct boot_disk *operand;
	struct kernel_serving serving;
	struct loop_signal signal;
};

/* An operand as copied from a kernel command line. */
static const char *bare(const char *operand)
{
	static const char parameter[] = "rd.rdmastor=";
	size_t len = strlen(parameter);

	return operand + (strncmp(operand, parameter, len) ? 0 : len);
}

static const char *name_of(const struct boot_job *job)
{
	return job->disk ? job->disk->uri : job->from;
}

static void report_retry(const struct boot_job *job)
{
	const struct booting *b = container_of(job->boot, struct booting, boot);

	call_note(b->call, "%s: %s: trying again", job->why.object, job->why.text);
}

static void caught(struct loop_signal *signal, int signo)
{
	struct booting *b = container_of(signal, struct booting, signal);

	if (b->boot.stopping)
		_exit(128 + signo);
	boot_stop(&b->boot);
}

struct listed {
	struct call *call;
	const struct boot_job *job;
	unsigned plans;
};

static void put_text(const char *text, void *arg)
{
	const struct listed *listed = arg;

	out_text(listed->call->out, NULL, NULL, "%s", text);
}

static void put_device(const char *path, void *arg)
{
	if (!strncmp(path, "/dev/", 5))
		put_text(path, arg);
}

static void put_line(const char *text, void *arg)
{
	const struct listed *listed = arg;

	out_line(listed->call->out, "%s: %s", name_of(listed->job), text);
}

static void put_plan(const char *uri, void *arg)
{
	struct listed *listed = arg;

	out_line(listed->call->out, "%s: %s: would be attached by %s", listed->job->from, uri,
		listed->job->applet);
	listed->plans++;
}

static void put_missing(const char *module, void *arg)
{
	const struct listed *listed = arg;

	put_text(module, arg);
	attach_warn_missing(&listed->call->notes, module);
}

static void show_plan(struct call *call, const struct boot_job *job)
{
	struct listed listed = { call, job, 0 };

	if (!job->disk && (!job->why.err || boot_partly(job))) {
		out_list(call->out, "uris");
		boot_uris(job, put_text, &listed);
		out_end(call->out);
		boot_uris(job, put_plan, &listed);
	}
	out_list(call->out, "missing_modules");
	boot_missing(job, put_missing, &listed);
	out_end(call->out);
	if (!listed.plans && !job->why.err)
		out_line(call->out, "%s: would be attached by %s", name_of(job), job->applet);
}

static void show_job(struct call *call, const struct boot_job *job)
{
	const struct boot_options *opts = call->opts;
	struct listed listed = { call, job, 0 };
	struct out *out = call->out;

	out_object(out, NULL);
	if (job->disk)
		out_text(out, "uri", NULL, "%s", job->disk->uri);
	out_text(out, "from", NULL, "%s", job->from);
	out_text(out, "via", NULL, "%s", kernel_boot_via_name(job->disk ? job->disk->via : 0));
	if (job->applet)
		out_text(out, "applet", NULL, "%s", job->applet);
	if (!opts->common.dry_run) {
		out_list(out, "devices");
		boot_devices(job, put_device, &listed);
		out_end(out);
		boot_devices(job, put_line, &listed);
	} else {
		show_plan(call, job);
	}
	out_error(out, "error", &job->why);
	out_end(out);
}

/* The last failure becomes the command's, which main() prints. */
static void add_failure(const struct diag *why, void *arg)
{
	struct call *call = arg;
	struct diag *diag = call->diag;

	if (diag->err)
		out_failure(call->name, diag);
	*diag = *why;
}

static int show(struct booting *b)
{
	struct call *call = b->call;
	unsigned failed = 0;

	out_list(call->out, "results");
	for (unsigned i = 0; i < b->boot.jobs; i++) {
		const struct boot_job *job = &b->boot.job[i];

		show_job(call, job);
		if (!job->why.err)
			continue;
		failed += !boot_partly(job);
		boot_other_failures(job, add_failure, call);
		add_failure(&job->why, call);
	}
	out_end(call->out);
	return !call->diag->err ? EXIT_DONE : failed < b->boot.jobs ? EXIT_PARTLY : EXIT_FAILED;
}

/* Of firmware and other parameters the applets that read them find out. */
static int check_keys(const struct boot_disk *disk, struct diag *diag)
{
	const char *applet;
	int err = boot_choose_applet(disk, &applet, diag);

	return err ? err : uri_check_keys(disk->uri, applet_find(applet)->keys, diag);
}

static void check_disk(struct boot_disk *disk)
{
	if (!disk->why.err && check_keys(disk, &disk->why))
		diag_ctx(&disk->why, "%s", disk->uri);
}

static int read_params(struct booting *b, int root)
{
	struct call *call = b->call;
	const struct boot_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	bool never = opts->common.no_timeout;
	int err = kernel_boot_params_read(root, &b->params, call->diag);

	if (b->params.timeout.err)
		call_warn(
			call, "%s: ignored: %s", b->params.timeout.object, b->params.timeout.text);
	b->operand = calloc(call->operands + 1, sizeof(*b->operand));
	if (!err && !b->operand)
		err = diag_sys(call->diag, ENOMEM, "operands");
	if (err)
		return err;
	for (unsigned i = 0; i < call->operands; i++)
		kernel_boot_disk(&b->operand[i], bare(call->operand[i]), "operand");
	for (unsigned i = 0; i < call->operands; i++)
		check_disk(&b->operand[i]);
	for (unsigned i = 0; i < b->params.disks; i++)
		check_disk(&b->params.disk[i]);
	for (unsigned i = 0; i < opts->skip.count; i++) {
		b->boot.skip_nvmf |= !strcmp(opts->skip.item[i], "nvmf");
		b->boot.skip_iscsi |= !strcmp(opts->skip.item[i], "iscsi");
		b->boot.skip_nfs |= !strcmp(opts->skip.item[i], "nfs");
	}
	never |= !ms && b->params.never;
	ms = ms ? ms : b->params.timeout_ms ? b->params.timeout_ms : WAIT_MS;
	b->boot.deadline = never ? 0 : loop_clock() + ms * MSEC;
	b->boot.dir = opts->mount;
	b->boot.dry_run = opts->common.dry_run;
	b->boot.notes = call->notes;
	b->boot.root = root;
	return 0;
}

struct driver {
	int root, dev; /* of ublk_query(); -1: not opened yet */
	struct loop *loop;
};

/* The pid of an NBD device is that of the process that connected it, which may be gone. Only root
 * can connect one. */
static bool driver_confirms(struct driver *driver, const char *device, int pid)
{
	char backend[600];
	struct ublk_info info;
	unsigned number;
	char end;

	if (sscanf(device, "/dev/nbd%u%c", &number, &end) == 1)
		return !kernel_nbd_backend(driver->root, number, backend, sizeof(backend)) &&
		       !strncmp(backend, KERNEL_NBD_ID_PREFIX, strlen(KERNEL_NBD_ID_PREFIX));
	if (sscanf(device, "/dev/ublkb%u%c", &number, &end) != 1)
		return false;
	if (driver->dev < 0)
		driver->dev = kernel_ublk_open(driver->root, NULL);
	return driver->dev >= 0 && !ublk_query(driver->dev, driver->loop, number, &info, NULL) &&
	       info.live && info.pid == pid;
}

/* What is served, without the block devices that the drivers don't confirm. */
static int find_served(
	int root, struct loop *loop, struct kernel_serving *serving, struct diag *diag)
{
	struct driver driver = { .root = root, .dev = -1, .loop = loop };
	int err = kernel_serving_trusted(root, loop, ANSWER_MS, serving, diag);

	for (unsigned i = 0; i < serving->processes; i++) {
		const struct serving_process *process = &serving->process[i];

		for (unsigned j = 0; j < process->fronts; j++)
			for (unsigned k = 0; k < process->front[j].disks; k++) {
				char *device = process->front[j].disk[k].device;

				if (device[0] && !driver_confirms(&driver, device, process->pid))
					device[0] = 0;
			}
	}
	if (driver.dev >= 0)
		close(driver.dev);
	return err;
}

/* Choose the random ID of this host before the children, which inherit it. Report a name made from
 * it. */
static void choose_identity(const struct booting *b, int root)
{
	kernel_identity_run();
	for (unsigned i = 0; i < b->boot.jobs; i++) {
		const struct boot_job *job = &b->boot.job[i];

		if (job->disk && !job->done)
			disk_warn_random(b->call, root, job->disk->uri);
	}
}

static int attach(struct booting *b, int root)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	struct call *call = b->call;
	int err = find_served(root, b->boot.loop, &b->serving, call->diag);

	if (!err)
		err = boot_plan(
			&b->boot, &b->params, b->operand, call->operands, &b->serving, call->diag);
	if (!err && !b->boot.jobs)
		call_note(call, "nothing to attach: no rd.rdmastor= on the kernel command line");
	b->signal.caught = caught;
	if (!err)
		err = loop_signal_add(b->boot.loop, &b->signal, signos, 3, call->diag);
	if (err)
		return err;
	choose_identity(b, root);
	boot_start(&b->boot);
	if (b->boot.pending)
		loop_run(b->boot.loop);
	loop_signal_del(b->boot.loop, &b->signal);
	return show(b);
}

static void put_needs(struct call *call, const struct boot_needs *needs)
{
	static const struct {
		const char *list, *line;
	} kinds[BOOT_NEED_KINDS] = {
		[BOOT_NEED_MODULE] = { "modules", "module " },
		[BOOT_NEED_PARAM] = { "words", "word " },
		[BOOT_NEED_FILE] = { "files", "file " },
	};

	for (unsigned kind = 0; kind < BOOT_NEED_KINDS; kind++) {
		out_list(call->out, kinds[kind].list);
		for (unsigned i = 0; i < needs->count; i++)
			if (needs->need[i].kind == kind)
				out_text(call->out, NULL, kinds[kind].line, "%s",
					needs->need[i].text);
		out_end(call->out);
	}
}

/* operand NULL: the root */
static int collect_attached(int root, const char *operand, const struct kernel_serving *serving,
	struct boot_needs *needs, struct diag *diag)
{
	struct kernel_list *list;
	int err = kernel_list_new(root, &list, diag);

	if (err)
		return err;
	if (operand)
		err = kernel_list_select(root, list, operand, NAME_MS, diag);
	if (!err)
		err = kernel_boot_needs(root, list, serving, operand, needs, diag);
	kernel_list_free(list);
	return err;
}

/* Its disk may be attached or not. */
static int collect_uri(int root, const char *operand, const struct kernel_serving *serving,
	struct boot_needs *needs, struct diag *diag)
{
	struct kernel_list *list;
	struct boot_disk disk;
	int err;

	kernel_boot_disk(&disk, operand, "operand");
	check_disk(&disk);
	if (disk.why.err) {
		*diag = disk.why;
		err = -disk.why.err;
	} else {
		bool attached = disk.via == BOOT_KERNEL &&
				!collect_attached(root, disk.uri, serving, needs, NULL);

		err = kernel_list_new(root, &list, diag);
		if (!err) {
			err = kernel_boot_needs_disk(root, list, &disk, attached, needs, diag);
			kernel_list_free(list);
		}
	}
	explicit_bzero(&disk, sizeof(disk));
	return err;
}

static int collect_needs(
	struct call *call, int root, const struct kernel_serving *serving, struct boot_needs *needs)
{
	struct stat st;
	int err = 0;

	if (!call->operands)
		return collect_attached(root, NULL, serving, needs, call->diag);
	for (unsigned i = 0; !err && i < call->operands; i++) {
		const char *operand = bare(call->operand[i]);

		if (uri_is_address(operand))
			err = collect_uri(root, operand, serving, needs, call->diag);
		else
			err = collect_attached(root, operand, serving, needs, call->diag);
		if (err == -ENOENT && !stat(operand, &st) && S_ISREG(st.st_mode))
			diag_set(call->diag, DIAG_USAGE, EINVAL,
				"not a remote disk: expected a device or a URI");
		if (err)
			diag_ctx(call->diag, "%s", operand);
	}
	return err;
}

static int show_needs(struct call *call, int root)
{
	struct kernel_serving serving = { 0 };
	struct boot_needs needs = { 0 };
	struct loop *loop;
	int err = loop_new(&loop, &call->loop, call->diag);

	if (err)
		return err;
	err = find_served(root, loop, &serving, call->diag);
	if (!err)
		err = collect_needs(call, root, &serving, &needs);
	if (!err)
		put_needs(call, &needs);
	kernel_serving_free(&serving);
	free(needs.need);
	loop_free(loop);
	return err;
}

static int put_network_word(const char *word, void *arg)
{
	out_text(arg, NULL, "", "%s", word);
	return 0;
}

static int show_network(struct call *call, int root)
{
	int err;

	out_list(call->out, "words");
	err = kernel_boot_network_params(root, put_network_word, call->out, call->diag);
	out_end(call->out);
	return err == -ENOENT ? 0 : err;
}

static int check_call(const struct call *call)
{
	const struct boot_options *opts = call->opts;

	if (opts->network && (opts->needs || call->operands))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--network and %s can't be combined", opts->needs ? "--needs" : "disks");
	if ((opts->network || opts->needs) && (opts->mount || opts->skip.count))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"%s attaches nothing: omit --mount and --skip",
			opts->needs ? "--needs" : "--network");
	return 0;
}

static int run(struct call *call)
{
	const struct boot_options *opts = call->opts;
	struct booting b = { .call = call,
		.boot = { .run = applet_exec, .on_retry = report_retry } };
	int root, err = check_call(call);

	if (err)
		return err;
	root = kernel_root();
	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (opts->needs || opts->network) {
		err = opts->network ? show_network(call, root) : show_needs(call, root);
		close(root);
		return err;
	}
	err = read_params(&b, root);
	if (!err)
		err = loop_new(&b.boot.loop, &call->loop, call->diag);
	if (!err) {
		err = attach(&b, root);
		boot_free(&b.boot);
		kernel_serving_free(&b.serving);
		loop_free(b.boot.loop);
	}
	if (b.operand)
		explicit_bzero(b.operand, call->operands * sizeof(*b.operand));
	free(b.operand);
	kernel_boot_params_free(&b.params);
	for (unsigned i = 0; i < call->operands; i++)
		uri_hide(call->operand[i]); /* the session monitor is a fork of this process */
	if (b.boot.has_iscsi)
		iscsi_monitor_start(call, root, NULL);
	close(root);
	return err;
}

const struct applet applet_boot = {
	.name = "boot",
	.operands = "[URI[,via=kernel|ublk|nbd]|DEVICE]...",
	.summary = "attach the disks named on the kernel command line and by the firmware",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct boot_options),
	.examples = "  rdmastor boot --mount /sysroot\n"
		    "  rdmastor boot --dry-run\n"
		    "  rdmastor boot nvme+rdma://10.0.0.1/nqn.2024-01.com.example:disk1,via=ublk\n",
	.notes = "Kernel parameters:\n"
		 "  rd.rdmastor=URI[,via=kernel|ublk|nbd]\n"
		 "      attach this disk: through the kernel's initiator (default), as\n"
		 "      /dev/ublkbN or as /dev/nbdN; may be repeated\n"
		 "  rd.rdmastor.timeout=SECONDS\n"
		 "      time limit (default 60); 0: none\n"
		 "  rd.nvmf.discover=, rd.nvmf.hostnqn=, rd.nvmf.hostid=, rd.nvmf.nonbft\n"
		 "      NVMe-oF as in dracut; the firmware's NBFT is read without them\n"
		 "  netroot=iscsi:..., netroot=iser:..., root=iscsi:..., rd.iscsi.firmware=1\n"
		 "      iSCSI as in dracut: iscsi:[USER:SECRET@]HOST::[PORT]:[LUN]:IQN\n"
		 "  root=nfs:HOST:/PATH[:OPTIONS], nfsroot=\n"
		 "      NFS with rdma or proto=rdma among the options\n"
		 "  ip=dhcp, ip=IP::GATEWAY:MASK:NAME:INTERFACE:none\n"
		 "      the network, set up by the initramfs\n"
		 "Everyone can read the kernel command line: keep secrets in files.\n"
		 "\n"
		 "To boot from a disk, print its parameter: rdmastor boot --needs URI\n"
		 "In /etc/default/grub: GRUB_CMDLINE_LINUX=\"rd.rdmastor=URI root=LABEL=ROOT\"\n"
		 "  dracut (on Debian with the package dracut-network):\n"
		 "      update-grub; dracut -f; lsinitrd | grep rdmastor\n"
		 "      static address: ip=; always: add_dracutmodules+=\" rdmastor \"\n"
		 "  initramfs-tools:\n"
		 "      update-grub; update-initramfs -u; lsinitramfs /initrd.img | grep rdmastor\n"
		 "      or RDMASTOR=\"URI\" in /etc/initramfs-tools/conf.d/rdmastor; always:\n"
		 "      RDMASTOR=yes; never: RDMASTOR=none\n"
		 "  mkinitcpio, with ip=dhcp:\n"
		 "      HOOKS=(base systemd block sd-rdmastor filesystems) in\n"
		 "      /etc/mkinitcpio.conf, or rdmastor behind udev and net;\n"
		 "      grub-mkconfig -o /boot/grub/grub.cfg; mkinitcpio -P\n"
		 "Images without a remote disk are left as they are.\n"
		 "Before rebooting: rdmastor boot --dry-run URI\n",
	.schemes = SCHEME_ALL,
	.max = UINT8_MAX,
	.has_dry_run = true,
	.run = run,
};
