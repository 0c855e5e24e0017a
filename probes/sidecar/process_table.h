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
#include <set>
#include <string>
#include <vector>

#include "probes/host/process_watch.h"
#include "probes/model/facts.h"
#include "probes/ring/segment_reader.h"
#include "probes/ring/tick_clock.h"
#include "probes/sidecar/handover_server.h"
#include "probes/sidecar/seats.h"
#include "probes/sidecar/service_manager.h"

namespace railwitness::sidecar {

class ProcessTable {
 public:
  ProcessTable(std::string proc_root, Seats& seats, const ServiceManager& manager)
      : proc_root_(std::move(proc_root)), seats_(seats), manager_(manager) {}

  // Returns the connection that this one replaces, if the process had one: a process has one segment.
  std::optional<uint64_t> add(HandOver hand_over, int64_t now_mono_ns);
  // Of a sidecar before this one, in the order in which they were handed out. Takes its seat itself; without one, or if it
  // does not fit to what is here, it leaves the store. True: it is read from now on.
  bool restore(StoredSegment stored, int64_t now_mono_ns);
  // Of a process that is here; of another one the blocks are given back.
  void add_part(FurtherSegment further);
  void lose_connection(uint64_t connection, int64_t now_mono_ns);
  // Segments and /proc: as much as is read in one turn of the loop. True: all have been read since this began.
  bool read_some(int64_t now_mono_ns);
  void read(int64_t now_mono_ns) {  // all
    while (!read_some(now_mono_ns)) {
    }
  }

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

  // What is read in one turn, in lines; a process counts as 256 more. Between turns the sockets are served. Users who have
  // more than this come first, so that what is told of the others is of the last turn, however many lines those have.
  static constexpr uint64_t kReadATurn = 16'384;
  static constexpr int64_t kKeepGoneNs = 300'000'000'000;
  static constexpr size_t kMaxGone = 256;
  // A line costs 450 bytes here: 60 MB. Three quarters for the processes of one user: a hundred of 1000 flows.
  static constexpr uint32_t kMaxLines = 139'264;
  // Of all gone processes; those gone longest lose theirs first.
  static constexpr size_t kMaxGoneFlows = 4096;

 private:
  struct Entry {
    Entry(HandOver hand_over, host::ProcessWatch watch_of_it);
    SegmentOwner owner() const { return {facts.pid, facts.start_time, facts.uid, facts.job}; }
    uint64_t number = 0;  // in the order of their coming
    model::Process facts;
    host::ProcessWatch watch;
    std::optional<ring::SegmentReader> reader;  // until it is gone
    uint32_t parts = 1;
    std::vector<std::string> kept;  // names in the store of descriptors
    uint64_t lines = 0;  // in use
    uint64_t connection = 0;
    bool connected = true;
    int64_t start_mono_ns = 0;
    int64_t gone_mono_ns = 0;
    int64_t restored_mono_ns = 0;  // read since then, whether the process knows this sidecar or not; 0: was not restored
  };
  Entry* find_same(const Entry& entry);  // another one of the same process, not gone
  void tell_when_unwitnessed(Entry& entry) const;
  uint64_t read_segment(Entry& entry, int64_t now_mono_ns, Shares& lines);  // returns how many lines were not read
  void give_back(Entry& entry);
  void trim_gone();
  uint64_t update(Entry& entry, int64_t now_mono_ns, Shares& lines);  // likewise
  void begin_reading();
  bool read_on(int64_t now_mono_ns, uint64_t& work);  // of those whose turn it is; true: all of them
  void retire(Entry& entry, int64_t now_mono_ns);
  void forget_old(int64_t now_mono_ns);

  std::string proc_root_;
  Seats& seats_;
  const ServiceManager& manager_;
  std::list<Entry> entries_;  // in the order of their coming
  ring::TickClock clock_;
  ring::CopyBuffer buffer_;
  uint64_t entries_ever_ = 0;
  // Of the reading that is under way.
  enum class Reading { kNone, kOfHeavyUsers, kOfOthers } reading_ = Reading::kNone;
  std::set<uint32_t> heavy_users_;
  uint64_t read_through_ = 0;  // the number of the entry that was read last
  Shares lines_{kMaxLines};
  uint64_t lines_not_read_ = 0, not_read_yet_ = 0;  // as of the last whole reading, and of this one
  bool changed_ = false;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_PROCESS_TABLE_H_
