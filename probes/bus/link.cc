#include "probes/bus/link.h"

#include <netdb.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "nats/nats.h"
#include "probes/bus/subjects.h"

namespace railwitness::bus {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kRetryMs = 500;
constexpr int64_t kListenMs = 50;  // the longest that something queued waits for the thread
constexpr auto kCheckEvery = std::chrono::seconds(2);

// Asynchronous errors show in the state of the connection; libnats would print them.
void ignore_error(natsConnection*, natsSubscription*, natsStatus, void*) {}

absl::Status unavailable(std::string text) {
  return absl::UnavailableError(std::move(text));
}

std::string last_error(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* text = nats_GetLastError(&last);
  return text != nullptr && *text != '\0' && last == status ? text : natsStatus_GetText(status);
}

// Why there is no server: libnats says "no server available" of a host that has no address, too. Asks the resolver again,
// as libnats has just done.
absl::Status no_server(const std::string& url, const std::string& instead) {
  std::string unresolved;
  size_t resolved = 0;
  for (const std::string& one : split_urls(url)) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host_of(one).c_str(), nullptr, &hints, &found);
    if (error == 0) freeaddrinfo(found);
    resolved += error == 0 ? 1 : 0;
    if (error == 0) continue;
    unresolved += fmt::format("{}host '{}' cannot be resolved: {}", unresolved.empty() ? "" : "; ", host_of(one),
                              gai_strerror(error));
  }
  if (resolved == 0) return unavailable(fmt::format("{}; correct its name, or {}", unresolved, instead));
  return unavailable(fmt::format("no nats-server at {}: start it with `nats-server -js`, or {}{}{}", shown_url(url),
                                 instead, unresolved.empty() ? "" : "; ", unresolved));
}

}  // namespace

struct Link::Objects {
  natsOptions* options = nullptr;
  natsConnection* connection = nullptr;
  jsCtx* stream = nullptr;
  natsSubscription* subscription = nullptr;
  uint64_t replayed_up_to = 0;
  std::chrono::steady_clock::time_point last_check = std::chrono::steady_clock::now();

  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() {
    natsSubscription_Destroy(subscription);
    jsCtx_Destroy(stream);
    natsConnection_Destroy(connection);
    natsOptions_Destroy(options);
  }
};

Link::Link(Setup setup) : setup_(std::move(setup)), state_{Connection::kBeginning, fmt::format("connecting to {}", shown_url(setup_.url))} {
  thread_ = std::thread([this] { run(); });
}

Link::~Link() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

State Link::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

uint64_t Link::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

absl::Status Link::send(std::string subject, std::string payload, bool stored, bool newest_only) {
  const std::lock_guard lock(mutex_);
  if (state_.connection != Connection::kConnected) {
    ++lost_;
    return unavailable(state_.problem);
  }
  if (newest_only) {
    const size_t before = outgoing_.size();
    std::erase_if(outgoing_, [&](const Outgoing& queued) { return queued.subject == subject; });
    lost_ += before - outgoing_.size();
  }
  if (outgoing_.size() >= kMaxQueued) {
    ++lost_;
    return absl::ResourceExhaustedError(fmt::format("{} messages wait for {}", kMaxQueued, shown_url(setup_.url)));
  }
  outgoing_.push_back({std::move(subject), std::move(payload), stored});
  return absl::OkStatus();
}

std::vector<Link::Message> Link::take() {
  std::vector<Message> out;
  const std::lock_guard lock(mutex_);
  for (auto& [order, message] : incoming_) out.push_back(std::move(message));
  incoming_.clear();
  newest_.clear();
  return out;
}

// --- the thread

bool Link::stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void Link::pause(int64_t ms) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stop_; });
}

void Link::set_problem(std::string problem) {
  const std::lock_guard lock(mutex_);
  state_ = {problem.empty() ? Connection::kConnected : Connection::kConnecting, std::move(problem)};
  if (state_.connection == Connection::kConnected) return;
  lost_ += outgoing_.size();  // stale when the server is back
  outgoing_.clear();
}

void Link::run() {
  while (!stopping()) {
    Objects objects;
    absl::Status status = connect(objects);
    if (status.ok()) status = ensure_streams(objects);
    if (status.ok()) status = subscribe(objects);
    if (status.ok()) {
      set_problem("");
      status = serve(objects);
    }
    if (!status.ok()) set_problem(std::string(status.message()));
    pause(kRetryMs);
  }
}

absl::Status Link::connect(Objects& objects) {
  natsStatus status = natsOptions_Create(&objects.options);
  natsOptions* options = objects.options;
  const std::vector<std::string> urls = split_urls(setup_.url);
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  if (status == NATS_OK) status = natsOptions_SetServers(options, servers.data(), static_cast<int>(servers.size()));
  if (status == NATS_OK) status = natsOptions_SetName(options, setup_.client_name.c_str());
  if (status == NATS_OK) status = natsOptions_SetAllowReconnect(options, false);
  if (status == NATS_OK) status = natsOptions_SetTimeout(options, kTimeoutMs);
  if (status == NATS_OK) status = natsOptions_SetWriteDeadline(options, kTimeoutMs);
  // A server that hangs is noticed after two unanswered pings.
  if (status == NATS_OK) status = natsOptions_SetPingInterval(options, 2000);
  if (status == NATS_OK) status = natsOptions_SetMaxPingsOut(options, 2);
  if (status == NATS_OK) status = natsOptions_SetErrorHandler(options, ignore_error, nullptr);
  if (status != NATS_OK) {
    return unavailable(fmt::format("cannot use {}: {}", shown_url(setup_.url), last_error(status)));
  }
  status = natsConnection_Connect(&objects.connection, options);
  if (status == NATS_NO_SERVER || status == NATS_TIMEOUT) {
    return no_server(setup_.url, setup_.instead);
  }
  if (status != NATS_OK) {
    return unavailable(fmt::format("nats-server at {} refuses us: {}", shown_url(setup_.url), last_error(status)));
  }
  jsOptions stream_options;
  jsOptions_Init(&stream_options);
  stream_options.Wait = kTimeoutMs;
  status = natsConnection_JetStream(&objects.stream, objects.connection, &stream_options);
  return status == NATS_OK ? absl::OkStatus() : unavailable(last_error(status));
}

absl::Status Link::ensure_stream(Objects& objects, const char* name) {
  const bool facts = std::string_view(name) == kFactsStream;
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  config.Name = name;
  const char* subject = facts ? kFactsSubjects : kIncidentSubject;
  config.Subjects = &subject;
  config.SubjectsLen = 1;
  config.Storage = facts ? js_MemoryStorage : js_FileStorage;
  config.Discard = js_DiscardOld;
  if (facts) {
    config.MaxMsgsPerSubject = 2;
    config.MaxAge = 600 * kSecondNs;
  } else {
    config.MaxMsgs = 10'000;
    config.MaxBytes = int64_t{64} << 20;
    config.MaxAge = int64_t{30} * 86'400 * kSecondNs;
  }
  jsErrCode code = static_cast<jsErrCode>(0);
  natsStatus status = js_AddStream(nullptr, objects.stream, &config, nullptr, &code);
  if (status != NATS_OK && !facts && code != JSStreamNameExistErr && code != JSNotEnabledErr) {
    config.Storage = js_MemoryStorage;  // a server without a place for files
    status = js_AddStream(nullptr, objects.stream, &config, nullptr, &code);
  }
  // One of that name with other limits is an operator's choice.
  if (status == NATS_OK || code == JSStreamNameExistErr) return absl::OkStatus();
  if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr || status == NATS_NO_RESPONDERS) {
    return unavailable(fmt::format("nats-server at {} runs without JetStream: start it with `nats-server -js`",
                                   shown_url(setup_.url)));
  }
  return unavailable(fmt::format("nats-server at {} does not make the stream {}: {}", shown_url(setup_.url), name,
                                 last_error(status)));
}

absl::Status Link::ensure_streams(Objects& objects) {
  absl::Status status = ensure_stream(objects, kFactsStream);
  if (status.ok() && setup_.incidents) status = ensure_stream(objects, kIncidentsStream);
  return status;
}

absl::Status Link::subscribe(Objects& objects) {
  natsStatus status = NATS_OK;
  if (setup_.listen_facts) {
    jsStreamInfo* info = nullptr;
    status = js_GetStreamInfo(&info, objects.stream, kFactsStream, nullptr, nullptr);
    if (status == NATS_OK) objects.replayed_up_to = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Stream = kFactsStream;
    options.Ordered = true;
    options.Config.DeliverPolicy = js_DeliverLastPerSubject;
    if (status == NATS_OK) {
      status = js_SubscribeSync(&objects.subscription, objects.stream, kFactsSubjects, nullptr, &options, nullptr);
    }
    if (status == NATS_OK) status = natsSubscription_SetPendingLimits(objects.subscription, 65536, 256 << 20);
  } else if (!setup_.listen_subject.empty()) {
    status = natsConnection_SubscribeSync(&objects.subscription, objects.connection, setup_.listen_subject.c_str());
  }
  if (status == NATS_OK) return absl::OkStatus();
  return unavailable(
      fmt::format("nats-server at {} does not let us listen: {}", shown_url(setup_.url), last_error(status)));
}

// A stream that somebody deleted takes its consumers along without a word.
absl::Status Link::check_facts_stream(Objects& objects) {
  const auto now = std::chrono::steady_clock::now();
  if (!setup_.listen_facts || now - objects.last_check < kCheckEvery) return absl::OkStatus();
  objects.last_check = now;
  jsStreamInfo* info = nullptr;
  const natsStatus status = js_GetStreamInfo(&info, objects.stream, kFactsStream, nullptr, nullptr);
  jsStreamInfo_Destroy(info);
  if (status == NATS_OK) return absl::OkStatus();
  return unavailable(fmt::format("the stream {} at {} is gone: making it again", kFactsStream, shown_url(setup_.url)));
}

absl::Status Link::serve(Objects& objects) {
  while (!stopping()) {
    if (natsConnection_Status(objects.connection) != NATS_CONN_STATUS_CONNECTED) {
      return unavailable(fmt::format("lost nats-server at {}: start it with `nats-server -js`, or {}",
                                     shown_url(setup_.url), setup_.instead));
    }
    if (absl::Status status = send_queued(objects); !status.ok()) return status;
    if (objects.subscription == nullptr)
      pause(kListenMs);
    else if (receive(objects))
      objects.last_check = std::chrono::steady_clock::now();
    if (absl::Status status = check_facts_stream(objects); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Link::send_queued(Objects& objects) {
  while (true) {
    Outgoing next;
    {
      const std::lock_guard lock(mutex_);
      if (outgoing_.empty()) return absl::OkStatus();
      next = std::move(outgoing_.front());
      outgoing_.pop_front();
    }
    const int length = static_cast<int>(next.payload.size());
    jsErrCode code = static_cast<jsErrCode>(0);
    const natsStatus status =
        next.stored
            ? js_Publish(nullptr, objects.stream, next.subject.c_str(), next.payload.data(), length, nullptr, &code)
            : natsConnection_Publish(objects.connection, next.subject.c_str(), next.payload.data(), length);
    if (status == NATS_OK) continue;
    {
      const std::lock_guard lock(mutex_);
      ++lost_;
    }
    if (status == NATS_MAX_PAYLOAD) {
      return unavailable(
          fmt::format("nats-server at {} takes {} bytes in a message, these facts have {}: raise its "
                      "max_payload",
                      shown_url(setup_.url), natsConnection_GetMaxPayload(objects.connection), length));
    }
    return unavailable(
        fmt::format("nats-server at {} did not take {}: {}", shown_url(setup_.url), next.subject, last_error(status)));
  }
}

// True if anything came.
bool Link::receive(Objects& objects) {
  natsMsg* message = nullptr;
  bool any = false;
  const auto next = [&] { return natsSubscription_NextMsg(&message, objects.subscription, any ? 1 : kListenMs); };
  for (int i = 0; i < 1024 && next() == NATS_OK; ++i) {
    any = true;
    store(message, objects.replayed_up_to);
    natsMsg_Destroy(message);
    message = nullptr;
  }
  return any;
}

void Link::store(natsMsg* message, uint64_t replayed_up_to) {
  Message out;
  out.subject = natsMsg_GetSubject(message);
  out.payload.assign(natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message)));
  if (setup_.listen_facts) {
    jsMsgMetaData* meta = nullptr;
    if (natsMsg_GetMetaData(&meta, message) == NATS_OK) out.replayed = meta->Sequence.Stream <= replayed_up_to;
    jsMsgMetaData_Destroy(meta);
  }
  const std::lock_guard lock(mutex_);
  const uint64_t order = ++arrivals_;
  if (setup_.listen_facts) {
    const auto known = newest_.find(out.subject);
    if (known != newest_.end()) incoming_.erase(known->second);
    newest_[out.subject] = order;
  } else if (incoming_.size() >= kMaxQueued) {
    incoming_.erase(incoming_.begin());
  }
  incoming_.emplace(order, std::move(out));
}

}  // namespace railwitness::bus
