/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both sides of SCSI know of each other. */
#pragma once

enum scsi_status { /* SAM-5, 5.3.1 */
	SCSI_GOOD,
	SCSI_CHECK_CONDITION = 0x02,
	SCSI_BUSY = 0x08,
	SCSI_CONFLICT = 0x18,
	SCSI_TASK_SET_FULL = 0x28,
	SCSI_TASK_ABORTED = 0x40
};
