// What goes through a chain unchanged: seen from the plugin behind it. With the loop plugin alone they check this host.
#include "tests/plugin/net_host/cases.h"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace railwitness::net_host {
namespace {

bool has_loop(const Options& o) { return !o.is_silent() && o.inner.find("loop") != std::string::npos; }

// The version that the loop plugin is spoken to in: its newest, if a chain is before it.
int inner_version(const Options& options, const Net& net) {
  if (!options.is_chain()) return net.version;
  Options newest = options;
  newest.version = abi::kNewest;
  return Library(newest, options.inner).net().version;
}

void properties_are_those_of_the_plugin(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  Options newest = rank.options;
  newest.version = abi::kNewest;
  Library inner(newest, rank.options.inner);
  Net& net = inner.net();
  REQUIRE(c.net.devices() == net.devices());
  const int known = std::min(c.net.version, net.version);
  for (int i = 0; i < net.devices(); i++) {
    const Device a = c.net.properties(i), b = net.properties(i);
    REQUIRE(a.name == b.name, "%s is called %s", b.name.c_str(), a.name.c_str());
    REQUIRE(a.pci_path == b.pci_path && a.guid == b.guid && a.port == b.port && a.speed == b.speed);
    REQUIRE(a.ptr_support == b.ptr_support && a.max_comms == b.max_comms && a.max_recvs == b.max_recvs);
    REQUIRE(a.latency == b.latency && a.net_device_type == b.net_device_type);
    if (known >= 8) REQUIRE(a.reg_is_global == b.reg_is_global);
    if (known >= 9) REQUIRE(a.force_flush == b.force_flush && a.max_p2p_bytes == b.max_p2p_bytes);
    if (known >= 9) REQUIRE(a.max_coll_bytes == b.max_coll_bytes && a.members == b.members);
    if (known >= 12) REQUIRE(a.rail_id == b.rail_id && a.plane_id == b.plane_id);
    // What the plugin's version lacks has the value that NCCL itself gives such a plugin.
    if (net.version < 9 && c.net.version >= 9) REQUIRE(a.max_p2p_bytes == size_t{1} << 30 && a.force_flush == 0);
    if (net.version < 12) REQUIRE(a.rail_id == abi::kUndefined && a.plane_id == abi::kUndefined);
  }
}

void everything_is_given_back(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 77, 3);
  const loop::Counts before = counts(rank.options);
  auto links = c.connect(rank, 3);
  const std::vector<size_t> sizes(40, 3000);
  c.transfer(links, sizes);
  const loop::Counts busy = counts(rank.options);
  REQUIRE(busy.sends == 3 && busy.receives == 3 && busy.listens == 0);
  REQUIRE(busy.keys == 0 && busy.requests == 0, "%d keys and %d requests are left", static_cast<int>(busy.keys),
          static_cast<int>(busy.requests));
  REQUIRE(busy.posts - before.posts == 240 && busy.registrations - before.registrations == 6);
  c.close(links);
  c.finalize();
  const loop::Counts after = counts(rank.options);
  REQUIRE(after.sends == 0 && after.receives == 0 && after.listens == 0);
  if (c.net.version >= 11 && inner_version(rank.options, c.net) >= 11) REQUIRE(after.contexts == 0 && after.finalizes == 1);
}

void communicators_reach_the_plugin(Rank& rank) {  // its id, its traffic class, its end
  Library library(rank.options);
  Communicator c(library, 0xFEEDFACE, 5);
  auto links = c.connect(rank);
  const int version = std::min(c.net.version, inner_version(rank.options, c.net));
  const loop::Counts now = counts(rank.options);
  if (version >= 11) REQUIRE(now.last_comm_id == 0xFEEDFACE);
  if (version >= 10) REQUIRE(now.traffic_class == 5, "traffic class 5 became %d", static_cast<int>(now.traffic_class));
  if (version >= 11) {
    REQUIRE(c.net.set_attributes(c.context, {{1, 2, 3, 4}, {5, 6, 7, 8}, 1 << 4, 2, 4}) == abi::kSuccess);
    REQUIRE(counts(rank.options).attributes == now.attributes + 1 && counts(rank.options).last_op == 1 << 4);
  }
  c.close(links);
  c.finalize();
}

void hints_reach_the_plugin(Rank& rank) {  // or, below v9, do not
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  c.transfer(links, std::vector<size_t>(20, 100), {.optional = true});
  const int version = std::min(c.net.version, inner_version(rank.options, c.net));
  const int64_t seen = counts(rank.options).optional;
  if (version >= 9) REQUIRE(seen >= 20, "the hint of 20 receives was seen %d times", static_cast<int>(seen));
  else REQUIRE(seen == 0, "a plugin of a version without the hint got it %d times", static_cast<int>(seen));
  c.close(links);
  c.finalize();
}

void events_reach_the_profiler(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  c.transfer(links, std::vector<size_t>(30, 100));
  const bool expected = std::min(c.net.version, inner_version(rank.options, c.net)) >= 10;
  REQUIRE(profiler_starts() == (expected ? 60 : 0), "%d events of 60 transfers", profiler_starts());
  REQUIRE(profiler_stops() == profiler_starts());
  c.transfer(links, {100, 200}, {.bootstrap = true});  // without phandles the profiler must not be called
  REQUIRE(profiler_starts() == (expected ? 60 : 0));
  c.close(links);
  c.finalize();
}

void flushes_and_consumption_reach_the_plugin(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  auto links = c.connect(rank);
  c.transfer(links, std::vector<size_t>(10, 100), {.flush = true});
  REQUIRE(counts(rank.options).flushes == 10);
  if (std::min(c.net.version, inner_version(rank.options, c.net)) >= 7) REQUIRE(counts(rank.options).consumed == 10);
  c.transfer(links, {1, 2}, {.bootstrap = true});
  REQUIRE(counts(rank.options).null_sizes >= 4, "test without sizes did not arrive as such");
  c.close(links);
  c.finalize();
}

void dmabuf_is_closed_right_after_registering(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);
  REQUIRE(c.net.has_dmabuf() && c.device_properties.ptr_support & abi::kPtrDmabuf);
  auto links = c.connect(rank);
  constexpr size_t kBytes = 1 << 16;
  c.service.call([&] {
    const int fd = memfd_create("net-host", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && !ftruncate(fd, kBytes));
    void* const data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(data != MAP_FAILED);
    void* const mr = c.net.register_dmabuf(links[0].recv, data, kBytes, abi::kPtrCuda, 0, fd);
    ::close(fd);
    REQUIRE(counts(rank.options).dmabufs == 1);
    c.net.deregister(links[0].recv, mr);
    munmap(data, kBytes);
  });
  c.close(links);
  c.finalize();
}

void virtual_devices(Rank& rank) {
  setenv("LOOP_DEVICES", "8", 1);
  Library library(rank.options);
  Communicator c(library, 1);
  Net& net = c.net;
  if (net.version < 9) skip("no virtual devices before v9");
  const bool can = inner_version(rank.options, net) >= 9;
  int device = -1;
  if (!can) {
    if (net.has_virtual_devices()) REQUIRE(net.make_virtual_device({0, 1}, &device) != abi::kSuccess);
    return;  // NCCL goes on unfused
  }
  REQUIRE(net.has_virtual_devices());
  const int physical = net.devices();
  REQUIRE(net.make_virtual_device({0, 1}, &device) == abi::kSuccess && device == physical);
  REQUIRE(net.devices() == physical + 1);
  const Device d = net.properties(device);
  REQUIRE(d.unset.empty() && d.members == (std::vector<int>{0, 1}), "it has %zu members", d.members.size());
  for (int i = 0; i < physical; i++) REQUIRE(net.properties(i).name != d.name, "its name is not its own");
  REQUIRE(net.make_virtual_device({0, 99}, &device) != abi::kSuccess, "there is no device 99");
  const int most = std::min(net.version, inner_version(rank.options, net)) >= 12 ? 8 : 4;
  std::vector<int> members;
  for (int i = 0; i < most; i++) members.push_back(i);
  REQUIRE(net.make_virtual_device(members, &device) == abi::kSuccess, "%d members", most);
  REQUIRE(net.properties(device).members == members);
  if (rank.options.is_chain() && net.version >= 12 && most == 4)
    REQUIRE(net.make_virtual_device({0, 1, 2, 3, 4}, &device) != abi::kSuccess, "the plugin takes four members at most");
  c.device = device;
  auto links = c.connect(rank);
  c.transfer(links, {100, 70'000});
  c.close(links);
  c.finalize();
}

}  // namespace

std::vector<Case> forward_cases() {
  return {{"properties_are_those_of_the_plugin", "15", properties_are_those_of_the_plugin, has_loop},
          {"everything_is_given_back", "8", everything_is_given_back, has_loop},
          {"communicators_reach_the_plugin", "", communicators_reach_the_plugin, has_loop},
          {"hints_reach_the_plugin", "6", hints_reach_the_plugin, has_loop},
          {"events_reach_the_profiler", "", events_reach_the_profiler, has_loop},
          {"flushes_and_consumption_reach_the_plugin", "6", flushes_and_consumption_reach_the_plugin, has_loop},
          {"dmabuf_is_closed_right_after_registering", "dmabuf", dmabuf_is_closed_right_after_registering, has_loop},
          {"virtual_devices", "15", virtual_devices, has_loop}};
}

}  // namespace railwitness::net_host
