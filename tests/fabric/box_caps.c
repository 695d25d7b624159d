/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ibsim has no way to set a bit of a capability mask. So the box of the subnet manager ors it into
 * what this one reads: PortInfo by directed route, the port known by the NodeInfo read there
 * before, and PortInfo by LID. */
#include "box.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

static void add(struct caps *caps, uint64_t guid, uint32_t mask)
{
	caps->entry = realloc(caps->entry, (caps->entries + 1) * sizeof(*caps->entry));
	if (!caps->entry)
		box_die("out of memory");
	caps->entry[caps->entries++] = (struct caps_entry){ guid, mask };
}

void caps_add(struct caps *caps, const char *word)
{
	uint64_t guid;
	uint32_t mask;

	if (*word == '@') {
		caps->path = word + 1;
	} else if (sscanf(word, "%" SCNx64 "=%" SCNx32, &guid, &mask) == 2) {
		add(caps, guid, mask);
		caps->fixed = caps->entries;
	} else {
		box_die("-C %s: GUID=MASK in hexadecimal, or @FILE, is needed", word);
	}
}

static void read_again(struct caps *caps)
{
	struct stat st;
	uint64_t guid;
	uint32_t mask;
	FILE *from;

	if (!caps->path || stat(caps->path, &st) ||
		!memcmp(&st.st_mtim, &caps->mtime, sizeof(st.st_mtim)))
		return;
	from = fopen(caps->path, "re");
	if (!from)
		return;
	caps->mtime = st.st_mtim;
	caps->entries = caps->fixed;
	while (fscanf(from, "%" SCNx64 " %" SCNx32, &guid, &mask) == 2)
		add(caps, guid, mask);
	fclose(from);
}

static struct caps_route *route_to(struct caps *caps, const struct smp_dr *smp, bool make)
{
	uint8_t hops = (uint8_t)get_be16(smp->mad.class_specific) & SMP_HOPS_MAX;
	struct caps_route *route;

	for (unsigned i = 0; i < caps->routes; i++)
		if (caps->route[i].hops == hops && !memcmp(caps->route[i].hop, smp->out + 1, hops))
			return &caps->route[i];
	if (!make)
		return NULL;
	caps->route = realloc(caps->route, (caps->routes + 1) * sizeof(*caps->route));
	if (!caps->route)
		box_die("out of memory");
	route = &caps->route[caps->routes++];
	*route = (struct caps_route){ .hops = hops };
	memcpy(route->hop, smp->out + 1, hops);
	return route;
}

static void set(const struct caps *caps, uint64_t guid, struct port_info *info)
{
	for (unsigned i = 0; i < caps->entries; i++)
		if (caps->entry[i].guid == guid)
			info->cap_mask = put_be32(get_be32(info->cap_mask) | caps->entry[i].mask);
}

static void by_route(struct caps *caps, struct smp_dr *smp)
{
	const struct node_info *node = (const void *)smp->data;
	struct port_info *info = (void *)smp->data;
	bool is_node = get_be16(smp->mad.attr) == SMP_NODE_INFO;
	struct caps_route *route = route_to(caps, smp, is_node);

	if (is_node) {
		route->guid = get_be64(node->port_guid);
	} else if (route) {
		if (get_be16(info->lid))
			route->lid = get_be16(info->lid);
		set(caps, route->guid, info);
	}
}

static void by_lid(struct caps *caps, struct smp_dr *smp, uint16_t lid)
{
	for (unsigned i = 0; i < caps->routes; i++) {
		if (caps->route[i].lid != lid)
			continue;
		set(caps, caps->route[i].guid, (void *)smp->data);
		return;
	}
}

void caps_apply(struct caps *caps, struct sim_packet *packet)
{
	struct smp_dr *smp = (void *)packet->mad;
	uint16_t attr = get_be16(smp->mad.attr);

	if (!(caps->path || caps->entries) || !(smp->mad.method & MAD_RESPONSE) ||
		(attr != SMP_NODE_INFO && attr != SMP_PORT_INFO))
		return;
	read_again(caps);
	if (smp->mad.mgmt_class == MAD_CLASS_SMP_DR)
		by_route(caps, smp);
	else if (smp->mad.mgmt_class == MAD_CLASS_SMP && attr == SMP_PORT_INFO)
		by_lid(caps, smp, ntohs((uint16_t)packet->slid));
}
