/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbers as text: status codes, the field that a Connect was rejected for, values of the discovery
 * log. */
#include "bdev.h"
#include "codec.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

Test(nvme_status, sentences_and_errnos)
{
	text_says(nvme_status_text(0x4080), "range"); /* DNR set */
	cr_assert_eq(nvme_status_errno(0x4080), EINVAL);
	cr_assert_eq(nvme_status_errno(0), 0);
	cr_assert_eq(nvme_status_errno(NVME_STATUS(2, 0x81)), EIO);
	cr_assert_eq(nvme_status_errno(NVME_STATUS(3, 0x00)), EHOSTUNREACH,
		"a lost path is not a bad block");
	cr_assert_eq(nvme_status_errno(NVME_STATUS(3, 0x7f)), EHOSTUNREACH);
	cr_assert_eq(nvme_status_errno(NVME_STATUS(0, 0x20)), EROFS);
	text_says(nvme_status_text(NVME_STATUS(7, 0x12)), "vendor");
	for (uint32_t status = 1; status < 0x800; status++) {
		cr_assert_neq(nvme_status_errno(status), 0, "%x", status);
		cr_assert_not_null(nvme_status_text(status));
	}
}

Test(nvme_status, a_command_specific_code_is_that_of_its_command)
{
	const uint32_t io = NVME_STATUS_OF_IO, fabrics = NVME_STATUS_OF_FABRICS;

	text_says(nvme_status_text(io | NVME_STATUS(1, 0x80)), "conflicting");
	text_says(nvme_status_text(fabrics | NVME_STATUS(1, 0x80)), "connect");
	text_says(nvme_status_text(io | NVME_STATUS(1, 0x81)), "protection");
	text_says(nvme_status_text(fabrics | NVME_STATUS(1, 0x81)), "busy");
	text_says(nvme_status_text(io | NVME_STATUS_DNR | NVME_STATUS(1, 0x82)), "read-only");
	cr_assert_eq(nvme_status_errno(io | NVME_STATUS(1, 0x82)), EROFS);
	text_says(nvme_status_text(fabrics | NVME_STATUS(1, 0x82)), "connect");
	text_says(nvme_status_text(io | NVME_STATUS(1, 0x83)), "size_limit");
	text_says(nvme_status_text(io | NVME_STATUS(1, 0x84)), "unlisted");
	text_says(nvme_status_text(fabrics | NVME_STATUS(1, 0x84)), "host");
	text_says(nvme_status_text(NVME_STATUS(1, 0x82)), "unlisted");
	cr_assert_eq(nvme_status_errno(io | NVME_STATUS(0, 0x82)),
		nvme_status_errno(NVME_STATUS(0, 0x82)), "a generic one");
	cr_assert_eq(nvme_status_errno(NVME_STATUS(1, 0x90)), EAGAIN);
}

Test(nvme_status, what_may_be_tried_again)
{
	cr_assert_eq(nvme_status_again(0), 0);
	cr_assert_eq(nvme_status_again(NVME_STATUS(0, 0x82)), BDEV_RETRY | BDEV_WAIT_READY);
	cr_assert_eq(nvme_status_again(NVME_STATUS(0, 0x07)), BDEV_RETRY);
	cr_assert_eq(nvme_status_again(NVME_STATUS(0, 0x82) | NVME_STATUS_DNR), 0);
	cr_assert_eq(nvme_status_again(NVME_STATUS(3, 0x03)),
		BDEV_RETRY | BDEV_WAIT_READY | BDEV_OTHER_PATH);
	for (uint32_t code = 0; code < 256; code++) {
		cr_assert(nvme_status_again(NVME_STATUS(3, code)) & BDEV_OTHER_PATH);
		cr_assert_eq(nvme_status_again(NVME_STATUS(2, code)), 0);
		cr_assert_eq(nvme_status_again(NVME_STATUS_OF_IO | NVME_STATUS(1, code)), 0);
	}
	cr_assert(nvme_status_again(NVME_STATUS_OF_FABRICS | NVMF_BUSY) & BDEV_RETRY);
}

static const struct nvmf_connect asked = { .subnqn = "nqn.none", .hostnqn = "nqn.me" };

static struct diag refused(uint32_t status, bool data, uint16_t at)
{
	const struct nvmf_connect_reply reply = { .status = status, .ipo = at, .ipo_data = data };
	struct diag diag = { 0 };

	cr_assert_lt(nvmf_connect_diag(&diag, &reply, &asked), 0);
	return diag;
}

Test(nvme_status, a_queue_with_an_old_connection_is_busy)
{
	const struct nvmf_connect_reply reply = { .status = NVME_SEQUENCE };
	struct nvmf_connect queue = { .qid = 3 };
	struct diag diag = { 0 };

	cr_assert_eq(nvmf_connect_diag(&diag, &reply, &queue), -EAGAIN);
	diag_says(&diag, DIAG_BUSY, NULL, "queue 3");
	queue.qid = 0;
	cr_assert_neq(nvmf_connect_diag(&diag, &reply, &queue), -EAGAIN);
}

Test(nvme_status, a_refused_connect_names_the_field)
{
	struct diag diag = refused(0x4182, true, 256);

	diag_says(&diag, DIAG_NOT_FOUND, NULL, "subsystem nqn.none");
	diag = refused(0x4182, true, 512);
	diag_says(&diag, DIAG_AUTH, NULL, "host NQN nqn.me");
	diag = refused(0x182, false, 44);
	diag_says(&diag, DIAG_REFUSED, NULL, "queue_size 44 command");
	diag = refused(0x182, true, 999);
	diag_says(&diag, DIAG_REFUSED, NULL, "unknown 999 data");
	diag = refused(0x4184, false, 0);
	diag_says(&diag, DIAG_AUTH, NULL, "nqn.none nqn.me");
	diag = refused(0x181, false, 0);
	cr_assert_eq(diag.code, DIAG_BUSY);
}

Test(nvme_status, words_of_the_discovery_log)
{
	cr_assert_str_eq(nvmf_trtype_str(1), "rdma");
	cr_assert_str_eq(nvmf_trtype_str(254), "loop");
	cr_assert_str_eq(nvmf_trtype_str(9), "unrecognized");
	cr_assert_str_eq(nvmf_adrfam_str(2), "ipv6");
	cr_assert_str_eq(nvmf_subtype_str(1), "discovery subsystem referral");
	cr_assert_str_eq(nvmf_treq_str(4), "not specified, sq flow control disable supported");
	cr_assert_str_eq(nvmf_treq_str(3), "unrecognized");
	cr_assert_str_eq(nvmf_eflags_str(0), "none");
	cr_assert_str_eq(nvmf_eflags_str(3),
		"explicit discovery connections, duplicate discovery information");
	cr_assert_str_eq(nvmf_prtype_str(4), "roce-v2");
	cr_assert_str_eq(nvmf_qptype_str(1), "connected");
	cr_assert_str_eq(nvmf_cms_str(1), "rdma-cm");
	cr_assert_str_eq(nvmf_sectype_str(2), "tls13");
	cr_assert_str_eq(nvmf_sectype_str(3), "unrecognized");
	text_says(nvmf_rdma_status_text(6), "resources queue");
	text_says(nvmf_rdma_status_text(999), "reason");
	text_says(nvme_tcp_fes_text(3), "header_digest");
}
