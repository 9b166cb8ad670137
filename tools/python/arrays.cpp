#include "tools/python/arrays.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

namespace nb = nanobind;

namespace tokenline::python {
namespace {

template <class Value>
nb::object array(std::vector<Value> values) {
  auto owned = std::make_unique<std::vector<Value>>(std::move(values));
  std::vector<Value>* memory = owned.get();
  const nb::capsule owner(memory,
                          [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
  static_cast<void>(owned.release());
  return nb::cast(
      nb::ndarray<nb::numpy, Value, nb::ndim<1>>(memory->data(), {memory->size()}, owner));
}

nb::object array(Words words) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object texts =
      numpy.attr("array")(std::move(words.words), nb::arg("dtype") = nb::str("O"));
  return texts.attr("take")(array(std::move(words.codes)));
}

}  // namespace

nb::dict arrays(std::vector<Column> columns) {
  nb::dict all;
  for (Column& column : columns)
    all[column.name.c_str()] =
        std::visit([](auto& values) { return array(std::move(values)); }, column.values);
  return all;
}

}  // namespace tokenline::python
