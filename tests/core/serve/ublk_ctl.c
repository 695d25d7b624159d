/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The bytes of commands, by include/uapi/linux/ublk_cmd.h of Linux 6.12. */
#include "says.h"
#include "ublk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(ublk_ctl, opcodes)
{
	cr_assert_eq(UBLK_CTL_GET_QUEUE_AFFINITY, 0x80207501);
	cr_assert_eq(UBLK_CTL_ADD_DEV, 0xc0207504);
	cr_assert_eq(UBLK_CTL_DEL_DEV, 0xc0207505);
	cr_assert_eq(UBLK_CTL_START_DEV, 0xc0207506);
	cr_assert_eq(UBLK_CTL_STOP_DEV, 0xc0207507);
	cr_assert_eq(UBLK_CTL_SET_PARAMS, 0xc0207508);
	cr_assert_eq(UBLK_CTL_GET_PARAMS, 0x80207509);
	cr_assert_eq(UBLK_CTL_START_USER_RECOVERY, 0xc0207510);
	cr_assert_eq(UBLK_CTL_END_USER_RECOVERY, 0xc0207511);
	cr_assert_eq(UBLK_CTL_GET_DEV_INFO2, 0x80207512);
	cr_assert_eq(UBLK_CTL_GET_FEATURES, 0x80207513);
	cr_assert_eq(UBLK_IO_FETCH, 0xc0107520);
	cr_assert_eq(UBLK_IO_COMMIT_AND_FETCH, 0xc0107521);
}

Test(ublk_ctl, a_control_command_in_its_entry)
{
	static const uint8_t golden[32] = { 3, 0, 0, 0, 0xff, 0xff, 0x40, 0, 0x88, 0x77, 0x66, 0x55,
		0x44, 0x33, 0x22, 0x11, 0x39, 0x30 };
	struct ublk_ctl_cmd cmd = { .dev_id = 3,
		.queue_id = UINT16_MAX,
		.len = 64,
		.addr = 0x1122334455667788,
		.data = 12345 };
	struct io_uring_sqe sqe[2];
	const uint8_t *bytes = (const uint8_t *)sqe;

	memset(sqe, 0xee, sizeof(sqe));
	ublk_ctl_encode(sqe, 9, UBLK_CTL_START_DEV, &cmd);
	cr_assert_eq(sqe->opcode, IORING_OP_URING_CMD);
	cr_assert_eq(sqe->fd, 9);
	cr_assert_eq(*(const uint32_t *)(bytes + 8), 0xc0207506);
	cr_assert_eq(memcmp(bytes + 48, golden, sizeof(golden)), 0);
	for (unsigned i = 80; i < 128; i++)
		cr_assert_eq(bytes[i], 0);
}

Test(ublk_ctl, an_answer_to_a_request_in_its_entry)
{
	static const uint8_t golden[16] = { 1, 0, 2, 0, 0xfb, 0xff, 0xff, 0xff, 0x00, 0x10, 0x60,
		0x50 };
	struct ublk_tag tag[3] = { [2].base = (uint8_t *)0x50601000 };
	struct ublk_queue q = { .index = 1, .depth = 3, .tag = tag };
	struct io_uring_sqe sqe;

	ublk_queue_encode(&sqe, &q, 2, UBLK_IO_COMMIT_AND_FETCH, -EIO);
	cr_assert_eq(sqe.opcode, IORING_OP_URING_CMD);
	cr_assert_eq(sqe.flags, IOSQE_FIXED_FILE);
	cr_assert_eq(sqe.fd, 0);
	cr_assert_eq(sqe.user_data, 2);
	cr_assert_eq(memcmp((const uint8_t *)&sqe + 48, golden, sizeof(golden)), 0);
}

/* A control device that is an ordinary file knows no commands: as with a driver that is too old. */
Test(ublk_ctl, a_driver_that_is_too_old_is_reported)
{
	char path[] = "/tmp/ublk-XXXXXX";
	struct diag diag = { 0 };
	struct ublk_ctl ctl;
	struct loop *loop;
	int dev, rc;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert(mkdtemp(path));
	dev = open(path, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(ublk_ctl_open(&ctl, loop, dev, &diag) < 0, 1);
	rc = diag.err;
	if (rc == ENOENT) { /* io_uring is allowed here */
		diag_says(&diag, DIAG_NOT_FOUND, "", "/dev/ublk-control no_such_file");
		close(openat(dev, "ublk-control", O_CREAT | O_RDWR, 0600));
		memset(&diag, 0, sizeof(diag));
		cr_assert_eq(ublk_ctl_open(&ctl, loop, dev, &diag), -EOPNOTSUPP);
		diag_says(&diag, DIAG_UNSUPPORTED, "", "ublk Linux_6.5");
	}
	text_says(diag.hint, "--nbd-dev");
	unlinkat(dev, "ublk-control", 0);
	close(dev);
	rmdir(path);
	loop_free(loop);
}
