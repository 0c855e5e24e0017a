#include "probes/fabric/readers/json_input.h"

#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {

using nlohmann::json;

absl::StatusOr<json> read_json(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  constexpr model::JsonBounds kBounds{.bytes = kMaxInputBytes, .depth = 32};
  absl::StatusOr<json> value = model::parse_bounded_json(bytes, kBounds);
  if (!value.ok()) return refuse(file, 0, std::string(value.status().message()));
  return value;
}

const json* member_of(const json& value, const char* name) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(name);
  return found == value.end() ? nullptr : &*found;
}

std::string text_member(const json& object, const char* name) {
  const json* value = member_of(object, name);
  if (value == nullptr) return {};
  if (const auto* text = value->get_ptr<const std::string*>()) {
    const std::string_view trimmed = trim(*text);
    return trimmed == "N/A" ? std::string() : model::printable(trimmed, kMaxNameBytes);
  }
  return value->is_number() || value->is_boolean() ? model::dump(*value) : std::string();
}

std::optional<uint64_t> number_member(const json& object, const char* name) {
  const json* value = member_of(object, name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  const auto* text = value->get_ptr<const std::string*>();
  return text == nullptr ? std::nullopt : number_of(trim(*text));
}

std::optional<uint32_t> small_number_member(const json& object, const char* name) {
  return narrowed(number_member(object, name));
}

size_t json_value_end(std::string_view text) {
  model::JsonNesting nesting;
  for (size_t i = 0; i < text.size(); ++i) {
    if (nesting.take(text[i]) && nesting.depth() <= 0) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace railwitness::fabric
