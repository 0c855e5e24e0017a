// Runs a fuzzer over files and folders of inputs once, for compilers without libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** paths) {
  size_t replayed = 0;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(paths[i])) {
      replay(paths[i]), ++replayed;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(paths[i])) replay(entry.path()), ++replayed;
  }
  std::printf("%zu inputs\n", replayed);
  return replayed > 0 ? 0 : 1;
}
