/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connecting through /dev/nvme-fabrics: one line is written, which comes back when the connection
 * stands or has failed. What waits for its namespaces is nvme_wait.c. */
#include "child.h"
#include "kernel.h"
#include "nvme.h"
#include "sys/modules.h"
#include "sys/node.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LINE     4096 /* the kernel takes a page */
#define GRACE_MS 1500

/* A kernel that does not list its options (before 5.17) has at least these (5.5). */
#define OLD_KERNEL                                                                                 \
	"transport traddr trsvcid nqn queue_size nr_io_queues reconnect_delay ctrl_loss_tmo "      \
	"keep_alive_tmo hostnqn host_traddr hostid "                                               \
	"duplicate_connect disable_sqflow hdr_digest data_digest nr_write_queues nr_poll_queues "  \
	"tos"

static void count(const char *name, void *arg)
{
	(void)name;
	++*(unsigned *)arg;
}

static int need_module(int root, const char *module, const char *shown_by, struct diag *diag)
{
	struct utsname uts;
	const char *why;

	if (kernel_sys_exists(root, shown_by))
		return 0;
	why = kernel_module_load(root, module);
	if (kernel_sys_exists(root, shown_by) ||
		(uname(&uts) == 0 && kernel_module_built_in(root, uts.release, module)))
		return 0;
	return diag_set(
		diag, DIAG_NO_MODULE, ENOENT, "kernel module %s is not loaded: %s", module, why);
}

int kernel_nvmf_ready(int root, const char *transport, struct diag *diag)
{
	bool rdma = !strcmp(transport, "rdma");
	unsigned devices = 0;
	int err = need_module(root, "nvme_fabrics", "sys/class/nvme-fabrics", diag);

	if (!err)
		err = need_module(root, rdma ? "nvme_rdma" : "nvme_tcp",
			rdma ? "sys/module/nvme_rdma" : "sys/module/nvme_tcp", diag);
	if (err)
		return err;
	err = kernel_node_make(root, FABRICS_DEV, "sys/class/misc/nvme-fabrics/dev", false);
	if (err && !kernel_sys_exists(root, FABRICS_DEV))
		return diag_sys(diag, -err, "make /" FABRICS_DEV);
	if (!rdma)
		return 0;
	kernel_sys_list(root, "sys/class/infiniband", count, &devices);
	if (devices)
		return 0;
	diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no RDMA device");
	return diag_hint(diag, HINT_RDMA_DEVICE "; or use nvme+tcp://");
}

/* "instance=-1,cntlid=-1,transport=%s,traddr=%s,…" */
static bool listed(const char *known, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = known; (at = strstr(at, name)); at += len)
		if ((at == known || strchr(", ", at[-1])) && (!at[len] || strchr("=, ", at[len])))
			return true;
	return false;
}

struct writer {
	char *to;
	size_t len, used;
};

static void add(struct writer *w, const char *name, const char *value)
{
	int n = snprintf(w->to + w->used, w->len - w->used, "%s%s%s%s", w->used ? "," : "", name,
		*value ? "=" : "", value);

	w->used += (size_t)n < w->len - w->used ? (size_t)n : w->len - w->used - 1;
}

static bool is_secret(int key)
{
	return key == NVMF_DHCHAP_SECRET || key == NVMF_DHCHAP_CTRL_SECRET;
}

static int write_line(const struct nvmf_want *want, const char *known, bool told, bool mask,
	struct writer *w, struct writer *out, struct diag *diag)
{
	for (int key = 0; key < NVMF_KEYS; key++) {
		const char *name = kernel_nvmf_key_name(key), *value = want->value[key];

		if (!value)
			continue;
		if (!listed(known, name) && want->soft[key]) {
			add(out, name, "");
			continue;
		}
		/* a kernel that does not know an option logs it with its value */
		if (!listed(known, name) && (told || is_secret(key)))
			return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
				"this kernel does not support %s", name);
		add(w, name, is_secret(key) && mask ? "***" : value);
	}
	if (w->used + 1 == w->len)
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"the options exceed the kernel's limit of %d bytes", LINE);
	return 0;
}

static int make_line(int root, const struct nvmf_want *want, bool mask, struct writer *w,
	struct writer *out, struct diag *diag)
{
	char known[2048];
	bool told = kernel_sys_read(root, known, sizeof(known), FABRICS_DEV) > 0;

	out->to[0] = 0;
	w->to[0] = 0;
	return write_line(want, told ? known : OLD_KERNEL, told, mask, w, out, diag);
}

int kernel_nvmf_line(int root, const struct nvmf_want *want, char *line, size_t len, char *left_out,
	size_t left_len, struct diag *diag)
{
	struct writer w = { line, len, 0 }, out = { left_out, left_len, 0 };

	return make_line(root, want, true, &w, &out, diag);
}

/* Shared with the process that writes. */
static int write_fabrics(int root, const void *line, void *instance)
{
	char text[128] = "";
	int fd = openat(root, FABRICS_DEV, O_RDWR | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno;
	if (write(fd, line, strlen(line)) < 0)
		return errno;
	got = read(fd, text, sizeof(text) - 1);
	if (got <= 0 || sscanf(text, "instance=%d", (int *)instance) != 1)
		return EPROTO;
	return 0;
}

static void delete_controller(int root, const void *line, void *instance)
{
	(void)line;
	kernel_nvme_write(root, "1", NVME_CLASS "/nvme%d/delete_controller", *(int *)instance);
}

/* Linux 6.12: nvmet over RDMA may drop the connection before its answer to a wrong secret is out,
 * and the host waits for it without end. */
static int too_late(const struct nvmf_want *want, uint64_t since, struct diag *diag)
{
	diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT, "no answer within %.3g s",
		(double)(loop_clock() - since) / 1e9);
	if (want->value[NVMF_DHCHAP_SECRET])
		diag_hint(diag,
			"a wrong secret can cause this; the kernel may then hang until a reboot");
	return -ETIMEDOUT;
}

/* Not the target's, which may be on the same machine. */
static bool of_hosts(const char *line)
{
	return !strncmp(line, "nvme", 4) && strncmp(line, "nvmet", 5);
}

static int attempt(int root, const char *line, uint64_t until, struct nvmf_made *made,
	const struct nvmf_want *want, struct diag *diag)
{
	int err, instance = -1;
	struct child_call call = { .fn = write_fabrics,
		.undo = delete_controller,
		.arg = line,
		.out = &instance,
		.out_len = sizeof(instance),
		.until = until,
		.grace_ms = GRACE_MS };
	uint64_t since = loop_clock();
	char words[8192], name[16];
	struct nvme_numbers others = { 0 };
	struct kernel_log log;

	kernel_nvme_numbers_add(root, &others);
	kernel_log_mark(root, &log);
	err = child_call_run(&call, &root, 1);
	if (err)
		instance = -1;
	snprintf(name, sizeof(name), "nvme%d", instance);
	kernel_log_since(&log, of_hosts, words, sizeof(words));
	if (err) /* what is there now is not what failed */
		kernel_nvme_numbers_add(root, &others);
	kernel_nvme_words_own(words, want, &others, instance);
	if (!err) {
		snprintf(made->words, sizeof(made->words), "%.1000s", words);
		err = kernel_nvmf_look(root, name, &made->ctrl);
		return err ? diag_set(diag, DIAG_CLOSED, ENODEV,
				     "the kernel connected it as %s, then lost the connection",
				     name)
			   : 0;
	}
	if (call.late)
		err = too_late(want, since, diag);
	else
		err = kernel_nvme_why(-err, words, want, diag);
	snprintf(made->words, sizeof(made->words), "%.1000s", words);
	return err;
}

int kernel_nvmf_connect(int root, const struct nvmf_want *want, uint64_t until,
	struct nvmf_made *made, struct diag *diag)
{
	char line[LINE], left_out[256];
	struct writer w = { line, sizeof(line), 0 }, out = { left_out, sizeof(left_out), 0 };
	int err;

	*made = (struct nvmf_made){ 0 };
	made->existed =
		!want->value[NVMF_DUPLICATE_CONNECT] && !kernel_nvmf_find(root, want, &made->ctrl);
	if (made->existed)
		return 0;
	err = make_line(root, want, false, &w, &out, diag);
	if (!err)
		err = attempt(root, line, until, made, want, diag);
	explicit_bzero(line, sizeof(line));
	/* another program was quicker */
	if (err == -EALREADY && !kernel_nvmf_find(root, want, &made->ctrl)) {
		made->existed = true;
		return 0;
	}
	return err;
}
