// Requests to replies, and the loop over lines that every worker in C++ runs.
#include "bench/serve.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <optional>

#include "base/json.h"
#include "bench/json_reader.h"
#include "bench/protocol.h"
#include "bench/refusal.h"

namespace hc::bench {
namespace {

Json failed(const std::string& op, const Diagnostic& why) {
  Json reply{{"ok", false}, {"op", op}, {"code", std::string(diag::code_slug(why.code))}, {"message", why.message}};
  if (!why.help.empty()) reply["help"] = why.help;
  return reply;
}

bool write_line(int fd, std::string text) {
  text += '\n';
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += static_cast<size_t>(n);
  }
  return true;
}

/// Says so when the other side speaks another version.
Status same_protocol(const Json& request) {
  int protocol = 0;
  JsonReader reader(request);
  reader.required("protocol", &protocol);
  HC_TRY(reader.finish(diag::Unit{}));
  if (protocol == kProtocolVersion) return success();
  return refusal("this worker speaks protocol " + std::to_string(kProtocolVersion) + ", and was asked for " +
                 std::to_string(protocol));
}

}  // namespace

Result<Json> Service::reply_to(const std::string& op, const Json& request) {
  if (op == "hello") {
    HC_TRY(same_protocol(request));
    greeted_ = true;
    return hello(request);
  }
  if (op == "bye") {
    done_ = true;
    return Json::object();
  }
  if (!greeted_) return refusal("say hello with the protocol's version before `" + op + "`");
  return dispatch(op, request);
}

Json Service::answer(const std::string& line) {
  const std::optional<Json> request = parse_json(line);
  if (!request || !request->is_object()) return failed("", refusal("the request is not a JSON object"));
  std::string op;
  JsonReader reader(*request);
  reader.required("op", &op);
  const Result<diag::Unit> named = reader.finish(diag::Unit{});
  if (!named.ok()) return failed(op, named.error());
  const Result<Json> body = reply_to(op, *request);
  if (!body.ok()) return failed(op, body.error());
  Json reply{{"ok", true}, {"op", op}};
  reply.update(body.value());
  return reply;
}

int serve(Service& service) {
  // Replies go to a private copy of standard output: what a library prints lands in standard error.
  const int replies = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  if (replies < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 70;
  for (std::string line; !service.done() && std::getline(std::cin, line);) {
    if (line.empty()) continue;
    const Json reply = service.answer(line);
    if (!write_line(replies, reply.dump(-1, ' ', false, Json::error_handler_t::replace))) return 70;
  }
  return 0;
}

}  // namespace hc::bench
