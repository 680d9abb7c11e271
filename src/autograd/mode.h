// The thread's autograd modes.
#pragma once

namespace hw {

struct GradMode {
  bool enabled = true;     // off in hw.no_grad()
  bool inference = false;  // hw.inference_mode(): no versions, no views tracked, results never enter a graph
  bool anomaly = false;    // look for the first NaN
};

inline thread_local GradMode t_grad_mode;
inline GradMode& grad_mode() { return t_grad_mode; }

/// Sets the modes for a scope.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : before_(t_grad_mode) { t_grad_mode.enabled = enabled; }
  ~GradModeGuard() { t_grad_mode = before_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  GradMode before_;
};

}  // namespace hw
