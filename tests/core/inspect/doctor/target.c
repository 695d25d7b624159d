/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Probes of a target, of its host for other protocols, and of the route. A function prints what an
 * applet would; routes come from the test. */
/* Link: leap kernel_route kernel_firewall */
#include "findings.h"
#include "kernel_net.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define HOST   "127.0.0.1"

int __wrap_kernel_route(const struct addr *, struct kernel_route *, struct diag *);
int __wrap_kernel_firewall(struct firewall *, struct diag *);

static _Atomic unsigned *runs; /* shared with the children */
/* "APPLET=WORD", separated by blanks, or the start of one: what gets an answer */
static const char *answers;
static const char *exactly; /* NULL, or what alone gets an answer */
static const char *failure; /* code and errno of the others */
static const char *records = "[]", *content = "";
static struct kernel_route route;
static int route_err, firewall_err;
static struct examined e;

int __wrap_kernel_route(const struct addr *to, struct kernel_route *to_route, struct diag *diag)
{
	(void)to;
	*to_route = route;
	return route_err ? diag_set(diag, DIAG_UNREACHABLE, route_err, "no route") : 0;
}

int __wrap_kernel_firewall(struct firewall *firewall, struct diag *diag)
{
	cr_assert_neq(firewall_err, 0, "asked");
	*firewall = (struct firewall){ 0 };
	return diag_sys(diag, firewall_err, "rules"), -firewall_err;
}

static int applet(int argc, char **word)
{
	char whole[URI_MAX + 40];

	cr_assert_geq(argc, 4);
	atomic_fetch_add(runs, 1);
	snprintf(whole, sizeof(whole), "%s=%s", word[0], word[1]);
	for (int i = 2; !strcmp(word[0], "srp-discover") && strcmp(word[i], "--json"); i++)
		strcat(strcat(whole, " "), word[i]);
	if (!strcmp(failure, "hangs"))
		pause();
	else if (exactly ? !strcmp(whole, exactly)
			 : strstr(answers, whole) ||
				   (*answers && !strncmp(whole, answers, strlen(answers))))
		printf("{\"size\":1048576,\"versions\":[\"4.2\"],\"records\":%s%s}", records,
			content);
	else
		printf("{\"error\":{\"code\":\"%s\",\"errno\":\"EIO\",\"text\":\"why\"}}", failure);
	return 0;
}

static void begin(const char *uri, const char *answering, const char *failing)
{
	answers = answering;
	failure = failing;
	runs = mmap(NULL, sizeof(*runs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(runs, MAP_FAILED);
	examined_init(&e, uri);
	e.doctor.run = applet;
	e.doctor.deadline = loop_clock() + 30 * SECOND;
	cr_assert_eq(loop_new(&e.doctor.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	route = (struct kernel_route){ .netdev = "eth7", .source = "10.0.0.2" };
}

static void end(void)
{
	loop_free(e.doctor.loop);
	munmap(runs, sizeof(*runs));
	examined_free(&e);
}

/* ---- The target. */

static void asks(const char *uri, const char *applet_and_word)
{
	begin(uri, applet_and_word, "refused");
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", uri, DOCTOR_OK, "");
	cr_assert_eq(*runs, 1);
	cr_assert_eq(e.doctor.why.err, 0);
	end();
}

Test(target, the_applet_that_asks)
{
	asks("nvme+tcp://" HOST "/nqn.x", "info=nvme+tcp://" HOST "/nqn.x");
	asks("nvme+tcp://" HOST, "nvmf-discover=nvme+tcp://" HOST);
	asks("nvme+rdma://" HOST "/nqn.2014-08.org.nvmexpress.discovery",
		"nvmf-discover=nvme+rdma://" HOST "/nqn.2014-08.org.nvmexpress.discovery");
	asks("iser://" HOST "/iqn.2024-01.a:x/0", "info=iser://" HOST);
	asks("iscsi://" HOST, "iser-discover=iscsi://" HOST);
	asks("nfs+rdma://" HOST "/x", "nfsrdma-discover=nfs+rdma://" HOST);
	asks("ram:1M", "info=ram:1M");
}

#define GID "fe800000000000000000000000000001"

/* The whole command line: what the fabric is asked for. */
Test(target, an_srp_target_in_the_fabric)
{
	records = "[{\"service_id\":\"9\"}]";
	asks("srp://" GID "/7/8/0?service_id=9&pkey=7fff",
		"srp-discover=--gid " GID " --ioc-guid 7 --id-ext 8 --service-id 9");
	asks("srp://" GID "/7/8?pkey=8102",
		"srp-discover=--pkey 8102 --dgid " GID " --ioc-guid 7 --id-ext 8");
	asks("srp://5/7/8?pkey=8102", "srp-discover=--pkey 8102 --ioc-guid 7 --id-ext 8");
	asks("srp://5/7/8?dev=x0&port=2",
		"srp-discover=--lid 5 --ioc-guid 7 --id-ext 8 --device x0 --port 2");
}

Test(target, an_srp_target_that_is_not_in_the_fabric)
{
	static const char uri[] = "srp://" GID "/7/8";

	begin(uri, "srp-discover=", "unreachable");
	records = "[{\"ioc_guid\":\"7\"}]";
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", uri, DOCTOR_FAILURE, "no_such_target --gid_" GID);
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "answers", NULL), "code"), "not-found");
	end();
	begin(uri, "", "unreachable");
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", uri, DOCTOR_FAILURE, "srp-discover_-u");
	cr_assert_eq(*runs, 1, "no other protocol can answer there");
	end();
}

static void fails(const char *uri, const char *code, unsigned asked, const char *words)
{
	begin(uri, "", code);
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", uri, DOCTOR_FAILURE, words);
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "answers", NULL), "code"), code);
	cr_assert_eq(*runs, asked, "%s: %u", code, *runs);
	cr_assert_neq(e.doctor.why.err, 0);
	end();
}

#define CERT(subject, until)                                                                       \
	"{\"subject\":\"" subject "\",\"issuer\":\"CN=ca\",\"names\":\"disk.example\","            \
	"\"valid_from\":\"2020-01-01\",\"valid_until\":\"" until "\"}"

Test(target, certificates_of_the_server)
{
	char soon[512], date[12];
	time_t at = time(NULL) + 10 * 86400;

	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&at));
	snprintf(soon, sizeof(soon),
		",\"certificates\":[" CERT("CN=a", "2120-01-01") "," CERT(
			"CN=b", "2021-01-01") "," CERT("CN=c", "%s") "]",
		date);
	begin("nbds://" HOST "/x", "info=nbds://" HOST "/x", "refused");
	content = soon;
	doctor_target(&e.doctor);
	found_it(&e.doctor, "certificate", "CN=a", DOCTOR_OK, "disk.example CN=ca 2120-01-01");
	found_it(&e.doctor, "certificate", "CN=b", DOCTOR_FAILURE, "2021-01-01 replace clock");
	found_it(&e.doctor, "certificate", "CN=c", DOCTOR_WARNING, "renew");
	cr_assert_str_eq(
		fact_of(find_it(&e.doctor, "certificate", "CN=a"), "valid_until"), "2120-01-01");
	end();
}

/* It is asked once more, without trust, unless the URI has tls-verify-peer=. */
Test(target, certificates_of_a_server_that_is_not_trusted)
{
	exactly = "info=nbds://" HOST "/x?tls-certificates=/d&tls-verify-peer=no";
	begin("nbds://" HOST "/x?tls-certificates=/d", "x", "auth");
	content = ",\"certificates\":[" CERT("CN=a", "2120-01-01") "]";
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", NULL, DOCTOR_FAILURE, "");
	found_it(&e.doctor, "certificate", "CN=a", DOCTOR_OK, "");
	cr_assert_eq(*runs, 2);
	cr_assert_eq(e.doctor.why.code, DIAG_AUTH);
	end();
	fails("nbds://" HOST "/x?tls-psk-file=/k", "auth", 1, "");
	fails("nbds://" HOST "/x?tls-verify-peer=yes", "auth", 1, "");
	fails("nbds://" HOST "/x", "auth", 2, "");
	fails("nbd://" HOST "/x", "auth", 1, "");
}

Test(target, others_are_asked_where_that_may_help)
{
	fails("nvme+tcp://" HOST "/nqn.x", "refused", 6, "start_the_target");
	fails("nvme+tcp://" HOST ":4420/nqn.x", "timeout", 6, "host_is_up firewall");
	fails("nvme+tcp://" HOST ":4421/nqn.x", "protocol", 7, "");
	fails("nvme+rdma://" HOST "/nqn.x", "no-device", 6, "listed_above");
	fails("nvme+tcp://" HOST "/nqn.x", "auth", 1, "secret");
	fails("nvme+tcp://" HOST "/nqn.x", "not-found", 1, "path");
	fails("nbd+unix:///?socket=/none", "refused", 1, "start_the_target");
	fails("ram:1M", "unsupported", 1, "");
	fails("ram:1M", "usage", 1, "rdmastor-uri");
}

Test(target, another_protocol_answers)
{
	begin("nvme+rdma://" HOST ":4421/nqn.x",
		"nvmf-discover=nvme+tcp://" HOST ":4421 nvmf-discover=nvme+rdma://" HOST ":4420",
		"refused");
	doctor_target(&e.doctor);
	found_it(&e.doctor, "other", "nvme+tcp://" HOST ":4421", DOCTOR_WARNING,
		"NVMe_over_TCP rdmastor_nvmf-discover");
	found_it(&e.doctor, "other", "nvme+rdma://" HOST ":4420", DOCTOR_WARNING, "");
	cr_assert_neq(e.doctor.why.err, 0, "the URI's own still does not");
	end();
	begin("nvme+tcp://" HOST "/nqn.x", "nfsrdma-discover=nfs+rdma://" HOST ":20049", "refused");
	doctor_target(&e.doctor);
	found_it(&e.doctor, "other", NULL, DOCTOR_WARNING, "NFS");
	end();
}

Test(target, a_host_that_answers_at_other_ports_is_up)
{
	const struct finding *finding;

	begin("nvme+tcp://" HOST ":4421/nqn.x", "nvmf-discover=nvme+tcp://" HOST ":4420",
		"timeout");
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", NULL, DOCTOR_FAILURE, "answers_at_other_ports");
	end();
	begin("nbd://" HOST ":4420/x", "nvmf-discover=nvme+tcp://" HOST ":4420", "timeout");
	doctor_target(&e.doctor);
	found_it(&e.doctor, "other", "nvme+tcp://" HOST ":4420", DOCTOR_WARNING, "");
	finding = find_it(&e.doctor, "answers", NULL);
	cr_assert_null(strstr(finding->hint, "host is up"), "%s", finding->hint);
	end();
}

Test(target, a_disk_that_opens_and_can_not_be_read)
{
	begin("nbd://" HOST "/x", "info=nbd://" HOST "/x", "refused");
	content = ",\"content_error\":{\"code\":\"timeout\",\"errno\":\"ETIMEDOUT\","
		  "\"text\":\"read at byte 0: timed out\",\"hint\":\"MTU: ip link\"}";
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", NULL, DOCTOR_FAILURE, "read_at_byte_0 MTU");
	cr_assert_eq(e.doctor.why.err, ETIMEDOUT);
	content = "";
	end();
}

Test(target, it_ends_at_the_deadline)
{
	begin("nvme+tcp://" HOST "/nqn.x", "", "hangs");
	e.doctor.deadline = loop_clock() + SECOND / 10;
	doctor_target(&e.doctor);
	found_it(&e.doctor, "answers", NULL, DOCTOR_FAILURE, "");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "answers", NULL), "code"), "timeout");
	end();
}

/* ---- The way there. */

static void netdev(const char *state, const char *carrier)
{
	tree_file(&e.tree, "sys/class/net/eth7/operstate", state);
	tree_file(&e.tree, "sys/class/net/eth7/carrier", carrier);
	tree_file(&e.tree, "sys/class/net/eth7/mtu", "9000\n");
	e.doctor.findings = 0;
	doctor_network(&e.doctor);
}

Test(target, the_interface)
{
	begin("nvme+tcp://" HOST "/nqn.x", "", "");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "address", HOST, DOCTOR_OK, HOST);
	found_it(&e.doctor, "route", HOST, DOCTOR_OK, "via_eth7 source_10.0.0.2");
	found_it(&e.doctor, "link", "eth7", DOCTOR_OK, "up 9000");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "link", NULL), "netdev_mtu"), "9000");
	cr_assert_null(find_it(&e.doctor, "rdma-device", NULL));
	netdev("lowerlayerdown\n", "0\n");
	found_it(&e.doctor, "link", "eth7", DOCTOR_FAILURE, "down no_carrier ip_link_set_eth7");
	netdev("down\n", "");
	found_it(&e.doctor, "link", "eth7", DOCTOR_FAILURE, "down");
	netdev("unknown\n", "1\n");
	found_it(&e.doctor, "link", "eth7", DOCTOR_OK, "up");
	netdev("unknown\n", "0\n");
	found_it(&e.doctor, "link", "eth7", DOCTOR_FAILURE, "no_carrier");
	strcpy(route.netdev, "eth8");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "link", "eth8", DOCTOR_WARNING, "unknown mount");
	route_err = EHOSTUNREACH;
	netdev("up\n", "1\n");
	cr_assert_eq(find_it(&e.doctor, "route", HOST)->state, DOCTOR_FAILURE);
	cr_assert_null(find_it(&e.doctor, "link", NULL));
	end();
}

Test(target, a_name_is_not_checked_without_time)
{
	begin("nvme+tcp://name.invalid/nqn.x", "", "");
	e.doctor.deadline = loop_clock();
	doctor_network(&e.doctor);
	found_it(&e.doctor, "address", "name.invalid", DOCTOR_WARNING, "no_time --timeout");
	cr_assert_null(find_it(&e.doctor, "route", NULL));
	end();
}

Test(target, the_rdma_device_of_the_interface)
{
	static const char port[] = "sys/class/infiniband/x0/ports/1/";
	char path[100];

	begin("nvme+rdma://" HOST "/nqn.x", "", "");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "rdma-device", "eth7", DOCTOR_WARNING, "no_RDMA rdma_link_add eth7");
	snprintf(path, sizeof(path), "%sgids/0", port);
	tree_file(&e.tree, path, "fe80:0000:0000:0000:0001:02ff:fe03:0405");
	snprintf(path, sizeof(path), "%sgid_attrs/ndevs/0", port);
	tree_file(&e.tree, path, "eth7\n");
	snprintf(path, sizeof(path), "%sstate", port);
	tree_file(&e.tree, path, "4: ACTIVE\n");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "rdma-device", "eth7", DOCTOR_OK, "x0_port_1");
	tree_file(&e.tree, path, "1: DOWN\n");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "rdma-device", "eth7", DOCTOR_WARNING, "x0_port_1 down");
	snprintf(path, sizeof(path), "%sgids/1", port); /* of a VLAN */
	tree_file(&e.tree, path, "fe80:0000:0000:0000:0001:02ff:fe03:0406");
	snprintf(path, sizeof(path), "%sgid_attrs/ndevs/1", port);
	tree_file(&e.tree, path, "eth7.5\n");
	strcpy(route.netdev, "eth7.5");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "rdma-device", "eth7.5", DOCTOR_WARNING, "x0_port_1 down");
	route.local = true;
	netdev("up\n", "1\n");
	cr_assert_null(find_it(&e.doctor, "rdma-device", NULL), "loopback needs none");
	end();
	begin("nfs+rdma://" HOST "/x", "", "");
	netdev("up\n", "1\n");
	found_it(&e.doctor, "rdma-device", "eth7", DOCTOR_FAILURE, "no_RDMA");
	end();
}

Test(target, the_firewall_is_not_loaded_by_asking)
{
	begin("nvme+tcp://" HOST "/nqn.x", "", "");
	tree_file(&e.tree, "lib/modules/6.1/modules.dep", "kernel/nf_tables.ko:\n");
	tree_file(&e.tree, "lib/modules/6.1/kernel/nf_tables.ko", "");
	doctor_firewall(&e.doctor);
	found_it(&e.doctor, "rules", NULL, DOCTOR_OK, "not_loaded");
	end();
}

Test(target, rules_that_can_not_be_read)
{
	begin("nvme+tcp://" HOST "/nqn.x", "", "");
	firewall_err = EOPNOTSUPP;
	doctor_firewall(&e.doctor);
	found_it(&e.doctor, "rules", NULL, DOCTOR_OK, "not_loaded");
	cr_assert_null(find_it(&e.doctor, "legacy", NULL));
	e.doctor.findings = 0;
	firewall_err = EPERM;
	doctor_firewall(&e.doctor);
	found_it(&e.doctor, "rules", NULL, DOCTOR_WARNING, "root");
	end();
}

static void legacy(const char *uri)
{
	begin(uri, "", "");
	firewall_err = EOPNOTSUPP;
	tree_file(&e.tree, "proc/net/ip_tables_names", "filter\nnat\n");
	tree_file(&e.tree, "proc/net/ip6_tables_names", "mangle\n");
	if (uri)
		doctor_network(&e.doctor);
	doctor_firewall(&e.doctor);
}

Test(target, tables_of_legacy_iptables)
{
	legacy(NULL);
	found_it(&e.doctor, "legacy", "iptables table filter", DOCTOR_WARNING,
		"iptables iptables-legacy_-S");
	found_it(&e.doctor, "legacy", "iptables table nat", DOCTOR_WARNING,
		"iptables-legacy_-t_nat_-S");
	found_it(&e.doctor, "legacy", "ip6tables table mangle", DOCTOR_WARNING,
		"ip6tables-legacy_-t_mangle_-S");
	cr_assert_str_eq(
		fact_of(find_it(&e.doctor, "legacy", "iptables table nat"), "table"), "nat");
	end();
	legacy("nvme+tcp://" HOST "/nqn.x");
	found_it(&e.doctor, "legacy", "iptables table filter", DOCTOR_WARNING, "");
	cr_assert_null(find_it(&e.doctor, "legacy", "ip6tables table mangle"), "IPv6");
	end();
	legacy("nvme+tcp://[::1]/nqn.x");
	found_it(&e.doctor, "legacy", NULL, DOCTOR_WARNING, "mangle");
	end();
}

Test(target, tables_that_only_root_can_read)
{
	legacy("nvme+tcp://" HOST "/nqn.x");
	e.doctor.findings = 0;
	cr_assert_eq(fchmodat(e.tree.root, "proc/net/ip_tables_names", 0, 0), 0);
	setfsuid(65534); /* root reads any file */
	doctor_firewall(&e.doctor);
	setfsuid(geteuid());
	found_it(&e.doctor, "legacy", "iptables", DOCTOR_WARNING, "only_root as_root");
	end();
}
