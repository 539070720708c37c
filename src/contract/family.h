// What a baseline is written in, so that a GPU task meets both what most people run and what experts write.
#pragma once

#include <string>
#include <string_view>

namespace hc::contract {

/// The families that a task may name.
inline constexpr std::string_view kFamilies[] = {"pytorch", "cute", "triton", "cuda", "vendor"};
/// Whether a task may name it.
bool is_family(std::string_view name);
/// `pytorch, cute, ...`, for messages.
std::string family_names();
/// The family of an implementation that our own workers offer, or empty where only the task can say it: a replayed
/// binary, what Helion generates, a worker of somebody else.
std::string family_of(std::string_view implementation);

}  // namespace hc::contract
