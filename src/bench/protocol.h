// The worker protocol, version 1: JSON lines over standard input and output, and the structures that they carry.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "diag/diag.h"

namespace hc::bench {

inline constexpr int kProtocolVersion = 1;

/// One launch per reading with cold L2 (the default), or one reading round a block of launches.
enum class Mode : uint8_t { single, back_to_back };
std::string_view mode_name(Mode mode);  ///< "single", "back_to_back"

/// What to make ready. Which fields count depends on `implementation`: artifact, onednn, copy, memcpy, canary.
struct PrepareRequest {
  std::string implementation = "artifact";
  std::string manifest{};           ///< artifact: path of the manifest
  std::string operation{};          ///< onednn: softmax, layer_norm, ...
  std::vector<std::string> args{};  ///< onednn: tensor texts and scalars, as the candidate's arguments
  std::string library{};            ///< onednn: path of the library; empty: the first that was found
  int64_t bytes = 0;          ///< copy, memcpy: bytes read, as many are written; 0: those of the first tensor in `args`
  uint64_t seed = 0;          ///< inputs: Philox key; the stream is the parameter's index
  int threads = 0;            ///< 0: all that the process may use
  std::string slot = "main";  ///< a worker holds one subject per slot; prepare replaces it
  std::string kernel{};       ///< a user's own kernel, `FILE.py:name`
  std::string config{};       ///< config to run with, JSON text; empty: the implementation's own choice
  std::string options{};      ///< what else the task's recipe says, JSON text of an object; empty: nothing
  std::string source{};       ///< path of an edited generated source, run in place of what the config generates
  double tune_s = -1;         ///< limit of the worker's own tuner in seconds, 0: none; negative: it must not tune
};

/// What a worker says of the search that `prepare` asked it for.
struct TuneReport {
  bool cold = false;        ///< it began with nothing remembered
  bool full = false;        ///< and no limit or lesser effort cut it short
  double seconds = 0;       ///< wall time of the search
  double best_seconds = 0;  ///< of a launch with the winner, by the tuner's own timing; 0 unknown
  int64_t tried = 0;        ///< configs that were timed; 0 unknown
};

/// A library or a kind of subject that a worker offers.
struct Offer {
  std::string implementation{};
  std::string library{};  ///< path, or empty
  std::string version{};
};

/// What a worker has but cannot run here.
struct Missing {
  std::string implementation{};
  std::string reason{};
  std::string help{};  ///< how to get it, or empty
};

struct HelloReply {
  int protocol = 0;
  std::string worker{};   ///< name and version of the worker
  std::string backend{};  ///< "cpu", "cuda"
  std::vector<Offer> offers{};
  std::vector<Missing> missing{};
  std::vector<std::string> can{};  ///< what it does beyond the five requests: listing, source
};

/// An installed package of which something is loaded.
struct LoadedPackage {
  std::string name{};
  std::string version{};
  std::string sha256{};  ///< of its list of files with their hashes
};

struct PrepareReply {
  std::string implementation{};
  std::string version{};  ///< of the library, or of the kernel (hash of its source)
  std::string library{};  ///< file that runs
  std::string detail{};   ///< which implementation the library chose, instruction set, ...
  int threads = 0;
  int64_t bytes = 0;  ///< inputs read once plus outputs written once
  double prepare_s = 0;
  bool in_place = false;        ///< a launch changes its own inputs, so that timed launches leave no checkable output
  std::string inputs_sha256{};  ///< of the bytes of all tensor arguments and their positions
  std::string config{};         ///< config that runs, JSON text; given back to `prepare` it makes the same thing
  bool tuned = false;           ///< `tune` says how
  TuneReport tune;
  std::vector<std::string> modules{};     ///< files of loaded modules that no installed package brought
  std::vector<LoadedPackage> packages{};  ///< and the packages that brought the others
};

/// One written storage after a run.
struct OutputFile {
  int index = 0;  ///< storage (artifact) or output (others)
  std::string name{};
  DType dtype = DType::f32;
  int64_t numel = 0;
  std::string path{};  ///< raw bytes; empty when no folder was given
  std::string sha256{};
  int64_t nan_count = 0;
  bool sampled = false;  ///< the file holds the elements asked for, in their order
};

struct CheckRequest {
  std::string out_dir{};  ///< empty: hashes and counts only
  bool run = true;        ///< false: what the last timed launch left
  std::string slot = "main";
  std::vector<std::vector<int64_t>> elements{};  ///< per output, row-major: write these alone; empty: everything
};

struct CheckReply {
  std::vector<OutputFile> outputs{};
};

/// The code of what is prepared, as files.
struct ListingRequest {
  std::string out_dir{};
  std::string slot = "main";
};

/// One text or binary of a prepared subject.
struct ListedFile {
  std::string kind{};  ///< source (generated), ptx, cubin or sass
  std::string name{};  ///< of the kernel, or of the source's function
  std::string path{};
};

struct ListingReply {
  std::vector<ListedFile> files{};
  std::vector<std::string> tools{};  ///< paths of disassemblers that came with its packages
  std::string missing{};             ///< what it cannot list and why, or empty
};

struct TimeRequest {
  int blocks = 5;
  double min_block_s = 0.005;
  double warmup_s = 0.02;
  Mode mode = Mode::single;
  int64_t flush_bytes = -1;  ///< evicted, or exceeded by the copies in turn; -1: twice the L2 of all cores
  int64_t max_launches = 0;  ///< per block; 0: no limit
  double preheat_s = 0;      ///< a GPU launches until it is steady before the first block, at most so long; 0: not
  std::string slot = "main";
};

/// What the device looked like round one block; zero where it was not said.
struct DeviceState {
  double sm_mhz_clock = 0;  ///< SM clock, measured by cycles per time
  double sm_mhz_nvml = 0;   ///< as the driver reports it
  double memory_mhz = 0;
  double temperature_c = 0;
  double power_w = 0;
  uint64_t event_reasons = 0;  ///< why the clocks were held down (throttling): NVML's bits
  int64_t queue_timeouts = 0;  ///< batches that had to be repeated because their blocking kernel gave up
};

/// Raw readings of one block with what the machine looked like; nothing is rounded.
struct Block {
  std::vector<double> seconds{};  ///< per launch
  int64_t launches = 0;           ///< = seconds.size() in single mode; in the other mode one reading is their mean
  double start_monotonic_s = 0;
  double mid_monotonic_s = 0;
  double mid_unix_s = 0;
  double mhz = 0;
  double load1 = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  bool has_device = false;  ///< `device` was said
  DeviceState device;
};

/// How a GPU was brought to a steady state.
struct Preheat {
  double seconds = 0;  ///< that it took; 0: there was none
  bool steady = false;
  double sm_mhz_clock = 0;  ///< in the last window
  double temperature_c = 0;
  double power_w = 0;
};

struct TimeReply {
  std::vector<Block> blocks{};
  Mode mode = Mode::single;
  int threads = 0;
  int64_t flush_bytes = 0;
  int64_t warmup_launches = 0;
  double empty_s = 0;  ///< cost of a reading round nothing
  std::string clock{};
  int64_t copies = 0;  ///< back to back: of inputs and outputs, which launches went over in turn
  Preheat preheat{};
};

// JSON forms; `from_json` gives worker_failed naming the field that is missing or wrong.
nlohmann::ordered_json to_json(const PrepareRequest& value);
nlohmann::ordered_json to_json(const CheckRequest& value);
nlohmann::ordered_json to_json(const TimeRequest& value);
nlohmann::ordered_json to_json(const ListingRequest& value);
nlohmann::ordered_json to_json(const ListingReply& value);
nlohmann::ordered_json to_json(const HelloReply& value);
nlohmann::ordered_json to_json(const PrepareReply& value);
nlohmann::ordered_json to_json(const CheckReply& value);
nlohmann::ordered_json to_json(const TimeReply& value);
nlohmann::ordered_json to_json(const Preheat& value);
nlohmann::ordered_json to_json(const Block& value);
Result<PrepareRequest> prepare_request_from_json(const nlohmann::ordered_json& json);
Result<CheckRequest> check_request_from_json(const nlohmann::ordered_json& json);
Result<ListingRequest> listing_request_from_json(const nlohmann::ordered_json& json);
Result<ListingReply> listing_reply_from_json(const nlohmann::ordered_json& json);
Result<TimeRequest> time_request_from_json(const nlohmann::ordered_json& json);
Result<HelloReply> hello_reply_from_json(const nlohmann::ordered_json& json);
Result<PrepareReply> prepare_reply_from_json(const nlohmann::ordered_json& json);
Result<CheckReply> check_reply_from_json(const nlohmann::ordered_json& json);
Result<TimeReply> time_reply_from_json(const nlohmann::ordered_json& json);
Result<Block> block_from_json(const nlohmann::ordered_json& json);

/// Reads requests from standard input and answers on standard output until `bye` or the end; returns the exit status.
int worker_main();

}  // namespace hc::bench
