// refused: imports what no filter gets, says something false of its memory, and has no mqf_filter.
#include "mqf.h"

MQF_MANIFEST("refused.json")

MQF_EXTERN __attribute__((import_module("env"), import_name("system"))) int32_t shell(const char *command);

MQF_EXPORT(run) int32_t run(void) { return shell("id"); }
