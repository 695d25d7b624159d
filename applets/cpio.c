/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdmastor --cpio: an archive with this program, to be loaded after an initramfs or appended to it.
 */
#include "cpio.h"
#include "applet.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cpio_options {
	struct opt_common common;
	const char *links, *dir;
	struct opt_list add;
};

#define AT(field) offsetof(struct cpio_options, field)
static const struct opt rows[] = {
	{ "links", 0, OPT_TEXT, AT(links), "applets|replacements",
		"add links to the program for the applets, or for the names of replaced tools; "
		"default none" },
	{ "dir", 0, OPT_TEXT, AT(dir), "DIR",
		"directory of the program and its links; default /usr/bin" },
	{ "add", 0, OPT_LIST, AT(add), "FILE[=PATH]",
		"add a file, optionally under another path; repeatable" },
	{ 0 },
};
#undef AT

static const struct cpio_options defaults = { .dir = "/usr/bin" };

struct archive {
	struct call *call;
	struct cpio cpio;
	char folder[CPIO_PATH];
};

static int add_named(struct archive *archive, const char *word)
{
	struct diag *diag = archive->call->diag;
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	char *file = strndup(word, len), path[CPIO_PATH];
	int err;

	if (!file)
		return diag_sys(diag, ENOMEM, "--add");
	if (*file && (equals ? cpio_path(equals + 1, path) : cpio_own_path(file, path)))
		err = cpio_add_file(&archive->cpio, file, path, diag);
	else
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"--add %s: invalid path: expected FILE[=PATH], up to %d bytes without '..'",
			word, CPIO_PATH - 2);
	free(file);
	return err;
}

/* After the first failure, which is in the diag, nothing more. */
static void add_link(const char *name, void *arg)
{
	struct archive *archive = arg;
	char path[CPIO_PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", archive->folder, name);
	if (!archive->call->diag->err)
		cpio_add_link(&archive->cpio, "rdmastor", path, archive->call->diag);
}

static int add_program(struct archive *archive)
{
	const struct cpio_options *opts = archive->call->opts;
	struct diag *diag = archive->call->diag;
	char path[CPIO_PATH + 64];
	int err;

	if (!cpio_path(opts->dir, archive->folder) || strlen(archive->folder) > CPIO_PATH - 64)
		return diag_set(diag, DIAG_USAGE, EINVAL, "--dir %.200s: invalid path", opts->dir);
	snprintf(path, sizeof(path), "%s/rdmastor", archive->folder);
	err = cpio_add_file(&archive->cpio, "/proc/self/exe", path, diag);
	if (!err && opts->links)
		applet_names(opts->links, add_link, archive);
	return err ? err : -diag->err;
}

static int check_call(struct call *call)
{
	const struct cpio_options *opts = call->opts;

	if (opts->common.json || opts->common.dry_run)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"%s: not supported: the archive goes to standard output",
			opts->common.json ? "--json" : "--dry-run");
	if (isatty(STDOUT_FILENO)) {
		diag_set(call->diag, DIAG_USAGE, EINVAL, "standard output is a terminal");
		return diag_hint(call->diag, "rdmastor --cpio >rdmastor.cpio");
	}
	return 0;
}

static int run(struct call *call)
{
	const struct cpio_options *opts = call->opts;
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	struct archive archive = { .call = call };
	uint64_t time = 0;
	int err = check_call(call);

	if (!err && epoch && parse_u64(epoch, 0, UINT32_MAX, &time, call->diag))
		err = diag_ctx(call->diag, "SOURCE_DATE_EPOCH");
	if (err)
		return err;
	archive.cpio.time = (uint32_t)time;
	err = add_program(&archive);
	for (unsigned i = 0; i < opts->add.count && !err; i++)
		err = add_named(&archive, opts->add.item[i]);
	if (!err)
		err = cpio_write(&archive.cpio, stdout, call->diag);
	cpio_free(&archive.cpio);
	return err;
}

const struct applet applet_cpio = {
	.name = "--cpio",
	.summary = "write an initramfs archive with this program to standard output",
	.examples = "  rdmastor --cpio --links applets >rdmastor.cpio\n"
		    "  rdmastor --cpio --add /etc/nvme/hostnqn >>initrd.img\n",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct cpio_options),
	.run = run,
};
