/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdmastor --install DIR: links to this program, one per applet and per replaced tool; all of them
 * or none. */
#include "applet.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct install_options {
	struct opt_common common;
	const char *only;
	bool all, force, uninstall;
};

#define AT(field) offsetof(struct install_options, field)
static const struct opt rows[] = {
	{ "only", 0, OPT_TEXT, AT(only), "applets|replacements",
		"link the applets, or only the names of replaced tools; default both" },
	{ "all", 0, OPT_FLAG, AT(all), NULL,
		"also link the applets whose names have no dash, such as info and copy" },
	{ "force", 0, OPT_FLAG, AT(force), NULL, "replace other files of these names" },
	{ "uninstall", 0, OPT_FLAG, AT(uninstall), NULL, "remove the links to this program" },
	{ 0 },
};

#define NEW_SUFFIX ".rdmastor-new"

struct link {
	const char *name;
	char temporary[64];
	enum { LINK_ABSENT, LINK_OURS, LINK_SELF, LINK_FOREIGN, LINK_DIRECTORY } there;
	/* swapped: the old file has the temporary name */
	enum { LINK_NONE, LINK_CREATED, LINK_SWAPPED, LINK_RENAMED } made;
};

struct install {
	const struct call *call;
	const struct install_options *opts;
	const char *path; /* of the directory */
	int dir;
	char self[PATH_MAX];
	const char *target; /* what the links contain */
	struct stat st;     /* of self */
	struct link link[2 * 64];
	unsigned links;
};

static int link_error(const struct install *in, const char *what, const char *name)
{
	diag_sys(in->call->diag, errno, "%s", what);
	return diag_ctx(in->call->diag, "%s/%s", in->path, name);
}

static int find_self(struct install *in)
{
	const char *called = (const char *)getauxval(AT_EXECFN);
	char dir[PATH_MAX];

	if (!called || !realpath(called, in->self) || stat(in->self, &in->st))
		return diag_sys(in->call->diag, errno, "look up the path of this program");
	in->dir = open(in->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in->dir < 0 || !realpath(in->path, dir)) {
		diag_sys(in->call->diag, errno, "open directory");
		return diag_ctx(in->call->diag, "%s", in->path);
	}
	/* Next to the program a bare name stays right when both are moved or seen through another
	 * root. */
	char *name = strrchr(in->self, '/') + 1;
	size_t len = (size_t)(name - 1 - in->self);

	in->target = strlen(dir) == len && !strncmp(in->self, dir, len) ? name : in->self;
	return 0;
}

/* A name without a dash, such as info, may be that of any other program. */
static bool is_generic(const char *name)
{
	const struct applet *applet = applet_find(name);

	return !strcmp(applet->name, name) && !applet->read_args && !strchr(name, '-');
}

static void add_link(const char *name, void *arg)
{
	struct install *in = arg;
	struct stat st;

	if (is_generic(name) && !in->opts->all && !in->opts->uninstall)
		return;
	struct link *link = &in->link[in->links++];

	link->name = name;
	snprintf(link->temporary, sizeof(link->temporary), "%s" NEW_SUFFIX, name);
	if (fstatat(in->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		link->there = errno == ENOENT ? LINK_ABSENT : LINK_FOREIGN;
	else if (S_ISDIR(st.st_mode))
		link->there = LINK_DIRECTORY;
	else if (st.st_dev == in->st.st_dev && st.st_ino == in->st.st_ino)
		link->there = LINK_SELF;
	else
		link->there = !fstatat(in->dir, name, &st, 0) && st.st_dev == in->st.st_dev &&
					      st.st_ino == in->st.st_ino
				      ? LINK_OURS
				      : LINK_FOREIGN;
}

/* Before anything is changed, so that a name that is taken leaves the folder as it was. */
static int check_taken(const struct install *in)
{
	char names[300] = "";

	for (unsigned i = 0; i < in->links; i++) {
		const struct link *link = &in->link[i];

		if (link->there < (in->opts->force ? LINK_DIRECTORY : LINK_FOREIGN))
			continue;
		if (strlen(names) + strlen(link->name) + 2 < sizeof(names))
			strcat(strcat(names, " "), link->name);
	}
	if (!names[0])
		return 0;
	diag_set(in->call->diag, DIAG_BUSY, EEXIST,
		"already exist and are not links to rdmastor:%s", names);
	diag_ctx(in->call->diag, "%s", in->path);
	return diag_hint(in->call->diag,
		in->opts->force ? "remove these directories, or choose another DIR"
				: "remove them, add --force, or choose another DIR");
}

static int swap(const struct install *in, const struct link *link)
{
	return (int)syscall(
		SYS_renameat2, in->dir, link->temporary, in->dir, link->name, RENAME_EXCHANGE);
}

/* Drops the temporary name. After a failure the names are as before, except a file that could only
 * be overwritten. */
static void finish_link(const struct install *in, const struct link *link, bool failed)
{
	if (link->made == LINK_CREATED ||
		(link->made == LINK_SWAPPED && (!failed || !swap(in, link))))
		unlinkat(in->dir, link->temporary, 0);
	if (link->made == LINK_RENAMED && failed && link->there == LINK_ABSENT)
		unlinkat(in->dir, link->name, 0);
}

/* A link to this program, or the program itself. */
static bool is_there(const struct link *link)
{
	return link->there == LINK_OURS || link->there == LINK_SELF;
}

static void print_link(const struct install *in, const struct link *link)
{
	struct out *out = in->call->out;

	out_object(out, NULL);
	out_text(out, "path", NULL, "%s/%s", in->path, link->name);
	if (in->opts->uninstall) {
		out_line(out, "%s/%s", in->path, link->name);
	} else {
		out_text(out, "link_target", NULL, "%s", in->target);
		out_bool(out, "existed", NULL, is_there(link));
		out_line(out, "%s/%s -> %s", in->path, link->name, in->target);
	}
	out_end(out);
}

/* All links are created under other names first and then renamed; a name that is replaced is never
 * absent. */
static int make_links(struct install *in)
{
	int err = check_taken(in);
	bool change = !err && !in->opts->common.dry_run;

	for (unsigned i = 0; i < in->links && change && !err; i++) {
		struct link *link = &in->link[i];

		if (is_there(link))
			continue;
		unlinkat(in->dir, link->temporary, 0); /* left by an interrupted run */
		if (symlinkat(in->target, in->dir, link->temporary))
			err = link_error(in, "create link", link->temporary);
		else
			link->made = LINK_CREATED;
	}
	for (unsigned i = 0; i < in->links && change && !err; i++) {
		struct link *link = &in->link[i];

		if (is_there(link))
			continue;
		if (link->there == LINK_FOREIGN && !swap(in, link))
			link->made = LINK_SWAPPED;
		else if (!renameat(in->dir, link->temporary, in->dir, link->name))
			link->made = LINK_RENAMED; /* not every file system swaps */
		else
			err = link_error(in, "create link", link->name);
	}
	for (unsigned i = 0; i < in->links; i++)
		finish_link(in, &in->link[i], err);
	if (err)
		return err;
	out_list(in->call->out, "links");
	for (unsigned i = 0; i < in->links; i++)
		print_link(in, &in->link[i]);
	out_end(in->call->out);
	return 0;
}

static int remove_links(struct install *in)
{
	int err = 0;

	out_list(in->call->out, "links");
	for (unsigned i = 0; i < in->links && !err; i++) {
		if (in->link[i].there != LINK_OURS)
			continue;
		if (!in->opts->common.dry_run && unlinkat(in->dir, in->link[i].name, 0))
			err = link_error(in, "remove link", in->link[i].name);
		if (!err)
			print_link(in, &in->link[i]);
	}
	out_end(in->call->out);
	return err;
}

static int run(struct call *call)
{
	struct install *in = calloc(1, sizeof(*in));
	int err;

	if (!in)
		return diag_sys(call->diag, ENOMEM, "install");
	in->call = call;
	in->opts = call->opts;
	in->path = call->operand[0];
	in->dir = -1;
	err = find_self(in);
	if (!err) {
		applet_names(in->opts->only, add_link, in);
		err = in->opts->uninstall ? remove_links(in) : make_links(in);
	}
	if (in->dir >= 0)
		close(in->dir);
	free(in);
	return err;
}

const struct applet applet_install = {
	.name = "--install",
	.operands = "DIR",
	.summary = "create links to this program for applets with a dash and replaced tools",
	.examples = "  rdmastor --install /usr/local/bin --only replacements\n"
		    "  rdmastor --install /usr/local/bin --all\n"
		    "  rdmastor --install /usr/local/bin --uninstall\n",
	.opts = rows,
	.opts_size = sizeof(struct install_options),
	.min = 1,
	.max = 1,
	.has_dry_run = true,
	.run = run,
};
