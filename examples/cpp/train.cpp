// Trains a small convolutional network on handwritten digits without Python.
//   train DIGITS.csv        one line a picture: 64 grey values 0..16, then the digit
#include <headwater/headwater.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

struct Digits {
  headwater::Tensor images, labels;  // [N, 1, 8, 8] in [0, 1]; [N]
};

static std::vector<std::vector<float>> read_rows(const char* path) {
  std::ifstream file(path);
  std::vector<std::vector<float>> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<float> row;
    std::stringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(std::stof(field));
    if (row.size() == 65) rows.push_back(std::move(row));
  }
  std::shuffle(rows.begin(), rows.end(), std::mt19937(7));
  return rows;
}

static Digits to_tensors(const std::vector<std::vector<float>>& rows, size_t begin, size_t end) {
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  for (size_t i = begin; i < end; ++i) {
    for (size_t k = 0; k < 64; ++k) pixels.push_back(rows[i][k] / 16);
    labels.push_back(static_cast<int64_t>(rows[i][64]));
  }
  int64_t n = static_cast<int64_t>(end - begin);
  return {headwater::from_vector(pixels, {n, 1, 8, 8}), headwater::from_vector(labels, {n})};
}

struct Net {
  headwater::Tensor conv1 = init({16, 1, 3, 3}, 9), bias1 = zeros(16), conv2 = init({32, 16, 3, 3}, 144),
                    bias2 = zeros(32);
  headwater::Tensor fc = init({10, 128}, 128), bias3 = zeros(10);

  static headwater::Tensor init(headwater::Dims shape, double fan_in) {
    return headwater::requires_grad(headwater::mul(headwater::randn(shape), std::sqrt(2 / fan_in)));
  }
  static headwater::Tensor zeros(int64_t n) {
    return headwater::requires_grad(headwater::full({n}, headwater::Scalar(0.0)));
  }
  headwater::Tensors parameters() const { return {conv1, bias1, conv2, bias2, fc, bias3}; }

  headwater::Tensor operator()(const headwater::Tensor& x) const {
    headwater::Tensor h =
        headwater::relu(headwater::conv2d(x, conv1, bias1, headwater::Dims{1, 1}, headwater::Dims{1, 1}));
    h = headwater::max_pool2d(h, headwater::Dims{2, 2});
    h = headwater::relu(headwater::conv2d(h, conv2, bias2, headwater::Dims{1, 1}, headwater::Dims{1, 1}));
    h = headwater::max_pool2d(h, headwater::Dims{2, 2});
    return headwater::linear(headwater::reshape(h, {-1, 128}), fc, bias3);
  }
};

static double accuracy(const Net& net, const Digits& d) {
  headwater::NoGrad scope;
  auto same = headwater::to_vector(headwater::eq(headwater::argmax(net(d.images), int64_t{1}), d.labels));
  return std::accumulate(same.begin(), same.end(), 0.0) / static_cast<double>(same.size());
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: train DIGITS.csv\n"), 2;
  try {
    auto rows = read_rows(argv[1]);
    if (rows.size() < 500) return std::fprintf(stderr, "%s holds no digits\n", argv[1]), 2;
    size_t cut = rows.size() * 4 / 5;
    Digits test = to_tensors(rows, cut, rows.size());
    headwater::manual_seed(0);
    Net net;
    headwater::optim::AdamW optimizer(net.parameters(), {.lr = 3e-3});
    for (int epoch = 0; epoch < 12; ++epoch) {
      double total = 0;
      for (size_t i = 0; i + 64 <= cut; i += 64) {
        Digits batch = to_tensors(rows, i, i + 64);
        optimizer.zero_grad();
        headwater::Tensor loss = headwater::cross_entropy(net(batch.images), batch.labels);
        headwater::backward(loss);
        optimizer.step();
        total += loss.item().f64();
      }
      std::printf("epoch %d  loss %.4f  test accuracy %.4f\n", epoch + 1, total / static_cast<double>(cut / 64),
                  accuracy(net, test));
    }
    return accuracy(net, test) >= 0.97 ? 0 : 1;
  } catch (const headwater::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
