/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys in their printed form, and what TLS gets of one. Identities and digests of libnvme 1.16's
 * test/psk.c and, for the older way, what `nvme check-tls-key -I 1` of nvme-cli 2.13 prints; keys
 * by OpenSSL 3.0's TLS13-KDF. */
#include "kernel_nvmf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOST  "nqn.psk-test-host"
#define NQN   "nqn.psk-test-subsys"
#define KEY_0 "NVMeTLSkey-1:00:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"
#define KEY_1 "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"
#define KEY_2                                                                                      \
	"NVMeTLSkey-1:02:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwP/"                             \
	"w0S89ELi3W2LxIcLXVsDn8kXZQ==:"

static struct diag why;

static void derives(const char *text, bool old, const char *identity, const char *hex)
{
	struct nvme_key psk;
	struct nvmf_tls_key tls;
	char got[2 * sizeof(tls.key) + 1] = "";

	cr_assert_eq(nvme_key_parse(&psk, NVME_KEY_TLS, "tls_key", text, &why), 0, "%s", why.text);
	cr_assert_eq(kernel_nvmf_psk_derive(&psk, HOST, NQN, old, &tls), 0);
	cr_expect_str_eq(tls.identity, identity);
	for (unsigned i = 0; i < tls.len; i++)
		snprintf(got + 2 * i, 3, "%02x", tls.key[i]);
	if (hex)
		cr_expect_str_eq(got, hex);
}

Test(nvme_secret, what_tls_gets)
{
	derives(KEY_1, false,
		"NVMe1R01 " HOST " " NQN " iSbjiStwJ/1TrTvDlt2fjFmzvsytOJelidNnA+X5lEU=",
		"8fc3c0badfd4c0c66fa3ca33aadd0314f85536cc9bc47338b60f3e6e563786ca");
	derives(KEY_0, false,
		"NVMe1R01 " HOST " " NQN " quJVUJjp/BImWR0UQay/MjSfEgyAr6TyBOWybS/B404=",
		"a45d08ee4639c7570729bb3e57e905e466a49a15ece5401af906830c4d3bdb0b");
	derives(KEY_2, false,
		"NVMe1R02 " HOST " " NQN
		" QhW2+Rp6RzHlNtCslyRxMnwJ11tKKhz8JCAQpQ+XUD8f9td1VeH5h53yz2wKJG1a",
		"a2b2f943f479fc682555cec89857c80ed004ce92f32a973d5764155bb7e36b17a85368a0666d250afa"
		"c9282dda2e62ca");
}

Test(nvme_secret, what_tls_got_of_older_tools)
{
	derives(KEY_1, true,
		"NVMe1R01 " HOST " " NQN " 66GuqV08TsAGII39teWUfwQwizjv06Jy8jOcX3NAAzM=", NULL);
	derives(KEY_0, true,
		"NVMe1R01 " HOST " " NQN " quJVUJjp/BImWR0UQay/MjSfEgyAr6TyBOWybS/B404=", NULL);
	derives(KEY_2, true,
		"NVMe1R02 " HOST " " NQN
		" RsKmYJ3nAn1ApjjMloJFbAkLPivONDAX/xW327YBUsn2eGShXSjCZvBaOxscLqmz",
		NULL);
}

Test(nvme_secret, the_longest_names)
{
	struct nvme_key psk;
	struct nvmf_tls_key tls;
	char nqn[300];

	memset(nqn, 'n', sizeof(nqn));
	nqn[223] = 0;
	cr_assert_eq(nvme_key_parse(&psk, NVME_KEY_TLS, "tls_key", KEY_2, NULL), 0);
	cr_assert_eq(kernel_nvmf_psk_derive(&psk, nqn, nqn, false, &tls), 0);
	cr_assert_eq(strlen(tls.identity), 9 + 223 + 1 + 223 + 1 + 64);
	nqn[223] = 'n';
	nqn[256] = 0;
	cr_assert_eq(kernel_nvmf_psk_derive(&psk, nqn, "n", false, &tls), -EINVAL,
		"a label's length is a byte");
	nqn[256] = 'n';
	nqn[299] = 0;
	cr_assert_eq(kernel_nvmf_psk_derive(&psk, nqn, nqn, false, &tls), -EINVAL);
}

static void refused(const char *text, const char *words)
{
	struct nvme_key psk;

	cr_expect_eq(
		nvme_key_parse(&psk, NVME_KEY_TLS, "tls_key", text, &why), -EINVAL, "%s", text);
	diag_says(&why, DIAG_USAGE, NULL, words);
	cr_expect_not(strstr(why.text, "VRLb"), "%s", why.text);
}

Test(nvme_secret, keys_for_tls_that_are_none)
{
	refused("", "tls_key NVMeTLSkey-1:0n:");
	refused("NVMeTLSkey-1:03:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:",
		"NVMeTLSkey-1:0n:");
	refused("NVMeTLSkey-2:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:",
		"NVMeTLSkey-1:0n:");
	refused("NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ",
		"NVMeTLSkey-1:0n:");
	refused(KEY_1 "x", "NVMeTLSkey-1:0n:");
	refused("NVMeTLSkey-1:02:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:",
		"length 'NVMeTLSkey-1:02'");
	refused("NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9Lr!:",
		"length 'NVMeTLSkey-1:01'");
	refused("NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrY:", "checksum");
	refused("NVMeTLSkey-1:00:VRLbtnN9AQb2WXW3c9+wEf/"
		"DRLz0QuLdbYvEhwtdWwNf9LrZVRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:",
		"length 'NVMeTLSkey-1:00'");
	for (size_t len = 0; len < strlen(KEY_1); len++) {
		char cut[sizeof(KEY_1)] = "";

		memcpy(cut, KEY_1, len);
		refused(cut, "tls_key");
	}
}

Test(nvme_secret, keyrings_by_name)
{
	struct tree tree = tree_new();
	int32_t ring;

	cr_assert_eq(kernel_nvmf_keyring(tree.root, NULL, &ring, &why), -ENOENT);
	tree_file(&tree, "proc/keys",
		"01f2a1b0 I--Q---     3 perm 1f3f0000     0 65534 keyring   _uid.0: empty\n"
		"02222222 I------     1 perm 1f0b0000     0     0 keyring   .nvmes: empty\n"
		"03333333 IR-----     1 perm 1f0b0000     0     0 keyring   .nvme: empty\n"
		"04444444 I------     1 expd 1f0b0000     0     0 psk       .nvme: 32\n"
		"06666666 I------     1 perm 3f3f0000  4711  4711 keyring   .nvme: 1\n"
		"07777777 I------     1 perm 3f3f0000  4711     0 keyring   my ring: 1\n"
		"08888888 I------     1 perm 3f3f0000  4711  4711 keyring   another's: 1\n"
		"2f3f4f5f I------     1 perm 1f0b0000     0     0 keyring   .nvme: 1\n"
		"05555555 I------     1 perm 1f0b0000     0     0 keyring   my ring: 1\n"
		"cut\n");
	cr_assert_eq(kernel_nvmf_keyring(tree.root, NULL, &ring, &why), 0, "%s", why.text);
	cr_assert_eq(ring, 0x2f3f4f5f);
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "my ring", &ring, &why), 0);
	cr_assert_eq(ring, 0x05555555);
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "77", &ring, &why), 0);
	cr_assert_eq(ring, 77);
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "none", &ring, &why), -ENOKEY);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "keyring 'none'");
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "another's", &ring, &why), -ENOKEY);
	tree_file(&tree, "proc/keys", "");
	cr_assert_eq(kernel_nvmf_keyring(tree.root, NULL, &ring, &why), -ENOKEY);
	text_says(why.hint, "CONFIG_NVME_TCP_TLS");
	tree_free(&tree);
}
