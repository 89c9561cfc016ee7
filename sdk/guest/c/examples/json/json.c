// json: a member of the JSON object in the body has a value. The value is compared as it is written, strings without
// their quotes; a string with an escape in it is equal to nothing.
#include "mqf.h"

MQF_MANIFEST("manifest.json")

#define TEXT_MAX 256

static char field[TEXT_MAX], value[TEXT_MAX];
static uint32_t field_length, value_length;

static int keep(mqf_text t, char *to, uint32_t *length) {
	if (!t.at || t.length > TEXT_MAX) return 0;
	for (uint32_t i = 0; i < t.length; i++) to[i] = t.at[i];
	*length = t.length;
	return 1;
}

static int start(const mqf_batch *config) {
	if (!keep(mqf_get_text(config, 0, 0), field, &field_length) || !keep(mqf_get_text(config, 1, 0), value, &value_length))
		return mqf_fail(MQF_BAD_CONFIG, "field or value is missing or too long");
	return MQF_OK;
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static uint32_t blanks(mqf_text t, uint32_t i) {
	while (i < t.length && is_blank(t.at[i])) i++;
	return i;
}

// Returns the place behind the string that begins at i, 0 if it has no end.
static uint32_t string_end(mqf_text t, uint32_t i) {
	for (i++; i < t.length; i++) {
		if (t.at[i] == '\\') i++;
		else if (t.at[i] == '"') return i + 1;
	}
	return 0;
}

// Returns the place behind the value that begins at i, 0 if it has no end.
static uint32_t value_end(mqf_text t, uint32_t i) {
	uint32_t depth = 0, from = i;
	while (i < t.length) {
		char c = t.at[i];
		if (c == '"') {
			if (!(i = string_end(t, i))) return 0;
			if (!depth) return i;
			continue;
		}
		if (c == '{' || c == '[') depth++;
		if (c == '}' || c == ']') {
			if (!depth) return i > from ? i : 0;
			if (!--depth) return i + 1;
		}
		if (!depth && (c == ',' || is_blank(c))) return i > from ? i : 0;
		i++;
	}
	return 0;
}

static int same(mqf_text t, uint32_t from, uint32_t to, const char *s, uint32_t n) {
	if (to - from != n) return 0;
	for (uint32_t i = 0; i < n; i++)
		if (t.at[from + i] != s[i]) return 0;
	return 1;
}

static int has_escape(mqf_text t, uint32_t from, uint32_t to) {
	for (; from < to; from++)
		if (t.at[from] == '\\') return 1;
	return 0;
}

static mqf_verdict each(const mqf_batch *b, uint32_t record) {
	mqf_text t = mqf_get_body(b, record);
	uint32_t i = blanks(t, 0);
	if (i >= t.length || t.at[i] != '{') return MQF_RAISE;
	i = blanks(t, i + 1);
	if (i < t.length && t.at[i] == '}') return MQF_UNKNOWN;
	for (;;) {
		if (i >= t.length || t.at[i] != '"') return MQF_RAISE;
		uint32_t name = i + 1, name_end = string_end(t, i);
		if (!name_end) return MQF_RAISE;
		i = blanks(t, name_end);
		if (i >= t.length || t.at[i] != ':') return MQF_RAISE;
		uint32_t from = blanks(t, i + 1), end = value_end(t, from);
		if (!end) return MQF_RAISE;
		if (same(t, name, name_end - 1, field, field_length)) {
			if (t.at[from] == '"') {
				from++;
				end--;
				if (has_escape(t, from, end)) return MQF_FALSE;
			}
			return same(t, from, end, value, value_length) ? MQF_TRUE : MQF_FALSE;
		}
		i = blanks(t, end);
		if (i < t.length && t.at[i] == '}') return MQF_UNKNOWN;
		if (i >= t.length || t.at[i] != ',') return MQF_RAISE;
		i = blanks(t, i + 1);
	}
}

MQF_FILTER(start, each)
