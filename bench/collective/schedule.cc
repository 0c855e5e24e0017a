#include "bench/collective/schedule.h"

#include <algorithm>
#include <cstring>

namespace railwitness::bench {
namespace {

size_t of(int rank) { return static_cast<size_t>(rank); }

char* at(std::vector<Word>& buffer, size_t word) { return reinterpret_cast<char*>(buffer.data() + word); }

// Sums modulo 2^32, so that the order does not matter and every bit counts.
class AllReduce : public Schedule {
 public:
  Word expected(size_t i, size_t) const override {
    Word sum = 0;
    for (int r = 0; r < ranks_; r++) sum += input_word(r, i);
    return sum;
  }
  double bus_factor() const override { return 2.0 * (ranks_ - 1) / ranks_; }

 protected:
  using Schedule::Schedule;
  static void add(Buffers& b, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) b.result[i] += b.arrived[i];
  }
};

// Reduce-scatter, then all-gather, of as many parts as there are ranks.
class Ring final : public AllReduce {
 public:
  Ring(int rank, int ranks) : AllReduce(rank, ranks) {}

  absl::Status run(Exchange& exchange, Network& network, Buffers& b, size_t words) override {
    const int next = (rank_ + 1) % ranks_, previous = (rank_ + ranks_ - 1) % ranks_;
    std::copy_n(b.input.begin(), words, b.result.begin());
    for (int step = 0; step < 2 * (ranks_ - 1); step++) {
      const bool adds = step < ranks_ - 1;
      const int sent = (rank_ - step + 2 * ranks_) % ranks_, got = (sent + ranks_ - 1) % ranks_;
      const size_t begin = start(got, words), end = start(got + 1, words);
      std::vector<Word>& to = adds ? b.arrived : b.result;
      Move moves[] = {
          {false, network.peer(previous).recv_comm, (adds ? b.arrived_recv : b.result_recv)[of(previous)], at(to, begin),
           (end - begin) * sizeof(Word)},
          {true, network.peer(next).send_comm, b.result_send[of(next)], at(b.result, start(sent, words)),
           (start(sent + 1, words) - start(sent, words)) * sizeof(Word)}};
      if (absl::Status s = exchange.run(absl::MakeSpan(moves)); !s.ok()) return s;
      if (adds) add(b, begin, end);
    }
    return absl::OkStatus();
  }

 private:
  size_t start(int part, size_t words) const { return words * of(part) / of(ranks_); }
};

// Up a binary tree with rank 0 at its root, and down again.
class Tree final : public AllReduce {
 public:
  Tree(int rank, int ranks) : AllReduce(rank, ranks) {}

  absl::Status run(Exchange& exchange, Network& network, Buffers& b, size_t words) override {
    const size_t bytes = words * sizeof(Word);
    const int parent = (rank_ - 1) / 2;
    std::copy_n(b.input.begin(), words, b.result.begin());
    for (int child = 2 * rank_ + 1; child <= 2 * rank_ + 2 && child < ranks_; child++) {
      Move up{false, network.peer(child).recv_comm, b.arrived_recv[of(child)], at(b.arrived, 0), bytes};
      if (absl::Status s = exchange.run({&up, 1}); !s.ok()) return s;
      add(b, 0, words);
    }
    if (rank_ > 0) {
      Move up{true, network.peer(parent).send_comm, b.result_send[of(parent)], at(b.result, 0), bytes};
      if (absl::Status s = exchange.run({&up, 1}); !s.ok()) return s;
      Move down{false, network.peer(parent).recv_comm, b.result_recv[of(parent)], at(b.result, 0), bytes};
      if (absl::Status s = exchange.run({&down, 1}); !s.ok()) return s;
    }
    std::vector<Move> down;
    for (int child = 2 * rank_ + 1; child <= 2 * rank_ + 2 && child < ranks_; child++)
      down.push_back({true, network.peer(child).send_comm, b.result_send[of(child)], at(b.result, 0), bytes});
    return exchange.run(absl::MakeSpan(down));
  }
};

class AllToAll final : public Schedule {
 public:
  AllToAll(int rank, int ranks) : Schedule(rank, ranks) {}

  absl::Status run(Exchange& exchange, Network& network, Buffers& b, size_t words) override {
    const size_t block = words / of(ranks_), bytes = block * sizeof(Word);
    std::copy_n(b.input.begin() + static_cast<ptrdiff_t>(block * of(rank_)), block,
                b.result.begin() + static_cast<ptrdiff_t>(block * of(rank_)));
    std::vector<Move> moves;
    for (int step = 1; step < ranks_; step++) {
      const int to = (rank_ + step) % ranks_, from = (rank_ + ranks_ - step) % ranks_;
      moves.push_back({false, network.peer(from).recv_comm, b.result_recv[of(from)], at(b.result, block * of(from)), bytes});
      moves.push_back({true, network.peer(to).send_comm, b.input_send[of(to)], at(b.input, block * of(to)), bytes});
    }
    return exchange.run(absl::MakeSpan(moves));
  }
  Word expected(size_t i, size_t words) const override {
    const size_t block = words / of(ranks_);
    return input_word(static_cast<int>(i / block), block * of(rank_) + i % block);
  }
  double bus_factor() const override { return 1.0 * (ranks_ - 1) / ranks_; }
};

}  // namespace

absl::Status Buffers::prepare(Network& network, int rank, size_t words) {
  input.resize(words);
  result.resize(words);
  arrived.resize(words);
  for (size_t i = 0; i < words; i++) input[i] = input_word(rank, i);
  const size_t bytes = words * sizeof(Word);
  absl::Status s = network.register_for_all(input.data(), bytes, input_send, input_recv);
  s.Update(network.register_for_all(result.data(), bytes, result_send, result_recv));
  s.Update(network.register_for_all(arrived.data(), bytes, arrived_send, arrived_recv));
  return s;
}

std::unique_ptr<Schedule> make_schedule(std::string_view name, int rank, int ranks) {
  if (name == "ring") return std::make_unique<Ring>(rank, ranks);
  if (name == "tree") return std::make_unique<Tree>(rank, ranks);
  return std::make_unique<AllToAll>(rank, ranks);
}

void spoil(Buffers& buffers, size_t words) {
  memset(buffers.result.data(), 0xA5, words * sizeof(Word));
  memset(buffers.arrived.data(), 0x5A, words * sizeof(Word));
}

uint64_t count_wrong(const Schedule& schedule, const Buffers& buffers, size_t words) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < words; i++) wrong += buffers.result[i] != schedule.expected(i, words);
  return wrong;
}

}  // namespace railwitness::bench
