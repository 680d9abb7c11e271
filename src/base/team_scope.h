// Another number of threads, and cores of one's own, for what a thread does until the end of a scope.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hw {

/// Cores that a team runs on: its thread i on core i modulo their number.
class TeamCores {
 public:
  TeamCores() = default;
  /// Throws Error{Value} for a core that this process may not use.
  explicit TeamCores(std::span<const int32_t> cores);
  bool empty() const { return cores_.empty(); }
  const std::vector<int32_t>& list() const { return cores_; }
  uint64_t number() const { return number_; }  // another for each list that was made

 private:
  std::vector<int32_t> cores_;
  uint64_t number_ = 0;
};

/// Until it ends, num_threads() is `threads` on this thread (0: as it was), and the team that this thread forks runs on `cores` (empty:
/// where the system likes). The thread itself gets its cores back at the end; the others keep theirs until the next scope that differs.
class TeamScope {
 public:
  TeamScope(int threads, const TeamCores& cores);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;

 private:
  int before_ = 0;
  int openmp_before_ = 0;
  bool bound_ = false;
};

/// Whether the team of this thread was given cores, and no scope without them came since.
bool team_has_cores();

/// What the innermost TeamScope of this thread says; 0: none does.
int scoped_threads();

}  // namespace hw
