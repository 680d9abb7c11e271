// Reads one 8 x 8 digit from standard input (64 grey values from 0 to 16) and says what the frozen model of `headwater demo` sees.
//   g++ -std=c++17 digits.cpp -I$PREFIX/include -L$PREFIX/lib -lheadwater_infer -Wl,-rpath,$PREFIX/lib -o digits
//   ./digits digits.hwm < digit.txt
#include <algorithm>
#include <cstdio>
#include <headwater_infer.hpp>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: digits MODEL.hwm < GREY VALUES\n"), 2;
  try {
    headwater_infer::Model model(argv[1]);
    headwater_infer::Session session(model);
    const hwi_spec spec = model.input_spec(0);
    std::vector<float> image(spec.bytes / sizeof(float));
    for (float& pixel : image) {
      if (!(std::cin >> pixel)) return std::fprintf(stderr, "expected %zu grey values\n", image.size()), 1;
      pixel /= 16;
    }
    session.input(model.input_name(0), image.data(), std::vector<int64_t>(spec.shape, spec.shape + spec.ndim));
    session.run();
    const float* scores = session.result<float>(model.output_name(0));
    if (!scores) return std::fprintf(stderr, "the model gives no float32\n"), 1;
    std::printf("%d\n", static_cast<int>(std::max_element(scores, scores + 10) - scores));
  } catch (const headwater_infer::Error& e) {
    return std::fprintf(stderr, "error %d: %s\n", static_cast<int>(e.status), e.what()), 1;
  }
  return 0;
}
