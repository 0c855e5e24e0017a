// Whether something worked, and if not what went wrong. No allocation, no exception; must be looked at.
#ifndef RAILWITNESS_BASE_STATUS_H_
#define RAILWITNESS_BASE_STATUS_H_

namespace railwitness {

class [[nodiscard]] Status {
 public:
  static constexpr Status ok() { return Status(nullptr, 0); }
  // `what` must be a literal: it is kept, not copied. `error` is an errno or 0.
  static constexpr Status failed(const char* what, int error = 0) { return Status(what, error); }

  constexpr bool is_ok() const { return what_ == nullptr; }
  constexpr const char* what() const { return what_ ? what_ : "ok"; }
  constexpr int error() const { return error_; }

 private:
  constexpr Status(const char* what, int error) : what_(what), error_(error) {}
  const char* what_;
  int error_;
};

}  // namespace railwitness

#endif  // RAILWITNESS_BASE_STATUS_H_
