/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read our own words on the kernel command line, rd.rdmastor=URI[,via=...], and find out whether
 * there are any of those that other applets read with --from-cmdline. */
#include "cmdline.h"
#include "kernel_boot.h"
#include "kernel_iscsi_conf.h"
#include "kernel_nfs.h"
#include "kernel_nvmf.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const vias[] = { "kernel", "ublk", "nbd" };

const char *kernel_boot_via_word(uint8_t via)
{
	return vias[via];
}

void kernel_boot_disk(struct boot_disk *disk, const char *text, const char *from)
{
	const char *comma = strrchr(text, ','), *word = "kernel";
	size_t len = strlen(text);

	*disk = (struct boot_disk){ 0 };
	snprintf(disk->from, sizeof(disk->from), "%s", from);
	if (comma && !strncmp(comma, ",via=", 5)) {
		len = (size_t)(comma - text);
		word = comma + 5;
	}
	if (!len || len >= sizeof(disk->uri)) {
		diag_set(&disk->why, DIAG_USAGE, EINVAL,
			"invalid value: expected a URI of 1 to %d bytes", URI_MAX - 1);
		diag_ctx(&disk->why, "%s", from);
		return;
	}
	memcpy(disk->uri, text, len);
	while (disk->via < 3 && strcmp(vias[disk->via], word))
		disk->via++;
	if (disk->via < 3)
		return;
	disk->via = BOOT_KERNEL;
	diag_set(&disk->why, DIAG_USAGE, EINVAL, "invalid via=%.40s: expected kernel, ublk or nbd",
		word);
	diag_ctx(&disk->why, "%s", disk->uri);
}

int kernel_boot_unknown_scheme(const char *name, struct diag *diag)
{
	return scheme_unknown(name, SCHEME_ATTACH, "another disk with ,via=ublk or ,via=nbd", diag);
}

static int add_disk(struct boot_words *words, const char *text, struct diag *diag)
{
	struct boot_disk *more = calloc(words->disks + 1, sizeof(*more));

	if (!more)
		return diag_sys(diag, ENOMEM, "kernel command line");
	if (words->disks) {
		memcpy(more, words->disk, words->disks * sizeof(*more));
		explicit_bzero(words->disk, words->disks * sizeof(*more));
	}
	free(words->disk);
	words->disk = more;
	kernel_boot_disk(&more[words->disks++], text, "rd.rdmastor");
	return 0;
}

static void read_timeout(struct boot_words *words, const char *value)
{
	uint32_t ms;

	if (parse_msec(value, &ms, &words->timeout)) {
		diag_ctx(&words->timeout, "rd.rdmastor.timeout=%.40s", value);
		return;
	}
	words->timeout_ms = ms;
	words->never = !ms;
}

static int read_own(struct boot_words *words, char *text, struct diag *diag)
{
	char *rest = text, *word, *value;
	int err = 0;

	while (!err && (word = kernel_cmdline_word(&rest))) {
		if ((value = kernel_cmdline_value(word, "rd.rdmastor")))
			err = add_disk(words, value, diag);
		if ((value = kernel_cmdline_value(word, "rd.rdmastor.timeout")))
			read_timeout(words, value);
	}
	return err;
}

/* Invalid words count: the applet that reads them reports why. */
static void look_for_others(int root, struct boot_words *words)
{
	struct nvmf_entries nvme = { 0 };
	struct iscsi_wishes iscsi;
	struct nfs_root nfs = { 0 };

	words->nvme = (kernel_nvmf_conf_kernel(root, &nvme, NULL) || nvme.count) && !nvme.off;
	kernel_nvmf_conf_free(&nvme);
	words->iscsi = kernel_iscsi_wishes(root, &iscsi, NULL) != -ENOENT;
	kernel_iscsi_wishes_free(&iscsi);
	kernel_nfs_root(root, &nfs, NULL);
	words->nfs = nfs.rdma;
}

int kernel_boot_words(int root, struct boot_words *words, struct diag *diag)
{
	char *text = kernel_sys_cmdline(root);
	size_t len = text ? strlen(text) : 0;
	int err;

	*words = (struct boot_words){ 0 };
	if (!text)
		return kernel_sys_no_cmdline(diag);
	err = read_own(words, text, diag);
	explicit_bzero(text, len);
	free(text);
	if (!err)
		look_for_others(root, words);
	return err;
}

void kernel_boot_words_free(struct boot_words *words)
{
	if (words->disks)
		explicit_bzero(words->disk, words->disks * sizeof(*words->disk));
	free(words->disk);
	*words = (struct boot_words){ 0 };
}
