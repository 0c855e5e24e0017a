#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <sstream>

#include "fmt/format.h"
#include "probes/doctor/checks.h"
#include "probes/doctor/child.h"
#include "probes/doctor/nccl_variables.h"
#include "probes/doctor/nccl_version.h"
#include "railwitness/base/knobs.h"

namespace railwitness::doctor {
namespace {

// --- in the child: one line of answer each, beginning with a word

std::string path_of(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

void* open_first(const std::string& names, std::string& errors) {
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, '\n');) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    errors += (errors.empty() ? "" : "; ") + std::string(dlerror());
  }
  return nullptr;
}

// "path\nnet 11\nnet 12\nprofiler 5\n...", or "!error".
std::string look_into_plugin(const std::string& names) {
  std::string errors;
  void* library = open_first(names, errors);
  if (library == nullptr) return "!" + errors;
  std::string out = path_of(library) + "\n";
  const auto add = [&](const char* kind, const char* symbol) {
    for (int version = 1; version <= 20; ++version) {
      const std::string name = fmt::format("{}{}", symbol, version);
      if (dlsym(library, name.c_str()) != nullptr) out += fmt::format("{} {}\n", kind, version);
    }
  };
  add("net", "ncclNetPlugin_v");
  add("collnet", "ncclCollNetPlugin_v");
  add("profiler", "ncclProfiler_v");
  return out;
}

std::string look_into_library(const std::string& names) {
  std::string errors;
  void* library = open_first(names, errors);
  return library == nullptr ? "!" + errors : path_of(library);
}

// "path\ncode", or "!error".
std::string ask_nccl(const std::string& names) {
  std::string errors;
  void* library = open_first(names, errors);
  if (library == nullptr) return "!" + errors;
  const auto version = reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  int code = 0;
  if (version == nullptr || version(&code) != 0) return "!" + path_of(library) + " has no ncclGetVersion that answers";
  return path_of(library) + "\n" + std::to_string(code);
}

// --- in the doctor

// Where NCCL would look, one name a line (plugin_open.cc of NCCL 2.28; net.cc before).
std::string names_of_plugin(const std::string& path, const Environment& environment) {
  if (!path.empty()) return path;
  const std::string value = environment.value("NCCL_NET_PLUGIN");
  const std::string first = value.substr(0, value.find(','));
  if (first.find("railwitness") == std::string::npos) return "libnccl-net-railwitness.so";
  if (first.find('/') != std::string::npos) return first;
  return first + "\nlibnccl-net-" + first + ".so";
}

std::string listed(const std::vector<int>& versions) {
  std::string out;
  for (const int version : versions) out += fmt::format("{}v{}", out.empty() ? "" : " ", version);
  return out.empty() ? "none" : out;
}

// Of an installed program, and of one that was just built.
std::string beside_us() {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return "";
  std::string path(self, static_cast<size_t>(length));
  for (int i = 0; i < 2 && path.rfind('/') != std::string::npos; ++i) path.resize(path.rfind('/'));
  for (const char* folder : {"/lib/railwitness/", "/lib/"}) {
    const std::string plugin = path + folder + "libnccl-net-railwitness.so";
    if (access(plugin.c_str(), R_OK) == 0) return plugin;
  }
  return "";
}

Check not_found(const std::string& why) {
  const std::string beside = beside_us();
  const std::string folder = beside.substr(0, beside.rfind('/'));
  return {"plugin", State::kBad, why,
          beside.empty()
              ? "install libnccl-net-railwitness.so and tap-verbs.so in one folder and put it into the job's "
                "LD_LIBRARY_PATH, or NCCL_NET_PLUGIN=/folder/libnccl-net-railwitness.so"
              : fmt::format("it lies in {}: put that into the job's LD_LIBRARY_PATH, or NCCL_NET_PLUGIN={}", folder,
                            beside)};
}

}  // namespace

Plugin check_plugin(const std::string& path, const Environment& environment) {
  Plugin out;
  const auto answer = ask_child(look_into_plugin, names_of_plugin(path, environment));
  if (!answer.ok()) {
    out.check = {"plugin", State::kBad, "loading it in a child process: " + std::string(answer.status().message()),
                 "report it"};
    return out;
  }
  if (answer->starts_with("!")) {
    out.check = not_found(answer->substr(1));
    return out;
  }
  std::istringstream lines(*answer);
  std::getline(lines, out.path);
  std::vector<int> collnet, profiler;
  std::string kind;
  for (int version = 0; lines >> kind >> version;) {
    (kind == "net" ? out.net_versions : kind == "collnet" ? collnet : profiler).push_back(version);
  }
  const bool is_ours = !out.net_versions.empty();
  out.check = {"plugin", is_ours ? State::kOk : State::kBad,
               fmt::format("{} loads; net {}, collnet {}, profiler {}", out.path, listed(out.net_versions),
                           listed(collnet), listed(profiler)),
               is_ours ? "" : "it is no net plugin; take another libnccl-net-railwitness.so"};
  return out;
}

Check check_stub(const Plugin& plugin) {
  if (plugin.path.empty()) return {"tap-verbs.so", State::kUnknown, "the plugin was not found", ""};
  const std::string stub = plugin.path.substr(0, plugin.path.rfind('/') + 1) + "tap-verbs.so";
  const auto answer = ask_child(look_into_library, stub);
  if (answer.ok() && !answer->starts_with("!")) return {"tap-verbs.so", State::kOk, stub + " loads", ""};
  const std::string why = answer.ok() ? answer->substr(1) : std::string(answer.status().message());
  const bool is_there = access(stub.c_str(), F_OK) == 0;
  return {"tap-verbs.so", State::kWarn, why,
          is_there
              ? "libibverbs.so.1 is missing most likely: install rdma-core's libibverbs1"
              : "install it in the folder of the plugin; without it the tap must attach by the provider table or late"};
}

Check check_nccl(const std::string& path, const Plugin& plugin) {
  const auto answer = ask_child(ask_nccl, path.empty() ? "libnccl.so.2" : path);
  const std::string way_out =
      "name it with --nccl PATH (PyTorch brings its own: site-packages/nvidia/nccl/lib/libnccl.so.2)";
  if (!answer.ok()) return {"NCCL", State::kUnknown, std::string(answer.status().message()), way_out};
  if (answer->starts_with("!")) return {"NCCL", State::kUnknown, answer->substr(1), way_out};
  const size_t end = answer->find('\n');
  Check check = explain_nccl(atoi(answer->c_str() + end), plugin.net_versions);
  check.evidence = answer->substr(0, end) + "; " + check.evidence;
  return check;
}

Check check_verbs_library() {
  const auto answer = ask_child(look_into_library, "libibverbs.so.1");
  if (answer.ok() && !answer->starts_with("!")) return {"libibverbs", State::kOk, *answer, ""};
  return {"libibverbs", State::kBad, answer.ok() ? answer->substr(1) : std::string(answer.status().message()),
          "install rdma-core's libibverbs1; without it neither NCCL's InfiniBand transport nor the tap works"};
}

Check check_libfabric(const Environment& environment) {
  const bool is_needed = mode_of(environment) == "ofi";
  const auto answer = ask_child(look_into_library, "libfabric.so.1");
  if (answer.ok() && !answer->starts_with("!")) return {"libfabric", State::kOk, *answer, ""};
  return {"libfabric", is_needed ? State::kBad : State::kOk,
          (answer.ok() ? answer->substr(1) : std::string(answer.status().message())) +
              (is_needed ? "" : "; only RAILWITNESS_MODE=ofi needs it"),
          is_needed ? "install libfabric1 (1.11 or later)" : ""};
}

}  // namespace railwitness::doctor
