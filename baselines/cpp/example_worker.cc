// A worker in sixty lines of code: it sums an f32 array under the common timer. Protocol 1 of docs/worker-protocol.md.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/timer.h"

using Json = nlohmann::ordered_json;
std::vector<float> values;
double sum = 0;

int launch(void*, void*) { return sum = std::accumulate(values.begin(), values.end(), 0.0), 0; }

Json timed(const Json& request) {
  HillclimbTimerOptions options{HILLCLIMB_TIMER_ABI,
                                HILLCLIMB_TIMER_SINGLE,
                                request.value("blocks", 5),
                                1,
                                request.value("min_block_s", 0.005),
                                request.value("warmup_s", 0.02),
                                -1,
                                0,
                                0};
  HillclimbTimerResult* result = nullptr;
  if (const char* why = hillclimb_timer_run(&options, launch, nullptr, &result)) throw std::runtime_error(why);
  Json reply{{"clock", result->clock}, {"threads", 1}, {"flush_bytes", result->flush_bytes}};
  for (const auto* b = result->blocks; b < result->blocks + result->block_count; ++b) {
    const std::vector<double> seconds(b->seconds, b->seconds + b->readings);
    reply["blocks"].push_back(
        {{"seconds", seconds}, {"launches", b->launches}, {"mid_monotonic_s", b->mid_monotonic_s}});
  }
  return hillclimb_timer_free(result), reply;
}

Json answer(const std::string& op, const Json& request) {
  if (op == "hello" && request.value("protocol", 0) != 1) throw std::runtime_error("this worker speaks protocol 1");
  if (op == "hello") return {{"protocol", 1}, {"worker", "example-cpp/1"}, {"backend", "cpu"}};
  if (op == "prepare") {
    values.assign(request.value("bytes", size_t{1} << 24) / sizeof(float), 0.5F);
    return {{"implementation", "example"}, {"version", "1"}, {"threads", 1}, {"bytes", values.size() * sizeof(float)}};
  }
  if (op == "time") return timed(request);
  if (op == "bye") return Json::object();
  if (op != "check") throw std::runtime_error("no such op: " + op);
  if (request.value("run", true)) sum = NAN, launch(nullptr, nullptr);  // poisoned, then launched once
  const std::string folder = request.value("out_dir", ""), path = folder.empty() ? "" : folder + "/0.bin";
  if (!path.empty()) std::ofstream(path, std::ios::binary).write(reinterpret_cast<char*>(&sum), sizeof sum);
  Json output{{"index", 0}, {"dtype", "f64"}, {"numel", 1}, {"path", path}, {"sha256", std::to_string(sum)}};
  output["nan_count"] = int{sum != sum};
  return {{"outputs", Json::array({output})}};
}

int main() {
  FILE* replies = fdopen(dup(1), "w");  // keep the real standard output for replies,
  dup2(2, 1);                           // and send whatever a library prints to standard error
  for (std::string line, op; op != "bye" && std::getline(std::cin, line);) {
    Json reply;
    try {
      const Json request = Json::parse(line);
      reply = {{"ok", true}, {"op", op = request.at("op")}};
      reply.update(answer(op, request));
    } catch (const std::exception& error) {  // a worker answers every request, whatever happens
      reply = {{"ok", false}, {"op", op}, {"code", "MeasurementFailed"}, {"message", error.what()}};
    }
    fprintf(replies, "%s\n", reply.dump().c_str());
    fflush(replies);
  }
}
