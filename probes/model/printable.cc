#include "probes/model/printable.h"

#include <algorithm>

namespace railwitness::model {

std::string printable(std::string_view text, size_t max_bytes) {
  size_t length = std::min(text.size(), max_bytes);
  while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::string out(text.substr(0, length));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    if (c < 0x20 || c == 0x7F) out[i] = '?';
    // U+0080 to U+009F, C2 80 to C2 9F: terminals take them for escapes as well.
    if (c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0) {
      out[i] = '?';
      out[i + 1] = '?';
    }
  }
  return out;
}

std::string last_error_line(std::string_view errors) {
  constexpr size_t kMaxBytes = 200;
  const size_t end = errors.find_last_not_of(" \t\r\n");
  if (end == errors.npos) return "";
  errors = errors.substr(0, end + 1);
  return ": " + printable(errors.substr(errors.rfind('\n') + 1), kMaxBytes);
}

}  // namespace railwitness::model
