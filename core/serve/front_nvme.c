/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export disks as namespaces of an NVMe-oF target over RDMA and TCP. core/proto/nvme serves
 * them. */
#include "front.h"
#include "names.h"
#include "nvme_hosts.h"
#include "secret_list.h"
#include <errno.h>
#include <string.h>

#define PORT 4420

struct nvme_front {
	struct net_front net;     /* first member */
	struct nvme_hosts *hosts; /* NULL: no --hosts-file */
};

static int check_nqn(const char *option, const char *nqn, struct diag *diag)
{
	if (nqn_valid(nqn))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid NQN '%s': expected nqn.*, up to 223 bytes, no blanks", option, nqn);
}

/* Accept any name that fits into a Connect command, as hosts choose theirs. */
static int check_host(const char *option, const char *name, struct diag *diag)
{
	if (*name && strlen(name) <= NAME_PLAIN_MAX)
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid host NQN '%s': must be 1 to %d bytes", option, name, NAME_PLAIN_MAX);
}

static int read_chap(struct nvme_front *nvme)
{
	const struct serve_front_options *options = net_options(&nvme->net);
	struct target_chap *chap = &nvme->net.opt.chap;
	struct diag *diag = nvme->net.front.daemon->call->diag;
	int err = 0;

	if (options->chap_hash && nvme_chap_hash_parse(&chap->hash, options->chap_hash, diag))
		return diag_ctx(diag, "--dhchap-hash");
	if (options->chap_group && nvme_chap_group_parse(&chap->group, options->chap_group, diag))
		return diag_ctx(diag, "--dhchap-dhgroup");
	chap->one_group = options->chap_group;
	if (options->hosts_file)
		err = nvme_hosts_read(&nvme->hosts, options->hosts_file, diag);
	chap->hosts = nvme->hosts;
	return err;
}

static int read_options(struct front *front)
{
	struct net_front *net = net_of(front);
	const struct serve_front_options *options = net_options(net);
	int err = net_read_disks(net, "nqn", &options->nqn, check_nqn);

	net->opt.cntlid_min = options->cntlid_min;
	net->opt.cntlid_max = options->cntlid_max;
	if (!err)
		err = net_read_hosts(net, "allow-host", &options->allow_host, check_host);
	if (!err)
		err = read_chap((struct nvme_front *)net);
	return err ? err : net_read_listens(net, "NVMe-oF", "NVMe-oF", PORT);
}

/* A host treats namespaces with the same identity as one disk, and with different identities as
 * different disks, each with its own page cache. */
static int refuse_twice(const struct net_front *net)
{
	const struct daemon *d = net->front.daemon;
	const struct disk_identity *id = d->identity;

	for (unsigned i = 1; i < d->disks; i++)
		for (unsigned other = 0; other < i; other++) {
			if (memcmp(id[other].nguid, id[i].nguid, sizeof(id[i].nguid)))
				continue;
			diag_set(d->call->diag, DIAG_USAGE, EEXIST,
				"is the same disk as '%.300s': a disk can be only one namespace",
				d->disk[other]->uri);
			diag_ctx(d->call->diag, "%s", d->disk[i]->uri);
			return diag_hint(d->call->diag,
				"give it once: several hosts can connect to it, at several "
				"addresses");
		}
	return 0;
}

static int allow(const struct front *front)
{
	const char *path = net_options(net_of(front))->hosts_file;

	return path ? secret_list_allow(path) : 0;
}

static bool reload(struct front *front)
{
	struct nvme_front *nvme = (struct nvme_front *)net_of(front);
	const struct call *call = front->daemon->call;
	struct nvme_hosts *hosts;
	struct diag why = { 0 };

	if (!nvme->hosts)
		return false;
	nvme->net.reload_later = !nvme->net.target; /* it may have begun with the old ones */
	if (nvme->net.reload_later)
		return true;
	if (nvme_hosts_read(&hosts, net_options(&nvme->net)->hosts_file, &why)) {
		call_warn(call, "%s: %s; keeping the old hosts", why.object, why.text);
		return true;
	}
	nvme_serve_hosts(nvme->net.target, hosts);
	nvme->net.opt.chap.hosts = hosts;
	nvme_hosts_free(nvme->hosts);
	nvme->hosts = hosts;
	call_note(
		call, "%s: %u hosts", net_options(&nvme->net)->hosts_file, nvme_hosts_count(hosts));
	return true;
}

static int start(struct front *front)
{
	struct net_front *net = net_of(front);
	int err = net_identify(net, &net_options(net)->nqn);

	if (!err)
		err = refuse_twice(net);
	for (unsigned i = 0; i < net->opt.disks; i++)
		if (!net->opt.disk[i].name)
			net->opt.disk[i].name = net->front.daemon->identity[i].nqn;
	if (!err)
		err = net_serve(
			net, nvme_serve, "--rdma 'HOST:PORT?rdma=iwarp', or --tcp HOST:PORT");
	if (!err && !net->opt.hosts && !net->opt.chap.hosts)
		net_warn_open(net, "--hosts-file, --allow-host");
	if (!err && net->reload_later)
		reload(front);
	return err;
}

/* A target that can't be stopped may still use the hosts. */
static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct nvme_front *nvme = (struct nvme_front *)net_of(front);
	int err = net_stop(front, timeout_ms, diag);

	if (err != -EINPROGRESS)
		nvme_hosts_free(nvme->hosts);
	return err;
}

/* Mark commands that need an iWARP device with a shell comment. */
#define IWARP_ONLY " # the host needs an iWARP device, such as siw"

static void show_transport(struct out *out, const struct net_portal *at, const char *nqn,
	unsigned transports, const struct nvme_hosts *hosts, const char *keys)
{
	bool rdma = transports != TRANSPORT_TCP;
	const char *trtype = rdma ? "rdma" : "tcp", *upper = rdma ? "RDMA" : "TCP";
	const char *secret = !hosts ? ""
			     : transports == TRANSPORT_TCP && nvme_hosts_concatenate(hosts)
				     ? " --dhchap-secret KEY --concat"
				     : " --dhchap-secret KEY";
	char uri[URI_MAX], word[OUT_SHELL(NAME_PLAIN_MAX)];

	uri_start(uri, rdma ? "nvme+rdma" : "nvme+tcp", at->host, at->port);
	uri_add_name(uri, nqn);
	out_shell(nqn, word, sizeof(word));
	out_object(out, NULL);
	net_show_portal(out, at, transports);
	out_text(out, "subnqn", NULL, "%s", nqn);
	out_text(out, "rdmastor", "rdmastor: ", "%s%s", uri, keys);
	out_text(out, "nvme_cli", NULL, "nvme connect -t %s -a %s -s %u -n %s%s", trtype, at->host,
		at->port, word, secret);
	out_line(out, "nvme-cli: nvme connect -t %s -a %s -s %u -n %s%s%s", trtype, at->host,
		at->port, word, secret, transports == TRANSPORT_IWARP ? IWARP_ONLY : "");
	out_text(out, "spdk", "SPDK:     ", "trtype:%s adrfam:%s traddr:%s trsvcid:%u subnqn:%s",
		upper, strchr(at->host, ':') ? "IPv6" : "IPv4", at->host, at->port, nqn);
	out_end(out);
}

static void show_disks(struct out *out, const struct net_front *net)
{
	out_list(out, "disks");
	for (unsigned i = 0; i < net->opt.disks; i++) {
		out_object(out, NULL);
		out_text(out, "subnqn", NULL, "%s", net->opt.disk[i].name);
		out_u64(out, "nsid", NULL, net_index(net, i) + 1);
		daemon_show_disk(out, net->front.daemon, i);
		out_text(out, "serial", NULL, "%s", net->opt.disk[i].serial);
		out_end(out);
	}
	out_end(out);
}

/* Print the connect command for every subsystem and each transport that is up. */
static void show(const struct front *front, struct out *out)
{
	const struct net_front *net = net_of(front);
	const struct target_options *opt = &net->opt;
	char size[48];

	show_disks(out, net);
	for (unsigned i = 0; i < opt->disks; i++)
		out_line(out, "%s: namespace %u of %s, %s", opt->disk[i].bdev->uri,
			net_index(net, i) + 1, opt->disk[i].name,
			daemon_size_text(opt->disk[i].bdev->lim.size, size));
	out_list(out, "connect");
	for (unsigned i = 0; i < opt->listens; i++) {
		bool no_crc = opt->listen[i].no_crc;
		struct net_portal at;
		struct addr bound;
		unsigned transports = target_transports(net->target, i, &bound);
		const char *keys = transports & TRANSPORT_VERBS ? no_crc ? "?crc=0" : ""
				   : no_crc                     ? "?rdma=iwarp&crc=0"
								: "?rdma=iwarp";

		net_portal_of(&at, &bound);
		for (unsigned disk = 0; disk < opt->disks; disk++) {
			const char *nqn = opt->disk[disk].name;

			if (net_index(net, disk))
				continue;
			if (transports & TRANSPORT_RDMA)
				show_transport(out, &at, nqn, transports & TRANSPORT_RDMA,
					opt->chap.hosts, keys);
			if (transports & TRANSPORT_TCP)
				show_transport(out, &at, nqn, TRANSPORT_TCP, opt->chap.hosts, "");
		}
	}
	out_end(out);
}

struct host_list {
	struct out *out;
	unsigned count;
};

static void show_host(const struct nvme_served_host *host, void *arg)
{
	struct host_list *list = arg;
	struct out *out = list->out;
	char address[ADDR_TEXT];
	const char *security = host->generated ? "tls-generated-psk+dh-hmac-chap"
			       : host->identity && host->authenticated ? "tls-psk+dh-hmac-chap"
			       : host->identity                        ? "tls-psk"
			       : host->authenticated                   ? "dh-hmac-chap"
								       : "none";

	if (list->count++ >= SERVING_HOSTS)
		return;
	out_object(out, NULL);
	out_text(out, "hostnqn", NULL, "%s", host->hostnqn);
	out_text(out, "subnqn", NULL, "%s", host->subnqn);
	out_text(out, "traddr", NULL, "%s", addr_host(host->address, address));
	out_text(out, "security", NULL, "%s", security);
	if (host->identity) {
		out_text(out, "tls_version", NULL, "1.3");
		out_text(out, "tls_cipher", NULL, "%s", host->cipher);
		out_text(out, "tls_identity", NULL, "%s", host->identity);
	}
	out_end(out);
	out_line(out, "host %s at %s: %s%s%s", host->hostnqn, address, security,
		host->identity ? ", " : "", host->identity ? host->cipher : "");
}

static void status(const struct front *front, struct out *out)
{
	struct host_list list = { .out = out };

	out_list(out, "hosts");
	nvme_serve_each_host(net_of(front)->target, show_host, &list);
	out_end(out);
	daemon_show_more(out, "hosts_left_out", list.count, "hosts");
	net_show_status(net_of(front), out, "nvme", "hosts:   ", "queues:  ", show_disks);
}

const struct front_kind front_nvme = {
	.serving = "serving NVMe-oF hosts",
	.size = sizeof(struct nvme_front),
	.read = read_options,
	.rights = net_rights,
	.allow = allow,
	.start = start,
	.show = show,
	.count = net_count,
	.status = status,
	.set_access = net_set_access,
	.changed = net_changed,
	.reload = reload,
	.stop = stop,
};
