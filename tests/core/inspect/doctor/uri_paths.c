/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The paths of a URI, as `info` prints them: every check as it succeeds and as it fails. */
/* Link: kernel_route */
#include "findings.h"
#include "kernel_net.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>

#define SECOND 1000000000ull
#define A      "nvme+tcp://10.0.1.1/nqn.x"
#define B      "nvme+tcp://10.0.2.1/nqn.x"
#define UP(uri, access)                                                                            \
	"{\"uri\":\"" uri "\",\"state\":\"up\",\"access\":\"" access "\",\"attempts\":1}"

int __wrap_kernel_route(const struct addr *, struct kernel_route *, struct diag *);

static struct examined e;

/* 10.0.N.x is reached through ethN */
int __wrap_kernel_route(const struct addr *to, struct kernel_route *route, struct diag *diag)
{
	char text[ADDR_TEXT];
	unsigned number;

	(void)diag;
	*route = (struct kernel_route){ 0 };
	if (sscanf(addr_host(to, text), "10.0.%u.", &number) != 1)
		return -ENETUNREACH;
	snprintf(route->netdev, sizeof(route->netdev), "eth%u", number);
	return 0;
}

static void examine(const char *uri, const char *paths)
{
	char text[4096];
	cJSON *info;

	examined_init(&e, uri);
	e.doctor.deadline = loop_clock() + 30 * SECOND;
	tree_file(&e.tree, "sys/class/net/eth1/mtu", "9000\n");
	tree_file(&e.tree, "sys/class/net/eth2/mtu", "1500\n");
	snprintf(text, sizeof(text), "{\"paths\":%s}", paths);
	info = cJSON_Parse(text);
	cr_assert_not_null(info);
	doctor_uri_paths(&e.doctor, info);
	cJSON_Delete(info);
}

Test(uri_paths, one_path_is_none_to_compare)
{
	examine(A, "[" UP(A, "optimized") "]");
	cr_assert_eq(e.doctor.findings, 0);
	examined_free(&e);
	examine("ram:1M", "7");
	cr_assert_eq(e.doctor.findings, 0);
	examined_free(&e);
}

Test(uri_paths, two_that_differ_in_mtu)
{
	examine(A, "[" UP(A, "optimized") "," UP(B, "non-optimized") "]");
	found_it(&e.doctor, "path-state", A, DOCTOR_OK, "2_of_2");
	found_it(&e.doctor, "path-mtu", A, DOCTOR_WARNING,
		"1500_on_eth2 9000_on_eth1 ip_link_set_eth2_mtu_9000");
	cr_assert_eq(e.doctor.findings, 2, "failover may leave a path unused");
	examined_free(&e);
}

Test(uri_paths, they_fail_together)
{
	examine(A,
		"[" UP(A, "optimized") "," UP("nvme+tcp://10.0.1.1:4421/nqn.x", "optimized") "]");
	found_it(&e.doctor, "path-address", A, DOCTOR_WARNING, "10.0.1.1");
	found_it(&e.doctor, "path-interface", A, DOCTOR_WARNING, "eth1");
	examined_free(&e);
}

Test(uri_paths, not_usable)
{
	examine(A, "[" UP(A, "inaccessible") "," UP(B, "optimized") "]");
	found_it(&e.doctor, "path-state", A, DOCTOR_WARNING, "inaccessible rdmastor_doctor");
	examined_free(&e);
	examine(A,
		"[{\"uri\":\"" A "\",\"state\":\"down\",\"error\":{\"code\":\"refused\","
		"\"errno\":\"ECONNREFUSED\",\"text\":\"no listener\",\"hint\":\"start it\"}}," UP(
			B, "optimized") "]");
	found_it(&e.doctor, "path-state", A, DOCTOR_WARNING, "not_connected no_listener start_it");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "path-state", A), "code"), "refused");
	examined_free(&e);
	examine(A, "[{\"uri\":\"" A "\",\"state\":\"connecting\"}," UP(B, "optimized") "]");
	found_it(&e.doctor, "path-state", A, DOCTOR_WARNING, "not_connected connecting");
	examined_free(&e);
}

Test(uri_paths, another_disk)
{
	examine(A, "[" UP(A, "optimized") ",{\"uri\":\"" B "\",\"state\":\"down\",\"error\":"
					  "{\"code\":\"mismatch\",\"errno\":\"ENXIO\",\"text\":"
					  "\"the NGUID differs\"}}]");
	found_it(&e.doctor, "path-identity", B, DOCTOR_FAILURE, "not_the_same_disk NGUID correct");
	examined_free(&e);
}

Test(uri_paths, policies_that_use_one_path)
{
	examine(A "?policy=queue-depth", "[" UP(A, "optimized") "," UP(B, "lba-dependent") "]");
	found_it(&e.doctor, "path-policy", NULL, DOCTOR_WARNING, "queue-depth only_one target");
	examined_free(&e);
	examine(A "?policy=round-robin", "[" UP(A, "optimized") "," UP(B, "optimized") "]");
	cr_assert_null(find_it(&e.doctor, "path-policy", NULL));
	examined_free(&e);
	examine(A "?policy=round-robin", "[" UP(A, "non-optimized") "," UP(B, "non-optimized") "]");
	cr_assert_null(find_it(&e.doctor, "path-policy", NULL), "both are used");
	examined_free(&e);
	examine(A "?policy=round-robin", "[" UP(A, "optimized") "," UP(B, "inaccessible") "]");
	cr_assert_null(find_it(&e.doctor, "path-policy", NULL), "the other one can't be used");
	examined_free(&e);
}

Test(uri_paths, more_of_them_than_a_disk_can_have)
{
	char text[4000] = "[7,{}";

	for (unsigned i = 0; i < 20; i++)
		strcat(text, "," UP(A, "optimized"));
	examine(A, strcat(text, "]"));
	cr_assert_gt(e.doctor.findings, 0);
	examined_free(&e);
}
