/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What NVMe/RDMA has from core/target. */
/* Link: leap connect */
#include "frame.h"

FRAME_TESTS(guest_nvme_rdma)
