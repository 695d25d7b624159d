/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select connections of ib_srp that the user names by URI, string, options, host or disk. */
#include "attach_detach.h"
#include "srp_target.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choice {
	int root;
	char *const *operand;
	unsigned operands;
	const struct srp_options *options;
	const struct kernel_srp *host; /* of the list */
	unsigned count;
	bool *is; /* chosen */
	struct diag *diag;
};

static bool passes(const struct kernel_srp *host, const struct srp_target *target)
{
	const struct attach_srp *srp = &target->srp;

	if ((srp->dev && strcmp(srp->dev, host->dev)) || (srp->port && srp->port != host->port))
		return false;
	return kernel_srp_fits(host, &target->params, NULL);
}

/* One of the connections: at the path that an operand names, or at an unknown address. */
static int refuse(const struct choice *c, const unsigned *index, unsigned count, bool known)
{
	char text[200] = "";

	for (unsigned i = 0; i < count; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "",
			c->host[index[i]].host);
	}
	if (known)
		diag_set(c->diag, DIAG_USAGE, EINVAL, "%s lead to this address", text);
	else
		diag_set(c->diag, DIAG_USAGE, EINVAL,
			"which connection is meant is unknown: the kernel's log no longer has the "
			"address of %s",
			text);
	return diag_hint(c->diag, "name a connection or a disk: rdmastor srp-disconnect %s",
		c->host[index[0]].host);
}

static int read_target(
	const struct choice *c, const char *operand, struct srp_target *target, struct diag *diag)
{
	int err;

	*target = (struct srp_target){ .word = operand };
	err = srp_target_read(target, c->options, diag);
	if (!err && (!target->params.value[SRP_OPT_ID_EXT][0] ||
			    !target->params.value[SRP_OPT_IOC_GUID][0]))
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"no target given: id_ext and ioc_guid are required");
	return err;
}

/* Whether `other` is an address of the connections that pass `target`. */
static bool is_address_of(const struct srp_target *target, const struct srp_target *other)
{
	const struct attach_srp *a = &target->srp, *b = &other->srp;

	return srp_target_same(target, other) &&
	       (srp_target_same_path(target, other) ||
		       (target->params.value[SRP_OPT_DEST][0] &&
			       other->params.value[SRP_OPT_DEST][0])) &&
	       (!a->dev || (b->dev && !strcmp(a->dev, b->dev))) && (!a->port || a->port == b->port);
}

/* Count the different addresses among the operands that lead to the connections of a target. */
static int count_addresses(const struct choice *c, const struct srp_target *target, unsigned *count)
{
	struct srp_target *other = calloc(c->operands + 1, sizeof(*other));

	*count = 0;
	for (unsigned i = 0; i < c->operands && other; i++) {
		struct srp_target *next = &other[*count];
		bool known = false;

		if (srp_is_device(c->operand[i]) || read_target(c, c->operand[i], next, NULL) ||
			!is_address_of(target, next))
			continue;
		for (unsigned j = 0; j < *count; j++)
			known |= srp_target_same_path(&other[j], next);
		*count += !known;
	}
	free(other);
	return other ? 0 : diag_sys(c->diag, ENOMEM, "targets");
}

/* Whether it is at one of the addresses of a name, or may be. A name that does not resolve may have
 * any address. */
static bool is_at(const struct kernel_srp *host, struct srp_target *target)
{
	struct addr addr = target->srp.dest;

	do {
		if (addr.ss.ss_family)
			kernel_srp_set_dest(&target->params, &addr);
		if (passes(host, target))
			return true;
	} while (addr_next(&addr));
	return false;
}

static void resolve(struct srp_target *target)
{
	struct diag why = { 0 };
	uint16_t port;

	int err = kernel_srp_dest_name(&target->params, target->host, &port)
			  ? addr_resolve(&target->srp.dest, target->host, port, 0, &why)
			  : kernel_srp_parse_addrs(&target->params, &target->srp.dest, &why);

	if (err)
		target->srp.dest = (struct addr){ 0 };
}

/* Collect the connections that lead to the target: by the named path, or else those at unknown
 * addresses. */
static unsigned collect(
	const struct choice *c, struct srp_target *target, bool *known, unsigned *index)
{
	unsigned found = 0;

	for (*known = true;; *known = false) {
		for (unsigned i = 0; i < c->count; i++)
			if (*known == kernel_srp_path_known(&c->host[i]) &&
				is_at(&c->host[i], target))
				index[found++] = i;
		if (found || !*known)
			return found;
	}
}

/* A connection at an unknown address is the one meant if there is no other, and no other address is
 * named. */
static int choose_target(struct choice *c, const char *operand)
{
	struct srp_target *target = calloc(1, sizeof(*target));
	unsigned *index = calloc(c->count + 1, sizeof(*index)), found = 0, addresses = 1;
	bool known, all = true;
	int err = target && index ? read_target(c, operand, target, c->diag)
				  : diag_sys(c->diag, ENOMEM, "target");

	if (!err) {
		resolve(target);
		found = collect(c, target, &known, index);
	}
	for (unsigned i = 0; i < found; i++)
		all &= c->is[index[i]];
	if (!err && !all && !known)
		err = count_addresses(c, target, &addresses);
	if (!err && !all && (found > 1 || addresses > 1))
		err = refuse(c, index, found, known);
	else if (!err && !all)
		c->is[index[0]] = true;
	free(index);
	free(target);
	return err;
}

static int choose_device(struct choice *c, const char *word)
{
	struct kernel_srp host;
	int err = srp_device_host(c->root, word, &host, c->diag);

	if (err == -ENOENT && attach_is_gone(c->root, word)) {
		*c->diag = (struct diag){ 0 };
		return 0;
	}
	for (unsigned i = 0; !err && i < c->count; i++)
		c->is[i] |= !strcmp(c->host[i].host, host.host);
	return err;
}

int srp_select(int root, char *const *operand, unsigned operands, const struct srp_options *options,
	struct kernel_srp *host, unsigned *count, struct diag *diag)
{
	struct choice c = { .root = root,
		.operand = operand,
		.operands = operands,
		.options = options,
		.host = host,
		.count = *count,
		.is = calloc(*count + 1, sizeof(*c.is)),
		.diag = diag };
	int err = c.is ? 0 : diag_sys(diag, ENOMEM, "targets");

	kernel_srp_set_dests(root, host, *count);
	if (!err && !operands)
		err = choose_target(&c, NULL);
	for (unsigned i = 0; i < 2 * operands && !err; i++) { /* devices first */
		const char *word = operand[i % operands];

		if (srp_is_device(word) != (i < operands))
			continue;
		err = i < operands ? choose_device(&c, word) : choose_target(&c, word);
		if (err)
			diag_ctx(diag, "%s", word);
	}
	*count = 0;
	for (unsigned i = 0; i < c.count && !err; i++)
		if (c.is[i])
			host[(*count)++] = host[i];
	free(c.is);
	return err;
}
