// A worker in about sixty lines: it sums an f32 array. Speaks protocol 1 (docs/worker-protocol.md) and uses the common
// timer.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/timer.h"

using Json = nlohmann::ordered_json;

std::vector<float> values;
double sum = 0;

int launch(void*, void*) {
  sum = std::accumulate(values.begin(), values.end(), 0.0);
  return 0;
}

Json timed(const Json& request) {
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.blocks = request.value("blocks", 5);
  options.threads = 1;
  options.min_block_s = request.value("min_block_s", 0.005);
  options.warmup_s = request.value("warmup_s", 0.02);
  options.flush_bytes = request.value("flush_bytes", int64_t{-1});
  HillclimbTimerResult* result = nullptr;
  if (const char* why = hillclimb_timer_run(&options, launch, nullptr, &result)) throw std::runtime_error(why);
  Json blocks = Json::array();
  for (int b = 0; b < result->block_count; ++b) {
    const HillclimbTimerBlock& block = result->blocks[b];
    blocks.push_back({{"seconds", std::vector<double>(block.seconds, block.seconds + block.readings)},
                      {"launches", block.launches},
                      {"mid_monotonic_s", block.mid_monotonic_s},
                      {"mhz", block.mhz}});
  }
  Json reply{{"clock", result->clock}, {"threads", 1}, {"flush_bytes", result->flush_bytes}, {"blocks", blocks}};
  hillclimb_timer_free(result);
  return reply;
}

Json answer(const std::string& op, const Json& request) {
  if (op == "hello") return {{"protocol", 1}, {"worker", "example-cpp/1"}, {"backend", "cpu"}};
  if (op == "prepare") {
    values.assign(request.value("bytes", size_t{1} << 24) / sizeof(float), 0.5F);
    const size_t bytes = values.size() * sizeof(float);
    return {{"implementation", "example"}, {"version", "1"}, {"threads", 1}, {"bytes", bytes}};
  }
  if (op == "time") return timed(request);
  if (op == "bye") return Json::object();
  if (op != "check") throw std::runtime_error("no such op: " + op);
  if (request.value("run", true)) launch(nullptr, nullptr);
  const std::string folder = request.value("out_dir", "");
  const std::string path = folder.empty() ? "" : folder + "/0.bin";
  if (!path.empty()) std::ofstream(path, std::ios::binary).write(reinterpret_cast<char*>(&sum), sizeof sum);
  const Json output{{"index", 0},
                    {"dtype", "f64"},
                    {"numel", 1},
                    {"path", path},
                    {"sha256", std::to_string(sum)},
                    {"nan_count", int{sum != sum}}};
  return {{"outputs", Json::array({output})}};
}

int main() {
  FILE* replies = fdopen(dup(1), "w");  // keep the real standard output for replies,
  dup2(2, 1);                           // and send whatever a library prints to standard error
  for (std::string line, op; op != "bye" && std::getline(std::cin, line);) {
    Json reply;
    try {
      const Json request = Json::parse(line);
      op = request.at("op");
      reply = Json{{"ok", true}, {"op", op}};
      reply.update(answer(op, request));
    } catch (const std::exception& error) {
      reply = {{"ok", false}, {"op", op}, {"code", "MeasurementFailed"}, {"message", error.what()}};
    }
    std::fprintf(replies, "%s\n", reply.dump().c_str());
    std::fflush(replies);
  }
}
