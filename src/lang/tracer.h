// The evaluator of kernels: runs the host part on concrete values and turns each device loop into a launch.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lang/blocks.h"
#include "lang/emit.h"
#include "lang/module.h"
#include "lang/value.h"

namespace hc::lang {

/// How a block of statements ended.
enum class Flow : uint8_t { next, returned, broke, continued };

/// Names of one function activation. Device names are those born in the open launch.
struct Frame {
  std::map<std::string, Value> host;
  std::map<std::string, Value> device;
  std::set<std::string> born_on_device;
  Value result;
  std::string block_name;  ///< of the block size being registered
  bool kernel = false;     ///< the kernel itself, not a helper inlined into it
};

/// A name that both sides of a branch give a value of one type.
struct Merged {
  std::string name;
  Device sides[2];
};

/// The open launch while a device loop is traced.
struct DeviceContext {
  DeviceContext(ir::Program& program, std::string name) : emitter(program, launch) { launch.name = std::move(name); }
  ir::Launch launch;
  Emitter emitter;
  std::vector<ir::BlockId> active;
  std::vector<std::shared_ptr<const Tile>> active_tiles;
  int depth = 0;  ///< loops and dynamic branches open around the current statement
};

class Tracer {
 public:
  Tracer(const Module& module, const Choices& choices, DType index_dtype);

  Result<ir::Program> run(const FunctionPtr& function, const std::string& name, const std::vector<Arg>& args);

  ir::Program& program() { return program_; }
  const Module& module() const { return module_; }
  Blocks& blocks() { return blocks_; }
  const Choices& choices() const { return choices_; }
  DType index_dtype() const { return program_.index_dtype; }
  bool on_device() const { return device_ != nullptr; }
  DeviceContext& device() { return *device_; }
  Emitter& emit() { return device_->emitter; }
  Frame& frame() { return *frames_.back(); }

  // Expressions (expr.cc, call.cc, attribute.cc).
  Result<Value> eval(const Expr& expr);
  Result<Value> call(const Value& callee, Values args, std::vector<std::string> names, const Span& span);
  Result<Value> attribute(const Value& base, const std::string& name, const Span& span);
  /// The truth of a host value; a device value is an error here.
  Result<bool> truth(const Value& value, const Span& span);
  /// The dotted library path that an expression names ("helion.language.tile"), empty if none.
  std::string library_path(const Expr& expr) const;
  /// Items of anything that can be iterated at trace time.
  Result<Values> iterate(const Value& value, const Span& span);

  // Statements (host.cc, device.cc, loops.cc).
  Result<Flow> exec(const std::vector<StmtPtr>& body);
  Status assign(const Expr& target, const Value& value);

  // Host tensors (tensors.cc).
  const ir::Tensor& tensor(HostTensor t) const { return program_.tensor(t.id); }
  HostTensor allocate(DType dtype, const std::vector<int64_t>& shape, const std::string& name = "");
  HostTensor view(HostTensor base, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset);
  void fill(HostTensor target, const Value& number);
  /// Opens a launch that is not a loop of the kernel; close_launch() appends it to the program.
  void open_launch(const std::string& name);
  Status close_launch(const Span& span);
  /// Adds an axis that tiles begin..end to the open launch and returns its tile.
  std::shared_ptr<const Tile> add_tile_axis(ir::BlockId block, const std::string& name, int64_t begin, int64_t end);
  /// Ends a phase of loops that may not depend on each other.
  void barrier();
  /// Remembers which storages the open launch reads and writes.
  void note_access(ir::TensorId tensor, bool write);

 private:
  Result<Value> eval_name(const Expr& expr);
  Result<Value> eval_global(const std::string& name, const Span& span);
  Result<Value> eval_operator(const Expr& expr);
  Result<Value> eval_boolean(const Expr& expr);
  Result<Value> eval_compare(const Expr& expr);
  Result<Value> eval_subscript(const Expr& expr);
  Result<Value> eval_display(const Expr& expr);
  Result<Value> eval_comprehension(const Expr& expr);
  Result<Value> eval_call(const Expr& expr);
  Result<std::string> eval_text(const Expr& expr);
  Result<Value> inline_function(const UserFunction& callee, Values args, const std::vector<std::string>& names,
                                const Span& span);
  Result<Value> inline_lambda(const LambdaFunction& callee, Values args, const Span& span);

  Result<Flow> exec_statement(const Stmt& stmt);
  Result<Flow> exec_if(const Stmt& stmt);
  Result<std::vector<Merged>> merge_sides(ir::Op& op, std::map<std::string, Value>* sides, const Span& span);
  Result<Flow> exec_device_if(const Stmt& stmt, const Device& condition);
  Result<Flow> exec_for(const Stmt& stmt);
  Result<Flow> exec_unrolled(const Stmt& stmt, const Values& items);
  friend class LoopTracer;
  Result<Flow> exec_library_loop(const Stmt& stmt, const std::string& path);
  Status exec_assign(const Stmt& stmt);
  Result<Value> eval_assigned(const Expr& target, const Expr& expr);
  Status exec_augmented(const Stmt& stmt);
  Status exec_assert(const Stmt& stmt);
  Result<Flow> exec_return(const Stmt& stmt);
  Status assign_name(const std::string& name, const Value& value, const Span& span);
  Status assign_unpacked(const Expr& target, const Value& value);
  Status assign_subscript(const Expr& target, const Value& value);
  Status check_between_loops(const std::vector<StmtPtr>& body);
  bool is_device_loop(const Stmt& stmt) const;

  Status bind_params(const Function& function, const std::vector<Arg>& args);
  Result<Value> bind_arg(const FunctionParam& param, int position, const Arg& arg);
  Status check_dependency(const Span& span);
  Status finish(const Value& result, const Span& span);
  void name_tensors();

  const Module& module_;
  ir::Program program_;
  Blocks blocks_;
  const Choices& choices_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::unique_ptr<DeviceContext> device_;
  std::set<ir::StorageId> reads_, writes_;              ///< of the open launch
  std::set<ir::StorageId> phase_reads_, phase_writes_;  ///< of the kernel's loops since the last barrier
  std::set<const Stmt*> device_loops_;                  ///< the kernel's top-level ones
  int launches_ = 0;                                    ///< of the kernel's own loops, so far
  int inline_depth_ = 0;
  std::set<std::string> evaluating_;  ///< module constants under evaluation, against cycles
};

}  // namespace hc::lang
