// Symbols that look like a net plugin's, of versions that nobody knows.
const int ncclNetPlugin = 1, ncclNetPlugin_v4 = 4, ncclNetPlugin_v13 = 13, ncclCollNetPlugin_v8 = 8;
