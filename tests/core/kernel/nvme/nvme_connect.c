/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The line that is written, what kernels lack, and what their words mean. */
#include "kernel_nvmf.h"
#include "nvme.h"
#include "nvme_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY "DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:"
#define LISTS                                                                                      \
	"instance=-1,cntlid=-1,transport=%s,traddr=%s,trsvcid=%s,nqn=%s,queue_size=%d,ctrl_loss_"  \
	"tmo=%d,hostnqn=%s,dhchap_secret=%s,hdr_"                                                  \
	"digest"

static struct nvmf_params params_t1(void)
{
	return (struct nvmf_params){ .value = { [NVMF_TRANSPORT] = "rdma",
					     [NVMF_TRADDR] = "10.0.0.1",
					     [NVMF_TRSVCID] = "4420",
					     [NVMF_NQN] = "nqn.t1",
					     [NVMF_HOSTNQN] = "nqn.host" } };
}

static void makes(
	const char *lists, const struct nvmf_params *params, const char *expected, const char *left)
{
	struct tree tree = tree_new();
	char line[NVMF_LINE], out[NVMF_LEFT_OUT], known[NVMF_SUPPORTED];
	struct diag diag = { 0 };

	tree_dir(&tree, "dev");
	if (lists)
		tree_file(&tree, "dev/nvme-fabrics", lists);
	kernel_nvmf_supported_options(tree.root, known);
	if (kernel_nvmf_line(params, known, true, line, out, &diag)) {
		diag_says(&diag, DIAG_UNSUPPORTED, NULL, expected);
	} else {
		cr_assert_str_eq(line, expected);
		cr_assert_str_eq(out, left);
	}
	tree_free(&tree);
}

Test(nvme_connect, only_what_the_kernel_lists_is_sent)
{
	struct nvmf_params params = params_t1();

	params.value[NVMF_CTRL_LOSS_TMO] = "60";
	params.value[NVMF_RECONNECT_DELAY] = "10";
	params.soft[NVMF_RECONNECT_DELAY] = true;
	params.value[NVMF_DHCHAP_SECRET] = KEY;
	makes(LISTS, &params,
		"transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=nqn.t1,hostnqn=nqn.host,ctrl_loss_"
		"tmo=60,dhchap_secret=***",
		"reconnect_delay");
	params.value[NVMF_HDR_DIGEST] = "";
	makes(LISTS, &params,
		"transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=nqn.t1,hostnqn=nqn.host,ctrl_loss_"
		"tmo=60,hdr_digest,dhchap_secret=***",
		"reconnect_delay");
}

Test(nvme_connect, one_that_is_needed_and_missing_is_named)
{
	struct nvmf_params params = params_t1();

	params.value[NVMF_DATA_DIGEST] = "";
	makes(LISTS, &params, "data_digest", "");
	params = params_t1();
	params.value[NVMF_TLS] = "";
	makes(LISTS, &params, "tls", "");
}

Test(nvme_connect, a_kernel_that_lists_nothing_gets_what_old_ones_know_and_never_a_secret)
{
	struct nvmf_params params = params_t1();

	params.value[NVMF_FAST_IO_FAIL_TMO] = "5";
	params.value[NVMF_RECONNECT_DELAY] = "10";
	params.soft[NVMF_RECONNECT_DELAY] = true;
	makes(NULL, &params,
		"transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=nqn.t1,hostnqn=nqn.host,reconnect_"
		"delay=10,fast_io_fail_tmo=5",
		"");
	params.soft[NVMF_FAST_IO_FAIL_TMO] = true;
	makes(NULL, &params,
		"transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=nqn.t1,hostnqn=nqn.host,reconnect_"
		"delay=10",
		"fast_io_fail_tmo");
	params.value[NVMF_DHCHAP_SECRET] = KEY;
	makes(NULL, &params, "dhchap_secret", "");
}

Test(nvme_connect, drivers_and_devices_that_are_missing)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nvmf_ready(tree.root, "tcp", false, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "module_nvme_fabrics");
	tree_dir(&tree, "sys/class/nvme-fabrics");
	tree_file(&tree, "dev/nvme-fabrics", "");
	cr_assert_eq(kernel_nvmf_ready(tree.root, "rdma", false, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "module_nvme_rdma");
	tree_dir(&tree, "sys/module/nvme_rdma");
	cr_assert_eq(kernel_nvmf_ready(tree.root, "rdma", false, &diag), -ENODEV);
	cr_assert_eq(diag.code, DIAG_NO_DEVICE);
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	cr_assert_eq(kernel_nvmf_ready(tree.root, "rdma", false, &diag), 0);
	tree_dir(&tree, "sys/module/nvme_tcp");
	cr_assert_eq(kernel_nvmf_ready(tree.root, "tcp", false, &diag), 0);
	cr_assert_eq(kernel_nvmf_ready(tree.root, "tcp", true, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "module_tls");
	tree_dir(&tree, "sys/module/tls");
	cr_assert_eq(kernel_nvmf_ready(tree.root, "tcp", true, &diag), 0);
	tree_free(&tree);
}

static int log_root = -1; /* of sysfs */

static int means(int err, const char *lines, enum diag_code code, const char *why_words)
{
	struct nvmf_params params = params_t1();
	struct diag diag = { 0 };
	char words[1024];

	snprintf(words, sizeof(words), "%s", lines);
	cr_assert_lt(kernel_nvme_why(log_root, err, words, &params, &diag), 0);
	diag_says(&diag, code, NULL, why_words);
	return diag.err;
}

/* Another address of the target's name may have a listener, but not better reasons. */
Test(nvme_connect, rejections_that_are_no_answer_of_the_target)
{
	cr_assert_eq(
		means(ECONNRESET, "nvme nvme0: Connect rejected: status 8 (invalid service ID).\n",
			DIAG_REFUSED, "no_RDMA_listener 4420"),
		ECONNREFUSED);
	cr_assert_eq(means(ECONNRESET,
			     "nvme nvme0: Connect rejected: status 28 (consumer defined) nvme "
			     "status 0 (unrecognized reason).\n",
			     DIAG_REFUSED, "no_RDMA_listener 10.0.0.1 4420"),
		ECONNREFUSED);
	cr_assert_eq(means(ECONNRESET,
			     "nvme nvme0: Connect rejected: status 28 (consumer defined) nvme "
			     "status 6 (resource not found).\n",
			     DIAG_REFUSED, "resource_not_found"),
		ECONNRESET);
}

Test(nvme_connect, words_of_the_kernel)
{
	means(EIO,
		"nvme nvme0: Connect for subsystem nqn.t1 is not allowed, hostnqn: nqn.host\nnvme "
		"nvme0: failed to connect queue: 0 "
		"ret=16772\n",
		DIAG_AUTH, "'nqn.t1' 'nqn.host'");
	means(EIO, "nvme nvme0: Connect Invalid Data Parameter, subsysnqn \"nqn.t1\"\n",
		DIAG_NOT_FOUND, "'nqn.t1'");
	means(EIO, "nvme nvme0: Connect Invalid Data Parameter, hostnqn \"nqn.host\"\n", DIAG_AUTH,
		"NQN 'nqn.host'");
	means(EIO, "nvme nvme0: Connect Invalid SQE Parameter, qid 0\n", DIAG_REFUSED,
		"Connect_Invalid_SQE_Parameter,_qid_0");
	means(EIO, "nvme nvme0: Connect command failed: controller is busy or not available\n",
		DIAG_BUSY, "controller busy");
	means(ECONNRESET,
		"nvme nvme0: Connect rejected: status 8 (invalid service ID).\nnvme nvme0: rdma "
		"connection establishment failed (-104)\n",
		DIAG_REFUSED, "connection_refused RDMA 4420");
	means(ECONNRESET, "nvme nvme0: Connect rejected: status -111 (connection refused).\n",
		DIAG_REFUSED, "RDMA 4420");
	means(ECONNRESET, "nvme nvme0: Connect rejected: status 10 (stale conn).\n", DIAG_BUSY,
		"stale");
	means(ECONNRESET, "nvme nvme0: Connect rejected: status 28 nvme status 6\n", DIAG_REFUSED,
		"nvme_status_6");
	means(ECONNRESET,
		"nvme nvme0: Connect rejected: status 28 (consumer defined) nvme status 6 "
		"(resource not found).\n",
		DIAG_REFUSED, "resource_not_found");
	means(ECONNRESET, "nvme nvme0: Connect rejected: status 4 (timeout).\n", DIAG_REFUSED,
		"timeout_(4)");
	means(ECONNREFUSED, "nvme nvme0: failed to connect socket: -111\n", DIAG_REFUSED,
		"RDMA 4420");
	means(EHOSTUNREACH, "nvme nvme0: failed to connect socket: -113\n", DIAG_UNREACHABLE,
		"10.0.0.1");
	means(ENODEV, "nvme nvme0: rdma_resolve_addr failed (-19).\n", DIAG_NO_DEVICE,
		"RDMA 10.0.0.1");
	means(ETIMEDOUT, "nvme nvme0: rdma connection establishment failed (-110)\n",
		DIAG_UNREACHABLE, "10.0.0.1 RDMA");
	means(EINVAL,
		"nvme_fabrics: unknown parameter or missing value 'tls=1' in ctrl creation "
		"request\n",
		DIAG_UNSUPPORTED, "_tls");
	means(EINVAL, "nvme_fabrics: invalid parameter 'host_iface=%s'\n", DIAG_UNSUPPORTED,
		"host_iface rdma");
	means(EINVAL, "nvme_fabrics: found same hostid 1 but different hostnqn b\n", DIAG_MISMATCH,
		"host_id NQN");
	means(EINVAL, "nvme nvme1: Subsystem does not support multiple controllers\n",
		DIAG_UNSUPPORTED, "multiple_controllers");
	means(EINVAL, "nvme_fabrics: no handler found for transport rdma.\n", DIAG_NO_MODULE,
		"nvme-rdma");
	means(ENOKEY, "nvme nvme0: qid 0: no key\nnvme nvme0: qid 0: authentication setup failed\n",
		DIAG_AUTH, "DH-HMAC-CHAP --dhchap-secret-file");
	means(ENOKEY, "nvme nvme0: no valid PSK found\n", DIAG_AUTH, "TLS 'nqn.host' 'nqn.t1'");
	means(ESRCH, "nvme nvme0: queue 0: failed to start TLS: -3\n", DIAG_NOT_FOUND, "answers");
	means(EINVAL, "nvme nvme0: queue 0: failed to start TLS: -22\n", DIAG_SYSTEM,
		"TLS invalid_argument");
	means(ETIMEDOUT, "nvme nvme0: queue 0: TLS handshake failed, error -110\n", DIAG_TIMEOUT,
		"TLS handshake");
	means(ECONNRESET, "nvme nvme0: queue 0: TLS handshake complete, error -104\n", DIAG_AUTH,
		"TLS key");
	means(EIO, "nvme nvme0: qid 0: controller authentication failed\n", DIAG_AUTH,
		"dhchap_ctrl_secret");
}

/* A target that was restarted begins to number its controllers again. */
Test(nvme_connect, number_of_another_controller)
{
	static const char lines[] =
		"nvme nvme1: Duplicate cntlid 1 with nvme0, subsys nqn.t1, rejecting\n"
		"nvme nvme1: failed to connect\n";
	struct tree tree = tree_new();

	log_root = tree.root;
	tree_file(&tree, "sys/class/nvme/nvme0/state", "live\n");
	cr_assert_eq(means(EINVAL, lines, DIAG_MISMATCH, "nvme0: same_NQN nvmf-disconnect_nvme0"),
		EXDEV);
	tree_file(&tree, "sys/class/nvme/nvme0/state", "connecting\n");
	cr_assert_eq(means(EINVAL, lines, DIAG_BUSY, "nvme0_still connecting try_again"), EBUSY);
	unlinkat(tree.root, "sys/class/nvme/nvme0/state", 0);
	cr_assert_eq(means(EINVAL, lines, DIAG_BUSY, "nvme0_still try_again"), EBUSY);
	tree_free(&tree);
}

Test(nvme_connect, an_errno_alone)
{
	means(EALREADY, "", DIAG_BUSY, "connected");
	means(EINVAL, "", DIAG_USAGE, "option dmesg");
	means(ENODEV, "", DIAG_NO_DEVICE, "RDMA 10.0.0.1");
	means(ECONNREFUSED, "", DIAG_REFUSED, "connection_refused");
	means(EADDRNOTAVAIL, "", DIAG_NOT_FOUND, "host_traddr");
	means(ENOMEM, "", DIAG_NO_MEMORY, "out_of_memory");
	means(ENOKEY, "", DIAG_AUTH, "keyring");
}

Test(nvme_connect, a_secret_that_the_kernel_quotes_goes_no_further)
{
	char words[] = "nvme_fabrics: Invalid DH-CHAP secret " KEY
		       "\nnvme_fabrics: unknown parameter 'dhchap_secret=" KEY "' in\n";
	struct nvmf_params params = params_t1();
	struct diag diag = { 0 };

	kernel_nvme_why(-1, EINVAL, words, &params, &diag);
	cr_assert_not(strstr(words, "Y29y"), "%s", words);
	cr_assert_not(strstr(diag.text, "Y29y"), "%s", diag.text);
}

static void leaves(const char *words, int own, const char *expected)
{
	const struct nvme_numbers others = { { 1 } }; /* nvme0 */
	struct nvmf_params params = params_t1();
	char text[1024];

	snprintf(text, sizeof(text), "%s", words);
	kernel_nvme_log_filter(text, &params, &others, own);
	cr_assert_str_eq(text, expected);
}

Test(nvme_connect, lines_of_other_controllers_are_no_reason)
{
	leaves("nvme nvme0: failed to connect socket: -111\nnvme nvme0: Failed reconnect attempt "
	       "7\nnvme0n1: I/O error\nnvme0c0n1: x\n",
		-1, "");
	leaves("nvme nvme0: failed to connect socket: -111\nnvme nvme1: failed to connect socket: "
	       "-113",
		-1, "nvme nvme1: failed to connect socket: -113");
	leaves("nvme nvme1: one\nnvme nvme2: two\n", -1, "");
	leaves("nvme nvme1: one\nnvme nvme2: two\n", 2, "nvme nvme2: two\n");
	leaves("nvme nvme1: one\nnvme nvme2: Connect Invalid Data Parameter, subsysnqn "
	       "\"nqn.t1\"\nnvme nvme2: two\n",
		-1,
		"nvme nvme2: Connect Invalid Data Parameter, subsysnqn \"nqn.t1\"\nnvme nvme2: "
		"two\n");
	leaves("nvme nvme1: one\nnvme nvme2: Connect Invalid Data Parameter, subsysnqn "
	       "\"nqn.t10\"\nnvme nvme2: two\n",
		-1, "nvme nvme1: one\n");
	leaves("nvme nvme1: Connect for subsystem nqn.t1 is not allowed, hostnqn: nqn.hosts\nnvme "
	       "nvme1: one\n",
		-1, "");
	leaves("nvme nvme1: Connect for subsystem nqn.t1 is not allowed, hostnqn: nqn.host\nnvme "
	       "nvme2: one\n",
		-1, "nvme nvme1: Connect for subsystem nqn.t1 is not allowed, hostnqn: nqn.host\n");
}

Test(nvme_connect, lines_of_no_controller_are_others_when_they_name_something_else)
{
	leaves("nvme_fabrics: no handler found for transport rdma.\nnvme_fabrics: no handler found "
	       "for transport fc.\n",
		-1, "nvme_fabrics: no handler found for transport rdma.\n");
	leaves("nvme_fabrics: found same hostid 1 but different hostnqn nqn.b\nnvme_tcp: queue 0: "
	       "one\n",
		-1, "nvme_tcp: queue 0: one\n");
	leaves("nvme_fabrics: unknown parameter or missing value 'tls' in ctrl creation request\n",
		-1, "");
	leaves("nvme_fabrics: invalid parameter 'traddr=%s'\n", -1,
		"nvme_fabrics: invalid parameter 'traddr=%s'\n");
	leaves("nvme99999999999: one\n", -1, "nvme99999999999: one\n");
	leaves("", -1, "");
}
