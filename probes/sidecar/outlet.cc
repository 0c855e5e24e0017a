#include "probes/sidecar/outlet.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace railwitness::sidecar {

struct Outlet::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  size_t bytes = 0;
  bool losing = false, ends = false, ended = false;
  int error = 0;
};

namespace {

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    text.remove_prefix(static_cast<size_t>(done));
  }
  return 0;
}

}  // namespace

Outlet::Outlet(int fd) : shared_(std::make_shared<Shared>()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // handlers run on the threads that there were
  std::thread([shared = shared_, fd] { write_on(shared, fd); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Outlet::~Outlet() {
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, std::chrono::milliseconds(kEndWithinMs), [this] { return shared_->ended; });
}

void Outlet::write_on(const std::shared_ptr<Shared>& shared, int fd) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&shared] { return shared->ends || !shared->lines.empty(); });
    if (shared->lines.empty()) break;
    const std::string line = std::move(shared->lines.front());
    shared->lines.pop_front();
    lock.unlock();
    const int error = write_all(fd, line);
    lock.lock();
    shared->bytes -= line.size();
    if (shared->error == 0) shared->error = error;
  }
  shared->ended = true;
  shared->changed.notify_all();
}

void Outlet::say(std::string line) {
  const std::scoped_lock lock(shared_->mutex);
  shared_->losing = shared_->bytes + line.size() > kMostBytes;
  if (shared_->losing) return;
  shared_->bytes += line.size();
  shared_->lines.push_back(std::move(line));
  shared_->changed.notify_all();
}

bool Outlet::is_losing() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->losing;
}

int Outlet::error() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->error;
}

}  // namespace railwitness::sidecar
