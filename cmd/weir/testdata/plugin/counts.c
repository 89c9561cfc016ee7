// counts: says that it is pure, and lets every second message pass.
#include "mqf.h"

MQF_MANIFEST("counts.json")

static int seen;

static int start(const mqf_batch *config) {
	(void)config;
	return MQF_OK;
}

static mqf_verdict each(const mqf_batch *b, uint32_t i) {
	(void)b;
	(void)i;
	return seen++ & 1 ? MQF_TRUE : MQF_FALSE;
}

MQF_FILTER(start, each)
