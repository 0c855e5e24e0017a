// Any bytes are facts or a refusal that names the file.
#include "probes/fabric/readers/rdma_json.h"
#include "tests/fuzz/reader_fuzzer.h"

RAILWITNESS_READER_FUZZER(read_rdma_json)
