/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* agent FILE: device management of a port, as an SRP target has it, out of a file that is read
 * again whenever it changed. */
#include "umad.h"
#include <ctype.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SLOTS  256
#define FAULTS 16
#define ANY    UINT32_MAX

struct service {
	struct service *next;
	unsigned slot, index;
	struct service_entry entry;
};

static struct {
	struct io_unit_info unit;
	struct ioc_profile ioc[SLOTS];
	struct service *services;
	struct fault {
		unsigned attr, status, mod;
		bool silent;
	} fault[FAULTS];
	unsigned faults;
} device;

static void set_slot(unsigned slot, unsigned nibble)
{
	uint8_t *byte = &device.unit.list[(slot - 1) / 2];

	*byte = slot % 2 ? (uint8_t)((*byte & 0x0f) | nibble << 4)
			 : (uint8_t)((*byte & 0xf0) | nibble);
}

static void text(uint8_t *to, size_t room, const char *from)
{
	for (unsigned byte; *from && *from != '\n' && room; room--) {
		if (sscanf(from, "\\x%2x", &byte) == 1) {
			*to++ = (uint8_t)byte;
			from += 4;
		} else {
			*to++ = (uint8_t)*from++;
		}
	}
}

static bool read_ioc(const char *line)
{
	unsigned slot, vendor, model, io_class, send, services;
	uint64_t guid;
	int end = 0;

	if (sscanf(line, "ioc %u %" SCNx64 " %x %x %x %u %u %n", &slot, &guid, &vendor, &model,
		    &io_class, &send, &services, &end) != 7 ||
		!end || !slot || slot >= SLOTS)
		return false;
	device.ioc[slot] = (struct ioc_profile){
		.guid = put_be64(guid),
		.vendor_id = put_be32(vendor << 8),
		.device_id = put_be32(model),
		.io_class = put_be16((uint16_t)io_class),
		.io_subclass = put_be16(0x609e),
		.protocol = put_be16(0x0108),
		.protocol_version = put_be16(1),
		.send_size = put_be32(send),
		.services = (uint8_t)services,
	};
	text(device.ioc[slot].id, sizeof(device.ioc[slot].id), line + end);
	set_slot(slot, DM_SLOT_PRESENT);
	return true;
}

static bool read_service(const char *line)
{
	struct service *service = calloc(1, sizeof(*service));
	uint64_t id;
	int end = 0;

	if (!service ||
		sscanf(line, "service %u %u %" SCNx64 " %n", &service->slot, &service->index, &id,
			&end) != 3 ||
		!end)
		return false;
	service->entry.id = put_be64(id);
	text(service->entry.name, sizeof(service->entry.name), line + end);
	service->next = device.services;
	device.services = service;
	return true;
}

static bool read_fault(const char *line)
{
	struct fault *fault = &device.fault[device.faults++];

	*fault = (struct fault){ .mod = ANY };
	if (device.faults == FAULTS)
		return false;
	if (sscanf(line, "fail %x %x %x", &fault->attr, &fault->status, &fault->mod) >= 2)
		return true;
	fault->silent = sscanf(line, "silent %x %x", &fault->attr, &fault->mod) >= 1;
	return fault->silent;
}

/* unit CHANGE_ID SLOTS
 * slot SLOT NIBBLE
 * ioc SLOT GUID VENDOR DEVICE IO_CLASS SEND_SIZE SERVICES TEXT
 * service SLOT NUMBER ID NAME
 * fail ATTRIBUTE STATUS [MODIFIER]
 * silent ATTRIBUTE [MODIFIER]
 * Slots, sizes and numbers of services are decimal, the rest is hexadecimal; TEXT and NAME go to
 * the end of the line, \xHH is a byte. */
static bool read_line(const char *line)
{
	unsigned a, b;

	if (sscanf(line, "unit %x %u", &a, &b) == 2) {
		device.unit.change_id = put_be16((uint16_t)a);
		device.unit.max_controllers = (uint8_t)b;
		return true;
	}
	if (sscanf(line, "slot %u %x", &a, &b) == 2 && a && a < SLOTS) {
		set_slot(a, b);
		return true;
	}
	return read_ioc(line) || read_service(line) || read_fault(line) || *line == '\n' ||
	       *line == '#';
}

static void read_file(const char *path)
{
	FILE *from = fopen(path, "re");
	char line[512];

	if (!from)
		err(1, "%s", path);
	for (struct service *service = device.services, *next; service; service = next) {
		next = service->next;
		free(service);
	}
	memset(&device, 0, sizeof(device));
	while (fgets(line, sizeof(line), from))
		if (!read_line(line))
			errx(1, "%s: %s", path, line);
	fclose(from);
}

static void read_changed(const char *path)
{
	static struct timespec read_at;
	struct stat st;

	if (stat(path, &st))
		err(1, "%s", path);
	if (!memcmp(&st.st_mtim, &read_at, sizeof(read_at)))
		return;
	read_at = st.st_mtim;
	read_file(path);
}

/* The status of the answer. */
static uint16_t put_services(struct service_entry *to, uint32_t mod)
{
	unsigned slot = mod >> 16, first = mod & 0xff, last = mod >> 8 & 0xff;
	const struct service *service;

	if (slot >= SLOTS || last < first || last - first >= DM_SERVICES_EACH ||
		last >= device.ioc[slot].services)
		return MAD_STATUS_FIELD;
	for (service = device.services; service; service = service->next)
		if (service->slot == slot && service->index >= first && service->index <= last)
			to[service->index - first] = service->entry;
	return 0;
}

static uint16_t put_attribute(uint8_t *to, uint16_t attr, uint32_t mod)
{
	switch (attr) {
	case MAD_CLASS_PORT_INFO:
		memcpy(to, &(struct class_port_info){ .base_version = 1, .class_version = 1 },
			sizeof(struct class_port_info));
		return 0;
	case DM_IO_UNIT_INFO:
		memcpy(to, &device.unit, sizeof(device.unit));
		return 0;
	case DM_IOC_PROFILE:
		if (mod >= SLOTS || !get_be64(device.ioc[mod].guid))
			return MAD_STATUS_FIELD;
		memcpy(to, &device.ioc[mod], sizeof(device.ioc[mod]));
		return 0;
	case DM_SERVICE_ENTRIES:
		return put_services((void *)to, mod);
	}
	return 0x000c; /* no such attribute with this method; 13.4.7 */
}

static const struct fault *fault_of(uint16_t attr, uint32_t mod)
{
	for (unsigned i = 0; i < device.faults; i++)
		if (device.fault[i].attr == attr &&
			(device.fault[i].mod == ANY || device.fault[i].mod == mod))
			return &device.fault[i];
	return NULL;
}

static bool answer(struct umad *umad)
{
	struct dm_hdr *dm = (void *)umad->mad;
	uint16_t attr = get_be16(dm->mad.attr), status;
	uint32_t mod = get_be32(dm->mad.mod);
	const struct fault *fault = fault_of(attr, mod);

	if (fault && fault->silent)
		return false;
	memset(umad->mad + sizeof(*dm), 0, DM_DATA_LEN);
	status = put_attribute(umad->mad + sizeof(*dm), attr, mod);
	dm->mad.method = MAD_GET | MAD_RESPONSE;
	dm->mad.status = put_be16(fault ? (uint16_t)fault->status : status);
	umad->hdr.timeout_ms = umad->hdr.retries = 0;
	umad->hdr.qkey = __builtin_bswap32(UMAD_QKEY);
	return true;
}

int main(int argc, char **argv)
{
	struct umad umad;
	unsigned id;
	int fd;

	if (argc != 2)
		errx(2, "usage: agent FILE");
	read_changed(argv[1]);
	fd = umad_open();
	id = umad_register(fd, MAD_CLASS_DM, 1, 1, 1 << MAD_GET | 1 << MAD_SET);
	for (;;) {
		umad_recv(fd, &umad);
		read_changed(argv[1]);
		umad.hdr.id = id;
		if (!umad.hdr.status && answer(&umad))
			umad_send(fd, &umad);
	}
}
