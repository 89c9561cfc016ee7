// canary: functions for SQL92 that send a fixed part of the customers one way.
//
//	wasm.canary.bucket(customer, 100) < 5             the same five of a hundred customers, always
//	wasm.canary.chosen(customer, 5.0, 'checkout-2')   another five percent for each experiment
#include "mqf.h"

MQF_MANIFEST("manifest.json")

enum { BUCKET, CHOSEN }; // the manifest's functions, by number

// FNV-1a over a text, beginning with h.
static uint32_t hash(uint32_t h, mqf_text t) {
	for (uint32_t i = 0; i < t.length; i++) h = (h ^ (uint8_t)t.at[i]) * 16777619u;
	return h;
}

// Spreads what differs in some bits over all of them.
static uint32_t mixed(uint32_t h) {
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

static mqf_status bucket(const mqf_batch *b, uint32_t i, mqf_value *value) {
	int64_t of = 0;
	mqf_get_int(1, i, &of);
	if (of <= 0) return MQF_UNPARSED;
	value->integer = mixed(hash(2166136261u, mqf_get_text(b, 0, i))) % of;
	return MQF_VALUE;
}

static mqf_status chosen(const mqf_batch *b, uint32_t i, mqf_value *value) {
	double percent = 0;
	mqf_get_double(1, i, &percent);
	if (!(percent >= 0 && percent <= 100)) return MQF_UNPARSED;
	uint32_t h = mixed(hash(hash(2166136261u, mqf_get_text(b, 2, i)), mqf_get_text(b, 0, i)));
	value->integer = h < percent / 100 * 4294967296.0;
	return MQF_VALUE;
}

// Computes one value. Slots are the arguments, in their order; the broker calls it with messages that have them all.
static mqf_status call(uint32_t fn, const mqf_batch *b, uint32_t i, mqf_value *value) {
	return fn == BUCKET ? bucket(b, i, value) : chosen(b, i, value);
}

MQF_FUNCTIONS(call, 1u << CHOSEN)
