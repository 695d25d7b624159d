/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The identity of this host: the first one found in option, files, kernel command line, firmware,
 * machine-id; otherwise generated. Uses the same name as nvme-cli if that would find one. */
#include "identity.h"
#include "hash.h"
#include "kernel_identity.h"
#include "names.h"
#include "sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int kernel_root(void)
{
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Placeholders that board makers leave in place of a UUID: not unique. */
static bool uuid_fake(const uint8_t uuid[16])
{
	static const char *const fakes[] = {
		"03000200-0400-0500-0006-000700080009",
		"00020003-0004-0005-0006-000700080009",
		"00010203-0405-0607-0809-0a0b0c0d0e0f",
		"03020100-0504-0706-0809-0a0b0c0d0e0f",
		"12345678-1234-5678-90ab-cddeefaabbcc",
		"01234567-8910-1112-1314-151617181920",
		"11111111-2222-3333-4444-555555555555",
		"4c4c4544-0000-2010-8020-80c04f202020",
	};
	static const uint8_t counted[6] = { 0x12, 0x34, 0x56, 0x78, 0x12, 0x34 },
			     counted_le[6] = { 0x78, 0x56, 0x34, 0x12, 0x34, 0x12 };
	bool same = true, rising = true;
	char text[UUID_TEXT];

	for (int i = 1; i < 16; i++) {
		same &= uuid[i] == uuid[0];
		rising &= uuid[i] == (uint8_t)(uuid[i - 1] + 1) ||
			  uuid[i] == (uint8_t)(uuid[i - 1] + 0x11);
	}
	if (same || rising || !memcmp(uuid, counted, sizeof(counted)) ||
		!memcmp(uuid, counted_le, sizeof(counted_le)))
		return true;
	uuid_text(text, uuid);
	for (unsigned i = 0; i < sizeof(fakes) / sizeof(*fakes); i++)
		if (!strcmp(text, fakes[i]))
			return true;
	return false;
}

static bool take_nqn(struct identity *who, const char *nqn, const char *from)
{
	if (!nqn_valid(nqn))
		return false;
	snprintf(who->hostnqn, sizeof(who->hostnqn), "%s", nqn);
	snprintf(who->nqn_from, sizeof(who->nqn_from), "%s", from);
	return true;
}

static bool take_id(struct identity *who, const char *text, const char *from)
{
	if (!uuid_parse(who->hostid, text))
		return false;
	snprintf(who->id_from, sizeof(who->id_from), "%s", from);
	return true;
}

static void take_uuid(struct identity *who, const uint8_t uuid[16], const char *from)
{
	char nqn[NQN_UUID_TEXT];

	take_nqn(who, nqn_of_uuid(nqn, uuid), from);
}

/* Read a file that has one word on its first line; false if it is absent or empty. */
static bool one_line(int root, const char *path, char *text, size_t len)
{
	if (kernel_sys_read(root, text, len, "%s", path) <= 0)
		return false;
	text[strcspn(text, " \t\r\n")] = 0;
	return text[0];
}

/* Get the value of the last KEY= on the kernel command line. */
static bool on_cmdline(int root, const char *key, char *value, size_t len)
{
	char *text = kernel_sys_cmdline(root), *rest = text, *word;
	size_t key_len = strlen(key);
	bool found = false;

	while ((word = strsep(&rest, " \t\n"))) {
		if (strncmp(word, key, key_len) || word[key_len] != '=')
			continue;
		word += key_len + 1;
		if (*word == '"') {
			word++;
			word[strcspn(word, "\"")] = 0;
		}
		found = *word && strlen(word) < len;
		if (found)
			snprintf(value, len, "%s", word);
	}
	free(text);
	return found;
}

static bool from_files(int root, struct identity *who)
{
	char nqn[256], id[64];
	bool has_nqn = one_line(root, "etc/nvme/hostnqn", nqn, sizeof(nqn)) &&
		       take_nqn(who, nqn, "/etc/nvme/hostnqn");
	bool has_id = one_line(root, "etc/nvme/hostid", id, sizeof(id)) &&
		      take_id(who, id, "/etc/nvme/hostid");

	if (!has_nqn && has_id)
		take_uuid(who, who->hostid, "/etc/nvme/hostid");
	return has_nqn || has_id;
}

/* dracut's words (dracut.cmdline(7), NVMf); the second is its older spelling. */
static bool from_cmdline(int root, struct identity *who)
{
	char nqn[256], id[64];

	if (!on_cmdline(root, "rd.nvmf.hostnqn", nqn, sizeof(nqn)) &&
		!on_cmdline(root, "nvmf.hostnqn", nqn, sizeof(nqn)))
		return false;
	if (!take_nqn(who, nqn, "/proc/cmdline"))
		return false;
	if (on_cmdline(root, "rd.nvmf.hostid", id, sizeof(id)) ||
		on_cmdline(root, "nvmf.hostid", id, sizeof(id)))
		take_id(who, id, "/proc/cmdline");
	return true;
}

/* The kernel already converts the byte order (SMBIOS 3.0, 7.2.1), so use the text unchanged, like
 * nvme-cli. */
static bool from_firmware(int root, struct identity *who)
{
	uint8_t uuid[16];
	char text[64];

	if (!one_line(root, "sys/class/dmi/id/product_uuid", text, sizeof(text)) ||
		!uuid_parse(uuid, text) || uuid_fake(uuid))
		return false;
	take_uuid(who, uuid, "/sys/class/dmi/id/product_uuid");
	return true;
}

/* machine-id(5) must be kept secret: derive an ID from it as systemd does, with nvme-cli's
 * application ID. */
static bool from_machine_id(int root, struct identity *who)
{
	static const uint8_t app[16] = { 0xc7, 0xf4, 0x61, 0x81, 0x12, 0xbe, 0x49, 0x32, 0x8c, 0x83,
		0x10, 0x6f, 0x9d, 0xdd, 0xd8, 0x6b };
	uint8_t machine[16], sum[32];
	char text[64];

	if (!one_line(root, "etc/machine-id", text, sizeof(text)) || !uuid_parse(machine, text))
		return false;
	kernel_hash_hmac(sum, machine, sizeof(machine), app, sizeof(app));
	uuid_mark_random(sum);
	take_uuid(who, sum, "/etc/machine-id");
	return true;
}

void kernel_identity_random(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, GRND_NONBLOCK) != 16)
		getrandom(uuid, 16, 0);
	uuid_mark_random(uuid);
}

const uint8_t *kernel_identity_run(void)
{
	static uint8_t uuid[16];
	static bool made;

	if (!made)
		kernel_identity_random(uuid);
	made = true;
	return uuid;
}

static void made_up(struct identity *who)
{
	take_uuid(who, kernel_identity_run(), "random");
	who->random = 1;
}

/* Derive the ID from the NQN: kernels reject two NQNs with the same ID and two IDs with the same
 * NQN. */
static void derive_id(struct identity *who)
{
	static const char label[] = "rdmastor host id";
	const char *uuid = strstr(who->hostnqn, "uuid:");
	uint8_t sum[32];

	snprintf(who->id_from, sizeof(who->id_from), "hostnqn");
	if (uuid && uuid_parse(who->hostid, uuid + 5))
		return;
	kernel_hash_hmac(sum, label, sizeof(label) - 1, who->hostnqn, strlen(who->hostnqn));
	uuid_mark_random(sum);
	memcpy(who->hostid, sum, sizeof(who->hostid));
}

int kernel_identity(int root, const char *wanted_nqn, const char *wanted_id, struct identity *who,
	struct diag *diag)
{
	*who = (struct identity){ 0 };
	if (wanted_nqn) {
		if (!take_nqn(who, wanted_nqn, "option"))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid host NQN '%s': expected nqn.*, at most %d bytes without "
				"blanks",
				wanted_nqn, NAME_PLAIN_MAX);
	} else if (!from_files(root, who) && !from_cmdline(root, who) &&
		   !from_firmware(root, who) && !from_machine_id(root, who)) {
		made_up(who);
	}
	if (wanted_id && !take_id(who, wanted_id, "option"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid host ID '%s': expected a UUID",
			wanted_id);
	if (!who->id_from[0])
		derive_id(who);
	return 0;
}

/* Files in /etc/nvme come last here, as they get copied with system images. */
bool kernel_identity_machine(int root, uint8_t id[16], const char **from)
{
	struct identity who = { 0 };

	if (from_firmware(root, &who))
		*from = "DMI product UUID";
	else if (from_machine_id(root, &who))
		*from = "machine-id";
	else if (!from_files(root, &who) && !from_cmdline(root, &who))
		return false;
	else
		*from = "host id";
	if (!who.id_from[0])
		derive_id(&who);
	memcpy(id, who.hostid, 16);
	return true;
}

bool kernel_identity_boot(int root, uint8_t id[16])
{
	char text[64];

	return one_line(root, "proc/sys/kernel/random/boot_id", text, sizeof(text)) &&
	       uuid_parse(id, text);
}
