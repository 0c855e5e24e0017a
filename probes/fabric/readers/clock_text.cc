#include "probes/fabric/readers/clock_text.h"

#include <array>
#include <cctype>
#include <chrono>

namespace railwitness::fabric {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // A number of `min` to `max` digits.
  std::optional<int64_t> digits(size_t min, size_t max) {
    int64_t value = 0;
    size_t count = 0;
    while (count < max && at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      value = value * 10 + (text_[at_++] - '0');
      ++count;
    }
    if (count < min) return std::nullopt;
    last_count_ = count;
    return value;
  }
  bool one_of(std::string_view any) {
    if (at_ >= text_.size() || any.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  // Index in `names`, from 0.
  template <size_t N>
  std::optional<unsigned> word(const std::array<std::string_view, N>& names) {
    for (unsigned i = 0; i < N; ++i) {
      if (text_.substr(at_, 3) != names[i]) continue;
      at_ += 3;
      return i;
    }
    return std::nullopt;
  }
  size_t at() const { return at_; }
  size_t last_count() const { return last_count_; }

 private:
  std::string_view text_;
  size_t at_ = 0, last_count_ = 0;
};

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

std::optional<int64_t> date_ns(int64_t year, int64_t month, int64_t day) {
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || year > 2200) return std::nullopt;
  return std::chrono::nanoseconds(std::chrono::sys_days(date).time_since_epoch()).count();
}

// "07:46:24" and a fraction.
std::optional<int64_t> time_ns(Scanner& scan) {
  const auto hour = scan.digits(2, 2);
  if (!hour || !scan.one_of(":")) return std::nullopt;
  const auto minute = scan.digits(2, 2);
  if (!minute || !scan.one_of(":")) return std::nullopt;
  const auto second = scan.digits(2, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  int64_t fraction = 0;
  if (scan.one_of(".,")) {
    const auto digits = scan.digits(1, 9);
    if (!digits) return std::nullopt;
    fraction = *digits;
    for (size_t i = scan.last_count(); i < 9; ++i) fraction *= 10;
  }
  return ((*hour * 60 + *minute) * 60 + *second) * 1'000'000'000 + fraction;
}

std::optional<ClockText> with_numbers(std::string_view text) {
  Scanner scan(text);
  const auto year = scan.digits(4, 4);
  if (!year || !scan.one_of("-/")) return std::nullopt;
  const auto month = scan.digits(2, 2);
  if (!month || !scan.one_of("-/")) return std::nullopt;
  const auto day = scan.digits(2, 2);
  if (!day || !scan.one_of(" T")) return std::nullopt;
  const auto date = date_ns(*year, *month, *day);
  const auto time = time_ns(scan);
  if (!date || !time) return std::nullopt;
  return ClockText{*date + *time, scan.at(), true};
}

std::optional<ClockText> with_names(std::string_view text) {
  Scanner scan(text);
  if (scan.word(kDays) && !scan.one_of(" ")) return std::nullopt;
  const auto month = scan.word(kMonths);
  if (!month || !scan.one_of(" ")) return std::nullopt;
  while (scan.one_of(" ")) {
  }
  const auto day = scan.digits(1, 2);
  if (!day || !scan.one_of(" ")) return std::nullopt;
  const auto time = time_ns(scan);
  if (!time) return std::nullopt;
  const size_t without_year = scan.at();
  std::optional<int64_t> year;
  if (scan.one_of(" ")) year = scan.digits(4, 4);
  const auto date = date_ns(year.value_or(2000), *month + 1, *day);
  if (!date) return std::nullopt;
  return ClockText{*date + *time, year ? scan.at() : without_year, year.has_value()};
}

}  // namespace

std::optional<ClockText> clock_at_start(std::string_view text) {
  if (auto clock = with_numbers(text)) return clock;
  return with_names(text);
}

}  // namespace railwitness::fabric
