/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* URIs of NVMe subsystems, and the keys of RDMA, for the kernel's initiator and for ours. */
#include "says.h"
#include "uri_read.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct uri uri;
static struct uri_rdma rdma;
static struct diag why;

static int rdma_for(enum uri_initiator initiator, const char *text)
{
	why = (struct diag){ 0 };
	cr_assert_eq(uri_parse(&uri, text, &why), 0, "%s", why.text);
	return uri_rdma_read(&rdma, &uri, initiator, &why);
}

Test(read_nvme, namespaces)
{
	struct uri_nvme nvme;

	cr_assert_eq(uri_parse(&uri, "nvme+tcp://h/nqn.a%2Fb/7", &why), 0);
	cr_assert_eq(uri_nvme_read(&nvme, &uri, &why), 0, "%s", why.text);
	cr_assert_str_eq(nvme.subnqn, "nqn.a/b");
	cr_assert_eq(nvme.nsid, 7);
	cr_assert_not(nvme.by_uuid);
	cr_assert_eq(uri_parse(&uri, "nvme+tcp://h/n/urn:uuid:01000000-0000-0000-0000-000000000002",
			     &why),
		0);
	cr_assert_eq(uri_nvme_read(&nvme, &uri, &why), 0, "%s", why.text);
	cr_assert(nvme.by_uuid && nvme.uuid[0] == 1 && nvme.uuid[15] == 2 && !nvme.nsid);
	cr_assert_eq(uri_parse(&uri, "nvme+tcp://h/n/0", &why), 0);
	cr_assert_eq(uri_nvme_read(&nvme, &uri, &why), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "namespace '0' urn:uuid:UUID");
}

Test(read_nvme, rdma)
{
	cr_assert_eq(rdma_for(URI_OWN, "nvme+rdma://h/n?rdma=iwarp&crc=0"), 0, "%s", why.text);
	cr_assert(rdma.by.iwarp && !rdma.by.verbs && rdma.by.no_crc);
	cr_assert_eq(rdma_for(URI_KERNEL, "nvme+rdma://h/n?dev=mlx5_0"), 0, "%s", why.text);
	cr_assert(rdma.by.iwarp && rdma.by.verbs);
	cr_assert_str_eq(rdma.dev, "mlx5_0");
	cr_assert_eq(rdma_for(URI_KERNEL, "nvme+rdma://h/n?rdma=iwarp"), -ENOTSUP);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "rdma=iwarp");
	cr_assert_eq(rdma_for(URI_KERNEL, "nvme+rdma://h/n?crc=0"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "crc= not_supported kernel's");
	cr_assert_eq(rdma_for(URI_OWN, "nvme+rdma://h/n?rdma=iwarp&dev=x"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "dev='x' rdma=iwarp");
}
