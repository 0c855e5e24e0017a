#include "probes/doctor/host.h"

#include "fmt/format.h"
#include "probes/doctor/checks.h"
#include "probes/doctor/nccl_variables.h"
#include "railwitness/base/knobs.h"

namespace railwitness::doctor {
namespace {

// What is misspelt or wrong, and the variables of NCCL that are more than all right.
void add_variables(const Environment& environment, std::vector<Check>& out) {
  size_t found = 0;
  for (const Setting& setting : environment.settings) {
    const std::string entry = setting.name + "=" + setting.value;
    char problem[256];
    knobs::describe_problem(knobs::read_entry(entry), problem, sizeof problem);
    if (problem[0])
      out.push_back({"variable " + setting.name, State::kBad, problem, "correct it in " + setting.origin});
    const auto remark = remark_on(setting, environment);
    const bool matters = remark && remark->state != State::kOk && remark->state != State::kUnknown;
    if (matters) {
      out.push_back({fmt::format("{}={}", setting.name, setting.value), remark->state, remark->evidence,
                     remark->way_out + (setting.origin == "environment" ? "" : fmt::format(" ({})", setting.origin))});
    }
    found += problem[0] || matters ? 1 : 0;
  }
  if (found == 0)
    out.push_back({"variables", State::kOk, "nothing misspelt, nothing that keeps NCCL from railwitness", ""});
  if (environment.find("NCCL_NET_PLUGIN") == nullptr) {
    out.push_back({"NCCL_NET_PLUGIN", State::kWarn,
                   "not set here; a job loads railwitness only if it is set in every rank",
                   "NCCL_NET_PLUGIN=railwitness"});
  }
}

}  // namespace

Check unless_ofi(Check check, const Environment& environment) {
  const bool is_wrong = check.state == State::kBad || check.state == State::kWarn;
  if (!is_wrong || !is_ofi_over_sockets(environment)) return check;
  return {check.name, State::kOk, check.evidence + "; mode ofi needs none", ""};
}

std::vector<Check> examine_host(const HostQuestions& questions) {
  const Environment environment = own_environment();
  const Plugin plugin = check_plugin(questions.plugin, environment);
  std::vector<Check> out{plugin.check,
                         unless_ofi(check_stub(plugin), environment),
                         check_nccl(questions.nccl, plugin),
                         check_glibc(),
                         unless_ofi(check_verbs_library(), environment),
                         unless_ofi(check_rdma_devices(questions.sysfs_root), environment),
                         unless_ofi(check_device_files(), environment),
                         check_libfabric(environment),
                         check_memlock(environment),
                         check_clock(),
                         check_lldp(questions.lldp_command),
                         check_handover(questions.socket)};
  add_variables(environment, out);
  return out;
}

}  // namespace railwitness::doctor
