/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* DH-HMAC-CHAP: our initiator against our target over TCP and software iWARP with each hash and
 * group, one-way and mutual; wrong secrets; new hosts while connected; peers that claim its name,
 * and a flood of them; files of hosts. */
/* Link: leap */
#include "nvme_auth_rig.h"

/* NULL: without that secret */
static int attach_as(bool iwarp, const char *hostnqn, const char *secret, const char *ctrl)
{
	struct bdev_env env = { .hostid = { 9 }, .write = true, .timeout_ms = leap_limit_ms(5000) };
	char text[512];
	int len;

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", hostnqn);
	len = snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" NQN "/1?%s",
		iwarp ? "rdma" : "tcp", serving_port(), iwarp ? "rdma=iwarp&" : "");
	if (secret)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "dhchap-secret-file=%s&",
			write_file("secret", secret));
	if (ctrl)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
			"dhchap-ctrl-secret-file=%s&", write_file("ctrl", ctrl));
	text[len - 1] = 0;
	why = (struct diag){ 0 };
	return host_attach(text, &env);
}

static void works_with(bool iwarp, const char *ctrl, uint8_t hash, uint8_t group)
{
	begin_with(LINE, hash, group);
	cr_assert_eq(attach_as(iwarp, HOST, SECRET, ctrl), 0, "%s, %s: %s",
		nvme_chap_hash_name(hash), nvme_chap_group_name(group), why.text);
	host_open_lane();
	moves(65536);
	end();
}

static void works(bool iwarp, const char *ctrl)
{
	for (uint8_t group = NVME_CHAP_NULL; group <= NVME_CHAP_8192; group++)
		works_with(iwarp, ctrl, (uint8_t)(NVME_CHAP_SHA256 + group % 3), group);
}

Test(nvme_auth, tcp_one_way)
{
	works(false, NULL);
}
Test(nvme_auth, tcp_mutual)
{
	for (uint8_t hash = NVME_CHAP_SHA256; hash <= NVME_CHAP_SHA512; hash++)
		for (uint8_t group = NVME_CHAP_NULL; group <= NVME_CHAP_8192; group++)
			works_with(false, CONTROLLER, hash, group);
}
Test(nvme_auth, iwarp_one_way)
{
	works(true, NULL);
}
Test(nvme_auth, iwarp_mutual)
{
	works(true, CONTROLLER);
}

Test(nvme_auth, each_hash_with_each_form_of_a_secret)
{
	static const char *const secrets[] = { SECRET, CONTROLLER, WRONG,
		"DHHC-1:01:ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vmMpzdS:" };

	for (unsigned i = 0; i < 12; i++) {
		char line[512];

		snprintf(line, sizeof(line), "# hosts\n\n  %s\tdhchap=%s  # this one\n", HOST,
			secrets[i % 4]);
		begin_with(line, (uint8_t)(NVME_CHAP_SHA256 + i / 4), NVME_CHAP_NULL);
		cr_assert_eq(attach_as(false, HOST, secrets[i % 4], NULL), 0, "%s", why.text);
		end();
	}
}

static void refused(const char *hostnqn, const char *secret, const char *ctrl, const char *words)
{
	char object[64];

	snprintf(object, sizeof(object), "127.0.0.1:%u", serving_port());
	for (int iwarp = 0; iwarp < 2; iwarp++) {
		cr_assert_eq(attach_as(iwarp, hostnqn, secret, ctrl), -EACCES, "%s", why.text);
		diag_says(&why, DIAG_AUTH, object, words);
		host_hang_up();
	}
}

Test(nvme_auth, wrong_secrets)
{
	begin();
	refused(HOST, WRONG, NULL, "wrong_secret unknown_host");
	refused(HOST, WRONG, CONTROLLER, "wrong_secret unknown_host");
	refused(HOST, SECRET, WRONG, "target failed controller_secret");
	refused(HOST, NULL, NULL, "requires_authentication no_secret");
	refused(OTHER, SECRET, NULL, "wrong_secret unknown_host");
	cr_assert_eq(attach_as(false, HOST, SECRET, CONTROLLER), 0, "%s", why.text);
	end();
}

/* The target must not take a request for a proof that it can't give for none. */
Test(nvme_auth, a_target_without_a_secret_of_its_own)
{
	begin_with(HOST " dhchap=" SECRET "\n", 0, NVME_CHAP_NULL);
	refused(HOST, SECRET, CONTROLLER, "refused");
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	end();
}

Test(nvme_auth, a_target_that_does_not_authenticate)
{
	begin_with(NULL, 0, NVME_CHAP_NULL);
	refused(HOST, SECRET, CONTROLLER, "does_not_authenticate_itself controller_secret");
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	end();
}

/* A host on the other list needs no secret, but one on both does. */
Test(nvme_auth, hosts_on_both_lists)
{
	prepare(HOST " dhchap=" SECRET "\n");
	opt.host[opt.hosts++] = OTHER;
	opt.host[opt.hosts++] = HOST;
	serving_start();
	cr_assert_eq(attach_as(false, OTHER, NULL, NULL), 0, "%s", why.text);
	host_hang_up();
	refused(HOST, NULL, NULL, "requires_authentication");
	refused("nqn.third", NULL, NULL, "requires_authentication");
	end();
}

/* A peer that claims a host's name but lacks its secret does not disturb it. */
Test(nvme_auth, a_claimed_name_ends_nothing)
{
	struct target_status counted;

	begin();
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	host_open_lane();
	for (unsigned i = 0; i < 4; i++) {
		connected(false);
		challenged();
		moves(65536);
		target_get_status(target, &counted);
		cr_assert(counted.clients == 1 && counted.queues == 1);
		raw_close(raw);
	}
	cr_assert_eq(disk->state, BDEV_UP);
	end();
}

Test(nvme_auth, new_secrets)
{
	begin();
	connected(false);
	authenticated();
	cr_assert_eq(enable(), 0);
	replace_hosts(HOST " dhchap=" WRONG "\n");
	cr_assert_eq(identify(), 0);
	refused(HOST, SECRET, NULL, "wrong_secret");
	use_secret(WRONG);
	authenticated();
	cr_assert_eq(identify(), 0);
	replace_hosts(OTHER " dhchap=" WRONG "\n");
	while (!raw->over)
		turn();
	raw_close(raw);
	cr_assert_eq(attach_as(false, OTHER, WRONG, NULL), 0, "%s", why.text);
	end();
}

/* More unknown hosts than may be pending, each with the slowest group, do not stop other I/O. */
Test(nvme_auth, a_flood)
{
	struct raw_host *flood[40];
	struct nvme_auth_msg ask = usual;
	uint8_t out[NVME_AUTH_MSG_MAX];
	uint32_t len;
	struct nvme_sqe sqe;

	begin_with(HOST " dhchap=" SECRET "\n", 0, NVME_CHAP_8192);
	cr_assert_eq(attach_as(false, HOST, SECRET, NULL), 0, "%s", why.text);
	host_open_lane();
	ask.group_ids[0] = NVME_CHAP_8192;
	len = (uint32_t)nvme_auth_put(out, &ask);
	for (unsigned i = 0; i < 40; i++) {
		connect_as(false, OTHER, 0, NVMF_CNTLID_ANY);
		sqe = auth_sqe(NVMF_AUTH_SEND, len);
		raw_command(raw, &sqe, out, len);
		raw_poll(raw);
		flood[i] = raw;
	}
	moves(65536);
	cr_assert_eq(disk->state, BDEV_UP);
	for (unsigned i = 0; i < 40; i++)
		raw_close(flood[i]);
	end();
}

#define TLS "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"

static void file_refused(const char *text, const char *words)
{
	struct nvme_hosts *list;

	why = (struct diag){ 0 };
	cr_assert_neq(nvme_hosts_read(&list, write_file("hosts", text), &why), 0);
	cr_assert(strstr(why.object, "/hosts"));
	cr_assert_null(text_missing(why.text, words), "%s", why.text);
	cr_assert_null(strstr(why.text, "ICcu"));
}

Test(nvme_auth, files_of_hosts)
{
	struct nvme_hosts *list;
	char path[128];

	make_folder();
	file_refused(HOST "\n", "HOSTNQN dhchap=SECRET");
	file_refused(HOST " dhchap=DHHC-1:00:AAAA:\n", "length secret");
	file_refused(HOST " " SECRET "\n", "unknown_word");
	file_refused(HOST " tls=" SECRET "\n", "TLS_key");
	file_refused(HOST " dhchap=" SECRET " dhchap=" SECRET "\n", "twice");
	file_refused(HOST " dhchap=" SECRET "\n" HOST " dhchap=" SECRET "\n", "twice");
	cr_assert(strstr(why.object, "line 2"));
	file_refused(HOST " dhchap=" SECRET " concat=yes\n", "unknown_word concat=required");
	file_refused(HOST " concat=required\n", "concat=required dhchap=");
	file_refused(HOST " tls=" TLS " concat=required\n", "concat=required without_tls=");
	file_refused(HOST " dhchap=" SECRET " tls=" TLS " concat=required\n",
		"concat=required without_tls=");
	list = read_hosts(HOST "#1 dhchap=" SECRET " #one\n #" HOST " dhchap=x\n" HOST
			       "#2\tdhchap=" SECRET "\r\n");
	cr_assert_eq(nvme_hosts_count(list), 2);
	nvme_hosts_free(list);
	list = read_hosts("# none yet\n\n");
	cr_assert_eq(nvme_hosts_count(list), 0);
	nvme_hosts_free(list);
	snprintf(path, sizeof(path), "%s/hosts", folder);
	for (unsigned i = 0; i < 6; i++) {
		chmod(path, 0600 | 1u << i);
		why = (struct diag){ 0 };
		cr_assert_eq(nvme_hosts_read(&list, path, &why), -EACCES);
		diag_says(&why, DIAG_PERMISSION, path, "mode");
	}
	unlink(path);
	cr_assert_eq(nvme_hosts_read(&list, path, &why), -ENOENT);
	cr_assert_eq(nvme_hosts_read(&list, folder, &why), -EINVAL);
	rmdir(folder);
}