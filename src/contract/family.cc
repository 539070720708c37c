// The table of implementations and their families.
#include "contract/family.h"

#include <algorithm>
#include <iterator>

namespace hc::contract {
namespace {

struct Row {
  std::string_view implementation, family;
};

constexpr Row kTable[] = {
    {"torch-eager", "pytorch"}, {"torch-compile", "pytorch"},  {"torch-compile-max", "pytorch"},
    {"quack", "cute"},          {"flash-attention-4", "cute"}, {"cute-cpp", "cute"},
    {"liger", "triton"},        {"triton", "triton"},          {"cuda-cpp", "cuda"},
    {"cub", "vendor"},          {"cublaslt", "vendor"},        {"cudnn", "vendor"},
    {"cudnn-cpp", "vendor"},
};

}  // namespace

bool is_family(std::string_view name) {
  return std::find(std::begin(kFamilies), std::end(kFamilies), name) != std::end(kFamilies);
}

std::string family_names() {
  std::string out;
  for (const std::string_view name : kFamilies) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

std::string family_of(std::string_view implementation) {
  for (const Row& row : kTable) {
    if (row.implementation == implementation) return std::string(row.family);
  }
  return "";
}

}  // namespace hc::contract
