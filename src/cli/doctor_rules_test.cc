#include "cli/doctor_rules.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/doctor_text.h"

namespace fray::cli {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

MachineFacts fit_machine() {
  MachineFacts facts;
  facts.kernel_release = "6.1.0";
  facts.memfd_seals = facts.userfaultfd = true;
  facts.online_cpus = facts.affinity_cpus = facts.usable_cpus = 4;
  facts.clock_source = "tsc";
  facts.physical_memory = facts.usable_memory = facts.available_memory = 8 * kGiB;
  facts.shmem_huge = "advise";
  facts.shm_total = facts.shm_free = kGiB;
  facts.group_kind = "v2";
  facts.files_soft = 1024;
  facts.files_hard = 65536;
  facts.processes = ~std::uint64_t{0};
  facts.spill_folder = "/var/tmp";
  facts.spill_free = 10 * kGiB;
  facts.run_folder = "/run/user/1000/fray";
  facts.py_spy = "/usr/bin/py-spy";
  facts.release = facts.package_release = facts.extension_release = "1.2.3";
  facts.python = "/usr/bin/python3";
  return facts;
}

Finding finding(const MachineFacts& facts, const std::string& check) {
  std::vector<Finding> all = judge(facts);
  auto found = std::find_if(all.begin(), all.end(), [&](const Finding& one) { return one.check == check; });
  return found == all.end() ? Finding{} : *found;
}

TEST(DoctorRules, AFitMachineHasNothingToDo) {
  for (const Finding& one : judge(fit_machine())) {
    EXPECT_EQ(one.verdict, Verdict::kGood) << one.check << ": " << one.found;
    EXPECT_EQ(one.remedy, "") << one.check;
    EXPECT_NE(one.found, "") << one.check;
  }
}

TEST(DoctorRules, WhatStopsTheEngineFailsWithItsRemedy) {
  struct Case {
    const char* check;
    void (*spoil)(MachineFacts&);
  };
  const Case cases[] = {
      {"kernel", [](MachineFacts& facts) { facts.kernel_problem = "needs Linux 5.4"; }},
      {"memory files", [](MachineFacts& facts) { facts.memfd_seals = false; }},
      {"descriptors", [](MachineFacts& facts) { facts.files_hard = 128; }},
      {"processes", [](MachineFacts& facts) { facts.processes = 20; }},
      {"spill folder", [](MachineFacts& facts) { facts.spill_problem = "not writable"; }},
      {"run folder", [](MachineFacts& facts) { facts.run_problem = "mode 0777"; }},
      {"run folder", [](MachineFacts& facts) { facts.run_folder = "/" + std::string(100, 'x'); }},
      {"python", [](MachineFacts& facts) { facts.python_problem = "No module named fray"; }},
      {"python", [](MachineFacts& facts) { facts.package_release = "1.2.2"; }},
      {"python", [](MachineFacts& facts) { facts.extension_release = "1.2.2"; }},
  };
  for (const Case& one : cases) {
    MachineFacts facts = fit_machine();
    one.spoil(facts);
    Finding found = finding(facts, one.check);
    EXPECT_EQ(found.verdict, Verdict::kBad) << one.check << ": " << found.found;
    EXPECT_NE(found.remedy, "") << one.check;
  }
}

TEST(DoctorRules, WhatOnlyCostsSpeedIsANotice) {
  struct Case {
    const char* check;
    void (*spoil)(MachineFacts&);
  };
  const Case cases[] = {
      {"userfaultfd", [](MachineFacts& facts) { facts.userfaultfd = false; }},
      {"cpus", [](MachineFacts& facts) { facts.usable_cpus = 1; }},
      {"clock", [](MachineFacts& facts) { facts.clock_source = "hpet"; }},
      {"memory", [](MachineFacts& facts) { facts.usable_memory = 100 << 20; }},
      {"overcommit", [](MachineFacts& facts) { facts.overcommit = 2; }},
      {"swap", [](MachineFacts& facts) { facts.swap_total = kGiB; }},
      {"/dev/shm", [](MachineFacts& facts) { facts.shm_total = 64 << 20; }},
      {"spill folder", [](MachineFacts& facts) { facts.spill_in_memory = true; }},
      {"spill folder", [](MachineFacts& facts) { facts.spill_free = 1 << 20; }},
      {"stacks", [](MachineFacts& facts) { facts.py_spy.clear(); }},
      {"stacks", [](MachineFacts& facts) { facts.ptrace_scope = 1; }},
  };
  for (const Case& one : cases) {
    MachineFacts facts = fit_machine();
    one.spoil(facts);
    Finding found = finding(facts, one.check);
    EXPECT_EQ(found.verdict, Verdict::kNotice) << one.check << ": " << found.found;
    EXPECT_NE(found.remedy, "") << one.check;
  }
}

TEST(DoctorRules, AProcessThatMayTraceAllIsNotHeldBackByTheScope) {
  MachineFacts facts = fit_machine();
  facts.ptrace_scope = 1;
  facts.can_trace_all = true;
  EXPECT_EQ(finding(facts, "stacks").verdict, Verdict::kGood);
}

TEST(DoctorText, HasAMarkForEachLineAndCountsThem) {
  MachineFacts facts = fit_machine();
  facts.memfd_seals = false;
  facts.py_spy.clear();
  std::string text = doctor_text(judge(facts), os::TerminalStyle{false, true});
  EXPECT_NE(text.find("✓ kernel"), std::string::npos) << text;
  EXPECT_NE(text.find("✗ memory files"), std::string::npos) << text;
  EXPECT_NE(text.find("! stacks"), std::string::npos) << text;
  EXPECT_NE(text.find("1 to know, 1 failed"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::string plain = doctor_text(judge(facts), os::TerminalStyle{true, false});
  EXPECT_NE(plain.find("\x1b[31mx\x1b[0m memory files"), std::string::npos) << plain;
}

TEST(DoctorJson, NamesEachCheckAndItsVerdict) {
  auto report = nlohmann::json::parse(doctor_json(judge(fit_machine())));
  EXPECT_EQ(report["schema"], "fray/v1");
  for (const auto& check : report["checks"]) EXPECT_EQ(check["verdict"], "ok");
}

}  // namespace
}  // namespace fray::cli
