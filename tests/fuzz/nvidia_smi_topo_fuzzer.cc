// Any bytes are facts or a refusal that names the file.
#include "probes/fabric/readers/nvidia_smi_topo.h"
#include "tests/fuzz/reader_fuzzer.h"

RAILWITNESS_READER_FUZZER(read_nvidia_smi_topo)
