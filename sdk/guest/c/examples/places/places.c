// places: functions for SQL92.
//
//	wasm.places.within(lat, lon, 'berlin')          is the position inside a city?
//	wasm.places.apart(lat, lon, 52.5, 13.4) < 1.5   how far two positions are apart, in degrees
//	wasm.places.share(customer, 100) < 5            the same five of a hundred customers, always
#include "mqf.h"

MQF_MANIFEST("manifest.json")

enum { WITHIN, APART, SHARE }; // the manifest's functions, by number

static const struct {
	const char *name;
	double south, west, north, east;
} cities[] = {{"berlin", 52.3, 13.0, 52.7, 13.8}, {"paris", 48.8, 2.2, 48.95, 2.5}};

// A place that isn't known is unknown.
static mqf_status within(const mqf_batch *b, uint32_t i, mqf_value *value) {
	double lat, lon;
	mqf_status status;
	if ((status = mqf_get_double(0, i, &lat)) != MQF_VALUE || (status = mqf_get_double(1, i, &lon)) != MQF_VALUE) return status;
	mqf_text city = mqf_get_text(b, 2, i);
	if (!city.at) return MQF_MISSING;
	for (uint32_t k = 0; k < sizeof cities / sizeof cities[0]; k++) {
		if (!mqf_equal(city, cities[k].name)) continue;
		value->integer = lat >= cities[k].south && lat <= cities[k].north && lon >= cities[k].west && lon <= cities[k].east;
		return MQF_VALUE;
	}
	return MQF_MISSING;
}

static mqf_status apart(uint32_t i, mqf_value *value) {
	double at[4];
	for (uint32_t k = 0; k < 4; k++) {
		mqf_status status = mqf_get_double(k, i, &at[k]);
		if (status != MQF_VALUE) return status;
	}
	double lat = at[0] - at[2], lon = at[1] - at[3];
	return mqf_give_double(value, __builtin_sqrt(lat * lat + lon * lon));
}

// Messages without the property are nobody's, and share 0.
static mqf_status share(const mqf_batch *b, uint32_t i, mqf_value *value) {
	int64_t of;
	mqf_text key = mqf_get_text(b, 0, i);
	mqf_status status = mqf_get_int(1, i, &of);
	if (status != MQF_VALUE) return status;
	if (of <= 0) return MQF_UNPARSED;
	uint32_t hash = 2166136261u;
	for (uint32_t k = 0; k < key.length; k++) hash = (hash ^ (uint8_t)key.at[k]) * 16777619u;
	value->integer = key.at ? hash % of : 0;
	return MQF_VALUE;
}

static mqf_status call(uint32_t fn, const mqf_batch *b, uint32_t i, mqf_value *value) {
	switch (fn) {
	case WITHIN: return within(b, i, value);
	case APART: return apart(i, value);
	case SHARE: return share(b, i, value);
	default: return MQF_NO_FUNCTION;
	}
}

MQF_FUNCTIONS(call, 1u << WITHIN)
