/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Estimate how long a connection has been lost, and the time left until its requests fail and until
 * it is given up. sysfs does not report this, but the kernel's log does. */
#include "list.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_MAX (4u << 20)

static int clip(int64_t seconds)
{
	return seconds < 0 ? 0 : seconds > INT32_MAX ? INT32_MAX : (int)seconds;
}

static int64_t seconds_between(uint64_t from_us, uint64_t to_us)
{
	return to_us > from_us ? (int64_t)((to_us - from_us) / 1000000) : 0;
}

/* Find the next record that begins so, in the form of /dev/kmsg, oldest first: "4,1234,98765,-;nvme
 * nvme0: Reconnecting in 10 seconds..."; the third number is µs since boot. Returns the rest of its
 * text; NULL: no more. */
static char *next_record(char **log, const char *begin, uint64_t *at_us)
{
	const size_t len = strlen(begin);
	char *line;

	while ((line = strsep(log, "\n"))) {
		char *text = strchr(line, ';');

		if (text && !strncmp(text + 1, begin, len) &&
			sscanf(line, "%*u,%*u,%" SCNu64, at_us) == 1)
			return text + 1 + len;
	}
	return NULL;
}

/* Requests fail fail_s after the first loss. Each attempt starts retry_s after the previous one
 * ended. The connection is given up once attempts times retry_s reach give_up_s, however long each
 * took (Linux 6.12, nvmf_should_reconnect()); the running attempt does not count yet. */
static void count_down(uint64_t now_us, uint64_t lost_us, uint64_t wait_us, struct list_loss *loss)
{
	const int64_t most =
		loss->retry_s > 0 && loss->give_up_s >= 0
			? ((int64_t)loss->give_up_s + loss->retry_s - 1) / loss->retry_s
			: -1;
	int64_t waited = seconds_between(wait_us, now_us);

	if (loss->retry_s > 0 && waited > loss->retry_s)
		waited = loss->retry_s;
	if (loss->retry_s > 0)
		loss->retry_left_s = loss->retry_s - (int)waited;
	if (most >= 0)
		loss->give_up_left_s = clip((most - loss->attempts) * loss->retry_s - waited);
	if (loss->fail_s >= 0)
		loss->fail_left_s =
			clip(loss->fail_s -
				seconds_between(lost_us, now_us > wait_us ? now_us : wait_us));
}

void kernel_list_nvme_lost_at(uint64_t now_us, char *log, struct list_link *link)
{
	uint64_t at = 0, lost = 0, wait = 0;
	char begin[48], *text;
	unsigned tried = 0;
	bool is_lost = false, failed = false;

	snprintf(begin, sizeof(begin), "nvme %s: ", link->name);
	while ((text = next_record(&log, begin, &at))) {
		if (!strncmp(text, "Successfully reconnected", 24) ||
			!strncmp(text, "creating ", 9) || !strncmp(text, "new ctrl", 8)) {
			is_lost = failed = false;
			tried = 0;
		} else if (!strncmp(text, "Reconnecting in ", 16)) {
			lost = is_lost ? lost : at;
			wait = at;
			is_lost = true;
		} else {
			failed |= !strncmp(text, "failfast expired", 16);
			sscanf(text, "Failed reconnect attempt %u", &tried);
		}
	}
	if (!is_lost || wait < lost)
		return;
	link->loss.attempts = tried > INT32_MAX ? INT32_MAX : (int)tried;
	count_down(now_us, lost, wait, &link->loss);
	if (failed)
		link->loss.fail_left_s = 0;
}

/* When scsi_transport_srp tries again: later and later after ten failures (Linux 6.12,
 * srp_reconnect_work()). */
static uint64_t srp_retry_at(uint64_t failed_us, int retry_s, unsigned tried)
{
	unsigned factor = tried <= 11 ? 1 : tried < 110 ? tried - 10 : 100;

	return failed_us + (uint64_t)factor * (uint64_t)retry_s * 1000000;
}

/* Both times count from the first transport error (Linux 6.12, __srp_start_tl_fail_timers()), which
 * ib_srp logs; later errors do not restart them. */
void kernel_list_srp_lost_at(uint64_t now_us, char *log, struct list_link *link)
{
	struct list_loss *loss = &link->loss;
	uint64_t at = 0, lost = 0, retry = 0;
	char begin[48], *text;
	bool is_lost = false;
	unsigned tried;

	snprintf(begin, sizeof(begin), "scsi %s: ", link->name);
	while ((text = next_record(&log, begin, &at))) {
		bool by_driver = !strncmp(text, "ib_srp: ", 8);

		text += by_driver ? 8 : 0;
		if (!by_driver && sscanf(text, "reconnect attempt %u failed", &tried) == 1) {
			retry = srp_retry_at(at, loss->retry_s, tried);
		} else if (!strncmp(text, "reconnect succeeded", 19) ||
			   !strncmp(text, "new target", 10)) {
			is_lost = false;
		} else if (!is_lost &&
			   ((!strncmp(text, "failed ", 7) && strstr(text, " status ")) ||
				   strstr(text, "connection closed"))) {
			is_lost = true;
			lost = at;
			retry = srp_retry_at(at, loss->retry_s, 0);
		}
	}
	if (!is_lost)
		return;
	if (loss->retry_s > 0)
		loss->retry_left_s = clip(seconds_between(now_us, retry));
	if (loss->fail_s >= 0)
		loss->fail_left_s = clip(loss->fail_s - seconds_between(lost, now_us));
	if (loss->give_up_s >= 0)
		loss->give_up_left_s = clip(loss->give_up_s - seconds_between(lost, now_us));
}

/* The kernel logs the loss of a connection, not that the session is back: the last loss counts. */
void kernel_list_iscsi_lost_at(uint64_t now_us, char *log, struct list_link *link)
{
	struct list_loss *loss = &link->loss;
	uint64_t at = 0, lost = 0;
	char begin[64], *text;
	bool is_lost = false;

	snprintf(begin, sizeof(begin), " connection%u:%u: ", link->iscsi.sid, link->iscsi.cid);
	while ((text = next_record(&log, begin, &at)))
		if (!strncmp(text, "detected conn error", 19)) {
			is_lost = true;
			lost = at;
		}
	if (is_lost && loss->fail_s >= 0)
		loss->fail_left_s = clip(loss->fail_s - seconds_between(lost, now_us));
}

/* Each read returns one record; EPIPE: some were lost. */
static char *read_log(int root)
{
	int fd = openat(root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(LOG_MAX), record[8192];
	size_t len = 0;
	ssize_t got;

	while (text && ((got = read(fd, record, sizeof(record))) > 0 ||
			       (got < 0 && (errno == EPIPE || errno == EINTR)))) {
		if (got < 0)
			continue;
		if (len + (size_t)got >= LOG_MAX)
			break;
		memcpy(text + len, record, (size_t)got);
		len += (size_t)got;
	}
	if (text)
		text[len] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

void kernel_list_lost(int root, struct list_link *link,
	void (*count)(uint64_t now_us, char *log, struct list_link *))
{
	char *log = read_log(root);
	struct timespec now;

	/* the clock closest to the log's: both stop during suspend, and neither is ever set */
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	if (log)
		count((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000, log, link);
	free(log);
}
