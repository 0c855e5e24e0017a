#include "probes/bus/subjects.h"

#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace railwitness::bus {
namespace {

std::string token(const std::string& node) {
  std::string out;
  for (const char c : node) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out.empty() ? "%" : out;
}

std::string after_scheme(const std::string& url) {
  const size_t at = url.find("://");
  return at == std::string::npos ? url : url.substr(at + 3);
}

struct Place {
  std::string host, port;
  bool has_port = false;
};

// Of what stands behind scheme and user.
Place split_place(const std::string& rest) {
  const size_t bracket = rest.rfind(']');  // [::1]:4222
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket)) return {rest, "", false};
  return {rest.substr(0, colon), rest.substr(colon + 1), true};
}

// host[:port]
std::string place_of(const std::string& url) {
  std::string rest = after_scheme(url);
  if (const size_t at = rest.rfind('@'); at != std::string::npos) rest = rest.substr(at + 1);
  if (!rest.empty() && rest.back() == '/') rest.pop_back();
  return rest;
}

absl::Status check_one(const std::string& url) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no URL of a nats-server: {} (as in nats://127.0.0.1:4222)", shown_url(url), why));
  };
  const size_t scheme = url.find("://");
  if (scheme != std::string::npos && url.substr(0, scheme) != "nats" && url.substr(0, scheme) != "tls") {
    return refuse("its scheme is neither nats nor tls");
  }
  const std::string rest = place_of(url);
  for (const char c : rest) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c)) || c == '/')
      return refuse("it has characters that no host has");
  }
  const Place place = split_place(rest);
  if (place.host.empty()) return refuse("it names no host");
  int port = 0;
  if (place.has_port && (!absl::SimpleAtoi(place.port, &port) || port < 1 || port > 65535)) {
    return refuse("its port is not a number from 1 to 65535");
  }
  return absl::OkStatus();
}

}  // namespace

std::string facts_subject(const std::string& node) {
  return "railwitness.facts." + token(node);
}
std::string probe_subject(const std::string& node) {
  return "railwitness.probe." + token(node);
}

std::string host_of(const std::string& url) {
  const std::string host = split_place(place_of(url)).host;
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has_brackets ? host.substr(1, host.size() - 2) : host;
}

std::vector<std::string> split_urls(const std::string& url) {
  return absl::StrSplit(url, ',');
}

absl::Status check_url(const std::string& url) {
  for (const std::string& one : split_urls(url)) {
    if (absl::Status status = check_one(one); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string shown_url(const std::string& url) {
  std::vector<std::string> out;
  for (const std::string& one : split_urls(url)) {
    const size_t at = one.rfind('@');
    size_t scheme = one.find("://");
    if (scheme > one.find('@')) scheme = std::string::npos;  // part of the secret, then
    if (at == std::string::npos)
      out.push_back(one);
    else
      out.push_back(one.substr(0, scheme == std::string::npos ? 0 : scheme + 3) + one.substr(at + 1));
  }
  return absl::StrJoin(out, ",");
}

}  // namespace railwitness::bus
