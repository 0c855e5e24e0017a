// CollNet (SHARP): the table that NCCL takes from the same library, or does without.
#include "tests/plugin/net_host/cases.h"
#include "tests/plugin/net_host/properties.h"

namespace railwitness::net_host {
namespace {

constexpr int kFloat32 = 7, kSum = 0, kInt8 = 0;

bool has_loop(const Options& o) { return !o.is_silent() && o.inner.find("loop") != std::string::npos; }

// Waits for a request, as the progress thread does.
template <int V>
void finish(const abi::CollNet<V>& t, void* request, size_t bytes) {
  REQUIRE(request && request != kStale, "no request");
  int done = 0x5A5A5A5A, size = -1;
  for (const double end = now_s() + kPatience_s; done != 1;) {
    REQUIRE(now_s() < end, "not done");
    done = 0x5A5A5A5A;
    REQUIRE(t.test(request, &done, &size) == abi::kSuccess);
    REQUIRE(done == 0 || done == 1, "test left done as %d", done);
  }
  if (bytes) REQUIRE(size == static_cast<int>(bytes), "%d bytes of %zu", size, bytes);
}

template <int V>
void* open_group(Rank& rank, const abi::CollNet<V>& t, void* context) {
  struct {
    Handle handle[2];
  } all;
  void *listener = nullptr, *comm = nullptr;
  if constexpr (V >= 11) REQUIRE(t.listen(context, 0, all.handle[rank.id].bytes, &listener) == abi::kSuccess);
  else REQUIRE(t.listen(0, all.handle[rank.id].bytes, &listener) == abi::kSuccess);
  rank.exchange(&all.handle[rank.id], &all.handle[1 - rank.id], sizeof(Handle));
  void* handles[2] = {all.handle[0].bytes, all.handle[1].bytes};
  REQUIRE(t.connect(handles, 2, rank.id, listener, &comm) == abi::kSuccess && comm);
  REQUIRE(t.close_listen(listener) == abi::kSuccess);
  return comm;
}

template <int V>
void reduce_and_gather(Rank& rank, const abi::CollNet<V>& t, void* comm) {
  constexpr size_t kCount = 1000;
  std::vector<float> mine(2 * kCount), out(2 * kCount);
  for (size_t i = 0; i < mine.size(); i++) mine[i] = static_cast<float>(i) + 1000.0f * static_cast<float>(rank.id);
  const auto sum = [](size_t i) { return 2 * static_cast<float>(i) + 1000.0f; };
  void *mr = nullptr, *out_mr = nullptr;
  REQUIRE(t.reg_mr(comm, mine.data(), static_cast<abi::RegisteredBytes<V>>(mine.size() * 4), 1, &mr) == abi::kSuccess && mr);
  REQUIRE(t.reg_mr(comm, out.data(), static_cast<abi::RegisteredBytes<V>>(out.size() * 4), 1, &out_mr) == abi::kSuccess);
  void* request = kStale;
  REQUIRE(!t.iallreduce(comm, mine.data(), out.data(), static_cast<abi::Bytes<V>>(kCount), kFloat32, kSum, mr, out_mr, &request));
  finish(t, request, kCount * 4);
  for (size_t i = 0; i < kCount; i++) REQUIRE(out[i] == sum(i), "element %zu of the sum is %f", i, static_cast<double>(out[i]));
  REQUIRE(!t.iflush(comm, out.data(), kCount * 4, out_mr, &request));
  if (request) finish(t, request, 0);
  if constexpr (V >= 8) {
    if (!t.iallgather || !t.ireducescatter) {  // the plugin behind is older: NCCL asks whether they are there
      REQUIRE(t.dereg_mr(comm, mr) == abi::kSuccess && t.dereg_mr(comm, out_mr) == abi::kSuccess);
      return;
    }
    using Bytes = decltype(abi::Piece<V>::size);
    constexpr size_t kHalf = kCount * 4;
    abi::Piece<V> pieces[2] = {{out_mr, out.data(), static_cast<Bytes>(kHalf + 400)},
                               {out_mr, out.data() + kCount + 100, static_cast<Bytes>(kHalf - 400)}};
    request = kStale;
    REQUIRE(!t.iallgather(comm, mine.data(), 2, pieces, kHalf, 0, 2 * kHalf, mr, &request));
    finish(t, request, 2 * kHalf);
    for (size_t i = 0; i < 2 * kCount; i++)
      REQUIRE(out[i] == static_cast<float>(i % kCount) + (i < kCount ? 0.0f : 1000.0f), "element %zu of all", i);
    abi::Piece<V> all[1] = {{mr, mine.data(), static_cast<Bytes>(2 * kHalf)}};
    request = kStale;
    REQUIRE(!t.ireducescatter(comm, 1, all, out.data(), kHalf, 0, 2 * kHalf, kFloat32, kSum, out_mr, &request));
    finish(t, request, kHalf);
    const size_t first = static_cast<size_t>(rank.id) * kCount;
    for (size_t i = 0; i < kCount; i++) REQUIRE(out[i] == sum(first + i), "element %zu of the scattered sum", i);
  }
  REQUIRE(t.dereg_mr(comm, mr) == abi::kSuccess && t.dereg_mr(comm, out_mr) == abi::kSuccess);
}

// The net's devices of the same names in the same order: NCCL calls CollNet with the net's index.
template <int V>
void compare_devices(const abi::CollNet<V>& t, Net& net) {
  int count = -1;
  REQUIRE(t.devices(&count) == abi::kSuccess && count == net.devices(), "%d CollNet devices, %d of the net", count, net.devices());
  for (int i = 0; i < count; i++) {
    Device d;
    REQUIRE(read_properties<V>(t.get_properties, i, &d) == abi::kSuccess);
    REQUIRE(d.name == net.properties(i).name, "device %d is %s for CollNet, %s for the net", i, d.name.c_str(),
            net.properties(i).name.c_str());
    REQUIRE(d.unset.empty(), "device %d: not set: %s", i, d.unset.c_str());
  }
}

template <int V>
void play(Rank& rank, Net& net, const void* table) {
  const auto& t = *static_cast<const abi::CollNet<V>*>(table);
  void* context = nullptr;
  if constexpr (V >= 11) REQUIRE(t.init(&context, 5, logger) == abi::kSuccess);
  else REQUIRE(t.init(logger) == abi::kSuccess);
  compare_devices(t, net);
  int supported = -1;
  REQUIRE(t.reduce_support(kFloat32, kSum, &supported) == abi::kSuccess && supported == 1);
  REQUIRE(t.reduce_support(kInt8, kSum, &supported) == abi::kSuccess && supported == 0);
  void* const comm = open_group(rank, t, context);
  for (int i = 0; i < 5; i++) reduce_and_gather(rank, t, comm);
  REQUIRE(t.close_coll(comm) == abi::kSuccess);
  if constexpr (V >= 11) REQUIRE(t.finalize(context) == abi::kSuccess);
}

// The table as this NCCL finds it, newest first.
const void* find_table(const Options& options, const Library& library, int* version) {
  for (*version = options.version; *version >= abi::kOldest; --*version)
    if (const void* table = library.find("ncclCollNetPlugin_v" + std::to_string(*version))) return table;
  return nullptr;
}

void collectives_in_the_network(Rank& rank) {
  Library library(rank.options);
  Communicator c(library, 1);  // NCCL assigns the net first
  int version = 0;
  const void* table = find_table(rank.options, library, &version);
  if (!table) skip("the library has no CollNet table that this NCCL knows");
  switch (version) {
    case 6: play<6>(rank, c.net, table); break;
    case 7: play<7>(rank, c.net, table); break;
    case 8: play<8>(rank, c.net, table); break;
    case 9: play<9>(rank, c.net, table); break;
    case 10: play<10>(rank, c.net, table); break;
    case 11: play<11>(rank, c.net, table); break;
    default: play<12>(rank, c.net, table); break;
  }
  auto links = c.connect(rank);
  c.transfer(links, {100});
  c.close(links);
  c.finalize();
}

// Without a network that does collectives there must be no devices, and nothing else is asked.
void no_collectives_without_devices(Rank& rank) {
  Library library(rank.options);
  Net& net = library.net();
  void* context = nullptr;
  REQUIRE(net.init(&context, 1, abi::kUndefined) == abi::kSuccess);
  int version = 0, count = -1;
  const void* table = find_table(rank.options, library, &version);
  if (!table) return;
  const auto* words = static_cast<void* const*>(table);
  void* coll = nullptr;
  const Result result = version >= 11 ? reinterpret_cast<abi::Call<void**, uint64_t, abi::Logger>>(words[1])(&coll, 1, logger)
                                      : reinterpret_cast<abi::Call<abi::Logger>>(words[1])(logger);
  if (result) return;  // disables CollNet, nothing else
  REQUIRE(reinterpret_cast<abi::Call<int*>>(words[2])(&count) == abi::kSuccess && count == 0, "%d CollNet devices", count);
  if (version >= 11) REQUIRE(reinterpret_cast<abi::Call<void*>>(words[18])(coll) == abi::kSuccess);
  REQUIRE(net.finalize(context) == abi::kSuccess);
}

bool without_collnet(const Options& o) { return o.is_silent() || o.is_ofi(); }

}  // namespace

std::vector<Case> collnet_cases() {
  return {{"collectives_in_the_network", "14", collectives_in_the_network, has_loop},
          {"no_collectives_without_devices", "14", no_collectives_without_devices, without_collnet}};
}

}  // namespace railwitness::net_host
