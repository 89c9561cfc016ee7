// geo: the position in the properties lat and lon is inside a fence of four edges.
#include "mqf.h"

MQF_MANIFEST("manifest.json")

static double south, west, north, east;

enum { LAT, LON }; // the manifest's props, in their order

static int start(const mqf_batch *config) {
	(void)config;
	double *edges[] = {&south, &west, &north, &east};
	for (uint32_t i = 0; i < 4; i++)
		if (mqf_get_double(i, 0, edges[i]) != MQF_VALUE) return mqf_fail(MQF_BAD_CONFIG, "an edge is missing");
	return MQF_OK;
}

static mqf_verdict each(const mqf_batch *b, uint32_t i) {
	(void)b;
	double lat, lon;
	mqf_status has_lat = mqf_get_double(LAT, i, &lat), has_lon = mqf_get_double(LON, i, &lon);
	if (has_lat == MQF_UNPARSED || has_lon == MQF_UNPARSED) return MQF_RAISE;
	if (has_lat == MQF_MISSING || has_lon == MQF_MISSING) return MQF_UNKNOWN;
	int inside = west <= east ? lon >= west && lon <= east : lon >= west || lon <= east;
	return lat >= south && lat <= north && inside ? MQF_TRUE : MQF_FALSE;
}

MQF_FILTER(start, each)
