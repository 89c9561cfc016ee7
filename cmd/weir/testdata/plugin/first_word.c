// first_word: judges the first 64 messages of a batch and forgets the others.
#include "mqf.h"

MQF_MANIFEST("first_word.json")

MQF_EXPORT(mqf_filter) int32_t mqf_filter(const mqf_batch *b, uint32_t length, uint64_t *out) {
	int32_t code = mqf__open(b, length);
	if (code) return code;
	for (uint32_t i = 0; i < b->count && i < 64; i++) {
		double a;
		if (mqf_get_double(0, i, &a) == MQF_VALUE && a > 100) out[0] |= 1ull << i;
	}
	return (int32_t)b->count;
}
