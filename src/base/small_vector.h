// A vector with N elements inside; trivially copyable elements only. Used for sizes, strides and axis lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace hw {

template <class T, uint32_t N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVec() = default;
  explicit SmallVec(size_t n, T value = T{}) { resize(n, value); }
  SmallVec(std::initializer_list<T> list) { assign(list.begin(), list.size()); }
  SmallVec(std::span<const T> s) { assign(s.data(), s.size()); }
  SmallVec(const SmallVec& o) { assign(o.data(), o.size()); }
  SmallVec(SmallVec&& o) noexcept { steal(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) assign(o.data(), o.size());
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      if (heap_) delete[] heap_;
      steal(o);
    }
    return *this;
  }
  ~SmallVec() {
    if (heap_) delete[] heap_;
  }

  T* data() { return heap_ ? heap_ : inline_; }
  const T* data() const { return heap_ ? heap_ : inline_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t n) {
    if (n <= capacity_) return;
    T* grown = new T[n];
    std::memcpy(static_cast<void*>(grown), data(), size_ * sizeof(T));
    if (heap_) delete[] heap_;
    heap_ = grown;
    capacity_ = static_cast<uint32_t>(n);
  }
  void resize(size_t n, T value = T{}) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void insert(size_t at, T value) {
    push_back(value);
    for (size_t i = size_ - 1; i > at; --i) data()[i] = data()[i - 1];
    data()[at] = value;
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data()[i] = data()[i + 1];
    --size_;
  }
  void assign(const T* p, size_t n) {
    reserve(n);
    if (n) std::memcpy(static_cast<void*>(data()), p, n * sizeof(T));
    size_ = static_cast<uint32_t>(n);
  }
  operator std::span<const T>() const { return {data(), size_}; }
  bool operator==(const SmallVec& o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }

 private:
  void steal(SmallVec& o) {
    heap_ = o.heap_;
    size_ = o.size_;
    capacity_ = o.capacity_;
    if (!heap_) std::memcpy(static_cast<void*>(inline_), o.inline_, size_ * sizeof(T));
    o.heap_ = nullptr;
    o.size_ = 0;
    o.capacity_ = N;
  }

  T* heap_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  T inline_[N];
};

}  // namespace hw
