// The processes of jobs on this node, living and lately gone: joins each one's segment with /proc.
//
// One thread. A closed socket alone is not an end (the job may have closed it); the process is gone when /proc has no
// process of that pid and start time. Where /proc cannot tell, the socket decides.
#ifndef RAILWITNESS_PROBES_SIDECAR_PROCESS_TABLE_H_
#define RAILWITNESS_PROBES_SIDECAR_PROCESS_TABLE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/host/process_watch.h"
#include "probes/model/facts.h"
#include "probes/ring/segment_reader.h"
#include "probes/ring/tick_clock.h"
#include "probes/sidecar/handover_server.h"
#include "probes/sidecar/seats.h"

namespace railwitness::sidecar {

class ProcessTable {
 public:
  ProcessTable(std::string proc_root, Seats& seats) : proc_root_(std::move(proc_root)), seats_(seats) {}

  // Returns the connection that this one replaces, if the process had one: a process has one segment.
  std::optional<uint64_t> add(HandOver hand_over, int64_t now_mono_ns);
  // Of a process that is here; of another one the blocks are given back.
  void add_part(FurtherSegment further);
  void lose_connection(uint64_t connection, int64_t now_mono_ns);
  // Segments and /proc, of all.
  void read(int64_t now_mono_ns);

  // With at most `most_flows` flows in all, chosen as bound_flows does it; `left_out` is how many are not among them.
  std::vector<model::Process> facts(size_t most_flows, size_t& left_out);
  std::vector<model::Process> facts() const;
  // A sentence for each living process of which `told`, the answer of facts(), has not all flows.
  std::vector<std::string> totals(const std::vector<model::Process>& told) const;
  size_t size() const { return entries_.size(); }
  // A process came, went, or changed its state since the last call.
  bool take_changed() { return std::exchange(changed_, false); }
  // Something is outstanding for longer than a moment.
  bool restless(int64_t now_mono_ns) const;

  // Lines that were in use but not read at the last reading: those of all processes are more than this daemon keeps.
  uint64_t lines_not_read() const { return lines_not_read_; }

  static constexpr int64_t kKeepGoneNs = 300'000'000'000;
  static constexpr size_t kMaxGone = 256;
  // A line costs 450 bytes here: 30 MB. Three quarters for the processes of one user.
  static constexpr uint32_t kMaxLines = 65'536;
  // Of all gone processes; those gone longest lose theirs first.
  static constexpr size_t kMaxGoneFlows = 4096;

 private:
  struct Entry {
    Entry(HandOver hand_over, const std::string& proc_root);
    model::Process facts;
    host::ProcessWatch watch;
    std::optional<ring::SegmentReader> reader;  // until it is gone
    uint32_t parts = 1;
    uint64_t lines = 0;  // in use
    uint64_t connection = 0;
    bool connected = true;
    int64_t start_mono_ns = 0;
    int64_t gone_mono_ns = 0;
  };
  void read_segment(Entry& entry, int64_t now_mono_ns, Shares& lines);
  void give_back(Entry& entry);
  void trim_gone();
  void update(Entry& entry, int64_t now_mono_ns, Shares& lines);
  void retire(Entry& entry, int64_t now_mono_ns);
  void forget_old(int64_t now_mono_ns);

  std::string proc_root_;
  Seats& seats_;
  std::list<Entry> entries_;  // in the order of their coming
  ring::TickClock clock_;
  ring::CopyBuffer buffer_;
  uint64_t lines_not_read_ = 0;
  bool changed_ = false;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_PROCESS_TABLE_H_
