// mm, bmm, addmm, baddbmm and linear through oneDNN's matmul.
#include <algorithm>
#include <string_view>

#include "backends/onednn/engine.h"
#include "kernels/linalg/product.h"

namespace hw::onednn {
namespace {

using Md = dnnl::memory::desc;

/// Whether oneDNN has a fast way for these strides: one of the two is 1 and the other spans it.
bool dense_matrix(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  return (column == 1 && row >= columns) || (row == 1 && column >= rows) || (column == 1 && rows == 1) ||
         (row == 1 && columns == 1);
}

bool accepts(const ProductRequest& r, std::string& why_not) {
  const Product& p = r.product;
  if (data_type(p.dtype) == dnnl::memory::data_type::undef) {
    why_not = "serves f16, bf16 and f32";
    return false;
  }
  if (r.gather_a || !dense_matrix(p.m, p.k, p.a_row, p.a_col) || !dense_matrix(p.k, p.n, p.b_row, p.b_col) ||
      !dense_matrix(p.m, p.n, p.c_row, p.c_col)) {
    why_not = "a matrix has neither unit row nor unit column stride";
    return false;
  }
  if (p.batch == 0 || p.m == 0 || p.n == 0 || p.k == 0) {
    why_not = "empty";
    return false;
  }
  if (std::max({p.batch, p.m, p.n, p.k}) > int64_t{1} << 30) {
    why_not = "a size beyond 2^30";
    return false;
  }
  if (p.alpha != 1 || (p.has_input && (p.beta != 1 || p.input_row != 0 || p.input_batch != 0 || p.input_col > 1))) {
    why_not = "adds only a bias, unscaled";
    return false;
  }
  if (p.batch > 1 && (p.a_batch == 0 || p.b_batch == 0)) {
    why_not = "a batch is expanded";
    return false;
  }
  return true;
}

/// Where the own SIMD products measure faster: small ones (a oneDNN call costs about 1 us) and few rows or columns.
bool better_elsewhere(const Product& p, std::string& why_not) {
  int64_t work = p.batch * p.m * p.n * p.k, narrow = std::min(p.m, p.n);
  bool reduced = p.dtype != DType::F32;
  if (work > (reduced ? 1 << 16 : 300000) && narrow > (reduced ? 4 : 8)) return false;
  why_not = "the own product is faster for so small a matrix";
  return true;
}

/// Whether oneDNN's `gemm` would read B in place, by rows that lie a multiple of 2 KiB apart: these meet in few sets of the
/// first-level cache, and a product runs at half its speed. From about 393216 results on it packs B first.
bool rows_collide(const Product& p, std::string_view implementation) {
  constexpr int64_t kColliding = 512, kPacksFrom = 3 << 17;
  if (p.dtype != DType::F32 || p.b_col != 1 || p.b_row % kColliding != 0 || p.k < 16) return false;
  return p.m * p.n < kPacksFrom && implementation.starts_with("gemm");
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  ProductRequest r;
  if (!read_product(request, r, why_not) || !accepts(r, why_not) || better_elsewhere(r.product, why_not) ||
      !usable(why_not))
    return nullptr;
  const Product& p = r.product;
  match_team();
  auto type = data_type(p.dtype);
  // A stride that no element is reached by must still look dense.
  auto matrix = [&](int64_t rows, int64_t columns, int64_t batch, int64_t row, int64_t column) {
    if (rows == 1 && column == 1) row = columns;
    if (columns == 1 && row == 1) column = rows;
    if (rows == 1 && column != 1 && row != 1) row = 1;
    if (p.batch == 1) return Md({rows, columns}, type, dnnl::memory::dims{row, column});
    return Md({p.batch, rows, columns}, type, dnnl::memory::dims{batch, row, column});
  };
  Md a = matrix(p.m, p.k, p.a_batch, p.a_row, p.a_col), b = matrix(p.k, p.n, p.b_batch, p.b_row, p.b_col);
  Md c = matrix(p.m, p.n, p.c_batch, p.c_row, p.c_col);
  Md bias;
  if (p.has_input) {
    if (p.input_col == 0 && p.n > 1) {
      why_not = "the bias is one number";
      return nullptr;
    }
    bias = p.batch == 1 ? Md({1, p.n}, type, dnnl::memory::dims{p.n, 1})
                        : Md({1, 1, p.n}, type, dnnl::memory::dims{p.n, p.n, 1});
  }
  dnnl::matmul::primitive_desc desc =
      p.has_input ? dnnl::matmul::primitive_desc(engine(), a, b, bias, c, user_scratchpad(), true)
                  : dnnl::matmul::primitive_desc(engine(), a, b, c, user_scratchpad(), true);
  if (!desc || std::string_view(desc.impl_info_str()).find("ref") != std::string_view::npos) {
    why_not = "oneDNN has only its reference for this";
    return nullptr;
  }
  if (rows_collide(p, desc.impl_info_str())) {
    why_not = "the rows of b lie a multiple of 2 KiB apart, the own product packs them";
    return nullptr;
  }
  Program program(dnnl::matmul(desc), desc.scratchpad_desc());
  program.input(DNNL_ARG_SRC, r.a, a, a);
  program.input(DNNL_ARG_WEIGHTS, r.b, b, b);
  if (p.has_input) program.input(DNNL_ARG_BIAS, r.input, bias, bias);
  program.output(DNNL_ARG_DST, 0, c, c);
  return std::make_unique<ProgramKernel>(std::move(program));
}

const RegisterKernel mm({"mm", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel bmm({"bmm", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel addmm({"addmm", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel baddbmm({"baddbmm", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel linear({"linear", "onednn", DeviceType::CPU, 20, &prepare});

}  // namespace
}  // namespace hw::onednn
