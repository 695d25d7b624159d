/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Deleting a device while its server deletes it, too. The driver finds an unprivileged device by
 * the path of its character device. */
/* Link: ublk_ctl_open ublk_ctl_close ublk_ctl_info ublk_ctl_run ublk_sync ublk_halt */
#include "says.h"
#include "ublk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	int dev;
	int info, halt, del; /* what the driver answers */
	bool gone_meanwhile; /* the device disappears with the answer that is an error */
} driver;

int __wrap_ublk_ctl_open(struct ublk_ctl *, struct loop *, int, struct diag *);
void __wrap_ublk_ctl_close(struct ublk_ctl *);
int __wrap_ublk_ctl_info(struct ublk_ctl *, uint32_t, struct ublk_dev_info *, uint64_t);
int __wrap_ublk_ctl_run(
	struct ublk_ctl *, uint32_t, uint32_t, uint64_t, void *, uint16_t, uint64_t);
int __wrap_ublk_sync(struct loop *, int, uint32_t, uint64_t);
int __wrap_ublk_halt(struct loop *, int, uint32_t, uint64_t);

static int answer(int rc)
{
	if (rc && driver.gone_meanwhile)
		unlinkat(driver.dev, "ublkb7", 0);
	return rc;
}

int __wrap_ublk_ctl_open(struct ublk_ctl *ctl, struct loop *loop, int dev, struct diag *diag)
{
	(void)diag;
	*ctl = (struct ublk_ctl){ .loop = loop, .dev = dev };
	return 0;
}

void __wrap_ublk_ctl_close(struct ublk_ctl *ctl)
{
	(void)ctl;
}

int __wrap_ublk_ctl_info(
	struct ublk_ctl *ctl, uint32_t id, struct ublk_dev_info *info, uint64_t deadline)
{
	(void)ctl, (void)deadline;
	*info = (struct ublk_dev_info){ .dev_id = id, .state = UBLK_LIVE, .pid = getpid() };
	return answer(driver.info);
}

int __wrap_ublk_ctl_run(struct ublk_ctl *ctl, uint32_t op, uint32_t id, uint64_t data,
	void *payload, uint16_t len, uint64_t deadline)
{
	(void)ctl, (void)id, (void)data, (void)payload, (void)len, (void)deadline;
	cr_assert_eq(op, UBLK_CTL_DEL_DEV);
	return answer(driver.del);
}

int __wrap_ublk_sync(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	(void)loop, (void)dev, (void)id, (void)deadline;
	return 0;
}

int __wrap_ublk_halt(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	(void)loop, (void)dev, (void)id, (void)deadline;
	return answer(driver.halt);
}

/* Delete /dev/ublkb7 of a directory that stands for /dev. */
static int delete_device(struct diag *diag)
{
	char path[] = "/tmp/ublk-XXXXXX";
	int rc;

	cr_assert(mkdtemp(path));
	driver.dev = open(path, O_RDONLY | O_DIRECTORY);
	close(openat(driver.dev, "ublkb7", O_CREAT | O_RDWR, 0600));
	*diag = (struct diag){ 0 };
	rc = ublk_delete(driver.dev, NULL, 7, false, 1000, diag);
	unlinkat(driver.dev, "ublkb7", 0);
	close(driver.dev);
	rmdir(path);
	return rc;
}

Test(ublk_delete, a_device_that_disappears_meanwhile_is_deleted)
{
	static const int answers[] = { -ENODEV, -ENOENT };
	struct diag diag;

	driver.gone_meanwhile = true;
	for (unsigned i = 0; i < 2; i++) {
		driver.del = answers[i];
		driver.halt = driver.info = 0;
		cr_assert_eq(delete_device(&diag), 0, "at its deletion");
		driver.halt = answers[i];
		cr_assert_eq(delete_device(&diag), 0, "at its stop");
		driver.info = answers[i];
		cr_assert_eq(delete_device(&diag), -ENODEV);
		diag_says(&diag, DIAG_NOT_FOUND, "", "/dev/ublkb7");
	}
}

Test(ublk_delete, a_device_without_its_character_device_remains)
{
	struct diag diag;

	driver.halt = -ENOENT;
	cr_assert_eq(delete_device(&diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, "", "/dev/ublkb7 no_such_file");
	driver.info = -ENOENT;
	cr_assert_eq(delete_device(&diag), -ENOENT);
}
