// How a kernel text becomes launches: pure data, made without a device, so that every plan can be compiled anywhere.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cuda/call.h"
#include "cuda/libraries.h"

namespace hc::baselines {

/// A kernel's parameter of 8 bytes: the address of an argument, output or the scratch memory, or a number.
struct Parameter {
  enum class Kind : uint8_t { argument, output, scratch, number };
  Kind kind = Kind::number;
  int64_t value = 0;  ///< index of the argument or output, byte offset into scratch, or the number
};

struct KernelLaunch {
  std::string function;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<Parameter> parameters;
};

/// One way to do a call with kernels that are compiled at run time.
struct KernelPlan {
  Json config;                       ///< what tells this plan from the others of its family
  std::string file;                  ///< kernel text, below kernels/
  std::vector<std::string> defines;  ///< "NAME=VALUE"
  std::vector<KernelLaunch> launches;
  int64_t scratch_bytes = 0;
};

/// An implementation made of kernels: what it needs and its plans for a call.
struct Family {
  std::string name;
  std::string version;          ///< of our text; headers' versions are added by the kernels' file
  std::vector<Wanted> headers;  ///< their folders become include paths
  Result<std::vector<KernelPlan>> (*plans)(const Call& call);
};

/// "cuda-cpp": kernels of ours without any header; copy and add.
const Family& pointwise_family();
/// "cub": CUB's reduction agent; sum.
const Family& cub_family();
/// "cute-cpp": kernels of ours on CuTe's tensors; softmax.
const Family& cute_family();

/// "ELEMENT=n", by which kernel texts choose their element type (kernels/elements.cuh).
std::vector<std::string> element_define(DType type);
/// Text of an embedded kernel file with its own includes put in; null when there is none.
const char* kernel_text(const std::string& file);

// JSON form of what a launch needs, for kernels that are handed from one program to another.
Json to_json(const KernelLaunch& launch);
Result<KernelLaunch> launch_from_json(const Json& json);

}  // namespace hc::baselines
