// Inside of print: the state while C++ text of one launch is written.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/cpu/cpp_expr.h"
#include "ir/kernel_ir.h"

namespace hc::backend::cpu {

/// Writes one launch as a function `static void NAME(void* const* storages, int64_t tile)`.
class LaunchPrinter {
 public:
  LaunchPrinter(const ir::KernelProgram& program, const ir::KernelLaunch& launch, std::string name);
  std::string function();
  /// Programs of the grid; 1 without grid loops.
  int64_t tiles() const { return tiles_; }
  bool streams() const { return streams_; }

 private:
  /// How the innermost vector loop's body is being written.
  struct Mode {
    const ir::Stmt* loop = nullptr;  ///< the open vector loop, or null
    int copies = 1;                  ///< vectors side by side
    bool partial = false;            ///< only the first `count` lanes are valid
    std::string count;
    std::string aligned;                   ///< a C++ bool: `streams` go past the caches
    std::vector<const ir::Stmt*> streams;  ///< streaming stores whose addresses the open loop has looked at
  };

  void scan(const std::vector<ir::Stmt>& body, bool in_vector);
  void line(std::string text);
  std::string reg(ir::RegId r, int copy) const;
  std::string scalar(ir::RegId r) const { return reg(r, 0); }
  std::string affine(const ir::Affine& affine, int64_t extra = 0) const;
  const ir::Reg& type(ir::RegId r) const { return launch_.reg(r); }
  void note_divisor(const ir::Stmt& stmt);
  int copies_of(ir::RegId r) const { return type(r).lanes > 1 ? mode_.copies : 1; }
  void assign(ir::RegId dst, int copy, const std::string& value);

  void grid();
  void body(const std::vector<ir::Stmt>& stmts);
  void statement(const ir::Stmt& stmt);
  void elementwise(const ir::Stmt& stmt);
  void lanes(const ir::Stmt& stmt);
  void load(const ir::Stmt& stmt);
  void store(const ir::Stmt& stmt);
  std::string load_text(const ir::Stmt& stmt, int copy);
  std::string store_text(const ir::Stmt& stmt, int copy);
  std::string vector_load(const ir::Stmt& stmt, const std::string& pointer, int copy);
  void accumulator(const ir::Stmt& stmt);
  void accumulate(const ir::Stmt& stmt);
  void accumulate_position(const ir::Stmt& stmt, int copy, const std::string& on);
  void collapse(const ir::Stmt& stmt);
  void collapse_position(const ir::Stmt& stmt, const ir::Stmt& made);
  void loop(const ir::Stmt& stmt);
  void vector_loop(const ir::Stmt& stmt);
  void vector_body(const ir::Stmt& stmt, int copies, const std::string& count);
  bool open_streams(const ir::Stmt& loop);
  bool peel(const ir::Stmt& loop, const ir::Stmt& store);
  void branch(const ir::Stmt& stmt);

  DType memory_dtype(const ir::Address& address) const;
  std::string pointer(const ir::Address& address, int copy, int64_t lanes) const;
  /// Lanes that take part in an access, as a C++ mask, or empty for all.
  std::string mask(const ir::Stmt& stmt, int copy, bool bounded);
  std::string gather_index(const ir::Address& address, int copy, int lanes) const;

  const ir::KernelProgram& program_;
  const ir::KernelLaunch& launch_;
  std::string name_;
  std::string out_;
  int indent_ = 1;
  Mode mode_;
  int64_t tiles_ = 1;
  bool streams_ = false;
  std::set<int32_t> storages_, written_;
  std::vector<const ir::Stmt*> accumulators_;  // by register
  std::map<ir::RegId, int64_t> steps_;         // loop variables: all their values are multiples of this
  std::set<ir::RegId> vars_;
  std::map<ir::RegId, int> divisors_;  // scalars that divide vectors
  std::set<ir::RegId> crossing_;       // accumulators made outside of vector loops: their lanes take turns
};

}  // namespace hc::backend::cpu
