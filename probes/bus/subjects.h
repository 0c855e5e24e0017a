// Names on the bus and what a URL of it may look like. Pure functions.
#ifndef RAILWITNESS_PROBES_BUS_SUBJECTS_H_
#define RAILWITNESS_PROBES_BUS_SUBJECTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace railwitness::bus {

inline constexpr char kFactsStream[] = "RAILWITNESS_FACTS";
inline constexpr char kFactsSubjects[] = "railwitness.facts.*";
inline constexpr char kIncidentsStream[] = "RAILWITNESS_INCIDENTS";
inline constexpr char kIncidentSubject[] = "railwitness.incident";

// A node's name is one token: letters, digits, '-' and '_' stay, every other byte becomes %XX (a dot would split it).
std::string facts_subject(const std::string& node);
std::string probe_subject(const std::string& node);

// nats://[user[:password]@]host[:port] or tls://..., several separated by commas.
absl::Status check_url(const std::string& url);
std::vector<std::string> split_urls(const std::string& url);
// Of one URL that check_url() takes; an IPv6 address without its brackets.
std::string host_of(const std::string& url);
// Without user and password, for messages.
std::string shown_url(const std::string& url);

}  // namespace railwitness::bus

#endif  // RAILWITNESS_PROBES_BUS_SUBJECTS_H_
