// mqf.h: write WeirMQ filters in C or C++. One header, no library.
//
// A filter is two functions and two lines:
//
//	MQF_MANIFEST("manifest.json")
//	static int start(const mqf_batch *config) { ...; return MQF_OK; }
//	static mqf_verdict each(const mqf_batch *b, uint32_t i) { ... }
//	MQF_FILTER(start, each)
//
// start is called once. Its batch has one record, whose slots are the settings that the manifest lists, in their order.
// each is called for every message. Slots are numbered in the order of the manifest's props; those that mqf_need_prop asks
// for in start follow. What a batch points to is valid during the call only.
//
// Build:
//
//	clang --target=wasm32 -std=c11 -O2 -ffreestanding -nostdlib -mbulk-memory
//	  -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=8192 -o filter.wasm filter.c
#ifndef MQF_H
#define MQF_H

#include <stdint.h>

#ifdef __cplusplus
#define MQF_EXTERN extern "C"
#else
#define MQF_EXTERN extern
#endif

#define MQF_IMPORT(name) MQF_EXTERN __attribute__((import_module("mqf_v1"), import_name(#name)))
#define MQF_EXPORT(name) MQF_EXTERN __attribute__((export_name(#name), visibility("default")))

// What is said of a message. Unknown is SQL's NULL: no match. Raise is a failure to judge it: no match either.
typedef enum { MQF_FALSE = 0, MQF_TRUE = 1, MQF_UNKNOWN = 2, MQF_RAISE = 3 } mqf_verdict;

// How a property or a setting is read.
typedef enum { MQF_TEXT = 0, MQF_INT32 = 1, MQF_INT64 = 2, MQF_DOUBLE = 3, MQF_BOOLEAN = 4 } mqf_type;

// Whether there is a value of the type that was asked for.
typedef enum { MQF_MISSING = 0, MQF_VALUE = 1, MQF_UNPARSED = 2, MQF_NO_FUNCTION = -6 } mqf_status;

enum {
	MQF_OK = 0,
	MQF_UNSPECIFIED = -1,
	MQF_BAD_BATCH = -2,
	MQF_BAD_LAYOUT = -3,
	MQF_BAD_CONFIG = -4,
	MQF_NO_MEMORY = -5,
};

enum { MQF_DEBUG = -1, MQF_INFO = 0, MQF_WARN = 1, MQF_ERROR = 2 };

#define MQF_SLOTS 64

// A batch as it lies in memory: see the layout in the broker's documentation. All offsets count from its begin.
typedef struct {
	uint32_t magic;
	uint16_t minor, flags;
	uint32_t length, count, slots, directory, meta, bodies, raw;
	uint32_t topic, topic_length, queue;
	uint8_t reserved[16];
} mqf_batch;

typedef struct {
	uint32_t texts, typed;
	uint8_t type, flags;
	uint16_t reserved;
	uint32_t reserved2;
} mqf_slot;

typedef struct {
	const char *at; // not terminated; eight bytes behind the end may be read. NULL if missing.
	uint32_t length;
} mqf_text;

MQF_IMPORT(need_prop) int32_t mqf__need_prop(const char *name, uint32_t length, int32_t type);
MQF_IMPORT(log) void mqf__log(int32_t level, const char *text, uint32_t length);

// ---- helpers without a library ----

static inline uint32_t mqf_length(const char *s) {
	uint32_t n = 0;
	while (s[n]) n++;
	return n;
}

static inline int mqf_equal(mqf_text t, const char *s) {
	uint32_t n = mqf_length(s);
	if (t.length != n) return 0;
	for (uint32_t i = 0; i < n; i++)
		if (t.at[i] != s[i]) return 0;
	return 1;
}

// Writes a line to the broker's log: some tens a second at most, the rest is counted.
static inline void mqf_log(int level, const char *text) { mqf__log(level, text, mqf_length(text)); }

// Asks for a property, in start only. Returns its slot, or -1 when there are too many.
static inline int32_t mqf_need_prop(mqf_text name, mqf_type type) { return mqf__need_prop(name.at, name.length, type); }

// ---- reading a batch ----

static struct {
	const uint8_t *status[MQF_SLOTS];
	const int64_t *values[MQF_SLOTS];
	const uint32_t *texts[MQF_SLOTS];
	uint32_t mask[MQF_SLOTS]; // 0 for a constant, which has one entry for all messages
	const char *error;
	uint32_t area, area_size;
} mqf__state;

// Gives the reason for a negative code that start returns.
static inline int mqf_fail(int code, const char *why) {
	mqf__state.error = why;
	return code;
}

// Resolves the slot directory once for a batch, so that each reads through plain pointers.
static inline int32_t mqf__open(const mqf_batch *b, uint32_t length) {
	const char *base = (const char *)b;
	if (length < sizeof *b || b->magic != 0x3142514d || b->length != length || b->slots > MQF_SLOTS)
		return mqf_fail(MQF_BAD_BATCH, "no batch");
	if (b->minor < 1) return mqf_fail(MQF_BAD_LAYOUT, "layout version");
	const mqf_slot *s = (const mqf_slot *)(base + b->directory);
	for (uint32_t i = 0; i < b->slots; i++) {
		mqf__state.texts[i] = s[i].texts ? (const uint32_t *)(base + s[i].texts) : 0;
		mqf__state.status[i] = s[i].typed ? (const uint8_t *)(base + s[i].typed) : 0;
		int constant = s[i].flags & 1;
		mqf__state.mask[i] = constant ? 0 : ~0u;
		mqf__state.values[i] = (const int64_t *)(base + s[i].typed + (((constant ? 1 : b->count) + 7) & ~7u));
	}
	return 0;
}

static inline mqf_text mqf_get_text(const mqf_batch *b, uint32_t slot, uint32_t i) {
	const uint32_t *ref = mqf__state.texts[slot];
	mqf_text t = {0, 0};
	i &= mqf__state.mask[slot];
	if (!ref || ref[2 * i] == 0xffffffff) return t;
	t.at = (const char *)b + ref[2 * i];
	t.length = ref[2 * i + 1];
	return t;
}

// The number of a slot of type int32, int64 or boolean.
static inline mqf_status mqf_get_int(uint32_t slot, uint32_t i, int64_t *value) {
	const uint8_t *status = mqf__state.status[slot];
	if (!status) return MQF_MISSING;
	i &= mqf__state.mask[slot];
	*value = mqf__state.values[slot][i];
	return (mqf_status)status[i];
}

static inline mqf_status mqf_get_double(uint32_t slot, uint32_t i, double *value) {
	const uint8_t *status = mqf__state.status[slot];
	if (!status) return MQF_MISSING;
	i &= mqf__state.mask[slot];
	*value = ((const double *)mqf__state.values[slot])[i];
	return (mqf_status)status[i];
}

// The body of a message, cut at the manifest's body_cap. The manifest must need "body".
static inline mqf_text mqf_get_body(const mqf_batch *b, uint32_t i) {
	mqf_text t = {0, 0};
	if (!b->bodies) return t;
	const uint32_t *ref = (const uint32_t *)((const char *)b + b->bodies);
	t.at = (const char *)b + ref[2 * i];
	t.length = ref[2 * i + 1];
	return t;
}

// Puts a manifest into the module. The file is looked for in the directory where the compiler runs, and where -I points.
#define MQF_MANIFEST(file) \
	__asm__(".section .custom_section.mqf.manifest,\"\",@\n.incbin \"" file "\"\n");

// ---- what the broker calls ----

extern unsigned char __heap_base;

// The area for batches begins behind everything else and grows on demand: an instance costs no more than it uses.
MQF_EXPORT(mqf_buffer) uint32_t mqf_buffer(uint32_t size) {
	uint32_t at = ((uint32_t)(uintptr_t)&__heap_base + 15) & ~15u;
	uint64_t end = (uint64_t)at + size, have = (uint64_t)__builtin_wasm_memory_size(0) << 16;
	if (end > have && __builtin_wasm_memory_grow(0, (uint32_t)((end - have + 65535) >> 16)) == (uint32_t)-1) return 0;
	return at;
}

MQF_EXPORT(mqf_abi_1) void mqf_abi_1(void) {}

MQF_EXPORT(mqf_error) uint64_t mqf_error(void) {
	const char *s = mqf__state.error;
	if (!s) return 0;
	return (uint64_t)(uint32_t)(uintptr_t)s << 32 | mqf_length(s);
}

// Makes the exports of a filter. The loop collects 64 verdicts before it writes them.
#define MQF_FILTER(start, each)                                                                      \
	MQF_EXPORT(mqf_init) int32_t mqf_init(const mqf_batch *config, uint32_t length) {                \
		int32_t code = mqf__open(config, length);                                                    \
		return code ? code : start(config);                                                          \
	}                                                                                                \
	MQF_EXPORT(mqf_filter) int32_t mqf_filter(const mqf_batch *b, uint32_t length, uint64_t *out) {  \
		int32_t code = mqf__open(b, length);                                                         \
		if (code) return code;                                                                       \
		uint32_t n = b->count, words = (n + 63) / 64;                                                \
		for (uint32_t w = 0; w < words; w++) {                                                       \
			uint64_t is_true = 0, is_unknown = 0, is_raise = 0;                                      \
			uint32_t from = w * 64, to = from + 64 < n ? from + 64 : n;                              \
			for (uint32_t i = from; i < to; i++) {                                                   \
				uint64_t verdict = (uint64_t)each(b, i);                                             \
				is_true |= (uint64_t)(verdict == MQF_TRUE) << (i & 63);                              \
				is_unknown |= (uint64_t)(verdict == MQF_UNKNOWN) << (i & 63);                        \
				is_raise |= (uint64_t)(verdict == MQF_RAISE) << (i & 63);                            \
			}                                                                                        \
			out[w] = is_true;                                                                        \
			out[words + w] = is_unknown;                                                             \
			out[2 * words + w] = is_raise;                                                           \
		}                                                                                            \
		return (int32_t)n;                                                                           \
	}

// ---- functions for SQL92 ----

typedef union {
	int64_t integer; // also of a boolean: 0 or not
	double number;
} mqf_value;

// What a function returns with a double. All that isn't a number is one bit pattern.
static inline mqf_status mqf_give_double(mqf_value *value, double x) {
	value->number = x;
	if (x != x) value->integer = 0x7ff8000000000000;
	return MQF_VALUE;
}

// Makes the export of a library of functions, which SQL92 expressions call: wasm.NAME.FUNCTION(...). call computes the value
// of function number fn of the manifest for one message. Slots are the arguments, in their order. It returns MQF_VALUE,
// MQF_MISSING for unknown, or MQF_UNPARSED for a failure, so the status of an argument that it can't do without may be returned as
// it is; MQF_NO_FUNCTION ends the call. booleans has a bit for each function that returns a boolean.
//
//	static mqf_status call(uint32_t fn, const mqf_batch *b, uint32_t i, mqf_value *value) { ... }
//	MQF_FUNCTIONS(call, 1u << WITHIN)
#define MQF_FUNCTIONS(call, booleans)                                                                                \
	MQF_EXPORT(mqf_call) int32_t mqf_call(uint32_t fn, const mqf_batch *b, uint32_t length, uint8_t *out, uint32_t cap) { \
		int32_t code = mqf__open(b, length);                                                                         \
		if (code) return code;                                                                                       \
		uint32_t n = b->count, words = (n + 63) / 64, column = (n + 7) & ~7u;                                        \
		int boolean = fn < 32 && ((booleans) >> fn & 1);                                                             \
		if (cap < (boolean ? 24 * words : column + 8 * n)) return mqf_fail(MQF_NO_MEMORY, "no room for the values"); \
		for (uint32_t i = 0; i < n; i++) {                                                                           \
			mqf_value value = {0};                                                                                   \
			int status = (int)call(fn, b, i, &value);                                                                \
			if (status < 0) return mqf_fail(status, "there is no such function");                                    \
			if (!boolean) {                                                                                          \
				out[i] = (uint8_t)status;                                                                            \
				((int64_t *)(out + column))[i] = status == MQF_VALUE ? value.integer : 0;                            \
				continue;                                                                                            \
			}                                                                                                        \
			uint32_t set = status == MQF_MISSING ? 1 : status == MQF_UNPARSED ? 2 : 0;                               \
			if (set || value.integer) out[8 * words * set + i / 8] |= (uint8_t)(1 << (i & 7));                       \
		}                                                                                                            \
		return (int32_t)n;                                                                                           \
	}

#endif
