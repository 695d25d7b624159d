/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What each option of a fabrics connection may be. */
#include "nvme.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define KEY "DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:"

static struct nvmf_params params_of(const char *transport)
{
	return (struct nvmf_params){ .value = { [NVMF_TRANSPORT] = transport,
					     [NVMF_TRADDR] = "10.0.0.1",
					     [NVMF_NQN] = "nqn.t" } };
}

static void wrong(struct nvmf_params params, const char *words)
{
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_check(&params, &diag), -diag.err);
	diag_says(&diag, DIAG_USAGE, NULL, words);
}

static void with(enum nvmf_key key, const char *value, const char *words)
{
	struct nvmf_params params = params_of("tcp");
	struct diag diag = { 0 };

	params.value[key] = value;
	if (words)
		wrong(params, words);
	else
		cr_assert_eq(kernel_nvmf_check(&params, &diag), 0, "%s", diag.text);
}

Test(nvme_option, what_must_be_there)
{
	struct nvmf_params params = params_of("rdma");

	cr_assert_eq(kernel_nvmf_check(&params, NULL), 0);
	params.value[NVMF_NQN] = NULL;
	wrong(params, "nqn");
	wrong(params_of("fc"), "transport 'fc' rdma tcp");
}

Test(nvme_option, numbers_have_their_range)
{
	with(NVMF_QUEUE_SIZE, "16", NULL);
	with(NVMF_QUEUE_SIZE, "1024", NULL);
	with(NVMF_QUEUE_SIZE, "15", "queue_size 16_to_1024");
	with(NVMF_QUEUE_SIZE, "1025", "queue_size 16_to_1024");
	with(NVMF_NR_IO_QUEUES, "10x", "nr_io_queues '10x'");
	with(NVMF_NR_IO_QUEUES, "", "nr_io_queues ''");
	with(NVMF_NR_IO_QUEUES, " 1", "nr_io_queues '_1'");
	with(NVMF_NR_IO_QUEUES, "99999999999999999999", "nr_io_queues 1_to_65535");
	with(NVMF_CTRL_LOSS_TMO, "-1", NULL);
	with(NVMF_CTRL_LOSS_TMO, "-2", "ctrl_loss_tmo 0_to_2147483647 -1");
	with(NVMF_TOS, "256", "tos 0_to_255");
	with(NVMF_TRSVCID, "0", "trsvcid 1_to_65535");
}

Test(nvme_option, one_word_of_a_line)
{
	with(NVMF_HOSTNQN, "nqn.a,hostid=1", "hostnqn comma");
	with(NVMF_HOSTNQN, "a b", "hostnqn comma");
	with(NVMF_HOSTNQN, "", "hostnqn empty");
	with(NVMF_HOST_IFACE, "eth0\n", "host_iface comma");
}

Test(nvme_option, an_nqn_has_its_length)
{
	char nqn[300];

	memset(nqn, 'a', sizeof(nqn));
	nqn[223] = 0;
	with(NVMF_NQN, nqn, NULL);
	nqn[223] = 'a';
	nqn[224] = 0;
	with(NVMF_NQN, nqn, "nqn 223");
}

Test(nvme_option, what_is_of_tcp_only)
{
	struct nvmf_params params = params_of("rdma");

	params.value[NVMF_HDR_DIGEST] = "";
	wrong(params, "hdr_digest TCP rdma");
	with(NVMF_HDR_DIGEST, "", NULL);
	with(NVMF_TLS_KEY, "77", "tls_key _tls");
}

Test(nvme_option, times_that_contradict)
{
	struct nvmf_params params = params_of("rdma");

	params.value[NVMF_CTRL_LOSS_TMO] = "10";
	params.value[NVMF_FAST_IO_FAIL_TMO] = "11";
	wrong(params, "fast_io_fail_tmo 11 ctrl_loss_tmo 10");
	params.value[NVMF_CTRL_LOSS_TMO] = "-1";
	cr_assert_eq(kernel_nvmf_check(&params, NULL), 0);
}

Test(nvme_option, the_controller_proves_itself_only_to_a_host_that_did)
{
	with(NVMF_DHCHAP_CTRL_SECRET, KEY, "dhchap_ctrl_secret dhchap_secret");
	with(NVMF_DHCHAP_SECRET, KEY, NULL);
}

Test(nvme_option, names)
{
	cr_assert_eq(kernel_nvmf_key_find("nr-io-queues"), NVMF_NR_IO_QUEUES);
	cr_assert_eq(kernel_nvmf_key_find("nr_io_queues"), NVMF_NR_IO_QUEUES);
	cr_assert_eq(kernel_nvmf_key_find("nr_io_queue"), -1);
	for (int key = 0; key < NVMF_KEYS; key++)
		cr_assert_eq(kernel_nvmf_key_find(kernel_nvmf_key_name(key)), key);
}
