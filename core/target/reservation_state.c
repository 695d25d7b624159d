/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The folder of reservations: files are replaced by a thread, which runs one change after another,
 * of all disks. */
#include "reservation_state.h"
#include "helper.h"
#include "names.h"
#include "reservation_set.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (RESERVATION_MOST * 640u) /* bytes */
#define FILE_NAME 48
#define WAIT_MS   2000 /* for the lock of a process that was killed */
#define STEP_MS   20
#define REPORT_MS 10000

struct reservation_state {
	char *dir; /* as the user typed it */
	bool open; /* the folder */
	struct loop *loop;
	reservation_not_saved *failed;
	void *user;
	struct reservations *disk[TARGET_DISKS]; /* that were added */
	unsigned disks;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t queued;
	struct reservation_job *first, **last;
	bool stop;
	/* a failure to report; under the lock until it is posted */
	struct diag why;
	struct loop_msg msg;
	bool posted;
	uint64_t reported_ns;
};

/* --- files */

static void file_name(char name[FILE_NAME], const uint8_t nguid[16], const char *suffix)
{
	char hex[33];

	snprintf(name, FILE_NAME, "%s%s", hex_text(hex, nguid, 16), suffix);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) ? -errno : 0;
}

/* --- the folder, perhaps used by the helper */

enum folder_act {
	FOLDER_OPEN,   /* and lock */
	FOLDER_CREATE, /* its next file, or a test */
	FOLDER_REPLACE,
	FOLDER_REMOVE, /* that next file */
	FOLDER_READ,
	FOLDER_CLOSE,
};
struct folder_job {
	enum folder_act act;
	bool test;
	uint8_t nguid[16];
	bool replaced; /* the new file is visible, also after a failure */
};

/* Of the process that uses the folder, which may be the helper; -1: none. */
static int folder = -1;

/* -EWOULDBLOCK: it is in use, also by this process. */
static int open_locked(const char *dir)
{
	int fd, err;

	if (folder >= 0)
		return -EWOULDBLOCK;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		folder = fd;
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

static int close_folder(void)
{
	int fd = folder;

	folder = -1;
	return close(fd) ? -errno : 0;
}

static int create_file(const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

static int replace_file(struct folder_job *job, const char *fresh, const char *name)
{
	if (renameat(folder, fresh, folder, name)) {
		int err = errno;

		unlinkat(folder, fresh, 0);
		return -err;
	}
	job->replaced = true;
	return fsync(folder) ? -errno : 0;
}

static int remove_file(const struct folder_job *job, const char *name)
{
	return unlinkat(folder, name, 0) || (job->test && fsync(folder)) ? -errno : 0;
}

static int open_for_reading(const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* A helper_fn. Names of files are made here. */
static int use_folder(const char *dir, int *fd, void *data, size_t len)
{
	char name[FILE_NAME], fresh[FILE_NAME] = "check.new";
	struct folder_job *job = data;

	if (len != sizeof(*job))
		return -EINVAL;
	file_name(name, job->nguid, ".reservations");
	if (!job->test)
		file_name(fresh, job->nguid, ".new");
	switch (job->act) {
	case FOLDER_OPEN:
		return open_locked(dir);
	case FOLDER_CREATE:
		*fd = create_file(fresh);
		return *fd < 0 ? *fd : 0;
	case FOLDER_REPLACE:
		return replace_file(job, fresh, name);
	case FOLDER_REMOVE:
		return remove_file(job, fresh);
	case FOLDER_READ:
		*fd = open_for_reading(name);
		return *fd < 0 ? *fd : 0;
	case FOLDER_CLOSE:
		return close_folder();
	}
	return -EINVAL;
}

int reservation_state_allow(const char *dir)
{
	return helper_allow(HELPER_STATE, use_folder, dir);
}

/* Returns a descriptor if the act opens a file. */
static int use(const struct reservation_state *state, struct folder_job *job, enum folder_act act)
{
	int fd = -1, err;

	job->act = act;
	err = helper_call(use_folder, state->dir, &fd, job, sizeof(*job));
	return err ? err : fd < 0 ? 0 : fd;
}

static int create(
	const struct reservation_state *state, struct folder_job *job, const char *text, size_t len)
{
	int fd = use(state, job, FOLDER_CREATE), err;

	if (fd < 0)
		return fd;
	err = write_all(fd, text, len);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		use(state, job, FOLDER_REMOVE);
	return err;
}

/* Replace the file; *replaced: the new one is visible, also after a failure. */
static int replace(const struct reservation_state *state, const uint8_t nguid[16], const char *text,
	size_t len, bool *replaced)
{
	struct folder_job job = { 0 };
	int err;

	memcpy(job.nguid, nguid, sizeof(job.nguid));
	err = create(state, &job, text, len);
	if (!err)
		err = use(state, &job, FOLDER_REPLACE);
	*replaced = job.replaced;
	return err;
}

static int read_file(
	const struct reservation_state *state, const uint8_t nguid[16], char **text, size_t *len)
{
	struct folder_job job = { 0 };
	struct stat st;
	int fd, err = 0;

	memcpy(job.nguid, nguid, sizeof(job.nguid));
	*text = NULL;
	*len = 0;
	fd = use(state, &job, FOLDER_READ);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > FILE_MOST)
		err = -EFBIG;
	else if (!(*text = malloc((size_t)st.st_size + 1)))
		err = -ENOMEM;
	while (!err && *len < (size_t)st.st_size) {
		ssize_t n = read(fd, *text + *len, (size_t)st.st_size - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			err = n < 0 ? -errno : -EIO;
		else
			*len += (size_t)n;
	}
	close(fd);
	if (err)
		free(*text);
	return err;
}

/* --- the thread */

static void report(struct loop_msg *msg)
{
	struct reservation_state *state = container_of(msg, struct reservation_state, msg);
	struct diag why;

	pthread_mutex_lock(&state->lock);
	why = state->why;
	state->posted = false;
	pthread_mutex_unlock(&state->lock);
	state->failed(&why, state->user);
}

static void report_failure(
	struct reservation_state *state, const struct reservations *disk, int err)
{
	uint64_t now = loop_clock();

	pthread_mutex_lock(&state->lock);
	if (!state->posted &&
		(!state->reported_ns || now - state->reported_ns >= REPORT_MS * MSEC)) {
		state->why = (struct diag){ 0 };
		diag_sys(&state->why, -err, "write the reservations of %.200s", disk->bdev->uri);
		diag_ctx(&state->why, "--state %.200s", state->dir);
		state->reported_ns = now;
		state->posted = true;
		loop_post(state->loop, &state->msg);
	}
	pthread_mutex_unlock(&state->lock);
}

int reservation_state_save(struct reservation_state *state, const struct reservations *disk,
	const char *text, size_t len, const char *before, size_t before_len)
{
	bool replaced, restored;
	int err = replace(state, disk->nguid, text, len, &replaced);

	if (!err)
		return 0;
	/* the new file may not be on the disk yet, but the next process could see it */
	if (replaced)
		replace(state, disk->nguid, before, before_len, &restored);
	report_failure(state, disk, err);
	return err;
}

static struct reservation_job *next_job(struct reservation_state *state)
{
	struct reservation_job *job;

	pthread_mutex_lock(&state->lock);
	while (!state->first && !state->stop)
		pthread_cond_wait(&state->queued, &state->lock);
	job = state->first;
	if (job && !(state->first = job->next))
		state->last = &state->first;
	pthread_mutex_unlock(&state->lock);
	return job;
}

static void *run(void *arg)
{
	struct reservation_state *state = arg;
	struct reservation_job *job;

	while ((job = next_job(state)))
		reservation_job_run(job);
	return NULL;
}

void reservation_state_queue(struct reservation_state *state, struct reservation_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&state->lock);
	*state->last = job;
	state->last = &job->next;
	pthread_cond_signal(&state->queued);
	pthread_mutex_unlock(&state->lock);
}

/* --- begin and end */

/* A killed process may take a moment to end. */
static int wait_for_folder(struct reservation_state *state, struct diag *diag)
{
	uint64_t until = loop_clock() + WAIT_MS * MSEC;
	struct folder_job job = { 0 };
	volatile int never = 0;
	int err;

	while ((err = use(state, &job, FOLDER_OPEN))) {
		if (err == -ENOENT) {
			diag_sys(diag, ENOENT, "open");
			return diag_hint(diag, "create it: mkdir -p -m 700 %s", state->dir);
		}
		if (err != -EWOULDBLOCK)
			return diag_sys(diag, -err, "open");
		if (loop_clock() >= until) {
			diag_set(diag, DIAG_BUSY, EBUSY, "in use by another process");
			return diag_hint(diag, "give each server a folder of its own");
		}
		loop_wait(state->loop, &never, loop_clock() + STEP_MS * MSEC);
	}
	return 0;
}

static int check_writable(struct reservation_state *state, struct diag *diag)
{
	struct folder_job job = { .test = true };
	int err = create(state, &job, "", 0);

	if (!err)
		err = use(state, &job, FOLDER_REMOVE);
	return err ? diag_sys(diag, -err, "write a file") : 0;
}

static int open_folder(struct reservation_state *state, struct diag *diag)
{
	int err = wait_for_folder(state, diag);

	state->open = !err;
	if (!err)
		err = check_writable(state, diag);
	if (!err) {
		err = pthread_create(&state->thread, NULL, run, state);
		state->started = !err;
		if (err)
			err = diag_sys(diag, err, "start a thread");
	}
	return err;
}

int reservation_state_open(struct reservation_state **out, const char *dir, struct loop *loop,
	reservation_not_saved *failed, void *user, struct diag *diag)
{
	struct reservation_state *state = calloc(1, sizeof(*state));
	int err;

	if (!state)
		return diag_sys(diag, ENOMEM, "--state %s", dir);
	*state = (struct reservation_state){
		.dir = strdup(dir), .loop = loop, .failed = failed, .user = user, .msg.run = report
	};
	state->last = &state->first;
	pthread_mutex_init(&state->lock, NULL);
	pthread_cond_init(&state->queued, NULL);
	err = state->dir ? open_folder(state, diag) : diag_sys(diag, ENOMEM, "open");
	if (!err) {
		*out = state;
		return 0;
	}
	reservation_state_close(state);
	return diag_ctx(diag, "--state %.200s", dir);
}

int reservation_state_add(struct reservation_state *state, const struct bdev *bdev,
	const uint8_t nguid[16], unsigned *restored, struct diag *diag)
{
	struct reservations *disk = reservations_get(bdev);
	struct reservation_set set = { 0 };
	char name[FILE_NAME], *text;
	size_t len;
	int err;

	*restored = 0;
	if (!disk)
		return diag_sys(diag, ENOMEM, "reservations");
	for (unsigned i = 0; i < state->disks; i++)
		if (!memcmp(state->disk[i]->nguid, nguid, sizeof(disk->nguid))) {
			reservations_put(disk);
			return diag_set(diag, DIAG_USAGE, EEXIST,
				"is the same disk as '%.200s': its reservations are kept once",
				state->disk[i]->bdev->uri);
		}
	file_name(name, nguid, ".reservations");
	err = read_file(state, nguid, &text, &len);
	if (!err) {
		err = reservation_text_read(&set, nguid, text, len, diag);
		free(text);
	} else if (err == -ENOENT) {
		err = 0;
	} else {
		diag_sys(diag, -err, "read");
	}
	if (err) {
		reservations_put(disk);
		return diag_ctx(diag, "%.150s/%s", state->dir, name);
	}
	state->disk[state->disks++] = disk;
	disk->state = state;
	memcpy(disk->nguid, nguid, sizeof(disk->nguid));
	*restored = reservation_set_begin(disk, &set);
	return 0;
}

void reservation_state_close(struct reservation_state *state)
{
	struct folder_job job = { 0 };
	volatile int never = 0;

	if (!state)
		return;
	if (state->started) {
		pthread_mutex_lock(&state->lock);
		state->stop = true;
		pthread_cond_signal(&state->queued);
		pthread_mutex_unlock(&state->lock);
		pthread_join(state->thread, NULL);
	}
	while (state->posted)
		loop_wait(state->loop, &never, loop_clock() + MSEC);
	while (state->disks)
		reservations_put(state->disk[--state->disks]);
	if (state->open)
		use(state, &job, FOLDER_CLOSE);
	pthread_cond_destroy(&state->queued);
	pthread_mutex_destroy(&state->lock);
	free(state->dir);
	free(state);
}
