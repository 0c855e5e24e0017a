// Any bytes are facts or a refusal that names the file.
#include "probes/fabric/readers/slurm_topology.h"
#include "tests/fuzz/reader_fuzzer.h"

RAILWITNESS_READER_FUZZER(read_slurm_topology)
