/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's ublk interface as of Linux 6.12 (include/uapi/linux/ublk_cmd.h there): io_uring
 * commands of /dev/ublk-control and /dev/ublkcN. In names of our own, as a build machine's header
 * may be older or newer. Integers are the machine's. */
#pragma once
#include <stdint.h>
#include <sys/ioctl.h>

struct ublk_ctl_cmd { /* sqe->cmd of a control command: needs 128-byte SQEs */
	uint32_t dev_id; /* UINT32_MAX: none yet */
	uint16_t queue_id; /* UINT16_MAX: none */
	uint16_t len; /* of addr */
	uint64_t addr; /* unprivileged devices: the path of /dev/ublkcN with its zero, then the command's own bytes */
	uint64_t data;
	uint16_t path_len; /* of that path */
	uint16_t pad;
	uint32_t reserved;
};
_Static_assert(sizeof(struct ublk_ctl_cmd) == 32, "struct ublksrv_ctrl_cmd");

#define UBLK_CTL_GET_QUEUE_AFFINITY   _IOR('u', 0x01, struct ublk_ctl_cmd) /* data: queue; addr: CPU mask */
#define UBLK_CTL_GET_DEV_INFO	      _IOR('u', 0x02, struct ublk_ctl_cmd)
#define UBLK_CTL_ADD_DEV	      _IOWR('u', 0x04, struct ublk_ctl_cmd) /* addr: struct ublk_dev_info, in and out */
#define UBLK_CTL_DEL_DEV	      _IOWR('u', 0x05, struct ublk_ctl_cmd) /* once closed */
#define UBLK_CTL_START_DEV	      _IOWR('u', 0x06, struct ublk_ctl_cmd) /* data: pid; ends when all tags were fetched */
#define UBLK_CTL_STOP_DEV	      _IOWR('u', 0x07, struct ublk_ctl_cmd)
#define UBLK_CTL_SET_PARAMS	      _IOWR('u', 0x08, struct ublk_ctl_cmd)
#define UBLK_CTL_GET_PARAMS	      _IOR('u', 0x09, struct ublk_ctl_cmd)
#define UBLK_CTL_START_USER_RECOVERY  _IOWR('u', 0x10, struct ublk_ctl_cmd)
#define UBLK_CTL_END_USER_RECOVERY    _IOWR('u', 0x11, struct ublk_ctl_cmd) /* as START_DEV */
#define UBLK_CTL_GET_DEV_INFO2	      _IOR('u', 0x12, struct ublk_ctl_cmd) /* with the path, for everybody */
#define UBLK_CTL_GET_FEATURES	      _IOR('u', 0x13, struct ublk_ctl_cmd) /* Linux 6.5. addr: uint64_t of UBLK_FEATURE_* */

enum ublk_feature {
	UBLK_FEATURE_ZERO_COPY = 1 << 0,
	UBLK_FEATURE_USER_RECOVERY = 1 << 3,
	UBLK_FEATURE_USER_RECOVERY_REISSUE = 1 << 4,
	UBLK_FEATURE_UNPRIVILEGED = 1 << 5,
	UBLK_FEATURE_CMD_IOCTL_ENCODE = 1 << 6,
	UBLK_FEATURE_USER_COPY = 1 << 7,
};

enum ublk_state { UBLK_DEAD, UBLK_LIVE, UBLK_QUIESCED };

struct ublk_dev_info {
	uint16_t queues, depth, state, pad0;
	uint32_t max_bytes, dev_id;
	int32_t pid;
	uint32_t pad1;
	uint64_t flags; /* UBLK_FEATURE_* */
	uint64_t key; /* ublksrv_flags there: the server's own, kept by the kernel */
	uint32_t owner_uid, owner_gid;
	uint64_t reserved[2];
};
_Static_assert(sizeof(struct ublk_dev_info) == 64, "struct ublksrv_ctrl_dev_info");

enum ublk_attr { UBLK_ATTR_READ_ONLY = 1, UBLK_ATTR_ROTATIONAL = 2, UBLK_ATTR_VOLATILE_CACHE = 4, UBLK_ATTR_FUA = 8 };
enum ublk_param { UBLK_PARAM_BASIC = 1, UBLK_PARAM_DISCARD = 2 };

struct ublk_params { /* the part that is known here: the kernel goes by `len` */
	uint32_t len, types;
	uint32_t attrs;
	uint8_t logical_shift, physical_shift, best_shift, min_shift;
	uint32_t max_sectors, chunk_sectors;
	uint64_t sectors, virt_boundary;
	uint32_t discard_alignment, discard_granularity, max_discard_sectors, max_zero_sectors;
	uint16_t max_discard_segments, reserved0;
	uint32_t pad;
};
_Static_assert(sizeof(struct ublk_params) == 64 && __builtin_offsetof(struct ublk_params, discard_alignment) == 40, "struct ublk_params");

/* The requests. A descriptor a tag and queue, mapped from /dev/ublkcN at queue * UBLK_MAX_DEPTH descriptors, rounded up to pages. */
#define UBLK_MAX_DEPTH 4096
#define UBLK_MAX_BYTES (32u << 20)

struct ublk_desc {
	uint32_t op_flags; /* enum ublk_op, enum ublk_op_flag */
	uint32_t sectors;
	uint64_t start;
	uint64_t addr;
};
_Static_assert(sizeof(struct ublk_desc) == 24, "struct ublksrv_io_desc");

enum ublk_op { UBLK_OP_READ, UBLK_OP_WRITE, UBLK_OP_FLUSH, UBLK_OP_DISCARD, UBLK_OP_WRITE_ZEROES = 5, UBLK_OP_MASK = 0xff };
enum ublk_op_flag { UBLK_OP_FUA = 1 << 13, UBLK_OP_NOUNMAP = 1 << 15 };

struct ublk_io_cmd { /* sqe->cmd */
	uint16_t queue, tag;
	int32_t result; /* of the request that is committed: bytes, or -errno */
	uint64_t addr; /* the tag's buffer, which stays the same */
};
_Static_assert(sizeof(struct ublk_io_cmd) == 16, "struct ublksrv_io_cmd");

#define UBLK_IO_FETCH		  _IOWR('u', 0x20, struct ublk_io_cmd)
#define UBLK_IO_COMMIT_AND_FETCH  _IOWR('u', 0x21, struct ublk_io_cmd)
