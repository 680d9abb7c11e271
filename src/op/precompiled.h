// What nearly all source files read, compiled once for all of them (see CMakeLists.txt); nothing includes it.
#pragma once
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
