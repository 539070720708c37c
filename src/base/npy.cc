// NumPy's .npy files, version 1.0; formats that NumPy lacks travel as bits with their name in a file beside.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/files.h"
#include "base/tensor.h"

namespace hc {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);

/// NumPy's type string, and whether a `.dtype` file must say what the bits are.
std::string_view descr_of(DType type, bool* bits_only) {
  *bits_only = false;
  switch (type) {
    case DType::boolean:
      return "|b1";
    case DType::u8:
      return "|u1";
    case DType::i8:
      return "|i1";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::f16:
      return "<f2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::bf16:
      *bits_only = true;
      return "<u2";
    case DType::f8e4m3:
    case DType::f8e5m2:
      *bits_only = true;
      return "|u1";
  }
  return "";
}

/// The text after `'key': ` in the header's dictionary.
std::string_view header_field(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

bool parse_shape(std::string_view text, std::vector<int64_t>* shape) {
  if (text.empty() || text.front() != '(') return false;
  size_t at = 1;
  while (at < text.size() && text[at] != ')') {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (error != std::errc() || size < 0) return false;
    shape->push_back(size);
    at = static_cast<size_t>(end - text.data());
    while (at < text.size() && (text[at] == ',' || text[at] == ' ')) ++at;
  }
  return at < text.size();
}

std::optional<DType> dtype_of_descr(std::string_view descr, const std::string& path) {
  if (file_exists(path + ".dtype")) {
    std::string name = read_file(path + ".dtype").value_or("");
    while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.pop_back();
    const auto type = dtype_from_name(name);
    bool bits_only = false;
    if (type && descr_of(*type, &bits_only) == descr) return type;
    return std::nullopt;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    bool bits_only = false;
    if (descr_of(static_cast<DType>(i), &bits_only) == descr && !bits_only) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Elements in row-major order of the shape, whatever the strides.
std::string contiguous_bytes(const TensorBuffer& tensor) {
  const TensorSpec& spec = tensor.spec();
  const char* data = static_cast<const char*>(tensor.data());
  if (spec.strides.empty()) return std::string(data, static_cast<size_t>(tensor.bytes()));
  const int64_t width = dtype_bytes(spec.dtype);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(spec.numel() * width));
  std::vector<int64_t> index(spec.shape.size(), 0);
  for (int64_t n = spec.numel(); n > 0; --n) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * spec.strides[d];
    bytes.append(data + offset * width, static_cast<size_t>(width));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < spec.shape[d]) break;
      index[d] = 0;
    }
  }
  return bytes;
}

}  // namespace

std::string save_npy(const std::string& path, const TensorBuffer& tensor) {
  const TensorSpec& spec = tensor.spec();
  bool bits_only = false;
  const std::string_view descr = descr_of(spec.dtype, &bits_only);
  std::string shape;
  for (int64_t size : spec.shape) shape += fmt::format("{}, ", size);
  if (spec.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string file(kMagic);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header + contiguous_bytes(tensor);
  if (std::string why = write_file_atomic(path, file); !why.empty()) return why;
  return bits_only ? write_file_atomic(path + ".dtype", fmt::format("{}\n", dtype_name(spec.dtype))) : std::string();
}

std::string load_npy(const std::string& path, TensorBuffer* tensor) {
  std::string why;
  const auto file = read_file(path, &why);
  if (!file) return why;
  const std::string_view text = *file;
  if (text.size() < 10 || text.substr(0, 8) != kMagic) return fmt::format("{} is not a version 1.0 .npy file", path);
  const size_t header_size = static_cast<unsigned char>(text[8]) + 256u * static_cast<unsigned char>(text[9]);
  if (text.size() < 10 + header_size) return fmt::format("{} ends inside its header", path);
  const std::string_view header = text.substr(10, header_size);
  std::string_view descr = header_field(header, "descr");
  if (descr.size() < 5) return fmt::format("{} has no element type in its header", path);
  descr = descr.substr(1, 3);
  const auto dtype = dtype_of_descr(descr, path);
  if (!dtype)
    return fmt::format("{} holds elements of type {}, which its .dtype file or this program does not know", path,
                       descr);
  if (!header_field(header, "fortran_order").starts_with("False"))
    return fmt::format("{} is in column-major order; save it in C order", path);
  TensorSpec spec;
  spec.dtype = *dtype;
  if (!parse_shape(header_field(header, "shape"), &spec.shape))
    return fmt::format("{} has no shape in its header", path);
  const std::string_view body = text.substr(10 + header_size);
  if (static_cast<int64_t>(body.size()) != spec.numel() * dtype_bytes(*dtype)) {
    return fmt::format("{} has {} bytes of elements and needs {}", path, body.size(),
                       spec.numel() * dtype_bytes(*dtype));
  }
  *tensor = TensorBuffer(spec);
  std::memcpy(tensor->data(), body.data(), body.size());
  return {};
}

}  // namespace hc
