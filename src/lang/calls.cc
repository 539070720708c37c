// Look-up of functions, binding of arguments, and the lifting of tensor functions on the host.
#include "lang/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "lang/host_math.h"
#include "lang/tracer.h"

namespace hc::lang {
namespace {

struct SignatureParam {
  std::string name;
  std::optional<Value> value;
  bool rest = false;
};

Value default_value(std::string_view text) {
  if (text == "None") return Value(None{});
  if (text == "True" || text == "False") return Value(text == "True");
  if (text.find('.') != std::string_view::npos) return Value(std::stod(std::string(text)));
  return make_int(std::stoll(std::string(text)));
}

std::vector<SignatureParam> parse_signature(std::string_view text) {
  std::vector<SignatureParam> out;
  while (!text.empty()) {
    const size_t comma = text.find(", ");
    std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 2);
    SignatureParam param;
    if (item.starts_with('*')) {
      param.rest = true;
      item.remove_prefix(1);
    }
    if (const size_t equals = item.find('='); equals != std::string_view::npos) {
      param.value = default_value(item.substr(equals + 1));
      item = item.substr(0, equals);
    }
    param.name = std::string(item);
    out.push_back(std::move(param));
  }
  return out;
}

const std::map<std::string, const FunctionRow*, std::less<>>& index() {
  static const std::vector<FunctionRow>* rows = [] {
    auto* all = new std::vector<FunctionRow>();
    for (auto* table :
         {pointwise_rows, reduction_rows, creation_rows, view_rows, query_rows, helion_rows, python_rows}) {
      const std::vector<FunctionRow> part = table();
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  static const auto* map = [] {
    auto* out = new std::map<std::string, const FunctionRow*, std::less<>>();
    for (const FunctionRow& row : *rows) {
      std::string_view names = row.names;
      while (!names.empty()) {
        const size_t bar = names.find('|');
        (*out)[std::string(names.substr(0, bar))] = &row;
        names = bar == std::string_view::npos ? std::string_view() : names.substr(bar + 1);
      }
    }
    return out;
  }();
  return *map;
}

Result<Values> bind_args(std::string_view name, const std::vector<SignatureParam>& params, Values args,
                         const std::vector<std::string>& names, const Span& span) {
  std::vector<std::optional<Value>> bound(params.size());
  Values rest;
  size_t position = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (names[i].empty()) {
      if (position < params.size() && params[position].rest) {
        rest.push_back(std::move(args[i]));
        continue;
      }
      if (position == params.size()) {
        return Diagnostic{Code::api_usage, fmt::format("{} takes at most {} arguments", name, params.size())}.at(span);
      }
      bound[position++] = std::move(args[i]);
      continue;
    }
    const auto it =
        std::find_if(params.begin(), params.end(), [&](const SignatureParam& p) { return p.name == names[i]; });
    if (it == params.end()) {
      return Diagnostic{Code::api_usage, fmt::format("{} takes no argument named {}", name, names[i])}.at(span);
    }
    bound[static_cast<size_t>(it - params.begin())] = std::move(args[i]);
  }
  Values out;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].rest && !bound[i]) {
      bound[i] = make_tuple(rest);
    } else if (!bound[i] && params[i].value) {
      bound[i] = params[i].value;
    }
    if (!bound[i]) {
      return Diagnostic{Code::api_usage, fmt::format("{} needs its argument {}", name, params[i].name)}.at(span);
    }
    out.push_back(std::move(*bound[i]));
  }
  return out;
}

std::string shown(std::string_view names) {
  std::string out(names.substr(0, names.find('|')));
  if (out.starts_with("helion.language.")) out = "hl." + out.substr(16);
  if (out.starts_with("builtins.")) out = out.substr(9);
  return out;
}

bool has_host_tensor(const Values& args) {
  return std::any_of(args.begin(), args.end(), [](const Value& v) { return v.is<HostTensor>(); });
}

/// The body of a lifted call: the same row with device values where the host tensors were.
Result<Value> lift(Tracer& tracer, const FunctionRow& row, const std::vector<SignatureParam>& params,
                   const Call& call) {
  const std::string name(call.name.substr(call.name.rfind('.') + 1));
  if (row.where == Where::pointwise) {
    return lift_pointwise(tracer, name, call.args, call.span, [&](const Values& devices) {
      return row.handler(tracer, {call.name, devices, call.span});
    });
  }
  const auto rank = static_cast<int64_t>(tracer.tensor(*call[0].get<HostTensor>()).shape.size());
  int64_t axis = -1;
  bool all = true;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name != "dim") continue;
    const Values* list = items_of(call[i]);
    const std::optional<int64_t> dim = int_of(list && list->size() == 1 ? (*list)[0] : call[i]);
    all = !dim && call[i].is<None>();
    if (dim) axis = *dim < 0 ? *dim + rank : *dim;
    if ((!dim && !all) || axis >= rank) {
      return Diagnostic{Code::invalid_reduction_dim, fmt::format("{} needs one dimension in range", name)}.at(
          call.span);
    }
  }
  return lift_rows(tracer, name, call[0], all ? -1 : static_cast<int>(axis), call.span, [&](const Values& devices) {
    Call inner{call.name, call.args, call.span};
    inner.args[0] = devices[0];
    return row.handler(tracer, inner);
  });
}

}  // namespace

const FunctionRow* find_function_row(std::string_view name) {
  const auto it = index().find(name);
  return it == index().end() ? nullptr : it->second;
}

Result<Value> call_row(Tracer& tracer, const FunctionRow& row, Values args, const std::vector<std::string>& names,
                       const Span& span) {
  const std::string name = shown(row.names);
  const std::vector<SignatureParam> params = parse_signature(row.signature);
  const Call call{name, HC_TRY(bind_args(name, params, std::move(args), names, span)), span};
  const bool tensor_function = row.where == Where::pointwise || row.where == Where::rows;
  if (row.where == Where::device && !tracer.on_device()) {
    return Diagnostic{Code::device_api_on_host, fmt::format("{} can only be called in a device loop", name)}.at(span);
  }
  if (row.where == Where::host && tracer.on_device()) {
    return Diagnostic{Code::not_allowed_on_device, fmt::format("{} cannot be called in a device loop", name)}.at(span);
  }
  if (tensor_function && has_host_tensor(call.args)) {
    if (!tracer.on_device()) return lift(tracer, row, params, call);
    return Diagnostic{Code::host_tensor_direct_usage, fmt::format("{} gets a host tensor without a subscript", name)}
        .at(span)
        .fix("load from it, for example x[tile]");
  }
  if (tensor_function && !tracer.on_device()) {
    return Diagnostic{Code::type_error, fmt::format("{} needs a tensor, not {}", name, describe(call[0]))}.at(span);
  }
  return row.handler(tracer, call);
}

Diagnostic refuse_call(const Tracer& tracer, std::string_view name, const Span& span) {
  const std::string word(name.substr(name.rfind('.') + 1));
  static const std::set<std::string> kSplits = {"chunk",  "split", "unbind", "tensor_split", "split_with_sizes",
                                                "hsplit", "vsplit"};
  static const std::set<std::string> kDataDependent = {"nonzero", "masked_select", "unique", "argwhere", "bincount"};
  if (tracer.on_device() && kSplits.contains(word) && !name.starts_with("helion")) {
    return Diagnostic{Code::unsupported_split, fmt::format("torch.{} cannot be used in a device loop", word)}
        .at(span)
        .fix("use hl.split on a last dimension of size 2, or slice the host tensor");
  }
  if (kDataDependent.contains(word)) {
    return Diagnostic{Code::data_dependent_shape, fmt::format("the shape of {}'s result depends on data", word)}
        .at(span)
        .fix("use torch.where or a mask");
  }
  return Diagnostic{Code::unsupported_feature, fmt::format("{} is not supported yet", shown(name))}.at(span);
}

}  // namespace hc::lang
