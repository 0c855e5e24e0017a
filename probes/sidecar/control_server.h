// Serves this node's facts to `railwitness ls`: who connects gets one JSON object and the end of the stream.
//
// One thread; a client that reads slowly costs a bounded buffer for two seconds and never the loop's time. The facts name
// the processes and jobs of all users of the node, so the socket is 0660: for the operator and the group he chooses for
// it, not for every job.
#ifndef RAILWITNESS_PROBES_SIDECAR_CONTROL_SERVER_H_
#define RAILWITNESS_PROBES_SIDECAR_CONTROL_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "probes/ring/unique_fd.h"
#include "probes/sidecar/unix_listener.h"

namespace railwitness::sidecar {

class ControlServer {
 public:
  using Text = std::shared_ptr<const std::string>;

  static absl::StatusOr<std::unique_ptr<ControlServer>> open(const std::string& path);

  int poll_fd() const { return epoll_.get(); }
  // `text` is asked at most once a call, and only if somebody came.
  void serve(int64_t now_mono_ns, const std::function<Text()>& text);

  // Makes the socket again if its file is gone. True: it was.
  absl::StatusOr<bool> mend();

  static constexpr size_t kMaxClients = 16;
  static constexpr int64_t kDeadlineNs = 2'000'000'000;
  static constexpr int64_t kPauseNs = 1'000'000'000;

 private:
  struct Client {
    ring::UniqueFd fd;
    Text text;
    size_t sent = 0;
    int64_t deadline_mono_ns = 0;
  };

  explicit ControlServer(std::unique_ptr<UnixListener> listener);
  void pause_accepting(int64_t now_mono_ns);
  void accept_all(int64_t now_mono_ns, const std::function<Text()>& text);
  static bool finished(Client& client);  // sends what goes

  std::unique_ptr<UnixListener> listener_;
  ring::UniqueFd epoll_;
  std::map<uint64_t, Client> clients_;
  uint64_t next_client_ = 1;  // 0 is the listener
  int64_t accept_again_mono_ns_ = 0;  // not 0: out of descriptors until then
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_CONTROL_SERVER_H_
