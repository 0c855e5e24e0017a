// Many threads, threads that come and go, contexts that do, and other users of verbs in the process.
#include "tests/plugin/lifecycle/loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/socket.h>

namespace railwitness::lifecycle {
namespace {

using test::FakeSidecar;
using test::SegmentCopy;

// All lines of threads: what the table says was posted.
uint64_t posts_of_threads(const SegmentCopy& s) {
  uint64_t posts = 0;
  for (uint32_t i = 0; i < s.header().thread_capacity; i++) posts += s.thread(i).posts;
  return posts;
}

Sums sum_of_parts(const std::string& path) {
  Sums all = sum(read_file(path));
  for (int part = 1; part < 7; part++) {
    const std::string name = path + "." + std::to_string(part);
    if (access(name.c_str(), R_OK)) break;
    const Sums more = sum(read_file(name));
    all.posted += more.posted, all.completed += more.completed, all.flows += more.flows;
  }
  return all;
}

void thousand_threads() {
  const std::string path = use_segment_file();
  constexpr int kThreads = kIsSanitized ? 200 : 1000, kEach = 20;
  Job job([] {
    Loaded loaded;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++)
      threads.emplace_back([&] {
        const std::unique_ptr<Mover> mover = loaded.make_mover();
        NEED(mover->move(kEach));
        bed.page->number[0]++;
        while (!bed.page->go_on) nap_ms(5);  // all are there at once
      });
    while (bed.page->number[0] < kThreads) nap_ms(1);
    bed.page->go_on = 1;
    for (std::thread& t : threads) t.join();
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well(50'000));
  const std::string file = path + "." + std::to_string(pid);
  const SegmentCopy s = read_file(file);
  const Sums sums = sum_of_parts(file);
  EXPECT(sums.flows == kThreads);
  EXPECT(sums.posted == uint64_t{kThreads} * kEach && sums.completed == sums.posted);
  const uint64_t common = s.thread(s.header().thread_capacity - 1).posts, posts = posts_of_threads(s);
  EXPECT(s.writer().threads == s.header().thread_capacity - 1);
  EXPECT(common > 0 && posts <= sums.posted);
  EXPECT(s.writer().unwitnessed_flows == 0);
  see("%d threads at once: %lu of %d transfers in %u flows; %u lines of threads are full, %lu posts of the others in the common "
      "line (a lower bound: all lines together %lu)", kThreads, sums.posted, kThreads * kEach, sums.flows, s.writer().threads, common,
      posts);
}

void threads_come_and_go() {
  const std::string path = use_segment_file();
  const int count = kIsSanitized ? 3000 : 100'000;
  const uint64_t begin = read_clock_ns(CLOCK_MONOTONIC);
  Job job([&] {
    Loaded loaded;
    const std::unique_ptr<Mover> mover = loaded.make_mover();
    NEED(mover->move(1));
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int i = 1; i < count; i++) {
      pthread_t thread;
      NEED(!pthread_create(&thread, &small, [](void* m) -> void* { NEED(static_cast<Mover*>(m)->move(1)); return nullptr; },
                           mover.get()));
      NEED(!pthread_join(thread, nullptr));
    }
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well(50'000));
  const SegmentCopy s = read_file(path + "." + std::to_string(pid));
  const Sums sums = sum(s);
  EXPECT(sums.posted == static_cast<uint64_t>(count) && sums.completed == sums.posted);
  EXPECT(s.writer().threads == s.header().thread_capacity - 1);
  EXPECT(s.thread(s.header().thread_capacity - 1).posts == 0);
  see("%d threads of one transfer each: %lu counted, %u lines of threads used again and again, none in the common line; %.1f s", count,
      sums.posted, s.writer().threads, static_cast<double>(read_clock_ns(CLOCK_MONOTONIC) - begin) / 1e9);
}

void contexts_come_and_go() {
  FakeSidecar sidecar;
  use_sidecar(sidecar);
  Job job([] {
    Plugin plugin;
    plugin.init();
    Verbs verbs;
    for (int i = 0; i < 110; i++) {
      verbs.open();
      {
        VerbsMover a(verbs), b(verbs);
        NEED(a.move(5) && b.move(5));
      }
      verbs.close();
      if (i != 9 && i != 109) continue;
      bed.page->stage = i == 9 ? 1 : 2;
      while (bed.page->go_on < bed.page->stage) nap_ms(1);
    }
  });
  const int client = sidecar.accept(), segment = FakeSidecar::serve(client);
  EXPECT(eventually([] { return bed.page->stage == 1; }));
  nap_ms(1200);
  const Held before = look(job.pid);
  bed.page->go_on = 1;
  EXPECT(eventually([] { return bed.page->stage == 2; }));
  const Held after = look(job.pid);
  bed.page->go_on = 2;
  EXPECT(job.ends_well());
  const SegmentCopy s = SegmentCopy::read(segment);
  EXPECT(sum(s).posted == 1100 || sum(s).flows < 220);  // lines of destroyed ones may have been taken over
  EXPECT(s.writer().contexts == 110 && s.writer().unwitnessed_events == 0);
  EXPECT(after.threads == before.threads && after.descriptors == before.descriptors);
  EXPECT(kIsSanitized || after.mappings <= before.mappings + 1);
  see("100 more contexts with 2 queue pairs each, all tapped (%u); threads %ld -> %ld, descriptors %ld -> %ld, mappings %ld -> %ld",
      s.writer().contexts, before.threads, after.threads, before.descriptors, after.descriptors, before.mappings, after.mappings);
}

void more_contexts_than_places() {
  const std::string path = use_segment_file();
  Job job([] {
    Plugin plugin;
    plugin.init();
    std::vector<std::unique_ptr<Verbs>> all;
    for (int i = 0; i < 70; i++) {
      all.push_back(std::make_unique<Verbs>());
      all.back()->open();
      NEED(VerbsMover(*all.back()).move(3));
    }
    for (const auto& verbs : all) verbs->close();
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well());
  const SegmentCopy s = read_file(path + "." + std::to_string(pid));
  EXPECT(s.writer().contexts == 64);
  EXPECT(sum(s).posted == 192);
  see("70 contexts at once: %u tapped with %lu of their 192 transfers, the other 6 work untapped", s.writer().contexts, sum(s).posted);
}

// Somebody else in the process, who gets libibverbs by its own name, before and after us.
void other_users_of_verbs() {
  const std::string path = use_segment_file();
  Job job([] {
    Verbs theirs("libibverbs.so.1");
    theirs.open();
    const auto ops = theirs.context->ops;
    Loaded loaded;
    Verbs later("libibverbs.so.1");
    later.open();
    void* profiling = loaded.plugin.init_profiler();
    NEED(!memcmp(&theirs.context->ops, &ops, sizeof ops) && !memcmp(&later.context->ops, &ops, sizeof ops));
    const std::unique_ptr<Mover> ours = loaded.make_mover();
    VerbsMover a(theirs), b(later);
    NEED(ours->move(100) && a.move(1000) && b.move(1000));
    NEED(later.find<void>("ibv_create_qp") != loaded.verbs->find<void>("ibv_create_qp"));
    loaded.plugin.profiler->finalize(profiling);
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well());
  const Sums sums = sum(read_file(path + "." + std::to_string(pid)));
  EXPECT(sums.posted == 100 && sums.flows == 1);
  see("contexts of others, opened before and after us, keep their functions; of 2100 transfers the job's %lu are counted", sums.posted);
}

void provider_without_functions() {
  const std::string path = use_segment_file();
  setenv("FAKE_VERBS_WITHOUT_OPS", "1", 1);
  Job job([] {
    Loaded loaded;
    NEED(!loaded.verbs->context->ops.post_send);
    ibv_qp* qp = loaded.verbs->create_qp();
    loaded.plugin.init_profiler();
    loaded.verbs->destroy_qp(qp);
    loaded.verbs->close();
  });
  const pid_t pid = job.pid;
  EXPECT(job.ends_well());
  const SegmentCopy s = read_file(path + "." + std::to_string(pid));
  EXPECT(s.writer().contexts == 0 && s.writer().flows == 0);
  see("a provider without post and poll functions is left alone: %u contexts, %u flows", s.writer().contexts, s.writer().flows);
}

}  // namespace

std::vector<Case> many_cases() {
  return {{"thousand_threads", "1000 threads at once, a flow each", {Mode::kTap}, thousand_threads},
          {"threads_come_and_go", "100 000 short threads, one after the other", {Mode::kTap}, threads_come_and_go},
          {"contexts_come_and_go", "verbs contexts opened and closed 100 times", {Mode::kTap}, contexts_come_and_go},
          {"more_contexts_than_places", "70 verbs contexts at once, 64 places", {Mode::kTap}, more_contexts_than_places},
          {"other_users_of_verbs", "contexts of another library in the process, by libibverbs.so.1", {Mode::kTap}, other_users_of_verbs},
          {"provider_without_functions", "a context without post_send, post_recv, poll_cq", {Mode::kTap}, provider_without_functions}};
}

}  // namespace railwitness::lifecycle
