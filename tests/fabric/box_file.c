/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The files that are not the kernel's: each is one end of a pipe, opened for both directions, so
 * that poll and its kin work on it as it is, and the other end tells when its last descriptor is
 * closed. */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEV_DIR "/dev/infiniband/"
#define SRP_DIR "/sys/class/infiniband_srp/"

static struct port *numbered(struct box *box, const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return *text && !*end && number < box->ports ? &box->port[number] : NULL;
}

/* 0; -ENXIO: it would be ours, but there is no such device; -ENOENT: not ours */
static int kind_of(
	struct box *box, const char *path, int flags, enum file_kind *kind, struct port **port)
{
	unsigned number;
	int end = 0;

	if (!strncmp(path, DEV_DIR, strlen(DEV_DIR))) {
		path += strlen(DEV_DIR);
		*kind = strncmp(path, "issm", 4) ? FILE_UMAD : FILE_ISSM;
		*port = !strncmp(path, "umad", 4) || *kind == FILE_ISSM ? numbered(box, path + 4)
									: NULL;
		return *port ? 0 : -ENXIO;
	}
	if ((flags & O_ACCMODE) == O_RDONLY || strncmp(path, SRP_DIR, strlen(SRP_DIR)))
		return -ENOENT;
	if (sscanf(path + strlen(SRP_DIR), "srp-ibsim%u-1/add_target%n", &number, &end) != 1 ||
		!end || path[strlen(SRP_DIR) + (size_t)end] || number >= box->ports)
		return -ENOENT;
	*kind = FILE_ADD_TARGET;
	*port = &box->port[number];
	return 0;
}

static int reopen(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_NONBLOCK | O_CLOEXEC);
}

/* Gives the program its end as descriptor `number`; ours is *pipe. */
static int inject(
	struct box *box, const struct seccomp_notif *call, unsigned number, int flags, int *pipe)
{
	struct seccomp_notif_addfd add = {
		.id = call->id,
		.flags = SECCOMP_ADDFD_FLAG_SETFD,
		.newfd = number,
		.newfd_flags = flags & O_CLOEXEC,
	};
	int ends[2], theirs, fd;

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		return -ENFILE;
	theirs = reopen(ends[0], O_RDWR);
	close(ends[1]);
	if (theirs >= 0 && !(flags & O_NONBLOCK))
		fcntl(theirs, F_SETFL, 0);
	add.srcfd = (uint32_t)theirs;
	fd = theirs < 0 ? -1 : ioctl(box->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	close(theirs);
	if (fd < 0)
		close(ends[0]);
	*pipe = ends[0];
	return fd < 0 ? -EMFILE : fd;
}

int file_open(struct box *box, const struct seccomp_notif *call, const char *path, int flags)
{
	struct file new = { .used = true }, *file = box->file;
	int err = kind_of(box, path, flags, &new.kind, &new.port), fd;

	if (err)
		return err;
	while (file < box->file + BOX_FILES && file->used)
		file++;
	if (file == box->file + BOX_FILES)
		return -EMFILE;
	fd = inject(box, call, (unsigned)(BOX_FD + (file - box->file)), flags, &new.pipe);
	if (fd < 0)
		return fd;
	*file = new;
	file->tail = &file->head;
	if (file->kind == FILE_ISSM)
		sim_set_issm(&file->port->sim, true);
	return fd;
}

static void release(struct box *box, struct file *file)
{
	umad_release(box, file);
	if (file->kind == FILE_ISSM)
		sim_set_issm(&file->port->sim, false);
	close(file->pipe);
	*file = (struct file){ 0 };
}

void file_reap(struct box *box)
{
	for (unsigned i = 0; i < BOX_FILES; i++) {
		struct pollfd fd = { .fd = box->file[i].pipe };

		if (box->file[i].used && poll(&fd, 1, 0) == 1 && fd.revents & POLLHUP)
			release(box, &box->file[i]);
	}
}

void file_readable(const struct file *file, bool yes)
{
	char byte = 0;
	int fd;

	if (!yes) {
		while (read(file->pipe, &byte, 1) > 0)
			;
		return;
	}
	fd = reopen(file->pipe, O_WRONLY);
	if (fd < 0 || write(fd, &byte, 1) != 1)
		box_die("pipe: %m");
	close(fd);
}

struct file *file_of(struct box *box, const struct seccomp_notif *call)
{
	int fd = (int)call->data.args[0];
	struct stat theirs, ours;
	char path[64];

	if (fd >= BOX_FD)
		/* the filter has seen to the range */
		return box->file[fd - BOX_FD].used ? &box->file[fd - BOX_FD] : NULL;
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", call->pid, fd);
	for (unsigned i = 0; i < BOX_FILES; i++)
		if (box->file[i].used && !stat(path, &theirs) && !fstat(box->file[i].pipe, &ours) &&
			theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
			return &box->file[i];
	return NULL;
}

bool file_nonblocking(const struct seccomp_notif *call)
{
	char path[64], line[64];
	unsigned flags = 0;
	FILE *from;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", call->pid, (int)call->data.args[0]);
	from = fopen(path, "re");
	while (from && fgets(line, sizeof(line), from))
		if (sscanf(line, "flags: %o", &flags) == 1)
			break;
	if (from)
		fclose(from);
	return flags & O_NONBLOCK;
}
