/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What NVMe/RDMA has from core/target. */
/* Link: leap connect */
#include "frame.h"

FRAME_TESTS(frame_kind_nvme_rdma)
