// One end of an active probe, for the beds of virtual hosts (tests/rdma_vm, tests/netns): two of these stand for two
// sidecars.
//
//   rail_ping_check serve NODE PORTS_FILE SECONDS DEVICE...   answers, after writing its ping ports to PORTS_FILE
//   rail_ping_check ping NODE PEER PORTS_FILE DEVICE...       pings PEER's i-th port from its own i-th device
//
// A DEVICE is an RDMA device, or udp:INTERFACE.
//
// `ping` prints "DEVICE sent 3 received 3 rtt_us 120" or "DEVICE problem ..." a device, and always exits 0 if all of
// them ended: what a healthy or a dead rail must show is for the script to say.
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "probes/rail/ping_service.h"
#include "railwitness/base/clock.h"

namespace {

using railwitness::now_mono_ns;
using railwitness::model::Ping;
using railwitness::model::PingPort;
using railwitness::model::PingRequest;
using railwitness::rail::PingService;

void wait_for(const PingService& service) {
  pollfd event{service.poll_fd(), POLLIN, 0};
  poll(&event, 1, 100);
}

constexpr size_t kUdpLength = 4;
bool is_udp(const std::string& device) { return device.rfind("udp:", 0) == 0; }
std::string name_of(const std::string& device) { return is_udp(device) ? device.substr(kUdpLength) : device; }

bool open_all(PingService& service, const std::vector<std::string>& devices) {
  std::vector<std::string> verbs, interfaces;
  for (const std::string& device : devices) (is_udp(device) ? interfaces : verbs).push_back(name_of(device));
  service.open(verbs, interfaces);
  for (const std::string& problem : service.problems()) std::fprintf(stderr, "%s\n", problem.c_str());
  return service.problems().empty();
}

int serve(const std::string& node, const std::string& file, int seconds, const std::vector<std::string>& devices) {
  PingService service(node);
  if (!open_all(service, devices)) return 1;
  {
    std::ofstream out(file + ".new");
    for (const PingPort& port : service.ports()) {
      out << port.device << ' ' << int{port.port} << ' ' << port.gid << ' ' << port.lid << ' ' << port.qpn << ' ' << port.udp_port
          << '\n';
    }
  }
  std::rename((file + ".new").c_str(), file.c_str());
  const int64_t end = now_mono_ns() + int64_t{seconds} * 1'000'000'000;
  while (now_mono_ns() < end) {
    wait_for(service);
    service.tick(now_mono_ns());
  }
  std::printf("%s answered %lu refused %lu\n", node.c_str(), service.answered(), service.refused());
  return 0;
}

std::vector<PingPort> read_ports(const std::string& file) {
  std::vector<PingPort> ports;
  std::ifstream in(file);
  PingPort port;
  for (int number = 0; in >> port.device >> number >> port.gid >> port.lid >> port.qpn >> port.udp_port; ports.push_back(port)) {
    port.port = static_cast<uint8_t>(number);
  }
  return ports;
}

int ping(const std::string& node, const std::string& peer, const std::string& file,
         const std::vector<std::string>& devices) {
  const std::vector<PingPort> ports = read_ports(file);
  if (ports.size() < devices.size()) return 1;
  PingService service(node);
  if (!open_all(service, devices)) return 1;
  for (size_t i = 0; i < devices.size(); ++i) {
    PingRequest request;
    request.id = 42;
    request.from_node = node;
    request.device = name_of(devices[i]);
    request.to_node = peer;
    request.to = ports[i];
    if (!service.start(request, now_mono_ns()).ok()) return 1;
  }
  size_t ended = 0;
  const int64_t end = now_mono_ns() + 15'000'000'000;
  while (ended < devices.size() && now_mono_ns() < end) {
    wait_for(service);
    for (const Ping& result : service.tick(now_mono_ns())) {
      ++ended;
      if (!result.problem.empty()) std::printf("%s problem %s\n", result.device.c_str(), result.problem.c_str());
      std::printf("%s sent %u received %u rtt_us %ld\n", result.device.c_str(), result.sent, result.received,
                  result.rtt_ns.value_or(-1000) / 1000);
    }
  }
  return ended == devices.size() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() >= 5 && arguments[0] == "serve") {
    return serve(arguments[1], arguments[2], std::atoi(arguments[3].c_str()), {arguments.begin() + 4, arguments.end()});
  }
  if (arguments.size() >= 5 && arguments[0] == "ping") {
    return ping(arguments[1], arguments[2], arguments[3], {arguments.begin() + 4, arguments.end()});
  }
  std::fprintf(stderr, "usage: rail_ping_check serve NODE PORTS_FILE SECONDS DEVICE... | ping NODE PEER PORTS_FILE DEVICE...\n");
  return 2;
}
