/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Kernel, modules, limits and identity: every check as it succeeds and as it fails, on trees of
 * files. */
/* Link: geteuid kernel_module_load kernel_handshakes_answered */
#include "findings.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define KO    "lib/modules/6.1/"
#define NVME  "kernel/nvme-tcp.ko"
#define FABR  "kernel/nvme-fabrics.ko"
#define LIMIT "Max locked memory         %s bytes\nMax open files            %s files\n"

uid_t __wrap_geteuid(void);
const char *__wrap_kernel_module_load(int root, const char *module);

static uid_t user;
static const struct tree *loads_into; /* NULL: loading fails */

static int answered;
int __wrap_kernel_handshakes_answered(int root);
int __wrap_kernel_handshakes_answered(int root)
{
	(void)root;
	return answered;
}

uid_t __wrap_geteuid(void)
{
	return user;
}

const char *__wrap_kernel_module_load(int root, const char *module)
{
	char path[100];

	(void)root;
	if (!loads_into)
		return "its file has no signature that this kernel trusts";
	snprintf(path, sizeof(path), "sys/module/%s", module);
	tree_dir(loads_into, path);
	return "it was loaded";
}

/* ---- Kernel. */

static void kernel_is(
	const char *release, enum doctor_state state, const char *words, const char *known)
{
	struct examined e;

	examined_init(&e, NULL);
	if (release)
		tree_file(&e.tree, "proc/sys/kernel/osrelease", release);
	doctor_kernel(&e.doctor);
	found_it(&e.doctor, "version", known, state, words);
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "version", NULL), "release"), known);
	examined_free(&e);
}

Test(doctor, the_version_of_the_kernel)
{
	kernel_is("6.12.57+deb13-amd64\n", DOCTOR_OK, "Linux", "6.12.57+deb13-amd64");
	kernel_is("4.19.0\n", DOCTOR_WARNING, "older NVMe/TCP", "4.19.0");
	kernel_is(NULL, DOCTOR_WARNING, "unknown mount_-t_proc", "");
	kernel_is("../../etc\n", DOCTOR_WARNING, "unknown", "");
}

Test(doctor, the_configuration_of_the_kernel)
{
	static const char *const files[] = { "boot/config-6.1", "lib/modules/6.1/config",
		"usr/lib/modules/6.1/config" };

	for (unsigned i = 0; i < 4; i++) {
		char path[64] = "/";
		struct examined e;

		examined_init(&e, NULL);
		tree_file(&e.tree, "proc/sys/kernel/osrelease", "6.1");
		if (i < 3)
			tree_file(&e.tree, files[i], "CONFIG_NVME_TCP=m\n");
		doctor_kernel(&e.doctor);
		strcat(path, i < 3 ? files[i] : "");
		found_it(&e.doctor, "config", i < 3 ? path : "", DOCTOR_OK,
			i < 3 ? "readable" : "unknown");
		examined_free(&e);
	}
}

static void feature_is(const char *release, const char *config, const char *object,
	enum doctor_state state, const char *words)
{
	struct examined e;
	char path[64];

	examined_init(&e, NULL);
	strcpy(e.doctor.release, release);
	snprintf(path, sizeof(path), "boot/config-%s", release);
	if (config)
		tree_file(&e.tree, path, config);
	doctor_features(&e.doctor);
	if (words)
		found_it(&e.doctor, "feature", object, state, words);
	else
		cr_assert_null(find_it(&e.doctor, "feature", object));
	examined_free(&e);
}

Test(doctor, features_that_a_kernel_may_lack)
{
	static const char auth[] = "NVMe authentication", tls[] = "NVMe/TCP with TLS";
	struct examined e;

	feature_is("6.12.1", "CONFIG_NVME_HOST_AUTH=y\n", auth, DOCTOR_OK, "--dhchap");
	feature_is("6.12.1", "CONFIG_NVME_AUTH=y\n", auth, DOCTOR_INFO,
		"not_part Linux_6.0 CONFIG_NVME_HOST_AUTH");
	feature_is("6.1.0-9", "CONFIG_NVME_AUTH=y\n", auth, DOCTOR_OK, "--dhchap");
	feature_is("6.1.0-9", "# CONFIG_NVME_AUTH is not set\n", auth, DOCTOR_INFO,
		"not_part Linux_6.0 CONFIG_NVME_AUTH");
	feature_is("6.12.1", "CONFIG_NVME_TCP_TLS=y\n", tls, DOCTOR_OK, "--tls");
	feature_is("6.12.1", "CONFIG_NVME_TCP=m\n", tls, DOCTOR_INFO, "Linux_6.7");
	feature_is("6.1.0-9", NULL, tls, DOCTOR_INFO, "Linux_6.7 CONFIG_NVME_TCP_TLS");
	feature_is("6.7.0", NULL, tls, DOCTOR_OK, NULL);
	feature_is("10.0.0", NULL, tls, DOCTOR_OK, NULL);
	feature_is("", NULL, tls, DOCTOR_OK, NULL);
	examined_init(&e, "nvme+tcp://10.0.0.1/nqn.x");
	doctor_features(&e.doctor);
	doctor_tls(&e.doctor);
	cr_assert_eq(e.doctor.findings, 0, "no URI needs them alone");
	examined_free(&e);
}

#define TLS_URI "nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/k"

static void handshakes_are(
	const char *uri, bool connected, int is, enum doctor_state state, const char *words)
{
	struct examined e;

	examined_init(&e, uri);
	if (connected)
		tree_file(&e.tree, "sys/class/nvme/nvme0/tls_key", "1a2b3c4d\n");
	answered = is;
	doctor_tls(&e.doctor);
	if (words)
		found_it(&e.doctor, "tls-handshakes", NULL, state, words);
	else
		cr_assert_eq(e.doctor.findings, 0);
	examined_free(&e);
}

Test(doctor, who_answers_handshakes_of_tls)
{
	handshakes_are(TLS_URI, false, 1, DOCTOR_OK, "a_process_answers");
	handshakes_are(TLS_URI, false, 0, DOCTOR_OK, "no_process nvmf-connect_will");
	handshakes_are(TLS_URI, true, 0, DOCTOR_OK, "nvmf-connect_will");
	handshakes_are(TLS_URI, false, -EOPNOTSUPP, DOCTOR_OK, NULL);
	handshakes_are(TLS_URI, false, -EMFILE, DOCTOR_WARNING,
		"find_out_who_answers too_many_open_files");
	handshakes_are("iscsi://10.0.0.1/iqn.x", true, 0, DOCTOR_OK, NULL);
	handshakes_are(NULL, false, 0, DOCTOR_OK, NULL);
	handshakes_are(NULL, true, 1, DOCTOR_OK, "a_process_answers");
	handshakes_are(NULL, true, 0, DOCTOR_WARNING, "not_be_restored tls-daemon tlshd");
}

Test(doctor, what_a_uri_with_tls_needs)
{
	struct examined e;

	examined_init(&e, TLS_URI);
	strcpy(e.doctor.release, "6.1.0-9");
	doctor_features(&e.doctor);
	cr_assert_eq(e.doctor.findings, 1, "only that of TLS");
	found_it(&e.doctor, "feature", "NVMe/TCP with TLS", DOCTOR_WARNING, "not_part Linux_6.7");
	doctor_modules(&e.doctor);
	found_it(&e.doctor, "module", "tls", DOCTOR_WARNING, "--tls");
	examined_free(&e);
	examined_init(&e, "nvme+tcp://10.0.0.1/nqn.x");
	doctor_modules(&e.doctor);
	cr_assert_null(find_it(&e.doctor, "module", "tls"));
	examined_free(&e);
}

Test(doctor, without_sysfs)
{
	static const char uri[] = "nfs+rdma://10.0.0.1/x";
	struct examined e;

	examined_init(&e, uri);
	doctor_kernel(&e.doctor);
	doctor_modules(&e.doctor);
	doctor_rdma(&e.doctor);
	found_it(&e.doctor, "sysfs", "/sys", DOCTOR_WARNING, "not_mounted mount_-t_sysfs");
	found_it(&e.doctor, "module", "rpcrdma", DOCTOR_WARNING, "");
	cr_assert_null(find_it(&e.doctor, "devices", NULL), "unknown");
	e.doctor.findings = 0;
	tree_dir(&e.tree, "sys/class");
	doctor_kernel(&e.doctor);
	doctor_modules(&e.doctor);
	doctor_rdma(&e.doctor);
	found_it(&e.doctor, "sysfs", "/sys", DOCTOR_OK, "mounted");
	found_it(&e.doctor, "module", "rpcrdma", DOCTOR_FAILURE, "");
	found_it(&e.doctor, "devices", NULL, DOCTOR_FAILURE, "");
	examined_free(&e);
}

Test(doctor, without_root_privilege)
{
	struct examined e;

	examined_init(&e, NULL);
	doctor_kernel(&e.doctor);
	found_it(&e.doctor, "privilege", NULL, DOCTOR_OK, "root");
	e.doctor.findings = 0;
	user = 1000;
	doctor_kernel(&e.doctor);
	found_it(&e.doctor, "privilege", NULL, DOCTOR_WARNING, "as_root");
	examined_free(&e);
}

/* ---- Modules. */

static const char dep[] = NVME ": " FABR "\n" FABR ":\n";

static void installed(const struct tree *tree)
{
	tree_file(tree, KO "modules.dep", dep);
	tree_file(tree, KO NVME, "");
	tree_file(tree, KO FABR, "");
}

static void module_is(
	struct examined *e, enum doctor_state state, const char *word, const char *words)
{
	e->doctor.findings = 0;
	doctor_modules(&e->doctor);
	found_it(&e->doctor, "module", "nvme_tcp", state, words);
	cr_assert_str_eq(fact_of(find_it(&e->doctor, "module", "nvme_tcp"), "module_state"), word);
}

Test(doctor, a_module_without_a_uri)
{
	struct examined e;

	examined_init(&e, NULL);
	module_is(&e, DOCTOR_INFO, "missing", "no_modules_for_the_running_kernel reboot");
	found_it(&e.doctor, "module", "ib_core", DOCTOR_WARNING, "reboot");
	tree_file(&e.tree, KO "modules.dep", "");
	module_is(&e, DOCTOR_INFO, "missing", "not_installed initramfs");
	tree_file(
		&e.tree, "boot/config-6.1", "CONFIG_NVME_TCP_X=y\n# CONFIG_NVME_TCP is not set\n");
	module_is(&e, DOCTOR_INFO, "missing", "not_part CONFIG_NVME_TCP");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "module", "nvme_tcp"), "config"), "n");
	tree_file(&e.tree, "boot/config-6.1", "CONFIG_NVME_TCP=m\n");
	module_is(&e, DOCTOR_INFO, "missing", "part_of_this_kernel not_installed");
	tree_file(&e.tree, KO "modules.dep", dep);
	module_is(&e, DOCTOR_WARNING, "damaged", "file_of_it_is_missing");
	installed(&e.tree);
	module_is(&e, DOCTOR_OK, "installed", "NVMe_over_TCP");
	tree_file(&e.tree, "etc/modprobe.d/x.conf", "install nvme-tcp /bin/false\n");
	module_is(&e, DOCTOR_INFO, "ruled", "modprobe.d grep");
	tree_dir(&e.tree, "sys/module/nvme_tcp");
	module_is(&e, DOCTOR_OK, "loaded", "NVMe_over_TCP");
	examined_free(&e);
}

Test(doctor, a_module_of_a_newer_kernel)
{
	struct examined e;

	examined_init(&e, NULL);
	doctor_modules(&e.doctor);
	found_it(&e.doctor, "module", "ublk_drv", DOCTOR_INFO,
		"not_part Linux_6.5 CONFIG_BLK_DEV_UBLK");
	e.doctor.findings = 0;
	strcpy(e.doctor.release, "6.12");
	tree_file(&e.tree, "lib/modules/6.12/modules.dep", "");
	doctor_modules(&e.doctor);
	found_it(&e.doctor, "module", "ublk_drv", DOCTOR_INFO, "not_installed install_ublk_drv");
	examined_free(&e);
}

Test(doctor, a_module_that_is_built_in)
{
	struct examined e;

	examined_init(&e, NULL);
	tree_file(&e.tree, KO "modules.builtin", NVME "\n");
	module_is(&e, DOCTOR_OK, "loaded", "");
	tree_file(&e.tree, KO "modules.builtin", "");
	module_is(&e, DOCTOR_INFO, "missing", "");
	tree_file(&e.tree, "boot/config-6.1", "CONFIG_NVME_TCP=y\n");
	module_is(&e, DOCTOR_OK, "loaded", "");
	examined_free(&e);
}

Test(doctor, a_module_that_the_uri_needs_is_loaded)
{
	struct examined e;

	examined_init(&e, "nvme+tcp://10.0.0.1/nqn.x");
	installed(&e.tree);
	module_is(&e, DOCTOR_WARNING, "failed", "signature dmesg");
	cr_assert_null(find_it(&e.doctor, "module", "ib_srp"), "no other URI's");
	user = 1000;
	module_is(&e, DOCTOR_WARNING, "failed", "root");
	user = 0;
	tree_file(&e.tree, "proc/sys/kernel/modules_disabled", "1\n");
	module_is(&e, DOCTOR_WARNING, "failed", "modules_disabled reboot");
	found_it(&e.doctor, "loading", NULL, DOCTOR_WARNING, "modules_disabled");
	tree_file(&e.tree, "proc/sys/kernel/modules_disabled", "0\n");
	loads_into = &e.tree;
	module_is(&e, DOCTOR_OK, "loaded", "loaded_now");
	found_it(&e.doctor, "loading", NULL, DOCTOR_OK, "");
	examined_free(&e);
}

static bool is_detail(const struct examined *e, const char *module)
{
	return find_it(&e->doctor, "module", module)->detail;
}

Test(doctor, what_follows_from_another_module_is_a_detail)
{
	struct examined e;

	examined_init(&e, NULL);
	doctor_modules(&e.doctor);
	cr_assert(!is_detail(&e, "ib_core") && is_detail(&e, "nvme_tcp"), "no modules at all");
	e.doctor.findings = 0;
	tree_file(&e.tree, "boot/config-6.1", "\n");
	doctor_modules(&e.doctor);
	cr_assert(!is_detail(&e, "ib_core") && is_detail(&e, "nvme_rdma"), "no RDMA");
	cr_assert(!is_detail(&e, "nvme_tcp") && !is_detail(&e, "iscsi_tcp"));
	e.doctor.findings = 0;
	tree_dir(&e.tree, "sys/module/ib_core");
	doctor_modules(&e.doctor);
	cr_assert(!is_detail(&e, "nvme_rdma"));
	examined_free(&e);
}

/* Userspace does without the kernel's initiators of most protocols. */
Test(doctor, a_module_that_nothing_replaces)
{
	static const struct {
		const char *uri, *module;
		enum doctor_state state;
	} rows[] = {
		{ "nfs+rdma://10.0.0.1/x", "rpcrdma", DOCTOR_FAILURE },
		{ "nfs+rdma://10.0.0.1/x", "ib_core", DOCTOR_FAILURE },
		{ "srp://fe800000000000000000000000000001/1/2", "ib_core", DOCTOR_FAILURE },
		{ "srp://fe800000000000000000000000000001/1/2", "ib_srp", DOCTOR_WARNING },
		{ "srp+cm://10.0.0.1:1/1/2", "ib_srp", DOCTOR_WARNING },
		{ "nvme+rdma://10.0.0.1/nqn.x", "ib_core", DOCTOR_WARNING },
		{ "nvme+rdma://10.0.0.1/nqn.x", "nvme_rdma", DOCTOR_WARNING },
		{ "iser://10.0.0.1/iqn.x", "ib_iser", DOCTOR_WARNING },
		{ "iscsi://10.0.0.1/iqn.x", "iscsi_tcp", DOCTOR_WARNING },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct examined e;

		examined_init(&e, rows[i].uri);
		doctor_modules(&e.doctor);
		found_it(&e.doctor, "module", rows[i].module, rows[i].state, "");
		examined_free(&e);
	}
}

/* ---- Limits. */

static void limits_are(const char *locked, const char *files, const char *capabilities,
	enum doctor_state memory, enum doctor_state open)
{
	struct examined e;
	char text[200];

	examined_init(&e, NULL);
	snprintf(text, sizeof(text), LIMIT, locked, files);
	tree_file(&e.tree, "proc/self/limits", text);
	snprintf(text, sizeof(text), "Name:\tx\nCapEff:\t%s\n", capabilities);
	tree_file(&e.tree, "proc/self/status", text);
	doctor_limits(&e.doctor);
	found_it(&e.doctor, "locked-memory", NULL, memory, memory ? "ulimit_-l" : "");
	found_it(&e.doctor, "open-files", NULL, open, open ? "ulimit_-n" : "");
	examined_free(&e);
}

Test(doctor, limits)
{
	struct examined e;

	limits_are("65536 8388608", "1024 1024", "0", DOCTOR_OK, DOCTOR_OK);
	limits_are("65536 8388607", "20 1023", "0", DOCTOR_WARNING, DOCTOR_WARNING);
	limits_are("0 unlimited", "20 unlimited", "0", DOCTOR_OK, DOCTOR_OK);
	limits_are("0 0", "1024 1024", "0000000000004000", DOCTOR_OK, DOCTOR_OK);
	limits_are("0 0", "1024 1024", "0000000000002000", DOCTOR_WARNING, DOCTOR_OK);
	examined_init(&e, NULL);
	doctor_limits(&e.doctor);
	found_it(&e.doctor, "limits", NULL, DOCTOR_WARNING, "cannot_read /proc mount");
	examined_free(&e);
}

/* ---- Identity. */

#define UUID "f2a5e4c1-1111-4222-8333-444455556666"
#define NQN  "nqn.2014-08.org.nvmexpress:uuid:" UUID

Test(doctor, names_of_this_machine)
{
	struct examined e;

	examined_init(&e, NULL);
	tree_file(&e.tree, "etc/nvme/hostnqn", NQN "\n");
	tree_file(&e.tree, "etc/iscsi/initiatorname.iscsi", "InitiatorName=iqn.2024-01.a:me\n");
	doctor_identity(&e.doctor);
	found_it(&e.doctor, "hostnqn", NQN, DOCTOR_OK, "/etc/nvme/hostnqn");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "hostnqn", NULL), "hostid"), UUID);
	found_it(&e.doctor, "initiator", "iqn.2024-01.a:me", DOCTOR_OK, "initiatorname");
	cr_assert_null(find_it(&e.doctor, "duplicate", NULL));
	examined_free(&e);
}

Test(doctor, nothing_identifies_this_machine)
{
	struct examined e;

	examined_init(&e, NULL);
	doctor_identity(&e.doctor);
	found_it(&e.doctor, "hostnqn", NULL, DOCTOR_WARNING,
		"random no_DMI_UUID >/etc/nvme/hostnqn");
	found_it(&e.doctor, "initiator", NULL, DOCTOR_WARNING,
		"random no_DMI_UUID InitiatorName=iqn");
	examined_free(&e);
}

static void connected(const char *nqn, const char *id, enum doctor_state state, const char *words)
{
	struct examined e;

	examined_init(&e, "nvme+tcp://10.0.0.1/nqn.x");
	tree_file(&e.tree, "etc/nvme/hostnqn", NQN "\n");
	tree_file(&e.tree, "sys/class/nvme/nvme0/transport", "tcp\n");
	tree_file(&e.tree, "sys/class/nvme/nvme0/state", "live\n");
	tree_file(&e.tree, "sys/class/nvme/nvme0/subsysnqn", "nqn.x\n");
	tree_file(&e.tree, "sys/class/nvme/nvme0/address", "traddr=10.0.0.1,trsvcid=4420\n");
	tree_file(&e.tree, "sys/class/nvme/nvme0/hostnqn", nqn);
	tree_file(&e.tree, "sys/class/nvme/nvme0/hostid", id);
	doctor_identity(&e.doctor);
	found_it(&e.doctor, "duplicate", state ? "nvme0" : "", state, words);
	cr_assert_null(find_it(&e.doctor, "initiator", NULL), "not of NVMe");
	examined_free(&e);
}

Test(doctor, connections_under_another_identity)
{
	connected(NQN, UUID, DOCTOR_OK, "");
	connected(NQN, "00000000-1111-4222-8333-444455556666", DOCTOR_FAILURE,
		"host_ID_0000 --hostid");
	connected("nqn.2024-01.a:me", UUID, DOCTOR_FAILURE, "nqn.2024-01.a:me --hostnqn");
	connected("nqn.2024-01.a:me", "00000000-1111-4222-8333-444455556666", DOCTOR_OK, "");
}
