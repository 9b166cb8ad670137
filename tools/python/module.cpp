#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "sim/report/version.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/errors.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The simulator behind tokenline's Python functions; texts in, columns out.";
  tokenline::python::register_errors();
  tokenline::python::bind_run(m);
  tokenline::python::bind_sweep(m);
  tokenline::python::bind_plan(m);
  m.def("version", [] { return std::string(tokenline::report::version()); });
}
