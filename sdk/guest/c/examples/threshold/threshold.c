// threshold: a property, read as a number, is above a limit. Which property and which limit are settings.
#include "mqf.h"

MQF_MANIFEST("manifest.json")

static double limit;
static uint32_t slot;

static int start(const mqf_batch *config) {
	if (mqf_get_double(1, 0, &limit) != MQF_VALUE) return mqf_fail(MQF_BAD_CONFIG, "limit is missing");
	int32_t n = mqf_need_prop(mqf_get_text(config, 0, 0), MQF_DOUBLE);
	if (n < 0) return mqf_fail(MQF_BAD_CONFIG, "property can't be read");
	slot = (uint32_t)n;
	return MQF_OK;
}

static mqf_verdict each(const mqf_batch *b, uint32_t i) {
	(void)b;
	double value;
	switch (mqf_get_double(slot, i, &value)) {
	case MQF_MISSING: return MQF_UNKNOWN;
	case MQF_UNPARSED: return MQF_RAISE;
	default: return value > limit ? MQF_TRUE : MQF_FALSE;
	}
}

MQF_FILTER(start, each)
