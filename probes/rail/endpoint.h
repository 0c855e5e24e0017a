// One port's end for active probes, whatever carries the datagrams. One thread; nothing here waits. Internal to
// probes/rail.
#ifndef RAILWITNESS_PROBES_RAIL_ENDPOINT_H_
#define RAILWITNESS_PROBES_RAIL_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "probes/model/facts.h"
#include "probes/rail/address_worker.h"
#include "probes/rail/message.h"

namespace railwitness::rail {

// Where a datagram goes from an end, and to which queue pair or UDP port there.
struct Route {
  Destination destination;
  uint32_t number = 0;
};

struct Arrival {
  Message message;
  Route answer_to;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  uint64_t id() const { return id_; }
  virtual const std::string& device() const = 0;
  virtual model::RailKind kind() const = 0;
  virtual int poll_fd() const = 0;
  virtual bool broken() const = 0;  // it will never work again: open a new one
  virtual absl::StatusOr<std::unique_ptr<Endpoint>> reopen(uint64_t id) const = 0;
  virtual model::PingPort ping_port() const = 0;

  virtual void refresh_addresses() = 0;
  virtual void drain_events() {}  // so that they do not pile up in the kernel
  virtual absl::StatusOr<Route> route(const model::PingPort& to) const = 0;

  // Messages that came; everything that is not one of ours is dropped.
  virtual std::vector<Arrival> poll() = 0;

  // Whether the route can be used now; asks for what is needed if not. lookup_problem() says why it failed.
  enum class Lookup { kReady, kPending, kFailed };
  virtual Lookup look_up(const Route&, int64_t /*now_mono_ns*/) { return Lookup::kReady; }
  virtual absl::Status lookup_problem(const Route&) const { return absl::OkStatus(); }
  virtual void store(const Destination&, absl::StatusOr<std::shared_ptr<AddressHandle>>, int64_t /*now_mono_ns*/) {}

  // Only after look_up() said kReady.
  virtual absl::Status send(const Route& route, const Message& message) = 0;

 protected:
  explicit Endpoint(uint64_t id) : id_(id) {}

 private:
  uint64_t id_;
};

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_ENDPOINT_H_
