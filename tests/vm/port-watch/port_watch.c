/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* port-watch DEVICE: says who may have the reports of its port 1, then what becomes of the port, by
 * looking and by events, until it is gone. */
#include "../../../core/mad/dev.h"
#include "applet.h"
#include "port_events.h"
#include <stdio.h>
#include <stdlib.h>

const struct applet *const applets[] = { NULL };

static struct mad *mad;
static int over;

static void noticed(struct mad_watch *watch, const struct mad_notice *notice)
{
	(void)watch;
	printf("notice %u\n", notice->trap);
}

static void ended(struct mad_watch *watch)
{
	(void)watch;
	over = 1;
}

static void changed(struct mad_watch *watch, unsigned what)
{
	(void)watch;
	printf("changed %u state %u\n", what, mad_port(mad)->state);
	if (what & PORT_EVENT_GONE)
		mad_unwatch(mad, ended);
}

static void subscribed(struct mad_watch *watch, int err, struct diag *diag)
{
	(void)watch;
	printf("subscribed %d %s\n", err, diag ? diag->text : "");
}

static void event(void *arg, unsigned port, unsigned what)
{
	(void)arg;
	printf("event port %u what %u\n", port, what);
	mad_port_event(mad, what);
}

static void report(const char *what, int err, const struct diag *diag)
{
	printf("%s: %d %s\n", what, err, err ? diag->text : "");
}

/* The kernel gives a method to one agent of a port. */
static void share_reports(const char *dev)
{
	struct mad_dev *one, *other;
	struct diag diag = { 0 };

	if (mad_dev_open(&one, dev, 1, &diag) || mad_dev_open(&other, dev, 1, &diag))
		exit(1);
	report("reports to one", mad_dev_reports(one, true, &diag), &diag);
	report("reports to another", mad_dev_reports(other, true, &diag), &diag);
	report("given back", mad_dev_reports(one, false, &diag), &diag);
	report("reports to another then", mad_dev_reports(other, true, &diag), &diag);
	mad_dev_close(other);
	report("reports to one after its end", mad_dev_reports(one, true, &diag), &diag);
	mad_dev_close(one);
}

int main(int argc, char **argv)
{
	struct mad_watch watch = {
		.notice = noticed, .changed = changed, .subscribed = subscribed
	};
	const struct mad_port_choice choice = {
		.dev = argv[argc - 1], .port = 1, .any_link = true
	};
	struct port_events *events;
	struct mad_port_info port;
	struct diag diag = { 0 };
	struct loop *loop;

	setvbuf(stdout, NULL, _IOLBF, 0);
	share_reports(choice.dev);
	if (loop_new(&loop, &(struct loop_options){ .name = "port-watch" }, &diag) ||
		mad_port_choose(&port, &choice, &diag) ||
		mad_open(&mad, loop, &port, NULL, &diag) || mad_watch(mad, &watch, &diag)) {
		report(choice.dev, diag.err, &diag);
		return 1;
	}
	report("events of a missing device",
		port_events_open(&events, loop, "nosuch0", event, NULL, &diag), &diag);
	if (port_events_open(&events, loop, choice.dev, event, NULL, &diag)) {
		report("events", diag.err, &diag);
		return 1;
	}
	printf("watching\n");
	loop_wait(loop, &over, 0);
	port_events_close(events);
	mad_close(mad);
	loop_free(loop);
	printf("over\n");
	return 0;
}
