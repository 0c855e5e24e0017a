// Any bytes are facts or a refusal that names the file.
#include "probes/fabric/readers/mlxlink.h"
#include "tests/fuzz/reader_fuzzer.h"

RAILWITNESS_READER_FUZZER(read_mlxlink)
