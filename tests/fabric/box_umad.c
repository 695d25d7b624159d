/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A file of ib_umad: agents, reading and writing, with the answers of Linux 6.1
 * (drivers/infiniband/core/user_mad.c, mad.c). */
#include "box.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#define OLD_HEADER   56 /* of programs that did not ask for P_Key indices */
#define RMPP_HEADERS (sizeof(struct mad_hdr) + sizeof(struct mad_rmpp))
#define MESSAGE_MAX  (16u << 20)
#define VERSION_MAX  0x82
#define CLASS_MAX    79     /* except the class of directed routes */
#define USER_RMPP    1      /* flag of IB_USER_MAD_REGISTER_AGENT2 */
#define HI_TID_MASK  0xffff /* the simulator needs the other bits */

static size_t header_len(const struct file *file)
{
	return file->pkey_index ? sizeof(struct ib_user_mad_hdr) : OLD_HEADER;
}

static bool is_response(const struct mad_hdr *mad)
{
	return mad->method & MAD_RESPONSE || mad->method == 7 /* TrapRepress */;
}

static bool is_smp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SMP || mgmt_class == MAD_CLASS_SMP_DR;
}

static bool has_oui(uint8_t mgmt_class)
{
	return mgmt_class >= 0x30 && mgmt_class <= 0x4f;
}

/* --- agents */

/* One request would go to both. */
static bool overlap(const struct agent *a, const struct agent *b)
{
	if (a->version != b->version || a->mgmt_class != b->mgmt_class)
		return false;
	if (has_oui(a->mgmt_class) && memcmp(a->oui, b->oui, sizeof(a->oui)))
		return false;
	return a->methods[0] & b->methods[0] || a->methods[1] & b->methods[1];
}

static int check_agent(const struct box *box, const struct file *file, const struct agent *agent,
	uint8_t rmpp_version, uint32_t flags)
{
	static const uint8_t no_oui[3];

	if (agent->qpn > 1 || flags & ~USER_RMPP)
		return -EINVAL;
	if (!agent->mgmt_class)
		return 0;
	if (agent->version > VERSION_MAX ||
		(agent->mgmt_class > CLASS_MAX && agent->mgmt_class != MAD_CLASS_SMP_DR))
		return -EINVAL;
	if (has_oui(agent->mgmt_class) && !memcmp(agent->oui, no_oui, sizeof(no_oui)))
		return -EINVAL;
	if ((rmpp_version && !rmpp_class(agent->mgmt_class)) ||
		is_smp(agent->mgmt_class) != !agent->qpn)
		return -EINVAL;
	for (unsigned i = 0; i < BOX_FILES; i++) {
		const struct file *other = &box->file[i];

		for (unsigned j = 0; other->used && other->port == file->port && j < BOX_AGENTS;
			j++)
			if (other->agent[j].used && overlap(agent, &other->agent[j]))
				return -EINVAL;
	}
	return 0;
}

static int read_request(struct agent *agent, uint8_t *rmpp_version, uint32_t *flags,
	const struct seccomp_notif *call, bool second)
{
	struct ib_user_mad_reg_req one;
	struct ib_user_mad_reg_req2 two;

	*agent = (struct agent){ .used = true };
	if (second) {
		if (!mem_read(call, call->data.args[2], &two, sizeof(two)))
			return -EFAULT;
		agent->mgmt_class = (uint8_t)two.mgmt_class;
		agent->version = (uint8_t)two.mgmt_class_version;
		agent->qpn = two.qpn;
		wire_put_be(agent->oui, 3, two.oui);
		memcpy(agent->methods, two.method_mask, sizeof(agent->methods));
		*rmpp_version = two.rmpp_version;
		*flags = two.flags;
		return two.oui >> 24 ? -EINVAL : 0;
	}
	if (!mem_read(call, call->data.args[2], &one, sizeof(one)))
		return -EFAULT;
	agent->mgmt_class = one.mgmt_class;
	agent->version = one.mgmt_class_version;
	agent->qpn = one.qpn;
	memcpy(agent->oui, one.oui, sizeof(agent->oui));
	memcpy(agent->methods, one.method_mask, sizeof(agent->methods));
	*rmpp_version = one.rmpp_version;
	*flags = 0;
	return 0;
}

static int register_agent(
	struct box *box, struct file *file, const struct seccomp_notif *call, bool second)
{
	struct agent agent;
	uint8_t rmpp_version = 0;
	uint32_t flags = 0, id = 0;
	int err = read_request(&agent, &rmpp_version, &flags, call, second);

	if (err)
		return err;
	while (id < BOX_AGENTS && file->agent[id].used)
		id++;
	if (id == BOX_AGENTS)
		return -ENOMEM;
	err = check_agent(box, file, &agent, rmpp_version, flags);
	box_log(box, "agent class 0x%02x version %u methods %llx%016llx rmpp %u: %s",
		agent.mgmt_class, agent.version, (unsigned long long)agent.methods[1],
		(unsigned long long)agent.methods[0], rmpp_version,
		err ? strerrorname_np(-err) : "ok");
	if (err)
		return err;
	if (!mem_write(call, call->data.args[2], &id,
		    sizeof(id))) /* the first member of either request */
		return -EFAULT;
	agent.rmpp = rmpp_version && !(flags & USER_RMPP);
	agent.hi_tid = box->hi_tid = (box->hi_tid + 1) & HI_TID_MASK;
	file->agent[id] = agent;
	file->pkey_index |= second && !file->settled;
	file->settled = true;
	return 0;
}

static int unregister_agent(struct box *box, struct file *file, const struct seccomp_notif *call)
{
	uint32_t id;

	if (!mem_read(call, call->data.args[2], &id, sizeof(id)))
		return -EFAULT;
	if (id >= BOX_AGENTS || !file->agent[id].used)
		return -EINVAL;
	sent_forget(box, file, (int)id);
	file->agent[id].used = false;
	return 0;
}

void umad_ioctl(struct box *box, struct file *file, const struct seccomp_notif *call)
{
	int err = -ENOTTY;

	switch ((uint32_t)call->data.args[1]) {
	case IB_USER_MAD_REGISTER_AGENT:
		err = register_agent(box, file, call, false);
		break;
	case IB_USER_MAD_REGISTER_AGENT2:
		err = register_agent(box, file, call, true);
		break;
	case IB_USER_MAD_UNREGISTER_AGENT:
		err = unregister_agent(box, file, call);
		break;
	case IB_USER_MAD_ENABLE_PKEY:
		err = file->settled ? -EINVAL : 0;
		file->pkey_index |= !err;
		break;
	}
	mem_answer(box, call, 0, err);
}

/* --- out */

/* Two requests of one transaction id cannot both be waited for. */
static bool is_duplicate(struct box *box, const struct file *file, const struct mad_hdr *mad)
{
	const struct sent *sent = sent_find(box, get_be64(mad->tid), mad->mgmt_class);

	return sent && sent->file == file && !is_response(mad);
}

static int send_message(struct box *box, struct file *file, uint8_t *message, size_t count)
{
	size_t header = header_len(file), len = count - header;
	struct ib_user_mad_hdr hdr = { 0 };
	struct mad_hdr *mad = (void *)(message + header);
	const struct agent *agent;

	memcpy(&hdr, message, header);
	if (hdr.id >= BOX_AGENTS || !file->agent[hdr.id].used)
		return -EINVAL;
	agent = &file->agent[hdr.id];
	if (len > MAD_LEN && !(agent->rmpp && rmpp_class(mad->mgmt_class) && rmpp_active(mad)))
		return -EINVAL;
	if (!is_response(mad)) {
		mad->tid =
			put_be64((uint64_t)agent->hi_tid << 32 | (get_be64(mad->tid) & 0xffffffff));
		if (is_duplicate(box, file, mad))
			return -EINVAL;
		if (hdr.timeout_ms)
			sent_new(box, file, hdr.id, &hdr, (const uint8_t *)mad, len);
	}
	sent_transmit(box, file, agent, &hdr, (const uint8_t *)mad, len);
	return 0;
}

void umad_write(struct box *box, struct file *file, const struct seccomp_notif *call)
{
	size_t count = call->data.args[2];
	uint8_t *message;
	int err;

	if (count < header_len(file) + RMPP_HEADERS || count > MESSAGE_MAX) {
		mem_answer(box, call, 0, -EINVAL);
		return;
	}
	message = malloc(count);
	if (!message)
		box_die("out of memory");
	err = mem_read(call, call->data.args[1], message, count)
		      ? send_message(box, file, message, count)
		      : -EFAULT;
	free(message);
	mem_answer(box, call, err ? 0 : (int64_t)count, err);
}

/* --- in */

static int copy_out(
	const struct file *file, const struct packet *packet, const struct seccomp_notif *call)
{
	size_t header = header_len(file), count = call->data.args[2],
	       first = packet->len < MAD_LEN ? packet->len : MAD_LEN;
	uint64_t to = call->data.args[1];

	if (count < header + first || (packet->timed_out && count < header + packet->len))
		return -EINVAL;
	if (!mem_write(call, to, &packet->hdr, header) ||
		!mem_write(call, to + header, packet->mad, first))
		return -EFAULT;
	if (count < header + packet->len)
		return -ENOSPC; /* the first segment tells how much there is */
	return mem_write(call, to + header, packet->mad, packet->len) ? (int)(header + packet->len)
								      : -EFAULT;
}

static void read_first(struct box *box, struct file *file, const struct seccomp_notif *call)
{
	struct packet *packet = file->head;
	int rc;

	if (!mem_alive(box, call))
		return; /* a signal took it out of the call */
	rc = copy_out(file, packet, call);
	if (rc > 0) {
		file->head = packet->next;
		if (!file->head) {
			file->tail = &file->head;
			/* before the program runs on, or it would be woken for nothing */
			file_readable(file, false);
		}
		free(packet);
	}
	mem_answer(box, call, rc > 0 ? rc : 0, rc > 0 ? 0 : rc);
}

void umad_read(struct box *box, struct file *file, const struct seccomp_notif *call)
{
	if (call->data.args[2] < header_len(file)) {
		mem_answer(box, call, 0, -EINVAL);
	} else if (file->head) {
		read_first(box, file, call);
	} else if (file_nonblocking(call)) {
		mem_answer(box, call, 0, -EAGAIN);
	} else {
		file->read = *call;
		file->reading = true;
	}
}

void umad_deliver(struct box *box, struct file *file, unsigned agent, const struct packet *like,
	const void *mad, size_t len)
{
	struct packet *packet = malloc(sizeof(*packet) + len);

	if (!packet)
		box_die("out of memory");
	*packet = *like;
	packet->next = NULL;
	packet->len = len;
	packet->hdr.id = agent;
	if (!packet->timed_out)
		packet->hdr.length = (uint32_t)(header_len(file) + len);
	memcpy(packet->mad, mad, len);
	if (!file->head)
		file_readable(file, true);
	*file->tail = packet;
	file->tail = &packet->next;
	if (!file->reading)
		return;
	file->reading = false;
	read_first(box, file, &file->read);
}

static void got_response(struct box *box, const struct packet *like, const struct mad_hdr *mad)
{
	struct sent *sent = sent_find(box, get_be64(mad->tid), mad->mgmt_class);
	const uint8_t *data = (const uint8_t *)mad;
	size_t len = MAD_LEN;

	if (!sent) {
		count_mad(box, "stray", data);
		return;
	}
	if (sent->file->agent[sent->agent].rmpp && rmpp_class(mad->mgmt_class) &&
		rmpp_active(mad)) {
		if (!sent_segment(sent, mad))
			return;
		data = sent->rx.data;
		len = sent->rx.len;
	}
	umad_deliver(box, sent->file, sent->agent, like, data, len);
	sent_free(box, sent);
}

static bool wants(const struct agent *agent, const struct mad_hdr *mad)
{
	const uint8_t *oui = (const uint8_t *)mad + RMPP_HEADERS + 1;
	struct agent like = { .mgmt_class = mad->mgmt_class, .version = mad->class_version };

	if (!agent->used || !agent->mgmt_class)
		return false;
	memcpy(like.oui, oui, sizeof(like.oui));
	like.methods[(mad->method & 0x7f) / 64] = 1ull << mad->method % 64;
	return overlap(agent, &like);
}

static void got_request(struct box *box, const struct port *port, const struct packet *like,
	const struct mad_hdr *mad)
{
	for (unsigned i = 0; i < BOX_FILES; i++) {
		struct file *file = &box->file[i];

		for (unsigned j = 0; file->used && file->port == port && j < BOX_AGENTS; j++) {
			if (!wants(&file->agent[j], mad))
				continue;
			if (!file->agent[j].rmpp || !rmpp_active(mad) ||
				rmpp_is_data(mad)) /* acknowledgements end here */
				umad_deliver(box, file, j, like, mad, MAD_LEN);
			return;
		}
	}
	count_mad(box, "unwanted", (const uint8_t *)mad);
}

static void return_unanswered(struct box *box, const struct mad_hdr *mad)
{
	struct sent *sent = sent_find(box, get_be64(mad->tid), mad->mgmt_class);

	if (box->instant && sent)
		sent_expire(box, sent);
}

void umad_received(struct box *box, struct port *port, struct sim_packet *from)
{
	const struct mad_hdr *mad = (const void *)from->mad;
	const struct packet like = { .hdr = { .qpn = from->sqp, .lid = (__be16)from->slid } };

	if (ntohl(from->status)) {
		return_unanswered(box, mad);
		return;
	}
	caps_apply(&box->caps, from);
	count_mad(box, "received", from->mad);
	if (is_response(mad))
		got_response(box, &like, mad);
	else
		got_request(box, port, &like, mad);
}

void umad_release(struct box *box, struct file *file)
{
	sent_forget(box, file, -1);
	for (struct packet *packet = file->head, *next; packet; packet = next) {
		next = packet->next;
		free(packet);
	}
}
