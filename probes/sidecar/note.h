// A sentence of the facts about what this sidecar could not see, and how its log takes it.
#ifndef RAILWITNESS_PROBES_SIDECAR_NOTE_H_
#define RAILWITNESS_PROBES_SIDECAR_NOTE_H_

#include <string>
#include <utility>
#include <vector>

namespace railwitness::sidecar {

struct Note {
  enum class Kind {
    kProblem,   // logged as a warning when it comes
    kExpected,  // logged as information: every sidecar has it for a while
    kOfAJob,    // a warning as well, but jobs can make it come and change as often as they like: within a budget
    kFigure,    // changes too often for a log
  };
  Note(std::string sentence, Kind of = Kind::kProblem) : text(std::move(sentence)), kind(of) {}
  Note(const char* sentence) : Note(std::string(sentence)) {}

  std::string text;
  Kind kind;
};

inline std::vector<std::string> texts_of(const std::vector<Note>& notes) {
  std::vector<std::string> texts;
  for (const Note& note : notes) texts.push_back(note.text);
  return texts;
}

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_NOTE_H_
