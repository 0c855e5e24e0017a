// What the readers of line-oriented tools share: limits, lines with their numbers, refusals that name file, line and reason.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_TEXT_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace railwitness::fabric {

// More than any tool prints of any fabric: the file of 5007 nodes has 3 MiB.
inline constexpr size_t kMaxInputBytes = size_t{64} << 20;

inline constexpr size_t kMaxNameBytes = 256;
inline constexpr size_t kMaxEvents = 1'000'000;  // of one log
inline constexpr uint32_t kMaxPort = 255;        // InfiniBand counts ports in a byte

// Error of `file`: "FILE:LINE: WHAT". Line 0 is left out.
absl::Status refuse(std::string_view file, uint32_t line, std::string_view what);
// Fails where `bytes` is longer than kMaxInputBytes.
absl::Status check_size(std::string_view file, std::string_view bytes);

// Lines one after the other, without \n and \r, numbered from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next(std::string_view& line);
  uint32_t number() const { return number_; }  // of the line given last

 private:
  std::string_view rest_;
  uint32_t number_ = 0;
};

// What most readers of lines do: Reader(file) takes them by read(number, line), which may refuse, and ends with finish().
template <class Reader>
auto read_lines(std::string_view file, std::string_view bytes) -> decltype(std::declval<Reader>().finish()) {
  if (const absl::Status status = check_size(file, bytes); !status.ok()) return status;
  Reader reader(file);
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    if (const absl::Status status = reader.read(lines.number(), line); !status.ok()) return status;
  }
  return std::move(reader).finish();
}

std::string_view trim(std::string_view text);
// Takes `part` off the front or the back of `text`; false: it is not there.
bool take_prefix(std::string_view& text, std::string_view part);
bool take_suffix(std::string_view& text, std::string_view part);
// What stands before the first `separator`, taken off `text` with it; all of `text` where there is none.
std::string_view take_until(std::string_view& text, std::string_view separator);
// What blanks and tabs separate; none of them is empty.
std::vector<std::string_view> words_of(std::string_view line);
// Decimal digits and nothing else.
std::optional<uint64_t> number_of(std::string_view text);
// The same where it fits into 32 bits; empty: there was none, or it does not.
std::optional<uint32_t> narrowed(std::optional<uint64_t> number);

// "0x0002c903007b78b0", "2c903007b78b0", "S-0002c903007b78b0", "0002:c903:007b:78b0" to 16 lower-case digits; empty: it is none.
std::string guid_of(std::string_view text);

// "4x 106.25 Gbps", "NDR", ... are read by each reader; what one lane of a named InfiniBand speed carries, in Mb/s: SDR 2500,
// DDR 5000, QDR 10000, FDR10 10312, FDR 14062, EDR 25781, HDR 53125, NDR 106250, XDR 212500; 0: no such name.
uint32_t lane_mbps_of(std::string_view speed_name);

// Host and NIC from a node description such as "node-03 mlx5_4", "gpu7 HCA-2", "n1.example.org mlx5_0": both empty where it does
// not say them ("MT4129 ConnectX7   Mellanox Technologies", "localhost HCA-1", "ubuntu mlx5_0" name no host: factory or unset).
struct HostAndNic {
  std::string host, nic;
};
HostAndNic host_and_nic_of(std::string_view description);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_TEXT_H_
