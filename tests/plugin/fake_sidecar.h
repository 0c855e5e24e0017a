// The sidecar's end of the hand-over, well or badly behaved, and a reader of what a job wrote.
#ifndef RAILWITNESS_TESTS_PLUGIN_FAKE_SIDECAR_H_
#define RAILWITNESS_TESTS_PLUGIN_FAKE_SIDECAR_H_

#include "plugin/witness/layout.h"
#include "railwitness/abi/handover.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace railwitness::test {

// All of a segment, read once, by its own header.
struct SegmentCopy {
  std::vector<char> bytes;

  static SegmentCopy read(int fd) {
    SegmentCopy s;
    struct stat file{};
    fstat(fd, &file);
    s.bytes.resize(static_cast<size_t>(file.st_size));
    for (size_t at = 0; at < s.bytes.size();) {
      const ssize_t got = pread(fd, s.bytes.data() + at, s.bytes.size() - at, static_cast<off_t>(at));
      if (got <= 0) break;
      at += static_cast<size_t>(got);
    }
    return s;
  }
  template <typename T>
  const T& at(uint64_t offset, uint64_t index = 0) const {
    return *reinterpret_cast<const T*>(bytes.data() + offset + index * sizeof(T));
  }
  const railwitness_segment_header& header() const { return at<railwitness_segment_header>(0); }
  const railwitness_writer& writer() const { return at<railwitness_writer>(header().writer_offset); }
  const railwitness_identity& identity(uint64_t i) const { return at<railwitness_identity>(header().identities_offset, i); }
  const railwitness_state& state(uint64_t i) const { return at<railwitness_state>(header().states_offset, i); }
  const railwitness_thread& thread(uint64_t i) const { return at<railwitness_thread>(header().threads_offset, i); }
  const railwitness_comm& comm(uint64_t i) const { return at<railwitness_comm>(header().comms_offset, i); }
  const railwitness_record& record(uint64_t flow, uint64_t i) const {
    return at<railwitness_record>(header().records_offset, flow * header().records_per_flow + i % header().records_per_flow);
  }
  int count_events(int kind) const {
    int n = 0;
    for (uint64_t i = 0; i < header().control_capacity; i++) {
      const auto& c = at<railwitness_control>(header().control_offset, i);
      n += c.sequence && c.kind == kind;
    }
    return n;
  }
};

// Of this process, written with RAILWITNESS_SEGMENT_FILE=`file`; removes it. Ends the process if there is none.
inline SegmentCopy take_segment_file(const std::string& file) {
  const std::string path = file + "." + std::to_string(getpid());
  const int fd = ::open(path.c_str(), O_RDONLY);
  SegmentCopy s = SegmentCopy::read(fd);
  ::close(fd);
  unlink(path.c_str());
  if (s.bytes.size() < 4096) fprintf(stderr, "no segment in %s\n", path.c_str()), exit(1);
  return s;
}

inline int make_segment(const railwitness_segment_header& header, uint64_t bytes, int seals = F_SEAL_SHRINK | F_SEAL_GROW) {
  const int fd = memfd_create("railwitness-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (pwrite(fd, &header, sizeof header, 0) != ssize_t{sizeof header} || ftruncate(fd, static_cast<off_t>(bytes))) abort();
  if (seals && fcntl(fd, F_ADD_SEALS, seals)) abort();
  return fd;
}

inline railwitness_segment_header good_header() {
  railwitness_segment_header h = witness::make_header();
  h.magic = RAILWITNESS_SEGMENT_MAGIC;
  return h;
}

inline railwitness_welcome good_welcome(uint64_t bytes) {
  railwitness_welcome w{};
  w.magic = RAILWITNESS_HANDOVER_MAGIC;
  w.abi_major = RAILWITNESS_ABI_MAJOR;
  w.abi_minor = RAILWITNESS_ABI_MINOR;
  w.segment_bytes = bytes;
  return w;
}

struct FakeSidecar {
  std::string folder, path;
  int listener = -1;

  FakeSidecar() {
    char name[] = "/tmp/railwitness-test-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/sidecar.sock";
    open();
  }
  ~FakeSidecar() {
    close();
    rmdir(folder.c_str());
  }
  FakeSidecar(const FakeSidecar&) = delete;
  FakeSidecar& operator=(const FakeSidecar&) = delete;

  void open() {
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) || listen(listener, 16)) abort();
  }
  void close() {
    if (listener >= 0) ::close(listener);
    listener = -1;
    unlink(path.c_str());
  }
  int accept(int timeout_ms = 10'000) const {
    pollfd p{listener, POLLIN, 0};
    return poll(&p, 1, timeout_ms) == 1 ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  }
  static railwitness_hello hear(int client) {
    railwitness_hello hello{};
    if (recv(client, &hello, sizeof hello, 0) != ssize_t{sizeof hello}) hello.magic = 0;
    return hello;
  }
  // False: the job has hung up.
  static bool answer(int client, const railwitness_welcome& welcome, const std::vector<int>& descriptors,
                     size_t bytes = sizeof(railwitness_welcome)) {
    char padded[256] = {};
    memcpy(padded, &welcome, sizeof welcome);
    iovec part{padded, bytes};
    char control[256] = {};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    if (!descriptors.empty()) {
      m.msg_control = control;
      m.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
      cmsghdr* c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      memcpy(CMSG_DATA(c), descriptors.data(), sizeof(int) * descriptors.size());
    }
    if (sendmsg(client, &m, MSG_NOSIGNAL) >= 0) return true;
    if (errno != EPIPE && errno != ECONNRESET) abort();
    return false;
  }
  // Hears the hello and gives a segment, whose descriptor it returns.
  static int serve(int client) {
    hear(client);
    const railwitness_segment_header h = good_header();
    const int segment = make_segment(h, h.segment_bytes);
    answer(client, good_welcome(h.segment_bytes), {segment});
    return segment;
  }
};

}  // namespace railwitness::test

#endif  // RAILWITNESS_TESTS_PLUGIN_FAKE_SIDECAR_H_
