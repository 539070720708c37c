// The git command line as functions: everything that scope, history and snapshot ask of a repository.
#pragma once

#include <string>
#include <vector>

#include "diag/diag.h"

namespace hc::contract {

/// A repository by its top folder.
class Git {
 public:
  /// The repository that `folder` lies in; file_error when it lies in none or git is not there.
  static Result<Git> open(const std::string& folder);
  const std::string& top() const { return top_; }

  /// Runs `git ARGS` in the top folder and returns its output, the last line end cut off; an exit status other than 0
  /// is an error with git's own words. `env` are NAME=VALUE.
  Result<std::string> run(const std::vector<std::string>& args, const std::vector<std::string>& env = {}) const;
  /// The same, split at NUL bytes (for `-z`).
  Result<std::vector<std::string>> list(const std::vector<std::string>& args,
                                        const std::vector<std::string>& env = {}) const;
  /// The commit that a name stands for; usage when there is none.
  Result<std::string> commit(const std::string& name) const;
  bool knows(const std::string& name) const;
  /// Where a branch left its upstream: the merge base with `asked`, or with the first of origin/main, origin/master,
  /// main and master that exists when `asked` is empty.
  Result<std::string> base(const std::string& asked, const std::string& head) const;

 private:
  explicit Git(std::string top) : top_(std::move(top)) {}
  std::string top_;
};

}  // namespace hc::contract
