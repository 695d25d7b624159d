/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connect through /dev/nvme-fabrics: writing one line blocks until the kernel has connected or
 * failed. */
#include "disks/node.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include "nvme.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Kernels that do not list their options (before 5.17) support at least these (5.5). */
#define OLD_KERNEL                                                                                 \
	"transport traddr trsvcid nqn queue_size nr_io_queues reconnect_delay ctrl_loss_tmo "      \
	"keep_alive_tmo hostnqn host_traddr hostid "                                               \
	"duplicate_connect disable_sqflow hdr_digest data_digest nr_write_queues nr_poll_queues "  \
	"tos"

const char *const kernel_nvmf_ciphers[] = {
/* with the CPU's own instructions, which udev loads where it runs */
#if defined(__x86_64__)
	"aesni_intel",
#elif defined(__aarch64__)
	"ghash_ce",
#endif
	"gcm", "ctr", "ghash_generic", NULL
};

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
	return kernel_module_missing(module, why, diag);
}

bool kernel_nvmf_loaded(int root, const char *transport)
{
	return kernel_sys_exists(root, "sys/class/nvme-fabrics") &&
	       kernel_sys_exists(root,
		       !strcmp(transport, "rdma") ? "sys/module/nvme_rdma" : "sys/module/nvme_tcp");
}

/* Without modprobe the kernel can't load its ciphers itself. */
static int need_tls(int root, struct diag *diag)
{
	char *ciphers = kernel_sys_read_all(root, "proc/crypto");
	bool known = ciphers && strstr(ciphers, "gcm(aes)");

	free(ciphers);
	for (const char *const *module = kernel_nvmf_ciphers; *module && !known; module++)
		kernel_module_load(root, *module);
	return need_module(root, "tls", "sys/module/tls", diag);
}

int kernel_nvmf_ready(int root, const char *transport, bool tls, struct diag *diag)
{
	bool rdma = !strcmp(transport, "rdma");
	unsigned devices = 0;
	int err = need_module(root, "nvme_fabrics", "sys/class/nvme-fabrics", diag);

	if (!err)
		err = need_module(root, rdma ? "nvme_rdma" : "nvme_tcp",
			rdma ? "sys/module/nvme_rdma" : "sys/module/nvme_tcp", diag);
	if (!err && tls)
		err = need_tls(root, diag);
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

void kernel_nvmf_supported_options(int root, char known[NVMF_SUPPORTED])
{
	if (kernel_sys_read(root, known, NVMF_SUPPORTED, FABRICS_DEV) < 0)
		known[0] = 0;
}

static int unknown_to_kernel(int key, struct diag *diag)
{
	diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "this kernel does not support %s",
		kernel_nvmf_key_name(key));
	if (key == NVMF_TLS || key == NVMF_TLS_KEY || key == NVMF_KEYRING)
		diag_hint(diag, "NVMe/TCP with TLS needs Linux 6.7 or later with "
				"CONFIG_NVME_TCP_TLS");
	else if (key == NVMF_CONCAT)
		diag_hint(diag, "secure channel concatenation (concat) needs Linux 6.15 or later "
				"with CONFIG_NVME_TCP_TLS and CONFIG_NVME_HOST_AUTH");
	else if (key == NVMF_DHCHAP_SECRET || key == NVMF_DHCHAP_CTRL_SECRET)
		diag_hint(diag, "authentication needs Linux 6.0 or later with "
				"CONFIG_NVME_HOST_AUTH (before 6.7: CONFIG_NVME_AUTH)");
	return -ENOTSUP;
}

int kernel_nvmf_line(const struct nvmf_params *params, const char *known, bool mask,
	char line[NVMF_LINE], char left_out[NVMF_LEFT_OUT], struct diag *diag)
{
	struct writer w = { line, NVMF_LINE, 0 }, out = { left_out, NVMF_LEFT_OUT, 0 };
	bool has_list = known[0];

	left_out[0] = line[0] = 0;
	for (int key = 0; key < NVMF_KEYS; key++) {
		const char *name = kernel_nvmf_key_name(key), *value = params->value[key];
		bool lists = listed(has_list ? known : OLD_KERNEL, name);

		if (!value)
			continue;
		/* a kernel logs an unknown option with its value, so check secrets in any case */
		if (!lists && !params->soft[key] && (has_list || is_secret(key)))
			return unknown_to_kernel(key, diag);
		if (!lists && params->soft[key])
			add(&out, name, "");
		else
			add(&w, name, is_secret(key) && mask ? "***" : value);
	}
	if (w.used + 1 == w.len)
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"the options exceed the kernel's limit of %d bytes", NVMF_LINE);
	return 0;
}

int kernel_nvmf_write_line(int root, const char *line, int *instance)
{
	char text[128] = "";
	int fd = openat(root, FABRICS_DEV, O_RDWR | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (write(fd, line, strlen(line)) < 0)
		return -errno;
	got = read(fd, text, sizeof(text) - 1);
	return got > 0 && sscanf(text, "instance=%d", instance) == 1 ? 0 : -EPROTO;
}
