/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The folder for the socket of bench --matrix --all, and the child that removes it. */
#include "bench_matrix.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARENT_MAX 80 /* an address of a unix socket has 108 bytes */
#define TRIES      1000
#define TRY_US     10000

/* In the child. A server that did not end before can still create the socket. */
static int clean(int lifeline, const void *arg, void *out)
{
	const struct bench_folder *folder = arg;
	char byte;

	(void)out;
	setsid();
	signal(SIGTERM, SIG_IGN);
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		;
	for (unsigned i = 0; i < TRIES; i++) {
		unlink(folder->socket);
		if (!rmdir(folder->path) || errno != ENOTEMPTY)
			break;
		usleep(TRY_US);
	}
	return 0;
}

static int start_cleaner(struct bench_folder *folder, struct diag *diag)
{
	int pipes[2], err;

	if (pipe2(pipes, O_CLOEXEC))
		return diag_sys(diag, errno, "pipe");
	folder->lifeline = pipes[1];
	folder->cleaner = (struct child_call){ .fn = clean, .arg = folder, .detached = true };
	err = child_call_start(&folder->cleaner, NULL, pipes, 1);
	close(pipes[0]);
	return err ? diag_sys(diag, -err, "fork") : 0;
}

int bench_folder_make(struct bench_folder *folder, struct diag *diag)
{
	const char *parent = getenv("TMPDIR");
	int err;

	snprintf(folder->path, sizeof(folder->path), "%s/rdmastor-XXXXXX",
		parent && *parent && strlen(parent) < PARENT_MAX ? parent : "/tmp");
	if (!mkdtemp(folder->path))
		return diag_sys(diag, errno, "create %s", folder->path);
	snprintf(folder->socket, sizeof(folder->socket), "%s/nbd", folder->path);
	err = start_cleaner(folder, diag);
	if (err)
		rmdir(folder->path);
	return err;
}

void bench_folder_remove(struct bench_folder *folder)
{
	if (folder->lifeline)
		close(folder->lifeline);
	child_call_wait(&folder->cleaner, 0);
}
