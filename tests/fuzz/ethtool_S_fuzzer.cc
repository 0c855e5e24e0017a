// Any bytes are facts or a refusal that names the file.
#include "probes/fabric/readers/ethtool_S.h"
#include "tests/fuzz/reader_fuzzer.h"

RAILWITNESS_READER_FUZZER(read_ethtool_s)
