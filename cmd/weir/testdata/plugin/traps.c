// traps: traps at a negative amount.
#include "mqf.h"

MQF_MANIFEST("traps.json")

static int start(const mqf_batch *config) {
	(void)config;
	return MQF_OK;
}

static mqf_verdict each(const mqf_batch *b, uint32_t i) {
	(void)b;
	double a;
	if (mqf_get_double(0, i, &a) != MQF_VALUE) return MQF_UNKNOWN;
	if (a < 0) __builtin_trap();
	return a > 100 ? MQF_TRUE : MQF_FALSE;
}

MQF_FILTER(start, each)
