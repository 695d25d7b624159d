/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Convert the network interfaces of NBFT and iBFT to dracut's parameters (dracut.cmdline(7)), as
 * its modules nvmf and network print them. Include all valid interfaces: those not booted from are
 * other paths. */
#include "ibft.h"
#include "iscsi_conf.h"
#include "kernel_nbft.h"
#include "nbft_table.h"
#include "nvme_conf.h"
#include "uapi/ibft.h"
#include "uapi/nbft.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INTERFACES 256

struct interface { /* of either table */
	const char *kind, *mac, *addr, *mask, *gateway, *dns[2], *host;
	unsigned vlan;
	bool dhcp, v6;
};

struct emitter {
	int (*each)(const char *param, void *arg);
	void *arg;
	struct named { /* one for each address and VLAN */
		char mac[18], name[16];
		unsigned vlan;
		bool fresh; /* the first of its name */
	} named[INTERFACES];
	unsigned count;
};

static int emit_param(struct emitter *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int emit_param(struct emitter *w, const char *fmt, ...)
{
	char param[640];
	va_list args;

	va_start(args, fmt);
	vsnprintf(param, sizeof(param), fmt, args);
	va_end(args);
	return w->each(param, w->arg);
}

/* IPv6 in brackets; none if the firmware left "0.0.0.0". */
static const char *address(char text[48], const char *addr)
{
	bool v6 = strchr(addr, ':');

	snprintf(text, 48, v6 ? "[%s]" : "%s", strcmp(addr, "0.0.0.0") ? addr : "");
	return text;
}

/* Anything else could be parsed as further parameters or fields. */
static const char *host_name(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '-' && *at != '.')
			return "";
	return text;
}

/* Two tables may describe the same interface, and two interfaces of a table differ in their VLAN
 * only. A name is given once. false: configured already */
static bool choose_name(struct emitter *w, const struct interface *i, char name[16], bool *fresh)
{
	unsigned next = 0;

	*name = 0;
	for (unsigned n = 0; n < w->count; n++) {
		const struct named *known = &w->named[n];

		next += known->fresh && !strncmp(known->name, i->kind, 4);
		if (strcasecmp(known->mac, i->mac))
			continue;
		if (known->vlan == i->vlan)
			return false;
		strcpy(name, known->name);
	}
	*fresh = !*name;
	if (*fresh)
		snprintf(name, 16, "%s%u", i->kind, next);
	w->named[w->count].fresh = *fresh;
	w->named[w->count].vlan = i->vlan;
	strcpy(w->named[w->count].name, name);
	snprintf(w->named[w->count++].mac, 18, "%s", i->mac);
	return true;
}

static int configure(struct emitter *w, const struct interface *i)
{
	char name[16], dev[24], text[4][48];
	bool fresh;
	int err = 0;

	/* without a mask dracut's network-legacy gives up the boot */
	if ((!i->dhcp && (!*address(text[0], i->addr) || !*i->mask)) ||
		!strcmp(i->mac, "00:00:00:00:00:00") || w->count == INTERFACES ||
		!choose_name(w, i, name, &fresh))
		return 0;
	snprintf(dev, sizeof(dev), i->vlan ? "%s.%u" : "%s", name, i->vlan);
	if (fresh)
		err = emit_param(w, "ifname=%s:%s", name, i->mac);
	if (!err && i->dhcp)
		err = emit_param(w, "ip=%s:%s", dev, i->v6 ? "dhcp6" : "dhcp");
	else if (!err)
		err = emit_param(w, "ip=%s::%s:%s:%s:%s:none%s%s%s%s", text[0],
			address(text[1], i->gateway), i->mask, host_name(i->host), dev,
			*address(text[2], i->dns[0]) ? ":" : "", text[2],
			*address(text[3], i->dns[1]) ? ":" : "", text[3]);
	if (!err && i->vlan)
		err = emit_param(w, "vlan=%s:%s", dev, name);
	return err;
}

static int emit_nbft(int root, struct emitter *w, struct diag *diag)
{
	unsigned count;
	struct nbft *list;
	int err = kernel_nbft_read(root, &list, &count, diag);

	for (unsigned n = 0; n < count; n++)
		for (unsigned i = 0; i < list[n].hfis && !err; i++) {
			const struct nbft_hfi_info *hfi = &list[n].hfi[i];
			char mask[12] = "";

			if (hfi->prefix || hfi->v6)
				snprintf(mask, sizeof(mask), "%u", hfi->prefix ? hfi->prefix : 128);
			err = configure(
				w, &(struct interface){ .kind = "nbft",
					   .mac = hfi->mac,
					   .addr = hfi->addr,
					   .mask = mask,
					   .gateway = hfi->gateway,
					   .dns = { hfi->dns[0], hfi->dns[1] },
					   .host = hfi->host,
					   .vlan = hfi->vlan,
					   .dhcp = hfi->dhcp[0] || hfi->origin == NBFT_ORIGIN_DHCP,
					   .v6 = hfi->v6 });
		}
	free(list);
	return err;
}

/* Firmware may leave all addresses of an interface empty that DHCP is to configure. */
static bool nic_is_v6(const struct ibft *ibft, const struct ibft_nic_info *nic)
{
	const char *const addrs[] = { nic->addr, nic->dhcp, nic->gateway, nic->dns[0],
		nic->dns[1] };

	for (unsigned i = 0; i < sizeof(addrs) / sizeof(*addrs); i++)
		if (*addrs[i])
			return strchr(addrs[i], ':');
	for (unsigned i = 0; i < ibft->targets; i++)
		if (ibft->target[i].nic == nic->index)
			return strchr(ibft->target[i].addr, ':');
	return false;
}

static int emit_ibft(int root, struct emitter *w, struct diag *diag)
{
	struct ibft ibft;
	int err = kernel_ibft(root, &ibft, diag);

	for (unsigned i = 0; i < ibft.nics && !err; i++) {
		const struct ibft_nic_info *nic = &ibft.nic[i];
		char mask[16];

		snprintf(mask, sizeof(mask), "%s", nic->mask);
		if (nic->prefix)
			snprintf(mask, sizeof(mask), "%u", nic->prefix);
		err = configure(w, &(struct interface){ .kind = "ibft",
					   .mac = nic->mac,
					   .addr = nic->addr,
					   .mask = mask,
					   .gateway = nic->gateway,
					   .dns = { nic->dns[0], nic->dns[1] },
					   .host = "",
					   .vlan = (unsigned)strtoul(nic->vlan, NULL, 10) & 0xfff,
					   .dhcp = nic->origin == IBFT_ORIGIN_DHCP,
					   .v6 = nic_is_v6(&ibft, nic) });
	}
	explicit_bzero(&ibft, sizeof(ibft));
	return err;
}

int kernel_boot_network_params(
	int root, int (*each)(const char *param, void *arg), void *arg, struct diag *diag)
{
	struct emitter *w = calloc(1, sizeof(*w));
	struct diag why = { 0 };
	int err = w ? 0 : diag_sys(diag, ENOMEM, "network");

	if (err)
		return err;
	w->each = each;
	w->arg = arg;
	if (kernel_nvmf_conf_nbft_enabled(root))
		err = emit_nbft(root, w, &why);
	if (!err || err == -ENOENT)
		err = emit_ibft(root, w, &why);
	free(w);
	if (err && err != -ENOENT && diag && why.err)
		*diag = why;
	return err == -ENOENT ? 0 : err;
}
