/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), the digest of NVMe/TCP, iSCSI and iWARP. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Continue from an earlier result, 0 at first. crc32c(0, "123456789", 9) is 0xe3069283. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
