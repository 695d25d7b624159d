/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Draws figures as bench draws its own: chart TITLE DESCRIPTION, on its input lines of fields with
 * tabs between them, in this order: "chart TITLE X-LABEL Y-LABEL" begins a chart, with times in ns
 * over counts; "point SERIES X Y LOW HIGH" adds to it. The picture is its output. */
#include "../../core/load/chart.h"
#include "applet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHARTS 8
#define POINTS 16

const struct applet *const applets[] = { NULL };

static struct chart charts[CHARTS];
static struct chart_series series[CHARTS][CHART_SERIES];
static struct chart_point points[CHARTS][CHART_SERIES][POINTS];
static unsigned count;

static void fail(const char *line)
{
	fprintf(stderr, "chart: invalid or too many: %s\n", line);
	exit(1);
}

static void begin_chart(char **field)
{
	if (count == CHARTS)
		fail(field[1]);
	charts[count] = (struct chart){ .title = strdup(field[1]),
		.x = { strdup(field[2]), CHART_LOG10, FIGURE_COUNT },
		.y = { strdup(field[3]), CHART_LINEAR, FIGURE_NS },
		.series = series[count] };
	count++;
}

static void add_point(char **field)
{
	struct chart *chart = &charts[count - 1];
	struct chart_series *s = series[count - 1];
	unsigned i = 0;

	while (i < chart->count && strcmp(s[i].name, field[1]))
		i++;
	if (i == CHART_SERIES || s[i].points == POINTS)
		fail(field[1]);
	if (i == chart->count)
		s[chart->count++] = (struct chart_series){ .name = strdup(field[1]),
			.point = points[count - 1][i] };
	points[count - 1][i][s[i].points++] = (struct chart_point){ .x = atof(field[2]),
		.y = atof(field[3]),
		.low = atof(field[4]),
		.high = atof(field[5]) };
}

int main(int argc, char **argv)
{
	char line[512], *field[6], *rest;
	unsigned fields;

	if (argc != 3)
		fail("usage: chart TITLE DESCRIPTION");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		for (fields = 0, rest = line; rest && fields < 6; fields++)
			field[fields] = strsep(&rest, "\t");
		if (fields == 4 && !strcmp(field[0], "chart"))
			begin_chart(field);
		else if (fields == 6 && !strcmp(field[0], "point") && count)
			add_point(field);
		else
			fail(field[0]);
	}
	chart_svg(stdout, argv[1], argv[2], charts, count);
	return ferror(stdout) || fclose(stdout) ? 1 : 0;
}
