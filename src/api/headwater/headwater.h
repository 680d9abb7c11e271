// Headwater for C++: tensors, every operator as a typed function, autograd and optimisers.
//
//   #include <headwater/headwater.h>
//   auto x = headwater::randn({2, 3});
//   auto w = headwater::requires_grad(headwater::randn({3, 1}));
//   headwater::backward(headwater::mean(headwater::matmul(x, w)));
//   std::puts(headwater::to_string(headwater::grad(w)).c_str());
#pragma once

#include "headwater/autograd.h"
#include "headwater/call.h"
#include "headwater/ops.h"
#include "headwater/optim.h"
