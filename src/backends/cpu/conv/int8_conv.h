// Convolutions of bytes: routines of one instruction set, and how they see an image.
#pragma once

#include "kernels/conv/int8_conv.h"

namespace hw {

constexpr int64_t kInt8MostPoints = 14, kInt8MostColumns = 32;

/// Some rows of output points of one image, whose input was written once into a band: [row][column][channel], 16-bit differences from
/// the zero point (or bytes, for instructions that take them), with the padding around and channels up to a whole quad. A kernel of one
/// row or column keeps only what it reads.
struct Int8Band {
  Int8Conv conv;
  int64_t rows = 0;                                  // of output that a band holds at most
  int64_t row_step = 1, column_step = 1;             // of the image between rows and columns of the band
  int64_t stride[2] = {1, 1}, dilation[2] = {1, 1};  // within the band
  int64_t columns = 0, channels = 0;                 // of the band
  int64_t in_rows(int64_t out_rows) const {
    return (out_rows - 1) * stride[0] + (conv.geometry().kernel[1] - 1) * dilation[0] + 1;
  }
  int64_t row_values() const { return columns * channels; }
};
Int8Band int8_band(const Int8Conv& conv, int64_t channel_multiple);

/// What a quad of a band of bytes lacks: pairs whose sum is above 255 are written smaller, so that a sum of two products by int8 weights
/// fits 16 bits.
struct Int8Rest {
  int32_t at;  // of the quad, in values of the band
  uint8_t bytes[4];
};
struct Int8Rests {
  Int8Rest* list = nullptr;
  int32_t* starts = nullptr;  // of each pixel's in the list, and the end
  int64_t most = 0;           // that the list holds
};

/// Sums of `points` output points for `columns` output channels.
struct Int8Sums {
  const void* const* x = nullptr;  // of each point, at kernel point 0
  int64_t points = 0, columns = kInt8Chunk;
  const int8_t* w = nullptr;
  int64_t w_step = 0;             // between chunks of channels; 0: the first one stands for all
  const int64_t* taps = nullptr;  // where each kernel point lies from x, in values
  int64_t num_taps = 0, quads = 0;
  int32_t* sums = nullptr;  // [point][column]
};

/// Sums on their way to output points [at, at + points) of one image, which lies at `base` in y.
struct Int8Tile {
  const int32_t* sums = nullptr;   // [point][column], chunk after chunk of channels from `channel` on
  const int32_t* shift = nullptr;  // of each column: taken off. Null: nothing
  int64_t columns = 0, channel = 0, base = 0, at = 0, points = 0;
};

struct Int8ConvRoutines {
  /// Rows of the band's input from the image; `first` is the first output row. False: these values are not for these routines.
  bool (*write)(const Int8Band& band, const void* image, int64_t first, int64_t rows, int32_t zero, void* to,
                Int8Rests& rests);
  void (*sum_up)(const Int8Sums& sums);
  int64_t points = 0, columns = kInt8Chunk, value_bytes = 2;  // at most
  /// Blocks of channels may be read where they lie: values are the image's bytes.
  bool reads_images = false;
  /// Whether sums hold (zero point) * weight, which the caller takes off, since values are bytes as they are.
  bool keeps_zero = false;
  /// Adds what one quad lacks to the sums of a point: w and w_step as in Int8Sums, of this quad. Null: nothing is ever lacking.
  void (*add_rest)(const uint8_t* bytes, const int8_t* w, int64_t w_step, int32_t* sums) = nullptr;
};

struct Int8ConvFinisher {
  void (*finish)(const Int8Conv& conv, const Int8ConvFinish& finish, const Int8Tile& tile);
  /// Depthwise: 16 channels of some points.
  void (*depthwise)(const Int8Sums& sums);
  int64_t depthwise_points = 4;  // at most
};

/// Of 16-bit differences, for every instruction set and all values.
Int8ConvRoutines int8_conv_routines();
Int8ConvFinisher int8_conv_finisher();
/// By an instruction that sums four products of bytes in 32 bits: of AVX-512 VNNI, of AVX-VNNI, or in plain code for tests.
enum class Vnni : int { AVX512, AVX2, Emulated };
Int8ConvRoutines int8_conv_vnni(Vnni form);
bool has_int8_conv_vnni(Vnni form);
/// By AVX2 on bytes that are small for the most part, as they are behind a relu.
Int8ConvRoutines int8_conv_avx2_bytes();
bool has_int8_conv_avx2_bytes();

/// The kernel by given routines: by `first` where they accept an image's values, else by `all`.
std::unique_ptr<Kernel> int8_conv_kernel(const Int8Conv& conv, const Int8ConvRoutines* first,
                                         const Int8ConvRoutines& all);

}  // namespace hw
