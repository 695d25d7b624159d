/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From a URI to the settings of a session: keys of each carrier, and errors about wrong ones. */
#include "ep.h"
#include "nvme.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UUID "abff48c0-ecbe-4d8c-a64a-54f12797e8c2"

static struct nvme_conf conf;
static struct diag why;

static int init(const char *text, const char *hostnqn)
{
	struct bdev_env env = { .hostid = { 7 } };
	struct uri uri;

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", hostnqn);
	why = (struct diag){ 0 };
	cr_assert_eq(uri_parse(&uri, text, &why), 0, "%s", why.text);
	return nvme_conf_init(&conf, &uri, &env, 4420, &why);
}

static void refused(const char *uri, const char *hostnqn, const char *words)
{
	cr_assert_eq(init(uri, hostnqn), -EINVAL, "%s", why.text);
	diag_says(&why, DIAG_USAGE, NULL, words);
}

Test(nvme_conf, every_key_of_tcp)
{
	cr_assert_eq(
		init("nvme+tcp://10.0.0.1:5/"
		     "n?src=10.0.0.2&iface=eth7&tos=8&hdr_digest=1&data_digest=yes&hostnqn=nqn.you",
			"nqn.me"),
		0);
	cr_assert_eq(conf.carrier, &nvme_tcp);
	cr_assert_str_eq(conf.where, "10.0.0.1:5");
	cr_assert_eq(((struct sockaddr_in *)&conf.src.ss)->sin_addr.s_addr, htonl(0x0a000002));
	cr_assert_str_eq(conf.iface, "eth7");
	cr_assert_eq(conf.tos, 8);
	cr_assert(conf.hdr_digest && conf.data_digest);
	cr_assert_str_eq(conf.hostnqn, "nqn.you");
	cr_assert_eq(conf.timeout_ms, 10000);
}

Test(nvme_conf, every_key_of_rdma)
{
	cr_assert_eq(
		init("nvme+rdma://10.0.0.1/n?dev=mlx5_3&rdma=verbs&src=10.0.0.2", "nqn.me"), 0);
	cr_assert_eq(conf.carrier, &nvme_rdma);
	cr_assert_str_eq(conf.where, "10.0.0.1:4420");
	cr_assert_str_eq(conf.dev, "mlx5_3");
	cr_assert_eq(conf.backend, EP_VERBS);
	cr_assert_eq(conf.src.ss.ss_family, AF_INET);
	cr_assert_str_eq(conf.hostnqn, "nqn.me");
	cr_assert_eq(conf.hostid[0], 7);
}

Test(nvme_conf, a_name_is_left_to_be_looked_up)
{
	cr_assert_eq(init("nvme+tcp://disk.example:5/n", "nqn.me"), 0);
	cr_assert_str_eq(conf.host, "disk.example");
	cr_assert_eq(conf.port, 5);
	cr_assert_eq(conf.dst.ss.ss_family, 0);
	refused("nvme+tcp://10.0.0.1/n?src=me.example", "nqn.me", "src me.example");
	refused("nvme+tcp://10.0.0.1/n?src=", "nqn.me", "src=");
}

Test(nvme_conf, a_host_id_goes_with_its_nqn)
{
	cr_assert_eq(init("nvme+tcp://10.0.0.1/n?hostnqn=nqn.2014-08.org.nvmexpress:uuid:" UUID,
			     "nqn.me"),
		0);
	cr_assert_eq(conf.hostid[0], 0xab);
	cr_assert_eq(init("nvme+tcp://10.0.0.1/n?hostid=" UUID, "nqn.me"), 0);
	cr_assert_eq(conf.hostid[15], 0xc2);
}

Test(nvme_conf, each_wrong_value_is_named)
{
	char uri[400];

	refused("nvme+tcp://10.0.0.1/n", "", "host NQN hostnqn=");
	refused("nvme+tcp://10.0.0.1/n?hostid=" UUID "0", "nqn.me", "hostid '" UUID "0'");
	refused("nvme+tcp://10.0.0.1/n?iface=", "nqn.me", "iface 15");
	refused("nvme+tcp://10.0.0.1/n?iface=0123456789abcdef", "nqn.me",
		"iface 0123456789abcdef 15");
	refused("nvme+rdma://10.0.0.1/n?rdma=fast", "nqn.me", "rdma fast verbs iwarp auto");
	snprintf(uri, sizeof(uri), "nvme+tcp://10.0.0.1/n?hostnqn=%0224d", 0);
	cr_assert_eq(init(uri, "nqn.me"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "hostnqn 223");
}

Test(nvme_conf, a_key_of_the_other_carrier_is_left_to_be_an_error)
{
	struct bdev_env env = { .hostnqn = "nqn.me" };
	struct uri uri;

	cr_assert_eq(uri_parse(&uri, "nvme+tcp://10.0.0.1/n?dev=mlx5_0", NULL), 0);
	cr_assert_eq(nvme_conf_init(&conf, &uri, &env, 4420, &why), 0);
	cr_assert_lt(uri_done(&uri, &why), 0);
	diag_says(&why, DIAG_USAGE, NULL, "dev");
}

static const char *secret_file(const char *text)
{
	static char path[2][64];
	static unsigned turn;
	char *at = path[turn++ % 2];
	int fd;

	snprintf(at, sizeof(path[0]), "/tmp/rdmastor-conf-XXXXXX");
	fd = mkstemp(at);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return at;
}

static int read_secrets(const char *host, const char *ctrl)
{
	struct uri uri;
	char text[256];
	int len = snprintf(text, sizeof(text), "nvme+tcp://10.0.0.1/n?x=1");

	if (host)
		len += snprintf(
			text + len, sizeof(text) - (size_t)len, "&dhchap-secret-file=%s", host);
	if (ctrl)
		snprintf(text + len, sizeof(text) - (size_t)len, "&dhchap-ctrl-secret-file=%s",
			ctrl);
	why = (struct diag){ 0 };
	cr_assert_eq(uri_parse(&uri, text, &why), 0);
	return nvme_conf_secrets(&conf, &uri, &why);
}

Test(nvme_conf, secrets)
{
	static const char key[] = "DHHC-1:01:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:";
	const char *good = secret_file(key), *bad = secret_file("DHHC-1:01:nonsense:\n");

	cr_assert_eq(read_secrets(NULL, NULL), 0);
	cr_assert_null(conf.secret[0]);
	cr_assert_eq(read_secrets(good, good), 0, "%s", why.text);
	cr_assert(conf.secret[0]->len == 32 && conf.secret[1]->len == 32 &&
		  conf.secret[1]->hash == 1);
	nvme_conf_fini(&conf);
	cr_assert_null(conf.secret[0]);
	cr_assert_eq(read_secrets(NULL, good), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "dhchap-ctrl-secret-file dhchap-secret-file");
	cr_assert_eq(read_secrets(good, bad), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "dhchap-ctrl-secret-file= length");
	cr_assert_null(strstr(why.text, "nonsense"));
	cr_assert_null(conf.secret[0]);
	unlink(good);
	unlink(bad);
	cr_assert_eq(read_secrets(good, NULL), -ENOENT);
}
