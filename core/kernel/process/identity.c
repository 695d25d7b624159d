/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The identity of this host: the first one found in option, files, kernel command line, firmware,
 * machine-id; otherwise generated. Uses the same name as nvme-cli if that would find one. */
#include "identity.h"
#include "hash.h"
#include "kernel_identity.h"
#include "kernel_sys.h"
#include "names.h"
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

static bool set_nqn(struct identity *identity, const char *nqn, const char *from)
{
	if (!nqn_valid(nqn))
		return false;
	snprintf(identity->hostnqn, sizeof(identity->hostnqn), "%s", nqn);
	snprintf(identity->nqn_from, sizeof(identity->nqn_from), "%s", from);
	return true;
}

static bool set_id(struct identity *identity, const char *text, const char *from)
{
	if (!uuid_parse(identity->hostid, text))
		return false;
	snprintf(identity->id_from, sizeof(identity->id_from), "%s", from);
	return true;
}

static void set_nqn_of_uuid(struct identity *identity, const uint8_t uuid[16], const char *from)
{
	char nqn[NQN_UUID_TEXT];

	set_nqn(identity, nqn_of_uuid(nqn, uuid), from);
}

/* Read the first field of a file; false if it is absent or empty. */
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

static bool from_files(int root, struct identity *identity)
{
	char nqn[256], id[64];
	bool has_nqn = one_line(root, "etc/nvme/hostnqn", nqn, sizeof(nqn)) &&
		       set_nqn(identity, nqn, "/etc/nvme/hostnqn");
	bool has_id = one_line(root, "etc/nvme/hostid", id, sizeof(id)) &&
		      set_id(identity, id, "/etc/nvme/hostid");

	if (!has_nqn && has_id)
		set_nqn_of_uuid(identity, identity->hostid, "/etc/nvme/hostid");
	return has_nqn || has_id;
}

/* dracut's parameters (dracut.cmdline(7), NVMf); the second is the older spelling. */
static bool from_cmdline(int root, struct identity *identity)
{
	char nqn[256], id[64];

	if (!on_cmdline(root, "rd.nvmf.hostnqn", nqn, sizeof(nqn)) &&
		!on_cmdline(root, "nvmf.hostnqn", nqn, sizeof(nqn)))
		return false;
	if (!set_nqn(identity, nqn, "/proc/cmdline"))
		return false;
	if (on_cmdline(root, "rd.nvmf.hostid", id, sizeof(id)) ||
		on_cmdline(root, "nvmf.hostid", id, sizeof(id)))
		set_id(identity, id, "/proc/cmdline");
	return true;
}

/* The kernel already converts the byte order (SMBIOS 3.0, 7.2.1), so use the text unchanged, like
 * nvme-cli. */
static bool from_firmware(int root, struct identity *identity)
{
	uint8_t uuid[16];
	char text[64];

	if (!one_line(root, "sys/class/dmi/id/product_uuid", text, sizeof(text)) ||
		!uuid_parse(uuid, text) || uuid_fake(uuid))
		return false;
	set_nqn_of_uuid(identity, uuid, "/sys/class/dmi/id/product_uuid");
	return true;
}

/* machine-id(5) must be kept secret: derive an ID from it as systemd does, with nvme-cli's
 * application ID. */
static bool from_machine_id(int root, struct identity *identity)
{
	static const uint8_t app[16] = { 0xc7, 0xf4, 0x61, 0x81, 0x12, 0xbe, 0x49, 0x32, 0x8c, 0x83,
		0x10, 0x6f, 0x9d, 0xdd, 0xd8, 0x6b };
	uint8_t machine[16], sum[32];
	char text[64];

	if (!one_line(root, "etc/machine-id", text, sizeof(text)) || !uuid_parse(machine, text))
		return false;
	kernel_hash_hmac(sum, machine, sizeof(machine), app, sizeof(app));
	uuid_mark_random(sum);
	set_nqn_of_uuid(identity, sum, "/etc/machine-id");
	return true;
}

void kernel_identity_random(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, GRND_NONBLOCK) != 16)
		getrandom(uuid, 16, 0);
	uuid_mark_random(uuid);
}

static const char run_id[] = "RDMASTOR_RUN_ID";

const uint8_t *kernel_identity_run(void)
{
	static uint8_t uuid[16];
	static bool made;
	const char *inherited = made ? NULL : getenv(run_id);

	if (!made && (!inherited || !uuid_parse(uuid, inherited)))
		kernel_identity_random(uuid);
	if (!made)
		unsetenv(run_id);
	made = true;
	return uuid;
}

void kernel_identity_pass(void)
{
	char text[UUID_TEXT];

	setenv(run_id, uuid_text(text, kernel_identity_run()), 1);
}

static void made_up(struct identity *identity)
{
	set_nqn_of_uuid(identity, kernel_identity_run(), "random");
	identity->random = 1;
}

/* Derive the ID from the NQN: kernels reject two NQNs with the same ID and two IDs with the same
 * NQN. */
static void derive_id(struct identity *identity)
{
	static const char label[] = "rdmastor host id";
	const char *uuid = strstr(identity->hostnqn, "uuid:");
	uint8_t sum[32];

	snprintf(identity->id_from, sizeof(identity->id_from), "hostnqn");
	if (uuid && uuid_parse(identity->hostid, uuid + 5))
		return;
	kernel_hash_hmac(
		sum, label, sizeof(label) - 1, identity->hostnqn, strlen(identity->hostnqn));
	uuid_mark_random(sum);
	memcpy(identity->hostid, sum, sizeof(identity->hostid));
}

int kernel_identity(int root, const char *user_nqn, const char *user_id, struct identity *identity,
	struct diag *diag)
{
	*identity = (struct identity){ 0 };
	if (user_nqn) {
		if (!set_nqn(identity, user_nqn, "option"))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid host NQN '%s': expected nqn.*, at most %d bytes without "
				"blanks",
				user_nqn, NAME_PLAIN_MAX);
	} else if (!from_files(root, identity) && !from_cmdline(root, identity) &&
		   !from_firmware(root, identity) && !from_machine_id(root, identity)) {
		made_up(identity);
	}
	if (user_id && !set_id(identity, user_id, "option"))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "invalid host ID '%s': expected a UUID", user_id);
	if (!identity->id_from[0])
		derive_id(identity);
	return 0;
}

static struct {
	bool set, found;
	uint8_t id[16];
	const char *from;
} kept;

void kernel_identity_keep(int root)
{
	kept.found = kernel_identity_machine(root, kept.id, &kept.from);
	kept.set = true;
}

static bool use_kept(uint8_t id[16], const char **from)
{
	if (!kept.found)
		return false;
	memcpy(id, kept.id, sizeof(kept.id));
	*from = kept.from;
	return true;
}

/* Files in /etc/nvme come last here, as they get copied with system images. */
bool kernel_identity_machine(int root, uint8_t id[16], const char **from)
{
	struct identity identity = { 0 };

	if (kept.set)
		return use_kept(id, from);
	if (from_firmware(root, &identity))
		*from = "DMI product UUID";
	else if (from_machine_id(root, &identity))
		*from = "machine-id";
	else if (!from_files(root, &identity) && !from_cmdline(root, &identity))
		return false;
	else
		*from = "host id";
	if (!identity.id_from[0])
		derive_id(&identity);
	memcpy(id, identity.hostid, 16);
	return true;
}

bool kernel_identity_boot(int root, uint8_t id[16])
{
	char text[64];

	return one_line(root, "proc/sys/kernel/random/boot_id", text, sizeof(text)) &&
	       uuid_parse(id, text);
}
