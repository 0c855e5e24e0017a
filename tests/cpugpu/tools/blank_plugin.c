// A library without any plugin symbol: NCCL asks it for every version that it knows, newest first.
typedef int this_file_is_not_empty;
