// Plans of actors in files: versioned text, a line for each thing. A line is a word, a name in quotes, and fields `key=value`, where
// a value is a number, a text in quotes, or a list of numbers: `register "images" producer=0 consumers=1,2 bytes=4096 count=2`.
// Fields that have their default value are left out; those that this version does not know are an error, not a surprise.
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "plan/stream/stream_plan.h"

namespace hw {

static constexpr std::string_view kHeader = "headwater stream plan 1";

static std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

namespace {

/// Fields of a line, written if they are not the default.
class LineWriter {
 public:
  LineWriter(const char* word, const std::string& name) : line_(text(word, " ", quoted(name))) {}
  template <class T>
  LineWriter& field(const char* key, const T& value, const T& usual) {
    if (value == usual) return *this;
    if constexpr (std::is_same_v<T, std::string>)
      line_ += text(" ", key, "=", quoted(value));
    else if constexpr (std::is_same_v<T, bool>)
      line_ += text(" ", key, "=", value ? 1 : 0);
    else
      line_ += text(" ", key, "=", value);
    return *this;
  }
  LineWriter& list(const char* key, const std::vector<int32_t>& values) {
    line_ += text(" ", key, "=");
    for (size_t i = 0; i < values.size(); ++i) line_ += text(i ? "," : "", values[i]);
    return *this;
  }
  std::string done() const { return line_ + "\n"; }

 private:
  std::string line_;
};

/// Takes a line apart, word by word; whatever does not fit is an Error that names the line.
class LineReader {
 public:
  LineReader(std::string_view line, size_t number) : rest_(line), number_(number) {}

  [[noreturn]] void wrong(std::string_view what) const { fail(ErrorKind::Value, "line ", number_, ": ", what); }

  bool at_end() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    return rest_.empty();
  }
  std::string_view word(std::string_view ends = " =") {
    if (at_end()) wrong("ends too early");
    const size_t n = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view w = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return w;
  }
  std::string string() {
    if (at_end() || rest_.front() != '"') wrong("expected a text in double quotes");
    std::string out;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return out;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      out += rest_[i];
    }
    wrong("a text in quotes does not end");
  }
  std::string_view key() {
    const std::string_view k = word();
    if (rest_.empty() || rest_.front() != '=') wrong(text("expected ", k, "=value"));
    rest_.remove_prefix(1);
    return k;
  }
  template <class T>
  void read(T& out) {
    if constexpr (std::is_same_v<T, std::string>) {
      out = string();
    } else if constexpr (std::is_same_v<T, bool>) {
      out = number<int32_t>(word(" ")) != 0;
    } else if constexpr (std::is_same_v<T, std::vector<int32_t>>) {
      std::string_view all = word(" ");
      for (;;) {
        const size_t n = all.find(',');
        out.push_back(number<int32_t>(all.substr(0, n)));
        if (n == std::string_view::npos) break;
        all.remove_prefix(n + 1);
      }
    } else {
      out = number<T>(word(" "));
    }
  }

 private:
  template <class T>
  T number(std::string_view s) const {
    T value{};
    const auto r = std::from_chars(s.data(), s.data() + s.size(), value);
    if (r.ec != std::errc() || r.ptr != s.data() + s.size()) wrong(text("'", s, "' is not a number that fits here"));
    return value;
  }
  std::string_view rest_;
  size_t number_;
};

}  // namespace

/// Calls f(key, field, usual value) for all fields: the one list that writing and reading share.
template <class F>
static void stream_fields(PlanStream& s, F&& f) {
  const PlanStream usual;
  f("device", s.device, usual.device), f("rank", s.rank, usual.rank), f("ordered", s.ordered, usual.ordered);
}
template <class F>
static void link_fields(PlanLink& l, F&& f) {
  f("bytes_per_second", l.bytes_per_second, PlanLink().bytes_per_second);
}
template <class F>
static void actor_fields(StreamActor& a, F&& f) {
  const StreamActor usual;
  f("kind", a.kind, usual.kind), f("stream", a.stream, usual.stream), f("seconds", a.seconds, usual.seconds);
  f("runs", a.runs, usual.runs), f("origin", a.origin, usual.origin);
  f("arena_bytes", a.arena_bytes, usual.arena_bytes), f("link", a.link, usual.link);
  f("link_bytes", a.link_bytes, usual.link_bytes);
}
template <class F>
static void register_fields(StreamRegister& r, F&& f) {
  const StreamRegister usual;
  f("producer", r.producer, usual.producer), f("consumers", r.consumers, usual.consumers);
  f("bytes", r.bytes, usual.bytes), f("count", r.count, usual.count);
  f("fixed", r.fixed, usual.fixed), f("initial", r.initial, usual.initial);
}

std::string write_stream_plan(const StreamPlan& given) {
  StreamPlan plan = given;  // the field lists hand out references
  std::string out = text(kHeader, "\nplan ", quoted(plan.name), "\n");
  LineWriter* line = nullptr;
  const auto put = [&](const char* key, const auto& value, const auto& usual) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<int32_t>>)
      line->list(key, value);
    else
      line->field(key, value, usual);
  };
  const auto all = [&](const char* word, auto& things, auto fields) {
    for (auto& thing : things) {
      LineWriter writer(word, thing.name);
      line = &writer;
      fields(thing, put);
      out += writer.done();
    }
  };
  all("stream", plan.streams, [](auto& s, auto& f) { stream_fields(s, f); });
  all("link", plan.links, [](auto& l, auto& f) { link_fields(l, f); });
  all("actor", plan.actors, [](auto& a, auto& f) { actor_fields(a, f); });
  all("register", plan.registers, [](auto& r, auto& f) { register_fields(r, f); });
  return out;
}

template <class T, class Fields>
static void read_line(LineReader& line, std::vector<T>& list, Fields fields) {
  T thing;
  thing.name = line.string();
  while (!line.at_end()) {
    const std::string_view key = line.key();
    bool known = false;
    fields(thing, [&](std::string_view name, auto& value, const auto&) {
      if (name != key) return;
      known = true;
      line.read(value);
    });
    if (!known) line.wrong(text("there is no field '", key, "' in this version"));
  }
  list.push_back(std::move(thing));
}

StreamPlan read_stream_plan(const std::string& file) {
  StreamPlan plan;
  size_t number = 0;
  std::string_view rest = file;
  while (!rest.empty()) {
    const size_t n = std::min(rest.find('\n'), rest.size());
    LineReader line(rest.substr(0, n), ++number);
    if (number == 1 && rest.substr(0, n) != kHeader)
      line.wrong(text("this is no plan of actors of a version that can be read: expected '", kHeader, "'"));
    rest.remove_prefix(std::min(n + 1, rest.size()));
    if (number == 1 || line.at_end()) continue;
    const std::string_view word = line.word();
    if (word == "plan")
      plan.name = line.string();
    else if (word == "stream")
      read_line(line, plan.streams, [](auto& s, auto f) { stream_fields(s, f); });
    else if (word == "link")
      read_line(line, plan.links, [](auto& l, auto f) { link_fields(l, f); });
    else if (word == "actor")
      read_line(line, plan.actors, [](auto& a, auto f) { actor_fields(a, f); });
    else if (word == "register")
      read_line(line, plan.registers, [](auto& r, auto f) { register_fields(r, f); });
    else if (word.substr(0, 1) != "#")
      line.wrong(text("unknown word '", word, "'"));
  }
  check(number > 0, "an empty file is no plan of actors");
  if (std::string problem = stream_plan_problem(plan); !problem.empty()) fail(ErrorKind::Value, problem);
  return plan;
}

}  // namespace hw
