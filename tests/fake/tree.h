/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A root of one's own: /sys, /proc and /etc as a test says they are. */
#pragma once

struct tree {
	char path[32];
	int root;
};
struct tree tree_new(void);
/* makes the folders on the way */
void tree_file(const struct tree *, const char *path, const char *text);
void tree_dir(const struct tree *, const char *path);
void tree_link(const struct tree *, const char *path, const char *to);
void tree_free(struct tree *);
