/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys in their printed form, and what TLS gets of one. Identities and digests of libnvme 1.16's
 * test/psk.c and, for the older way, what `nvme check-tls-key -I 1` of nvme-cli 2.13 prints; keys
 * by OpenSSL 3.0's TLS13-KDF. */
#include "nvme_key.h"
#include "says.h"
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

static void derives_form(
	const char *text, struct nvme_psk_form form, const char *identity, const char *hex)
{
	struct nvme_key psk;
	struct nvme_psk tls;
	char got[2 * sizeof(tls.key) + 1] = "";

	cr_assert_eq(nvme_key_parse(&psk, NVME_KEY_TLS, "tls_key", text, &why), 0, "%s", why.text);
	cr_assert_eq(nvme_psk_derive(&psk, HOST, NQN, &form, &tls), 0);
	cr_expect_str_eq(tls.identity, identity);
	for (unsigned i = 0; i < tls.len; i++)
		snprintf(got + 2 * i, 3, "%02x", tls.key[i]);
	if (hex)
		cr_expect_str_eq(got, hex);
}

static void derives(const char *text, bool old, const char *identity, const char *hex)
{
	derives_form(text, (struct nvme_psk_form){ .old = old }, identity, hex);
}

Test(nvme_psk, what_tls_gets)
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

Test(nvme_psk, what_tls_got_of_older_tools)
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

static void derives_generated(
	const uint8_t *psk, unsigned len, const char *identity, const char *hex)
{
	struct nvme_psk_names names;
	struct nvme_psk tls;
	char got[2 * sizeof(tls.key) + 1] = "";

	cr_assert_eq(nvme_psk_derive_generated(psk, len, HOST, NQN, &tls), 0);
	cr_expect_str_eq(tls.identity, identity);
	for (unsigned i = 0; i < tls.len; i++)
		snprintf(got + 2 * i, 3, "%02x", tls.key[i]);
	cr_expect_str_eq(got, hex);
	cr_assert(nvme_psk_parse(identity, strlen(identity), &names));
	cr_assert(names.generated && names.len == len && !names.form.version0);
	cr_assert_str_eq(names.hostnqn, HOST);
	cr_assert_str_eq(names.subnqn, NQN);
}

/* By HMAC of Python's hashlib. */
Test(nvme_psk, what_tls_gets_of_a_generated_psk)
{
	char long_nqn[225];
	struct nvme_psk tls;
	uint8_t psk[48];

	for (unsigned i = 0; i < sizeof(psk); i++)
		psk[i] = (uint8_t)(i * 5 + 1);
	derives_generated(psk, 32,
		"NVMe1G01 " HOST " " NQN " CMlMp0BYVz6+38/LxppuOlGt+aUyaTqyFWnRrTHqCq4=",
		"c56873dafcaf082b0abbb735865bf7ac7f05da772f8ab440a71111b10b41d0d4");
	derives_generated(psk, 48,
		"NVMe1G02 " HOST " " NQN
		" QU9fKNkU1DxKfsWa0xGUmRv4RxdsNjdiE9zXNDyk32C9XeTGF0YQ3KQqPTbGUMSc",
		"16b9b3299c0d9f6a60f10ff81afb572713138b540c0f3d367cd007496d42b37d"
		"255ee6b566d02dfda8d9f99db6806cc0");
	memset(long_nqn, 'x', 224);
	long_nqn[224] = 0;
	cr_assert_eq(nvme_psk_derive_generated(psk, 32, long_nqn, long_nqn, &tls), -EINVAL);
}

/* By HMAC of Python's hashlib, as RFC 5869 and RFC 8446, 7.1 define it; the same program gives the
 * keys above. */
Test(nvme_psk, what_tls_gets_with_version_0)
{
	const struct nvme_psk_form form = { .version0 = true },
				   old = { .version0 = true, .old = true };

	derives_form(KEY_0, form, "NVMe0R01 " HOST " " NQN,
		"ec85300ba827726bd3bc4fc07f3a34aec5fe7c8ccac05fefc2f021c74e0df9ef");
	derives_form(KEY_1, form, "NVMe0R01 " HOST " " NQN,
		"05c6503551ad136e6ee32e6eeb3f6d500b69701d84ec71e328f65c7f51566f68");
	derives_form(KEY_2, form, "NVMe0R02 " HOST " " NQN,
		"f42ba63824cdfe421914c582921f85b5b5b7e2d4df084caeedc9be20b212e8bb0fe8a23e9d59a1c8fc"
		"6449da4970a78d");
	derives_form(KEY_1, old, "NVMe0R01 " HOST " " NQN,
		"09fb1983ac6d6d0353e7cae4f23daddd651c367fa347c59d9cf6936f5a83eafb");
	derives_form(KEY_2, old, "NVMe0R02 " HOST " " NQN,
		"2ee4754186a625b28a3936ef4a40d839c3ad958b2e017562ee07e2501f172ce999dc9c29033ea7ee33"
		"f814f192c13f47");
}

static void parses(const char *text, bool version0, unsigned len)
{
	struct nvme_psk_names names;

	cr_assert(nvme_psk_parse(text, strlen(text), &names), "%s", text);
	cr_assert_str_eq(names.hostnqn, HOST);
	cr_assert_str_eq(names.subnqn, NQN);
	cr_assert_eq(names.form.version0, version0);
	cr_assert_eq(names.len, len);
}

Test(nvme_psk, identities_of_a_peer)
{
	static const char *const others[] = { "", "NVMe1R01", "NVMe1R01 " HOST " " NQN,
		"NVMe0R01 " HOST " " NQN " x", "NVMe0G01 " HOST " " NQN, "NVMe1G01 " HOST " " NQN,
		"NVMe1G03 " HOST " " NQN " x", "NVMe2R01 " HOST " " NQN " x",
		"NVMe1R03 " HOST " " NQN " x", "NVMe1R010 " HOST " " NQN " x", "NVMe0R01  " NQN,
		"NVMe0R01 " HOST " ", "nvme0R01 " HOST " " NQN };
	struct nvme_psk_names names;
	char longest[NVME_PSK_IDENTITY + 8];

	parses("NVMe1R01 " HOST " " NQN " x", false, 32);
	parses("NVMe1R02 " HOST " " NQN " x", false, 48);
	parses("NVMe0R01 " HOST " " NQN, true, 32);
	parses("NVMe0R02 " HOST " " NQN, true, 48);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_assert_not(
			nvme_psk_parse(others[i], strlen(others[i]), &names), "%s", others[i]);
	cr_assert_not(nvme_psk_parse("NVMe0R01 a b\0", 13, &names));
	memset(longest, 'n', sizeof(longest));
	memcpy(longest, "NVMe0R01 ", 9);
	longest[9 + 223] = ' ';
	cr_assert(nvme_psk_parse(longest, 9 + 223 + 1 + 223, &names));
	cr_assert_not(nvme_psk_parse(longest, 9 + 223 + 1 + 224, &names));
	longest[9 + 223] = 'n';
	longest[9 + 224] = ' ';
	cr_assert_not(nvme_psk_parse(longest, 9 + 224 + 1 + 223, &names));
	cr_assert_not(nvme_psk_parse(longest, sizeof(longest), &names));
}

Test(nvme_psk, the_longest_names)
{
	struct nvme_key psk;
	struct nvme_psk tls;
	char nqn[300];

	memset(nqn, 'n', sizeof(nqn));
	nqn[223] = 0;
	cr_assert_eq(nvme_key_parse(&psk, NVME_KEY_TLS, "tls_key", KEY_2, NULL), 0);
	cr_assert_eq(
		nvme_psk_derive(&psk, nqn, nqn, &(struct nvme_psk_form){ .old = false }, &tls), 0);
	cr_assert_eq(strlen(tls.identity), 9 + 223 + 1 + 223 + 1 + 64);
	cr_assert_eq(
		nvme_psk_derive(&psk, nqn, nqn, &(struct nvme_psk_form){ .version0 = true }, &tls),
		-EINVAL, "an identity of version 0 is a label");
	nqn[223] = 'n';
	nqn[256] = 0;
	cr_assert_eq(nvme_psk_derive(&psk, nqn, "n", &(struct nvme_psk_form){ .old = false }, &tls),
		-EINVAL, "a label's length is a byte");
	nqn[256] = 'n';
	nqn[299] = 0;
	cr_assert_eq(nvme_psk_derive(&psk, nqn, nqn, &(struct nvme_psk_form){ .old = false }, &tls),
		-EINVAL);
}

static void refused(const char *text, const char *words)
{
	struct nvme_key psk;

	cr_expect_eq(
		nvme_key_parse(&psk, NVME_KEY_TLS, "tls_key", text, &why), -EINVAL, "%s", text);
	diag_says(&why, DIAG_USAGE, NULL, words);
	cr_expect_not(strstr(why.text, "VRLb"), "%s", why.text);
}

Test(nvme_psk, keys_for_tls_that_are_none)
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
