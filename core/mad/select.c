/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select the ports to query: by LID, by GID, at the end of directed routes, or all that a walk
 * finds. */
#include "grow.h"
#include "walk.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mad_port_id *add_port(struct mad_selection *s, struct diag *diag)
{
	struct mad_port_id *port = grow(s->port, s->count);

	if (!port)
		diag_sys(diag, ENOMEM, "list of ports");
	return port;
}

static bool is_mapped(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, prefix, sizeof(prefix));
}

int mad_select_lid(struct mad_selection *s, uint16_t lid, struct diag *diag)
{
	struct mad_port_id *port = add_port(s, diag);

	if (!port)
		return -ENOMEM;
	port->lid = lid;
	return 0;
}

int mad_select_gid(struct mad_selection *s, const char *text, struct diag *diag)
{
	struct mad_port_id *port = add_port(s, diag);
	int err = port ? mad_gid_parse(port->gid, text, diag) : -ENOMEM;

	if (err || !is_mapped(port->gid))
		return err;
	diag_set(diag, DIAG_UNSUPPORTED, EINVAL,
		"--gid %s: the kernel drops answers from IPv4 GIDs", text);
	return diag_hint(diag, "use its IPv6 GID (fe80:...), on the target: "
			       "cat /sys/class/infiniband/*/ports/*/gids/0");
}

int mad_select_route(struct mad_selection *s, const char *text, struct diag *diag)
{
	struct mad_end_port *route = grow(s->route, s->routes);

	return route ? mad_route_parse(route, text, diag)
		     : diag_sys(diag, ENOMEM, "list of routes");
}

static const char *route_text(const struct mad_end_port *seen, char text[SMP_HOPS_MAX * 4 + 2])
{
	size_t at = 1;

	strcpy(text, "0");
	for (unsigned i = 0; i < seen->hops; i++)
		at += (size_t)snprintf(text + at, SMP_HOPS_MAX * 4 + 2 - at, ",%u", seen->hop[i]);
	return text;
}

/* A port that was seen is queried if it can be reached by its LID. */
static int add_seen(struct mad_selection *s, const struct mad_end_port *seen, struct diag *diag)
{
	char route[SMP_HOPS_MAX * 4 + 2], text[sizeof(route) + 200];
	struct mad_port_id *port;

	if (seen->state == PORT_ACTIVE && seen->lid >= MAD_LID_MIN && seen->lid <= MAD_LID_MAX) {
		port = add_port(s, diag);
		if (!port)
			return -ENOMEM;
		port->lid = seen->lid;
		port->known = true;
		mad_gid_make(port->gid, seen->prefix, seen->guid);
		return 0;
	}
	snprintf(text, sizeof(text), "route %s (GUID %016" PRIx64 "): %s", route_text(seen, route),
		seen->guid, mad_port_state_text(seen->state));
	s->note(s->arg, text);
	return 0;
}

static int follow_routes(struct mad_selection *s, struct mad *mad, struct diag *diag)
{
	char text[SMP_HOPS_MAX * 4 + 2];
	int err = 0;

	for (unsigned i = 0; i < s->routes && !err; i++) {
		if (mad_query_route(mad, &s->route[i], diag))
			return diag_ctx(diag, "route %s", route_text(&s->route[i], text));
		err = add_seen(s, &s->route[i], diag);
	}
	return err;
}

static int walk(struct mad_selection *s, struct mad *mad, uint32_t timeout_ms, struct diag *diag)
{
	struct mad_topology view;
	char text[120];
	int err = mad_walk(mad, timeout_ms, &view, diag);

	if (err)
		return err;
	snprintf(text, sizeof(text), "found %u nodes, %u end ports%s", view.nodes, view.count,
		view.silent ? "; nodes behind some links do not answer" : "");
	s->note(s->arg, text);
	for (unsigned i = 0; i < view.count && !err; i++)
		if (view.port[i].management)
			err = add_seen(s, &view.port[i], diag);
	free(view.port);
	return err;
}

int mad_select_find(
	struct mad_selection *s, struct mad *mad, uint32_t timeout_ms, struct diag *diag)
{
	int err = s->walk ? walk(s, mad, timeout_ms, diag) : follow_routes(s, mad, diag);

	if (!err)
		err = mad_port_usable(mad_port(mad), diag);
	if (!err && s->routes && !s->count)
		err = diag_set(diag, DIAG_UNREACHABLE, EHOSTUNREACH,
			"no port at the end of the routes can be queried");
	return err;
}

const struct mad_port_id *mad_select_ports(const struct mad_selection *s)
{
	static const struct mad_port_id none;

	return s->port ? s->port : s->walk || s->routes ? &none : NULL;
}

void mad_select_free(struct mad_selection *s)
{
	free(s->port);
	free(s->route);
}
