// Kernel IR: how a kernel runs. Loops are tagged with a level, memories and addresses are explicit, registers are
// typed.
//
// * A register is a scalar or has `lanes` lanes of one dtype. f16, bf16 and f8 registers hold f32 values; `cast`
// rounds.
// * A `vector` loop runs its body for `lanes` lanes at once, lane i at var + i. Lanes at or beyond `valid` load 0, do
// not
//   store to storages and do not count in accumulators; the body may run on them up to `end`, and beyond it for the
//   rest of the last vector. Local memories have room for whole vectors.
// * `grid` loops stand outermost and nest directly; their iterations run in any order and at once. Local memories are
//   one per thread and undefined at first.
// * Other levels (cluster, cta, thread) and memory spaces are rows to come: nothing here depends on the list being
// short.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "diag/diag.h"
#include "ir/tile_ir.h"

namespace hc::ir {

enum class KernelOp : uint8_t {
#define HC_KERNEL_OP(name, ...) name,
#include "ir/kernel_ops.def"
};
std::string_view kernel_op_name(KernelOp op);

using RegId = int32_t;

/// A register's type; lanes == 1 is a scalar.
struct Reg {
  DType dtype = DType::f32;
  int32_t lanes = 1;
  bool operator==(const Reg&) const = default;
};

/// constant + sum of coefficient * scalar register, in i64.
struct Affine {
  struct Term {
    RegId reg = kNone;
    int64_t scale = 1;
    bool operator==(const Term&) const = default;
  };
  int64_t constant = 0;
  std::vector<Term> terms;
  bool operator==(const Affine&) const = default;
  bool is_constant() const { return terms.empty(); }
};

enum class Space : uint8_t { storage, local };

/// Elements `offset` (+ per-lane part) of a memory. The per-lane part of a vector access: `stride` * lane plus
/// `gather`'s lanes.
struct Address {
  Space space = Space::storage;
  int32_t memory = 0;  ///< StorageId, or index into KernelLaunch::locals
  Affine offset;
  int64_t stride = 0;  ///< 1 contiguous, 0 for scalars and pure gathers
  RegId gather = kNone;
  bool operator==(const Address&) const = default;
};

enum class Level : uint8_t { grid, serial, vector };

struct Stmt {
  KernelOp op = KernelOp::constant;
  RegId dst = kNone;
  std::vector<RegId> args;            // operands; store, set, accumulate: the value (set, accumulate: after the target)
  OpKind elementwise = OpKind::copy;  // elementwise
  ReduceKind reduce = ReduceKind::sum;  // accumulator
  Literal literal{};                    // constant, fill
  Affine affine;                        // index, lanes; accumulate: the lane number that argmax and argmin report
  int64_t stride = 0;                   // lanes; accumulate: step of the lane number; prefetch: the cache level, 1 or 2
  Address address;                      // load, store, fill (memory only), prefetch
  RegId mask = kNone;                   // load, store, accumulate: scalar or vector bool
  bool streaming = false;               // store
  bool exact = false;                   // store to a local memory: no lanes beyond the valid bound
  int32_t copies = 1;                   // accumulator; prefetch: of so many vectors side by side,
  Level level = Level::serial;          // loop: dst is the variable, scalar i64
  Affine begin, end, valid;             // loop
  int64_t step = 1;                     // loop; of a vector loop: the lanes; prefetch: the one with this number asks
  int32_t unroll = 1;                   // vector loop: vectors per iteration, interleaved
  std::vector<Stmt> body, otherwise;    // loop, branch
  bool operator==(const Stmt& other) const;
};

/// Memory of one thread, in elements; 64-byte aligned.
struct Local {
  std::string name;
  DType dtype = DType::f32;
  int64_t numel = 0;
  bool operator==(const Local&) const = default;
};

struct KernelLaunch {
  std::string name;
  std::vector<Reg> regs;
  std::vector<Local> locals;
  std::vector<Stmt> body;
  const Reg& reg(RegId r) const { return regs[static_cast<size_t>(r)]; }
};

/// A launch, or a fill of a whole storage range [begin, end).
struct KernelStep {
  enum class Kind : uint8_t { launch, fill } kind = Kind::launch;
  KernelLaunch launch;
  StorageId fill_storage = kNone;
  int64_t fill_begin = 0, fill_end = 0;
  Literal fill_value{};
};

enum class Schedule : uint8_t { statically, dynamically };

struct KernelProgram {
  std::string name;
  int threads = 1;
  Schedule schedule = Schedule::statically;
  int64_t chunk = 1;  ///< grid tiles that one thread takes at a time, 0: as many as possible
  std::vector<Storage> storages;
  std::vector<KernelStep> steps;
};

/// Canonical text; docs/kernel-ir.md has the grammar.
std::string print(const KernelProgram& program);
/// Inverse of print.
Result<KernelProgram> parse_kernel(diag::SourcePtr source);
/// Definitions before uses, types of operands, loop nesting, memories in range; the first rule broken.
Status verify(const KernelProgram& program);

}  // namespace hc::ir
