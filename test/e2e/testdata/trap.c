// A filter that traps at every message whose property bad is there, and says true to the others. Built beside its source:
//
//	clang --target=wasm32 -std=c11 -O2 -ffreestanding -nostdlib -mbulk-memory -Wl,--no-entry -Wl,--strip-all \
//	  -Wl,-z,stack-size=8192 -I../../../sdk/guest/c -o trap.wasm trap.c
#include "mqf.h"

__asm__(".section .custom_section.mqf.manifest,\"\",@\n.ascii \"{\\\"name\\\":\\\"trap\\\",\\\"version\\\":\\\"1.0.0\\\",\\\"abi\\\":\\\"1.0\\\","
        "\\\"kind\\\":[\\\"filter\\\"],\\\"purity\\\":\\\"impure\\\",\\\"props\\\":[{\\\"name\\\":\\\"bad\\\",\\\"type\\\":\\\"text\\\"}]}\"\n");

static int start(const mqf_batch *config) {
	(void)config;
	return MQF_OK;
}

static mqf_verdict each(const mqf_batch *b, uint32_t i) {
	if (mqf_get_text(b, 0, i).at) __builtin_trap();
	return MQF_TRUE;
}

MQF_FILTER(start, each)
