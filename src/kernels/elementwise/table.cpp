// The tables of elementwise loops, one per instruction set, and what they make known to the kernel registry.
#include <map>
#include <mutex>
#include <unordered_map>

#include "kernels/elementwise/driver.h"
#include "kernels/elementwise/loops.h"
#include "kernels/isa.h"

namespace hw {

using Table = std::unordered_map<std::string_view, std::array<ElementwiseEntry, kNumDTypes>>;
using Fills = std::vector<RegisterElementwise::Fill>;

// Local to functions, because units register before main in an order nobody decides.
static Fills& simd_fills() {
  static Fills fills;
  return fills;
}
static Fills& reference_fills() {
  static Fills fills;
  return fills;
}

static thread_local Table* t_filling = nullptr;

static Table filled(const Fills& fills) {
  Table table;
  t_filling = &table;
  for (RegisterElementwise::Fill fill : fills)
    fill([](const ElementwiseEntry& e) { (*t_filling)[e.op][static_cast<size_t>(e.compute)] = e; });
  t_filling = nullptr;
  return table;
}

static const ElementwiseEntry* find(const Table& table, std::string_view op, DType compute) {
  auto it = table.find(op);
  if (it == table.end() || compute == DType::None) return nullptr;
  const ElementwiseEntry& e = it->second[static_cast<size_t>(compute)];
  return e.loop ? &e : nullptr;
}

const ElementwiseEntry* find_elementwise(std::string_view op, DType compute) {
  static std::mutex mutex;
  static std::map<Isa, Table> tables;
  std::lock_guard lock(mutex);
  auto it = tables.find(isa());
  if (it == tables.end()) it = tables.emplace(isa(), filled(simd_fills())).first;
  return find(it->second, op, compute);
}

const ElementwiseEntry* find_reference_elementwise(std::string_view op, DType compute) {
  static const Table table = filled(reference_fills());
  return find(table, op, compute);
}

RegisterElementwise::RegisterElementwise(Fill fill) {
  simd_fills().push_back(fill);
  fill([](const ElementwiseEntry& e) { register_elementwise_kernel(e.op, "simd", 10, &prepare_elementwise); });
}

RegisterReferenceElementwise::RegisterReferenceElementwise(RegisterElementwise::Fill fill) {
  reference_fills().push_back(fill);
  fill([](const ElementwiseEntry& e) {
    register_elementwise_kernel(e.op, "reference", kReferencePriority, &prepare_elementwise_reference);
  });
}

void register_elementwise_kernel(std::string_view op, std::string_view name, int priority, PrepareFn prepare) {
  for (const KernelEntry& e : kernel_candidates(op, DeviceType::CPU))
    if (e.name == name) return;  // once per op, though it has a loop per dtype
  RegisterKernel({op, name, DeviceType::CPU, priority, prepare});
}

}  // namespace hw
