// A real nats-server on a free loopback port, with its own store directory, for one test.
#ifndef RAILWITNESS_TESTS_PROBES_BUS_SERVER_H_
#define RAILWITNESS_TESTS_PROBES_BUS_SERVER_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"

namespace railwitness::bus {

inline bool wait_until(const std::function<bool()>& done, double seconds = 20) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return done();
}

class Server {
 public:
  static std::string binary() {
    for (const char* path : {"/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"}) {
      if (access(path, X_OK) == 0) return path;
    }
    return {};
  }

  explicit Server(bool jetstream = true) : jetstream_(jetstream), port_(free_port()) {
    char name[] = "/tmp/railwitness-nats-XXXXXX";
    store_ = mkdtemp(name);
  }
  ~Server() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(store_, ignored);
  }

  std::string url() const { return fmt::format("nats://127.0.0.1:{}", port_); }

  void start() {
    std::vector<std::string> words = {binary(), "-a", "127.0.0.1", "-p", std::to_string(port_)};
    if (jetstream_) words.insert(words.end(), {"-js", "-sd", store_});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int fd : {1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
  }
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void freeze(bool on) { kill(pid_, on ? SIGSTOP : SIGCONT); }

 private:
  static int free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    bind(fd, reinterpret_cast<sockaddr*>(&address), length);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    close(fd);
    return ntohs(address.sin_port);
  }

  bool jetstream_;
  int port_;
  std::string store_;
  pid_t pid_ = -1;
};

}  // namespace railwitness::bus

#endif  // RAILWITNESS_TESTS_PROBES_BUS_SERVER_H_
