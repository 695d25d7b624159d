/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fixture trees in /tmp. */
#include "tree.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int rc)
{
	if (rc >= 0)
		return;
	perror("tree");
	abort();
}

struct tree tree_new(void)
{
	struct tree tree = { .path = "/tmp/tree-XXXXXX" };

	must(mkdtemp(tree.path) ? 0 : -1);
	tree.root = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(tree.root);
	return tree;
}

static void parents(const struct tree *tree, const char *path)
{
	char part[256];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdirat(tree->root, part, 0755);
	}
}

void tree_dir(const struct tree *tree, const char *path)
{
	parents(tree, path);
	mkdirat(tree->root, path, 0755);
}

void tree_file(const struct tree *tree, const char *path, const char *text)
{
	int fd;

	parents(tree, path);
	fd = openat(tree->root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd);
	must(write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1);
	close(fd);
}

void tree_link(const struct tree *tree, const char *path, const char *to)
{
	parents(tree, path);
	must(symlinkat(to, tree->root, path));
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void tree_free(struct tree *tree)
{
	close(tree->root);
	must(nftw(tree->path, drop, 16, FTW_DEPTH | FTW_PHYS));
}
