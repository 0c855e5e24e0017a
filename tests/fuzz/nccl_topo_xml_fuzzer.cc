// Any bytes are facts or a refusal that names the file.
#include "probes/fabric/readers/nccl_topo_xml.h"
#include "tests/fuzz/reader_fuzzer.h"

RAILWITNESS_READER_FUZZER(read_nccl_topo_xml)
